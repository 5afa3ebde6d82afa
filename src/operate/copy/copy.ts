import { existsSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { convertErasure } from '../../access/audit/retention.ts';
import { isServed, SERVE_LOCK } from '../../access/limits/nodes.ts';
import { keyCheckOf } from '../../access/secret-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { requireCurrent, unfinishedCopy } from '../../lib/storage/migration.ts';
import type { OfflineDatabase } from '../../lib/storage/offline.ts';
import { openOffline } from '../../lib/storage/open.ts';
import { UserError } from '../../lib/user-error.ts';
import { type Config, type DatabaseLocation, sameDatabase } from '../../model/config.ts';
import { deleteFact } from '../../model/facts.ts';
import { assignPositionsIn } from '../../model/log/ordering.ts';
import { migrations } from '../../model/migrations/index.ts';
import { fileOf } from '../../model/photo-files/names.ts';
import { openPhotoStore } from '../../model/photo-files/open.ts';
import { copyPhotos, missingFile } from '../../model/photo-files/photo-copies.ts';
import type { PhotoLocation } from '../../model/photo-files/photo-store.ts';
import { type DeploymentName, query } from '../../model/schema.ts';
import { storedPhotos } from '../../store/photo-references.ts';
import { LOCATION_FACT } from '../../store/photos/location.ts';
import { copiedTables, copyDatabase, type RowCounts } from './copy-database.ts';

/** The locations of both deployments of a store. */
export type StoreLocations = Config['locations'];

interface CopyDeps {
  readonly clock: Clock;
  /** Called during the work with its current step and the completed share of that step, from 0 to 1. */
  onProgress?(step: string, share: number): void;
}

export interface Copied {
  /** The number of copied rows of each table; staging is absent if the source has none. */
  readonly rows: { readonly production: RowCounts; readonly staging?: RowCounts };
  /** The number of photos of each deployment; the target has all their files. */
  readonly photos: Partial<Record<DeploymentName, number>>;
  /** Whether the copy has webhook secrets, so that its server needs the secret key. */
  readonly needsSecretKey: boolean;
}

type Store = Partial<Record<DeploymentName, OfflineDatabase>> & { readonly production: OfflineDatabase };

/**
 * Copies both deployments from one store into an empty one, on the same or the other engine. The target keeps ids,
 * positions of events and the next ids. Until the copy is complete, every process refuses to open the target, and
 * another copy replaces it. Photos that the target already has, because both stores use the same location, are not
 * copied.
 * @throws {UserError} if a store is being served, the source is missing or not up to date, files of its photos are
 *   missing, or the target holds data; or a file of a photo cannot be read or written
 */
export async function copyStore(from: StoreLocations, to: StoreLocations, deps: CopyDeps): Promise<Copied> {
  try {
    return await copyBetween(from, to, deps);
  } catch (error) {
    throw error instanceof StorageError ? incomplete(error.message, error) : error;
  }
}

/** Returns the error for a failed copy. The target stays marked as incomplete. */
function incomplete(message: string, cause: unknown): UserError {
  return new UserError(`${message} The copy is not complete: run "petstore copy" again.`, { cause });
}

/**
 * Runs work with the photos of a source and of a target in `directory`. An error names the file or disk that caused it.
 */
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
  // From here on, the target is marked, and another copy can replace it.
  unused.length = 0;
  for (const database of databasesOf(target)) {
    // Add the mark first, so that a copy that is killed while it creates the tables can be repeated.
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
  // Complete production last: while it is marked, another copy replaces both databases.
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

/** The maximum number of photos without files that an error names. */
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
  if (isSame) throw new UserError('The source and the target are the same store: copy to another store.');
}

/**
 * Opens the databases of a store that no server serves, and prevents servers from starting until they are closed.
 * @param unused gets the missing files, which this creates; files that are still in it at the end are deleted; without
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
    const { lockDataDirectory } = await import('../../lib/storage/sqlite/directory-lock.ts');
    const { databaseFiles } = await import('../../lib/storage/sqlite/data-directory.ts');
    const lock = lockDataDirectory(dirname(production.file));
    opened.defer(() => lock.release());
    opened.defer(() => {
      for (const file of (unused ?? []).flatMap(databaseFiles)) rmSync(file, { force: true });
    });
  }
  const store = { production: await open(production) };
  if (await isServedNow(store.production, clock)) {
    throw new UserError(`The database at ${store.production.location} is in use by a server: stop its servers first.`);
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

/**
 * Requires that a target is empty or marked by an interrupted copy. The mark of production also applies to its staging.
 */
async function requireReplaceable(target: Store, { production, staging }: StoreLocations): Promise<void> {
  const isMarked = async (database: OfflineDatabase) => (await database.applied()).includes(unfinishedCopy.name);
  const beside = 'file' in staging || ('url' in production && staging.url === production.url);
  if (beside && (await isMarked(target.production))) return;
  for (const database of databasesOf(target)) {
    if ((await isMarked(database)) || (await isEmpty(database))) continue;
    throw new UserError(
      `The database at ${database.location} has data: copy to a new data directory or an empty database.`,
    );
  }
}

/** Tables that migrations fill. They contain no other rows as long as the other tables are empty. */
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

/** Prepares the events of PostgreSQL in the source's transaction, which is rolled back. */
async function orderEvents(source: OfflineDatabase, target: OfflineDatabase['engine']): Promise<void> {
  await assignPositionsIn(source);
  // On SQLite, the position is the id.
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
