import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { insertFact, lockedFact, storeFact } from '../facts.ts';
import { createDirectory } from '../lib/storage/sqlite/data-directory.ts';
import { UserError } from '../lib/user-error.ts';
import { type Database, type Params, query, sql, type Transaction } from '../schema.ts';

/** The fact with the id of the directory in which the photos of this database are. */
export const DIRECTORY_FACT = 'photos-directory';
/** The file with the id of a directory. */
const ID_FILE = 'id';
/** A node without a heartbeat for this long has been killed. */
const STALE_MS = 60_000;

/**
 * Requires that all nodes of a PostgreSQL database have their photos in one directory. An empty database takes the directory
 * of its first node. Call it before the node joins the others.
 * @param ownId the name of this node, if it has joined already: it is the only one
 * @throws {UserError} if the photos are elsewhere, or another node uses another directory
 */
export async function claimDirectory(database: Database, directory: string, ownId = ''): Promise<void> {
  const id = idOf(directory);
  await database.write(async tx => {
    if ((await knownId(tx, id)) === id) return;
    if ((await tx.first(inUse, { since: tx.now - STALE_MS, ownId })) !== undefined) throw elsewhere(directory);
    await tx.run(storeFact, { name: DIRECTORY_FACT, value: id });
  });
}

/** Requires the same once the node has joined: another one may have started at the same moment. */
export async function confirmDirectory(database: Database, directory: string): Promise<void> {
  const id = idOf(directory);
  await database.write(async tx => {
    if ((await knownId(tx, id)) !== id) throw elsewhere(directory);
  });
}

/** Returns the id of the directory that the database has, and stores this one if it has none. */
async function knownId(tx: Transaction, id: string): Promise<string> {
  await tx.run(insertFact, { name: DIRECTORY_FACT, value: id });
  return (await tx.first(lockedFact, { name: DIRECTORY_FACT }))!.value;
}

/** Returns the id of a directory, and creates it if necessary. @throws {UserError} if that fails */
function idOf(directory: string): string {
  const file = join(directory, ID_FILE);
  try {
    createDirectory(directory);
    try {
      writeFileSync(file, randomBytes(9).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `The directory for photos, ${directory}, cannot be written (${code}). Set PETSTORE_PHOTOS_DIRECTORY to another one.`,
      { cause: error },
    );
  }
}

function elsewhere(directory: string): UserError {
  return new UserError(
    `The photos of this database are not in ${directory}. Set PETSTORE_PHOTOS_DIRECTORY to the directory that all nodes share; after a move, copy its file ${ID_FILE} too.`,
  );
}

/** Selects a row if there are photos, or nodes that serve the database. */
const inUse = query((db, p: Params<{ since: number; ownId: string }>) =>
  db
    .selectFrom(
      sql<{
        one: number;
      }>`(select 1 as one from photos union all select 1 from nodes where seen_at > ${p.since} and id <> ${p.ownId})`.as(
        'used',
      ),
    )
    .select('one')
    .limit(1),
);
