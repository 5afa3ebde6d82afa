import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BucketSettings } from '../../lib/bucket.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { UserError } from '../../lib/user-error.ts';
import { insertFact, lockedFact, storeFact } from '../../model/facts.ts';
import type { PhotoLocation } from '../../model/photo-files/photo-store.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../model/schema.ts';

/** The fact with the id of the directory or bucket that has the photos of this database. */
export const LOCATION_FACT = 'photos-directory';
/** The name of the file or object with the id of a location. */
const ID_FILE = 'id';
/** A node without a heartbeat for this long has been killed. */
const STALE_MS = 60_000;

/** The directory or the bucket with the photos of both deployments. */
interface SharedLocation {
  /** The name in messages. */
  readonly name: string;
  readonly id: string;
}

/**
 * Returns the id of a directory or bucket, and creates the id if necessary.
 * @throws {UserError} if it cannot be used
 */
export async function openLocation({ directory, bucket }: PhotoLocation): Promise<SharedLocation> {
  const name = bucket?.url ?? dirname(directory);
  return { name, id: bucket === undefined ? idOfDirectory(name) : await idOfBucket(bucket) };
}

/**
 * Requires that all nodes of a PostgreSQL database have their photos in one location. An empty database uses the
 * location of its first node. Call it before the node joins the others.
 * @param ownId the name of this node, if it has already joined as the only one
 * @throws {UserError} if the photos are elsewhere, or another node uses another location
 */
export async function claimLocation(database: Database, location: SharedLocation, ownId = ''): Promise<void> {
  const { id } = location;
  await database.write(async tx => {
    if ((await knownId(tx, id)) === id) return;
    if ((await tx.first(inUse, { since: tx.now - STALE_MS, ownId })) !== undefined) throw elsewhere(location);
    await tx.run(storeFact, { name: LOCATION_FACT, value: id });
  });
}

/** Checks the same after the node has joined, because another node may have started at the same time. */
export async function confirmLocation(database: Database, location: SharedLocation): Promise<void> {
  await database.write(async tx => {
    if ((await knownId(tx, location.id)) !== location.id) throw elsewhere(location);
  });
}

/** Returns the location id of the database; stores this one if it has none. */
async function knownId(tx: Transaction, id: string): Promise<string> {
  await tx.run(insertFact, { name: LOCATION_FACT, value: id });
  return (await tx.first(lockedFact, { name: LOCATION_FACT }))!.value;
}

function newId(): string {
  return randomBytes(9).toString('base64url');
}

function idOfDirectory(directory: string): string {
  const file = join(directory, ID_FILE);
  try {
    createDirectory(directory);
    createIdFile(file);
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `The directory for photos, ${directory}, cannot be written (${code}). Set PETSTORE_PHOTOS_DIRECTORY to another directory.`,
      { cause: error },
    );
  }
}

/** Creates the file with an id, if it does not exist. Another node never sees the file without its id. */
function createIdFile(file: string): void {
  if (existsSync(file)) return;
  const id = newId();
  const draft = `${file}.${id}`;
  writeFileSync(draft, id, { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}

async function idOfBucket(settings: BucketSettings): Promise<string> {
  const { Bucket } = await import('../../lib/bucket.ts');
  const bucket = new Bucket(settings);
  try {
    if ((await bucket.sizeOf(ID_FILE)) === undefined) {
      await bucket.put(ID_FILE, Buffer.from(newId()), { onlyNew: true });
    }
    return Buffer.concat(await Array.fromAsync(bucket.read(ID_FILE))).toString();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new UserError(
      `The bucket for photos cannot be used: ${error.message} Check PETSTORE_PHOTOS_S3_URL and the other PETSTORE_PHOTOS_S3 settings.`,
      { cause: error },
    );
  }
}

function elsewhere({ name }: SharedLocation): UserError {
  return new UserError(
    `The photos of this database are not in ${name}. All nodes need the same PETSTORE_PHOTOS_DIRECTORY, or the same PETSTORE_PHOTOS_S3_URL; after a move, copy the file ${ID_FILE} too.`,
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
