import type { DatabaseLocation } from '../config.ts';
import type { Log } from '../lib/log.ts';
import { migrations } from '../migrations/index.ts';
import type { Database } from '../schema.ts';
import type { CommandCall } from './command.ts';
import { catchUp } from './test-clock.ts';

/** What of a command's call says where its data is. */
export type Where = Pick<CommandCall, 'config' | 'clock' | 'terminal'>;

/**
 * Does work on the database that holds accounts, keys and bans (production's), as a visitor beside a running server,
 * and closes it.
 *
 * The embedded engine makes and migrates its file where there is none yet; PostgreSQL is not migrated.
 * @throws {Refusal} when the database is behind, newer, or not one of ours
 * @throws {StorageError} when it cannot be reached
 */
export function withRegistry<T>(where: Where, work: (registry: Database) => T | Promise<T>): Promise<T> {
  return withDatabase(where, where.config.locations.production, work);
}

/** Like `withRegistry`, on any of the places of the configuration; with `migrate`, PostgreSQL is brought up to date first. */
export async function withDatabase<T>(
  { config, clock, terminal }: Where,
  place: DatabaseLocation,
  work: (database: Database) => T | Promise<T>,
  { migrate = false } = {},
): Promise<T> {
  const tell = (...words: [string] | [object, string]) => terminal.tell(words.at(-1) as string);
  const log: Log = { info() {}, warn: tell, error: tell };
  const { openDatabase } = await import('../lib/storage/open.ts');
  const database = await openDatabase(place, { migrations, clock, role: 'cli', migrate, log, onFailed() {} });
  try {
    if (config.startAtMs !== undefined) await catchUp(clock, database);
    return await work(database);
  } finally {
    await database.close();
  }
}
