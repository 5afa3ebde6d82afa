import type { Deployment } from '../access/deployment.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import type { PasswordHasher } from '../access/sessions/password-hasher.ts';
import type { AccountDatabases } from '../events/webhooks/account-changes.ts';
import type { KeyDatabases } from '../events/webhooks/key-changes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { AddressName, Config } from '../model/config.ts';
import type { Key } from '../model/key.ts';
import type { Database, DeploymentName } from '../model/schema.ts';
import type { ScheduledBackups } from '../operate/backup/scheduled/job.ts';
import type { EmailSender } from '../store/messages/email-sender.ts';
import type { PageLimiter } from './page-limiter.ts';

/** The dependencies that all pages of a process share. */
export interface Site {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  /** Production's database, which has the accounts, their keys and sessions. */
  readonly accounts: Database;
  /** The deployments whose data this process serves, including those without a served address. */
  readonly deployments: ReadonlyMap<string, Deployment>;
  readonly passwords: PasswordHasher;
  readonly pageLimiter: PageLimiter;
  /** Sends e-mail; absent if no mail server is set. */
  readonly emailSender: EmailSender | undefined;
  /** Absent if no backups are scheduled. */
  readonly backups: Pick<ScheduledBackups, 'status'> | undefined;
  /** Reports whether no older release serves the databases, because older releases reject masked form tokens. */
  isUpgraded(): boolean;
  /** Notifies the jobs that a link by e-mail was queued. */
  emailQueued(): void;
  /** The deployment whose address has the pages of accounts: production, or staging if production is not served. */
  readonly portal: DeploymentName;
  /** Returns the public URL of an address without a trailing slash; `undefined` if it is not served. */
  urlOf(address: AddressName, tls: boolean): string | undefined;
  /** The same, but also if another process serves the address and its public URL is set. */
  knownUrlOf(address: AddressName, tls: boolean): string | undefined;
}

/** The public URLs of the served deployments, for links on pages. */
export type SiteUrls = Readonly<Partial<Record<DeploymentName, string>>>;

/** Returns the current time, in whole milliseconds since the Unix epoch. */
export function nowOf({ clock }: Site): number {
  return Math.floor(clock.now());
}

/** Returns the databases that a change of a key affects. */
export function keyDatabases({ accounts, deployments }: Site, { deployment }: Pick<Key, 'deployment'>): KeyDatabases {
  return { accounts, own: deployments.get(deployment)?.database };
}

/** Returns the databases that a change of an account affects. */
export function accountDatabases({ accounts, deployments }: Site): AccountDatabases {
  return { accounts, staging: deployments.get('staging')?.database };
}
