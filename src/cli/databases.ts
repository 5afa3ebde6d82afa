import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getKey } from '../access/keys/keys.ts';
import type { AccountDatabases } from '../events/webhooks/account-changes.ts';
import type { KeyDatabases } from '../events/webhooks/key-changes.ts';
import type { SystemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { requireRestored } from '../lib/storage/sqlite/data-directory.ts';
import { formatTime } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import type { Config, DatabaseLocation, DeploymentLocation } from '../model/config.ts';
import { migrations } from '../model/migrations/index.ts';
import { newestTime } from '../model/newest-time.ts';
import type { Database, DeploymentName, Reader } from '../model/schema.ts';
import type { Invocation, Terminal } from './command.ts';
import { escapeLine } from './terminal.ts';

/** The parts of an invocation that determine the location of its data. */
type DatabaseOptions = Pick<Invocation, 'name' | 'config' | 'clock' | 'terminal'>;

interface OpenRules {
  /** Whether to create the files of the embedded engine in an empty data directory; by default that is an error. */
  readonly create?: boolean;
  /** Whether to migrate PostgreSQL first. */
  readonly migrate?: boolean;
}

/**
 * Opens the accounts database (production's) while a server may run, runs work on it and closes it. The embedded engine
 * migrates its file; PostgreSQL is not migrated.
 * @throws {UserError} when there is no database, or it is behind, newer, or not a Pet Store database
 * @throws {StorageError} when it cannot be reached
 */
export function withAccounts<T>(
  options: DatabaseOptions,
  work: (accounts: Database) => T | Promise<T>,
  rules?: OpenRules,
): Promise<T> {
  return withDatabase(options, options.config.locations.production, work, rules);
}

/**
 * Opens the databases that a change of a key affects: the accounts database, and that of the key's deployment. Without
 * `required`, `work` also runs if staging's cannot be opened.
 * @throws {UserError} when the key does not exist
 */
export function withKeyDatabases<T>(
  options: DatabaseOptions,
  keyId: string,
  work: (databases: KeyDatabases) => Promise<T>,
  { required = false } = {},
): Promise<T> {
  return withAccounts(options, async accounts => {
    const { deployment } = await getKey(accounts, keyId);
    if (deployment === 'production') return work({ accounts, own: accounts });
    return withStaging(options, own => work({ accounts, own }), required);
  });
}

/** Opens the databases that a change of an account affects; staging's is absent if it cannot be opened. */
export function withAccountDatabases<T>(
  options: DatabaseOptions,
  work: (databases: AccountDatabases) => Promise<T>,
): Promise<T> {
  return withAccounts(options, accounts => withStaging(options, staging => work({ accounts, staging })));
}

async function withStaging<T>(
  options: DatabaseOptions,
  work: (staging: Database | undefined) => Promise<T>,
  required = false,
): Promise<T> {
  const location = options.config.locations.staging;
  if (!hasDatabase(location)) return work(undefined);
  let opened = false;
  try {
    return await withDatabase(options, location, staging => {
      opened = true;
      return work(staging);
    });
  } catch (error) {
    if (opened || required) throw error;
    return work(undefined);
  }
}

/**
 * Waits until every process has noticed this command's changes of keys, accounts and bans (`Database.topicVersion`),
 * and until the deliveries that they were sending are complete. Afterwards no process sends or accepts requests that
 * the change forbids.
 */
export async function untilEffective({ engine }: Reader): Promise<void> {
  await pause(engine === 'postgres' ? 1100 : 200);
}

/** Like `withAccounts`, for any location of the configuration. */
export async function withDatabase<T>(
  { name, config, clock, terminal }: DatabaseOptions,
  location: DatabaseLocation,
  work: (database: Database) => T | Promise<T>,
  { create = false, migrate = false }: OpenRules = {},
): Promise<T> {
  if (!create) requireStore(config);
  const { openDatabase } = await import('../lib/storage/open.ts');
  const origin = { command: name };
  const database = await openDatabase(location, {
    migrations,
    clock,
    role: 'cli',
    migrate,
    origin,
    log: logOf(terminal),
    onFailed() {},
  });
  try {
    if (config.startAtMs !== undefined) await catchUp(clock, database);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Returns a log that prints messages on standard error. */
export function logOf({ printError }: Pick<Terminal, 'printError'>): Log {
  const print = (...words: [string] | [object, string]) => printError(escapeLine(words.at(-1) as string));
  return { info: print, warn: print, error: print };
}

/** Reports whether a database exists; always true for PostgreSQL. */
export function hasDatabase(location: DatabaseLocation): boolean {
  return !('file' in location) || existsSync(location.file);
}

/** Returns the deployments that have a database, with its location. */
export function storedLocations({ locations }: Pick<Config, 'locations'>): [DeploymentName, DeploymentLocation][] {
  const all = Object.entries(locations) as [DeploymentName, DeploymentLocation][];
  return all.filter(([, location]) => hasDatabase(location));
}

/** Throws if the data directory has no data: a command in the wrong directory must not create a store there. */
export function requireStore({ locations: { production } }: Pick<Config, 'locations'>): void {
  if (!('file' in production) || hasDatabase(production)) return;
  requireRestored(production.file);
  throw new UserError(
    `There is no pet store in ${dirname(production.file)}: run the command in the directory of the server, or set PETSTORE_DATA_DIR to its data directory or PETSTORE_DATABASE_URL to its database.`,
  );
}

/**
 * Moves a test clock (`PETSTORE_NOW`) forward to the latest stored time, so that no stored time is in the future.
 * @throws {UserError} naming both times, when the clock is more than five minutes behind
 */
export async function catchUp(clock: SystemClock, database: Reader): Promise<void> {
  const latest = await newestTime(database);
  const now = clock.now();
  if (latest - now > CATCH_UP_MS) {
    throw new UserError(
      `PETSTORE_NOW is ${formatTime(now)}, earlier than the latest stored time (${formatTime(latest)}); set PETSTORE_NOW to a later time, or use another data directory.`,
    );
  }
  clock.advanceTo(latest);
}

/** Longer than the commands of a test take, and shorter than an intentional change of the clock. */
const CATCH_UP_MS = 5 * 60_000;
