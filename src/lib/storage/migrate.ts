import { UserError } from '../user-error.ts';
import type { Migration } from './migration.ts';

/**
 * Returns the migrations that a database lacks, in order.
 * @param applied the names of the migrations it has
 * @throws {UserError} if it has one that this program does not know, because a newer release wrote it
 */
export function missingMigrations(
  migrations: readonly Migration[],
  applied: readonly string[],
  location: string,
): readonly Migration[] {
  const unknown = applied.filter(name => !migrations.some(migration => migration.name === name));
  if (unknown.length > 0) {
    throw new UserError(
      `The database at ${location} is newer than this program: it has ${unknown.at(-1)}. Use a newer release.`,
    );
  }
  return migrations.filter(({ name }) => !applied.includes(name));
}
