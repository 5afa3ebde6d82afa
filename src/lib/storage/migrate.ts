import { UserError } from '../user-error.ts';
import type { Migration } from './migration.ts';

/**
 * The steps that a database still lacks, in order.
 * @param applied the names of those that it has
 * @param place where the database is, for the sentence
 * @throws {UserError} when it has a step that this program does not know: it was written by a newer one
 */
export function missingMigrations(
  migrations: readonly Migration[],
  applied: readonly string[],
  place: string,
): readonly Migration[] {
  const unknown = applied.filter(name => !migrations.some(migration => migration.name === name));
  if (unknown.length > 0) {
    throw new UserError(
      `The database at ${place} is newer than this program: it has ${unknown.at(-1)}. Use a newer one.`,
    );
  }
  return migrations.filter(({ name }) => !applied.includes(name));
}
