import { existsSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { convertErasure } from '../audit/retention.ts';
import { type Config, type DatabaseLocation, sameDatabase } from '../config.ts';
import { assignPositionsIn } from '../events/ordering.ts';
import { deleteFact } from '../facts.ts';
import type { Clock } from '../lib/clock.ts';
import { StorageError } from '../lib/storage/database.ts';
import { requireCurrent, unfinishedCopy } from '../lib/storage/migration.ts';
import type { OfflineDatabase } from '../lib/storage/offline.ts';
import { openOffline } from '../lib/storage/open.ts';
import { UserError } from '../lib/user-error.ts';
import { isServed, SERVE_LOCK } from '../limits/nodes.ts';
import { migrations } from '../migrations/index.ts';
import { fileOf } from '../photos/files/names.ts';
import { openPhotoStore } from '../photos/files/open.ts';
import { copyPhotos, missingFile } from '../photos/files/photo-copies.ts';
import type { PhotoLocation } from '../photos/files/photo-store.ts';
import { LOCATION_FACT } from '../photos/location.ts';
import { storedPhotos } from '../photos/references.ts';
import { type DeploymentName, query } from '../schema.ts';
import { keyCheckOf } from '../webhooks/secret-key.ts';
import { copiedTables, copyDatabase, type RowCounts } from './copy-database.ts';

/** Where both deployments of a store are. */
export type StoreLocations = Config['locations'];

export interface CopyDeps {
  readonly clock: Clock;
  /** Called while work goes on, with what is being done and the done share of it, from 0 to 1. */
  onProgress?(step: string, share: number): void;
}

export interface Copied {
  /** The number of copied rows of each table; staging is absent if the source has none. */
  readonly rows: { readonly production: RowCounts; readonly staging?: RowCounts };
  /** The number of photos of each deployment, all of whose files the target has. */
  readonly photos: Partial<Record<DeploymentName, number>>;
  /** Whether the copy has webhook secrets, for which its server needs the secret key. */
  readonly needsSecretKey: boolean;
}

type Store = Partial<Record<DeploymentName, OfflineDatabase>> & { readonly production: OfflineDatabase };

/**
 * Copies both deployments from one store into an empty one, on the same or the other engine. The target keeps ids, positions
 * of events and the next ids. Until it is complete, every process refuses to open it, and another copy replaces it. Photos
 * that the target has already, because both stores have them in one place, are not copied.
 * @throws {UserError} if a store is being served, the source is missing or not up to date, files of its photos are missing,
 *   or the target holds data; or a file of a photo cannot be read or written
 */
export async function copyStore(from: StoreLocations, to: StoreLocations, deps: CopyDeps): Promise<Copied> {
  try {
    return await copyBetween(from, to, deps);
  } catch (error) {
    throw error instanceof StorageError ? incomplete(error.message, error) : error;
  }
}

/** Returns the error for a copy that failed. What it has written stays marked. */
function incomplete(message: string, cause: unknown): UserError {
  return new UserError(`${message} The copy is not complete: run "petstore copy" again.`, { cause });
}

/** Runs work with the photos of a source and of a target in `directory`, and names the file or the disk that makes it fail. */
async function withPhotos<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { syscall, code = '', path, dest = path ?? directory } = error as NodeJS.ErrnoException & { dest?: string };
    if (syscall === undefined) throw error;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    throw incomplete(isFull ? `The disk of ${dest} is full.` : `${dest} cannot be read or written (${code}).`, error);
  }
}

async function copyBetween(from: StoreLocations, to: StoreLocations, deps: CopyDeps): Promise<Copied> {
  await using opened = new AsyncDisposableStack();
  requireStore(from.production);
  requireDifferent(from.production, to.production);
  const source = await openStore(from, deps.clock, opened);
  for (const database of databasesOf(source)) await requireMigrated(database);
  const unused: string[] = [];
  const target = await openStore(to, deps.clock, opened, unused);
  await requireReplaceable(target, to);
  for (const database of databasesOf(source)) {
    await database.begin(copiedTables.map(({ name }) => name));
    if (source.production.engine === 'postgres') await orderEvents(database, target.production.engine);
  }
  const photos: { [Name in DeploymentName]?: number } = {};
  for (const [name, database] of deploymentsOf(source)) {
    deps.onProgress?.(`Checking the photos of ${name}`, 0);
    const [stored, copied] = [from[name].photos, to[name].photos];
    photos[name] = await withPhotos(copied.directory, () => requirePhotos(name, database, stored, copied));
  }
  // From here on, the target is marked, and another copy replaces it.
  unused.length = 0;
  for (const database of databasesOf(target)) {
    // The mark first: a copy that is killed while it creates the tables can be repeated.
    await database.migrate([unfinishedCopy, ...migrations], deps.clock.now());
  }
  const onRows = await progressOf(source, deps.onProgress);
  const rows: { [Name in DeploymentName]?: RowCounts } = {};
  for (const [name, database] of deploymentsOf(source)) {
    rows[name] = await copyDatabase(database, target[name]!, onRows);
    const onPhoto = (done: number) => deps.onProgress?.(`Copying the photos of ${name}`, done / photos[name]!);
    const [stored, copied] = [await openPhotoStore(from[name].photos), await openPhotoStore(to[name].photos)];
    await withPhotos(to[name].photos.directory, () => copyPhotos(stored, copied, storedPhotos(database), onPhoto));
  }
  await target.production.run(deleteFact, { name: LOCATION_FACT });
  // Production last: while it is marked, another copy replaces both.
  for (const database of databasesOf(target).toReversed()) await database.run(unmark, {});
  const checks = await Promise.all(databasesOf(target).map(keyCheckOf));
  return { rows: rows as Copied['rows'], photos, needsSecretKey: checks.some(check => check !== undefined) };
}

/** Returns the databases of a store, production's first. */
function databasesOf({ production, staging }: Store): OfflineDatabase[] {
  return staging === undefined ? [production] : [production, staging];
}

function deploymentsOf(store: Store): [DeploymentName, OfflineDatabase][] {
  return Object.entries(store) as [DeploymentName, OfflineDatabase][];
}

/**
 * Counts the photos of a source.
 * @throws {UserError} if neither the target nor the source has all files of a photo
 */
async function requirePhotos(
  name: DeploymentName,
  source: OfflineDatabase,
  from: PhotoLocation,
  to: PhotoLocation,
): Promise<number> {
  const [stored, copied] = [await openPhotoStore(from), await openPhotoStore(to)];
  let photos = 0;
  const missing: string[] = [];
  for await (const hash of storedPhotos(source)) {
    photos++;
    const file = await missingFile((await copied.has(hash)) ? copied : stored, hash);
    if (file !== undefined) missing.push(`${hash} (${fileOf(file)})`);
  }
  if (missing.length === 0) return photos;
  const nameOf = ({ directory, bucket }: PhotoLocation) => bucket?.url ?? dirname(directory);
  const places = [...new Set([nameOf(from), nameOf(to)])].join(' and ');
  const more = missing.length > NAMED_MAX ? ', …' : '';
  throw new UserError(
    `Nothing was copied: of ${photos} photos of ${name}, ${missing.length} lack files in ${places}: ${missing.slice(0, NAMED_MAX).join(', ')}${more}. Name the directory of the source's photos with --from-photos.`,
  );
}

/** How many photos without files are named. */
const NAMED_MAX = 3;

function requireStore(production: DatabaseLocation): void {
  if (!('file' in production) || existsSync(production.file)) return;
  throw new UserError(`There is no pet store in ${dirname(production.file)}.`);
}

function requireDifferent(from: DatabaseLocation, to: DatabaseLocation): void {
  const isSame =
    'file' in from
      ? 'file' in to && existsSync(to.file) && realpathSync(from.file) === realpathSync(to.file)
      : 'url' in to && sameDatabase(from.url, to.url);
  if (isSame) throw new UserError('The source and the target are the same store: copy to another one.');
}

/**
 * Opens the databases of a store that no server serves, and keeps servers out until they are closed.
 * @param unused gets the missing files, which are created, and which are deleted at the end if they are still in it; without
 *   it, staging may be absent
 */
async function openStore(
  { production, staging }: StoreLocations,
  clock: Clock,
  opened: AsyncDisposableStack,
  unused?: string[],
): Promise<Store> {
  const open = async (location: DatabaseLocation) => {
    if ('file' in location && !existsSync(location.file)) unused?.push(location.file);
    const database = await openOffline(location);
    opened.defer(() => database.close());
    return database;
  };
  if ('file' in production) {
    const { lockDataDirectory } = await import('../lib/storage/sqlite/directory-lock.ts');
    const { databaseFiles } = await import('../lib/storage/sqlite/data-directory.ts');
    const lock = lockDataDirectory(dirname(production.file));
    opened.defer(() => lock.release());
    opened.defer(() => {
      for (const file of (unused ?? []).flatMap(databaseFiles)) rmSync(file, { force: true });
    });
  }
  const store = { production: await open(production) };
  if (await isServedNow(store.production, clock)) {
    throw new UserError(`The database at ${store.production.location} is being served: stop its servers first.`);
  }
  const hasStaging = unused !== undefined || !('file' in staging) || existsSync(staging.file);
  return hasStaging ? { ...store, staging: await open(staging) } : store;
}

async function isServedNow(production: OfflineDatabase, clock: Clock): Promise<boolean> {
  if ((await production.tryAdvisoryLock?.(SERVE_LOCK)) === false) return true;
  return production.engine === 'postgres' && (await production.applied()).length > 0 && isServed(production, clock);
}

async function requireMigrated(database: OfflineDatabase): Promise<void> {
  requireCurrent(migrations, await database.applied(), database.location);
}

/** Requires that a target is empty, or the rest of an interrupted copy. The mark of production covers a staging beside it. */
async function requireReplaceable(target: Store, { production, staging }: StoreLocations): Promise<void> {
  const isMarked = async (database: OfflineDatabase) => (await database.applied()).includes(unfinishedCopy.name);
  const beside = 'file' in staging || ('url' in production && staging.url === production.url);
  if (beside && (await isMarked(target.production))) return;
  for (const database of databasesOf(target)) {
    if ((await isMarked(database)) || (await isEmpty(database))) continue;
    throw new UserError(
      `The database at ${database.location} holds data: copy to a new data directory or an empty database.`,
    );
  }
}

/** The tables that a migration fills. They hold nothing else as long as the others are empty. */
const filledByMigrations = ['categories', 'facts'];

async function isEmpty(database: OfflineDatabase): Promise<boolean> {
  if ((await database.applied()).length === 0) return true;
  await requireMigrated(database);
  for (const { name } of copiedTables) {
    if (filledByMigrations.includes(name)) continue;
    if ((await database.rows(`select 1 from "${name}" limit 1`)).length > 0) return false;
  }
  return true;
}

/** Prepares the events of PostgreSQL in the transaction of the source, which is rolled back. */
async function orderEvents(source: OfflineDatabase, target: OfflineDatabase['engine']): Promise<void> {
  await assignPositionsIn(source);
  // SQLite has the position as the id.
  if (target === 'sqlite') await convertErasure(source);
}

async function progressOf(source: Store, onProgress: CopyDeps['onProgress']) {
  if (onProgress === undefined) return () => {};
  let total = 0;
  for (const database of databasesOf(source)) {
    for (const { name } of copiedTables) {
      const [row] = (await database.rows(`select count(*) as count from "${name}"`)) as { count: number }[];
      total += row!.count;
    }
  }
  let done = 0;
  return (rows: number, table: string) => {
    done += rows;
    // Every row is copied and compared.
    onProgress(`Copying ${table}`, done / (2 * total));
  };
}

const unmark = query(db => db.deleteFrom('migrations').where('name', '=', unfinishedCopy.name));
