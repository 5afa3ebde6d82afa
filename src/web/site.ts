import type { ScheduledBackups } from '../backup/scheduled/job.ts';
import type { AddressName, Config } from '../config.ts';
import type { Deployment } from '../deployment.ts';
import type { Key } from '../keys/key.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { EmailSender } from '../messages/email-sender.ts';
import type { Database, DeploymentName } from '../schema.ts';
import type { PasswordHasher } from '../sessions/password-hasher.ts';
import type { KeyDatabases } from '../webhooks/key-changes.ts';
import type { PageLimiter } from './page-limiter.ts';

/** The dependencies that all pages of a process share. */
export interface Site {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  /** Production's database, which has the accounts, their keys and sessions. */
  readonly accounts: Database;
  /** The deployments whose data this process has, with those whose address is left out. */
  readonly deployments: ReadonlyMap<string, Deployment>;
  readonly passwords: PasswordHasher;
  readonly pageLimiter: PageLimiter;
  /** Sends e-mail; absent if no mail server is set. */
  readonly emailSender: EmailSender | undefined;
  /** Absent if no backups are scheduled. */
  readonly backups: Pick<ScheduledBackups, 'status'> | undefined;
  /** Reports whether no older release serves the databases: one refuses masked tokens of forms. */
  isUpgraded(): boolean;
  /** Notifies the jobs that a link by e-mail was queued. */
  emailQueued(): void;
  /** The deployment whose address has the pages of accounts: production, or staging if production is not served. */
  readonly portal: DeploymentName;
  /** Returns the public URL of an address without a trailing slash; `undefined` if it is not served. */
  urlOf(address: AddressName, tls: boolean): string | undefined;
  /** Returns the same, also if another process serves the address and its public URL is set. */
  knownUrlOf(address: AddressName, tls: boolean): string | undefined;
}

/** The public URLs of the deployments that are served, as links on a page name them. */
export type SiteUrls = Readonly<Partial<Record<DeploymentName, string>>>;

/** Returns the current time, in whole milliseconds since the Unix epoch. */
export function nowOf({ clock }: Site): number {
  return Math.floor(clock.now());
}

/** Returns the databases that a change of a key concerns. */
export function keyDatabases({ accounts, deployments }: Site, { deployment }: Pick<Key, 'deployment'>): KeyDatabases {
  return { accounts, own: deployments.get(deployment)?.database };
}
