import type { Place } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import { migrations } from '../migrations/index.ts';
import type { Database } from '../schema.ts';
import type { CommandCall } from './command.ts';
import { refuseEarlier } from './rehearsal.ts';

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
  return withDatabase(where, where.config.places.production, work);
}

/** Like `withRegistry`, on any of the places of the configuration. */
export async function withDatabase<T>(
  { config, clock, terminal }: Where,
  place: Place,
  work: (database: Database) => T | Promise<T>,
): Promise<T> {
  const database = await openVisitor(place, clock, message => terminal.tell(message));
  try {
    if (config.startAtMs !== undefined) await refuseEarlier(database, clock.now());
    return await work(database);
  } finally {
    await database.close();
  }
}

async function openVisitor(place: Place, clock: Clock, warn: (message: string) => void): Promise<Database> {
  const common = { migrations, clock, role: 'visitor', log: { info() {}, warn, error: warn } } as const;
  if ('file' in place) {
    const { openSqlite } = await import('../lib/storage/sqlite.ts');
    return openSqlite({ ...common, file: place.file });
  }
  const { openPostgres } = await import('../lib/storage/postgres.ts');
  return openPostgres({ ...common, ...place, migrate: false });
}
