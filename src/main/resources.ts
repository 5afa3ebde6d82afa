import type { Webhooks } from '../access/deployment.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import { ALONE } from '../access/limits/nodes.ts';
import { openLimiter } from '../access/limits/open.ts';
import { carryOverFounders } from '../access/people/founders.ts';
import { checkKey, encryptorOf } from '../access/secret-key.ts';
import type { Clock } from '../lib/clock.ts';
import { openOutgoingClient } from '../lib/http/client/client.ts';
import type { LineWriter } from '../lib/line-writer.ts';
import type { Log } from '../lib/log.ts';
import { openDatabase } from '../lib/storage/open.ts';
import type { Config } from '../model/config.ts';
import { recordUpgraded } from '../model/facts.ts';
import { migrations } from '../model/migrations/index.ts';
import { warnOfEarlyClock } from '../model/newest-time.ts';
import { openPhotoStore } from '../model/photo-files/open.ts';
import type { PhotoStore } from '../model/photo-files/photo-store.ts';
import { DELIVERY_TIMEOUT_MS } from '../model/rules.ts';
import type { Database, DeploymentName } from '../model/schema.ts';
import type { Environment } from '../operate/backup/postgres-programs.ts';
import type { ScheduledBackups } from '../operate/backup/scheduled/job.ts';
import type { Tracing } from '../operate/tracing/tracing.ts';
import { type EmailSender, type EmailSettings, openEmailSender } from '../store/messages/email-sender.ts';
import { claimLocation, confirmLocation, openLocation } from '../store/photos/location.ts';

/** The open databases. Staging has one only if it is served. */
export interface Databases {
  readonly production: Database;
  readonly staging?: Database;
}

/** The options of an app. */
export interface AppOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** The writer of a line per request; absent without an access log. */
  readonly accessLog?: LineWriter | undefined;
  /** See `OpenOptions`. */
  readonly timeoutScale?: number;
  /** The environment of programs that the server runs: the PostgreSQL programs that make backups. */
  readonly environment: Environment;
  /** Called once if storage fails permanently: no request succeeds any more, and the process should end. */
  onFailed(error: Error): void;
  /** Rejects if a database must not be used. The app does not write to that database before it resolves. */
  accept?(database: Database): Promise<void>;
}

/** The databases, clients and services that an app uses. */
export interface Resources {
  readonly databases: Databases;
  readonly photoStores: Readonly<Record<DeploymentName, PhotoStore>>;
  readonly webhooks: Webhooks;
  readonly limiter: Limiter;
  /** Reports whether no older release serves the databases, as far as this process knows. */
  isUpgraded(): boolean;
  /** Absent without a mail server. */
  readonly emailSender: EmailSender | undefined;
  /** Absent without scheduled backups. */
  readonly backups: ScheduledBackups | undefined;
  /** Absent without a collector of traces; otherwise it records the use of the other resources. */
  readonly tracing: Tracing | undefined;
}

/**
 * Opens all resources, and loads only those that the settings need.
 * @param opened releases the resources, also if a later one cannot be opened
 * @throws {UserError} when a resource cannot be opened
 */
export async function openResources(options: AppOptions, opened: AsyncDisposableStack): Promise<Resources> {
  const { config, clock, log } = options;
  const tracing = await openTracing(options, opened);
  const databases = await openDatabases(options, tracing, opened);
  const webhooks = await openWebhooks(options, databases, tracing, opened);
  await warnOfEarlyClock(databases, clock, log);
  const location = config.locations.production.photos;
  // Only one node serves SQLite. With a bucket, the start of the server checks whether the bucket can be used.
  const isServed = databases.production.engine === 'postgres' || location.bucket !== undefined;
  const photos = isServed ? await openLocation(location) : undefined;
  const isAlone = config.valkeyUrl === undefined;
  if (photos !== undefined && !isAlone) await claimLocation(databases.production, photos);
  const { limiter, isUpgraded } = await openCounts(options, databases, tracing, opened);
  if (photos !== undefined)
    await (isAlone
      ? claimLocation(databases.production, photos, ALONE)
      : confirmLocation(databases.production, photos));
  const emailSender = config.mail && (await openMail(config.mail, tracing));
  const backups = await openScheduledBackups(options, databases.production, opened);
  const { production, staging } = config.locations;
  const photoStores = {
    production: await openPhotoStore(production.photos),
    staging: await openPhotoStore(staging.photos),
  };
  return { databases, photoStores, webhooks, limiter, isUpgraded, emailSender, backups, tracing };
}

/** Loads the code that exports traces only if there is a collector. It is closed last, because all others add spans. */
async function openTracing(
  { config, clock, log }: AppOptions,
  opened: AsyncDisposableStack,
): Promise<Tracing | undefined> {
  const { url } = config.traces;
  if (url === undefined) return undefined;
  const { Tracing } = await import('../operate/tracing/tracing.ts');
  const tracing = new Tracing({ clock, log, ...config.traces, url });
  opened.defer(() => tracing.close());
  return tracing;
}

async function openDatabases(
  { config, clock, log, timeoutScale, onFailed, accept }: AppOptions,
  tracing: Tracing | undefined,
  opened: AsyncDisposableStack,
): Promise<Databases> {
  if ('file' in config.locations.production) {
    const { lockDataDirectory } = await import('../lib/storage/sqlite/directory-lock.ts');
    const lock = lockDataDirectory(config.dataDir);
    opened.defer(() => lock.release());
  }
  const open = async (name: DeploymentName) => {
    const location = config.locations[name];
    const database = await openDatabase(location, {
      ...{ migrations, clock, role: 'server', log, timeoutScale, onFailed },
      connectionsMax: config.databaseConnections,
    });
    opened.defer(() => database.close());
    return tracing?.database(database, name, location) ?? database;
  };
  const production = await open('production');
  const staging = config.ports.staging === undefined ? undefined : await open('staging');
  await accept?.(production);
  if (staging === undefined) return { production };
  await accept?.(staging);
  return { production, staging };
}

/** Opens the resources of webhooks, and checks that the key encrypts the stored secrets. */
async function openWebhooks(
  { config, clock }: AppOptions,
  databases: Databases,
  tracing: Tracing | undefined,
  opened: AsyncDisposableStack,
): Promise<Webhooks> {
  const encryptor = encryptorOf(config);
  for (const database of Object.values(databases)) await checkKey(database, encryptor);
  const networks = config.webhookNetworks;
  const outgoing = openOutgoingClient(
    { networks },
    {
      timeoutMs: DELIVERY_TIMEOUT_MS,
      now: () => clock.wallTime?.() ?? clock.now(),
    },
  );
  opened.defer(() => outgoing.close());
  return { outgoing: tracing?.client(outgoing) ?? outgoing, encryptor, networks, accounts: databases.production };
}

async function openCounts(
  { config: { valkeyUrl }, clock, log }: AppOptions,
  databases: Databases,
  tracing: Tracing | undefined,
  opened: AsyncDisposableStack,
): Promise<Pick<Resources, 'limiter' | 'isUpgraded'>> {
  let isUpgraded = databases.production.engine === 'sqlite';
  const limiter = await openLimiter({
    ...{ database: databases.production, clock, log, ...(valkeyUrl !== undefined && { valkeyUrl }) },
    async onUpgraded() {
      await Promise.all(Object.values(databases).map(recordUpgraded));
      await carryOverFounders(databases.production);
      isUpgraded = true;
    },
  });
  opened.defer(() => limiter.close());
  // Without Valkey, counts are in memory, so there is no wait to trace.
  const traced = valkeyUrl === undefined ? undefined : tracing?.limiter(limiter);
  return { limiter: traced ?? limiter, isUpgraded: () => isUpgraded };
}

async function openMail(settings: EmailSettings, tracing: Tracing | undefined): Promise<EmailSender> {
  const sender = await openEmailSender(settings);
  return tracing?.emailSender(sender, settings.url) ?? sender;
}

/** Returns the scheduled backups, if a setting enables them. Otherwise does not load their code. */
async function openScheduledBackups(
  { config: { backups, locations }, clock, log, environment }: AppOptions,
  database: Database,
  opened: AsyncDisposableStack,
): Promise<ScheduledBackups | undefined> {
  const { directory } = backups;
  if (directory === undefined) return undefined;
  const { ScheduledBackups } = await import('../operate/backup/scheduled/job.ts');
  const config = { locations, backups: { ...backups, directory } };
  const scheduled = await ScheduledBackups.open({ config, database, clock, log, environment });
  opened.defer(() => scheduled.close());
  return scheduled;
}
