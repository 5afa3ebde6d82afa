import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { keyCheckOf } from '../../access/secret-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { requireComplete } from '../../lib/storage/open.ts';
import { type PostgresSnapshot, withPostgresSnapshots } from '../../lib/storage/postgres/snapshots.ts';
import { copySqlite, openCopy } from '../../lib/storage/sqlite/copy.ts';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { flushDirectory } from '../../lib/storage/sqlite/flush.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Config, DatabaseLocation } from '../../model/config.ts';
import { photos as photosMigration } from '../../model/migrations/0024-photos.ts';
import { migrations } from '../../model/migrations/index.ts';
import { openPhotoStore } from '../../model/photo-files/open.ts';
import { copyPhotos } from '../../model/photo-files/photo-copies.ts';
import { type DeploymentName, query, type Reader } from '../../model/schema.ts';
import { classicTables } from '../../store/classic/sandboxes.ts';
import { storedPhotos } from '../../store/photo-references.ts';
import { digestOf } from './digest.ts';
import { type BackedUpDeployment, type Manifest, writeManifest } from './manifest.ts';
import { photosIn, writeSums } from './photo-sums.ts';
import { type Environment, requireDumpVersion, runOnPostgres } from './postgres-programs.ts';
import { requireSpace, watchSpace } from './space.ts';

/** The options of a backup. */
export interface BackupDeps {
  readonly config: Pick<Config, 'locations'>;
  readonly clock: Clock;
  /** The version of the product. */
  readonly version: string;
  /** For the client programs of PostgreSQL. */
  readonly environment: Environment;
  /** Called during the work with its current step and the completed share of that step, from 0 to 1. */
  onProgress?(step: string, share: number): void;
}

/** The deployments of a backup in the order of copying: staging first, because its rows name accounts in production. */
type Deployments = Partial<Record<DeploymentName, BackedUpDeployment>>;

/**
 * Backs up both deployments into a new or empty directory, while a server may run. Each deployment is backed up as of
 * one moment, and production has every account that staging names. `secret.key` and the sandboxes of the classic Petstore
 * are not part of a backup.
 *
 * Writes a temporary directory beside it, verifies and flushes it, and then renames it. An interrupted backup leaves a
 * directory whose name contains `.partial-`.
 * @throws {UserError} if the directory is not empty or cannot be written, its disk has too little space, or a database
 *   is missing, damaged, empty or not complete
 */
export async function createBackup(deps: BackupDeps, directory: string): Promise<Manifest> {
  const target = resolve(directory);
  requireEmpty(target);
  for (const location of Object.values(deps.config.locations)) {
    // Staging may not have a file yet.
    if (!('file' in location) || existsSync(location.file)) await requireComplete(location, migrations);
  }
  let draft: string | undefined;
  try {
    createDirectory(dirname(target));
    requireSpace(dirname(target), sizeOf(deps.config.locations));
    draft = mkdtempSync(`${target}.partial-`);
    const manifest = await writeBackup(deps, draft);
    writeManifest(draft, manifest);
    flushDirectory(draft);
    renameSync(draft, target);
    flushDirectory(dirname(target));
    return manifest;
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { recursive: true, force: true });
    throw writingError(error, target);
  }
}

function requireEmpty(target: string): void {
  try {
    if (!existsSync(target) || readdirSync(target).length === 0) return;
  } catch (error) {
    throw writingError(error, target);
  }
  throw new UserError(`${target} is not empty: use a new directory for each backup.`);
}

/** Returns the size of the copies of the embedded databases. The size of a dump is unknown. */
function sizeOf(locations: Config['locations']): number {
  return filesOf(locations).reduce((sum, [, file]) => sum + statSync(file).size, 0);
}

/**
 * Returns a sentence for the operator if `error` explains why `target` cannot be written; otherwise returns `error`.
 */
export function writingError(error: unknown, target: string): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const isFull = error instanceof StorageError ? error.reason === 'full' : code === 'ENOSPC' || code === 'EDQUOT';
  if (isFull) return new UserError(`The disk of ${target} is full.`, { cause: error });
  if (syscall === undefined) return error;
  if (code === 'EBUSY' || code === 'EXDEV') {
    return new UserError(`${target} is a mount point: use a new directory in it.`, { cause: error });
  }
  return new UserError(`The backup cannot be written to ${target} (${code}).`, { cause: error });
}

async function writeBackup(deps: BackupDeps, draft: string): Promise<Manifest> {
  const { clock, version, config, onProgress } = deps;
  const startedAt = formatTime(clock.now());
  const embedded = 'file' in config.locations.production;
  const photos: NonNullable<Manifest['photos']> = {};
  // Copy photos after the databases: the files of a photo stay for a day after the last animal with it is deleted.
  const copy = async (name: DeploymentName, reader: Reader) => {
    // A database can be backed up before it has the migration of photos.
    if ((await reader.first(lastMigration, {}))!.name < photosMigration.name) return;
    onProgress?.(`Copying the photos of ${name}`, 0);
    const store = await openPhotoStore(config.locations[name].photos);
    const counts = await copyPhotos(store, photosIn(draft, name), storedPhotos(reader));
    onProgress?.(`Verifying the photos of ${name}`, 0);
    photos[name] = { ...counts, ...(counts.photos > 0 && { sums: await writeSums(draft, name) }) };
  };
  const deployments = await (embedded ? copyFiles(deps, draft, copy) : dumpPostgres(deps, draft, copy));
  const paths = new Set(Object.values(deployments).map(({ file }) => file));
  const files: Manifest['files'] = [];
  for (const path of paths) {
    onProgress?.('Verifying', files.length / paths.size);
    files.push({ path, ...(await digestOf(join(draft, path))) });
  }
  return {
    product: 'petstore',
    version,
    engine: embedded ? 'sqlite' : 'postgres',
    startedAt,
    finishedAt: formatTime(clock.now()),
    deployments: deployments as Manifest['deployments'],
    photos,
    files,
  };
}

/** A function that copies the photos of a deployment. */
type PhotosCopy = (name: DeploymentName, reader: Reader) => Promise<void>;

async function copyFiles(
  { config: { locations }, onProgress }: BackupDeps,
  draft: string,
  copyPhotosOf: PhotosCopy,
): Promise<Deployments> {
  const copies = filesOf(locations).map(([name, from]) => ({ name, from, to: join(draft, basename(from)) }));
  await copySqlite(copies, share => onProgress?.('Copying', share));
  const deployments: Deployments = {};
  for (const [index, { name, from, to }] of copies.entries()) {
    onProgress?.('Checking', index / copies.length);
    const copy = openCopy(to);
    try {
      const [damage] = copy.damage('quick', 1);
      if (damage !== undefined) throw new UserError(`The database ${from} is damaged: ${damage}.`);
      copy.empty(classicTables);
      deployments[name] = await describe(copy.reader, basename(to));
      await copyPhotosOf(name, copy.reader);
    } finally {
      copy.close();
    }
  }
  return deployments;
}

/** Returns the existing files of the embedded engine, staging's first. */
function filesOf(locations: Config['locations']): [DeploymentName, string][] {
  const all = (['staging', 'production'] as const).map(name => [name, locations[name]] as const);
  return all.flatMap(([name, location]) =>
    'file' in location && existsSync(location.file) ? [[name, location.file]] : [],
  );
}

async function dumpPostgres(
  { config, environment, onProgress }: BackupDeps,
  draft: string,
  copyPhotosOf: PhotosCopy,
): Promise<Deployments> {
  const { production, staging } = config.locations as Record<
    DeploymentName,
    Extract<DatabaseLocation, { url: string }>
  >;
  const shared = staging.url === production.url;
  // With two databases, accounts must not change between their two snapshots.
  return withPostgresSnapshots([staging, production], shared ? undefined : 'accounts', async snapshots => {
    const deployments: Deployments = {};
    const [ofStaging, ofProduction] = snapshots as [PostgresSnapshot, PostgresSnapshot];
    await requireDumpVersion(Math.max(...snapshots.map(({ serverVersion }) => serverVersion)), environment);
    const file = (name: DeploymentName) => (shared ? 'petstore.dump' : `${name}.dump`);
    deployments.staging = await describe(ofStaging, file('staging'));
    deployments.production = await describe(ofProduction, file('production'));
    await copyPhotosOf('staging', ofStaging);
    await copyPhotosOf('production', ofProduction);
    for (const [name, snapshot] of shared
      ? ([['production', ofProduction]] as const)
      : ([
          ['staging', ofStaging],
          ['production', ofProduction],
        ] as const)) {
      const path = join(draft, file(name));
      onProgress?.(`Dumping ${shared ? 'both deployments' : name}`, 0);
      const args = [
        ...['--format=custom', '--no-owner', '--no-privileges', `--snapshot=${snapshot.id}`, `--file=${path}`],
        ...classicTables.map(table => `--exclude-table-data=*.${table}`),
      ];
      using space = watchSpace(draft);
      await runOnPostgres('pg_dump', args, { url: snapshot.location.url, environment, signal: space.signal });
      chmodSync(path, 0o600);
      // Read the table of contents.
      await runOnPostgres('pg_restore', ['--list', path], { environment });
    }
    return deployments;
  });
}

async function describe(reader: Reader, file: string): Promise<BackedUpDeployment> {
  const schema = (await reader.first(lastMigration, {}))!.name;
  return { file, schema, secretKeyCheck: (await keyCheckOf(reader)) ?? null };
}

const lastMigration = query(db => db.selectFrom('migrations').select('name').orderBy('name', 'desc').limit(1));
