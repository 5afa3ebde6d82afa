import { existsSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkKey, isKeyOf, loadSecretKey, readSecretKey } from '../../access/secret-key.ts';
import { replaceSecrets } from '../../events/webhooks/replace-secrets.ts';
import { createEncryptor, type Encryptor } from '../../lib/encryption.ts';
import type { Log } from '../../lib/log.ts';
import type { Database } from '../../lib/storage/database.ts';
import { openDatabase } from '../../lib/storage/open.ts';
import { analyze, isRestoring, markRestoring } from '../../lib/storage/postgres/migrate.ts';
import { withPostgresSnapshots } from '../../lib/storage/postgres/snapshots.ts';
import { openCopy } from '../../lib/storage/sqlite/copy.ts';
import { createPrivateFile, databaseFiles, RESTORING } from '../../lib/storage/sqlite/data-directory.ts';
import { lockDataDirectory } from '../../lib/storage/sqlite/directory-lock.ts';
import { flushDirectory } from '../../lib/storage/sqlite/flush.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Config, DatabaseLocation } from '../../model/config.ts';
import { deleteFact } from '../../model/facts.ts';
import { migrations } from '../../model/migrations/index.ts';
import { openPhotoStore } from '../../model/photo-files/open.ts';
import { copyPhotos } from '../../model/photo-files/photo-copies.ts';
import type { DeploymentName } from '../../model/schema.ts';
import type { WebhookRow } from '../../model/webhook.ts';
import { LOCATION_FACT } from '../../store/photos/location.ts';
import { type BackupDeps, writingError } from './backup.ts';
import { changed, copyFile } from './digest.ts';
import { type Manifest, readManifest, verifyFiles } from './manifest.ts';
import { photosIn } from './photo-sums.ts';
import { runOnPostgres } from './postgres-programs.ts';

/** The options of a restore. */
interface RestoreDeps extends BackupDeps {
  /** Gets the progress of migrations. */
  readonly log: Log;
  readonly config: Pick<Config, 'locations' | 'dataDir' | 'secretKey' | 'previousSecretKey'>;
}

/** A restored backup, and the webhooks whose secrets were replaced, in their state before. */
interface Restored {
  readonly manifest: Manifest;
  readonly webhooks: readonly { readonly deployment: DeploymentName; readonly webhook: WebhookRow }[];
}

/** Returns a new key if the secrets of a deployment cannot be decrypted any more; otherwise `undefined`. */
type NewKey = (name: DeploymentName) => Encryptor | undefined;

/**
 * Restores a backup into the empty data directory or databases of the settings, and migrates it. Verifies every file
 * first; if that fails, it writes nothing. Then it marks the target as incomplete. No server uses the result of an
 * interrupted restore, and the restore can be repeated.
 * @param newSecrets whether webhooks may get new secrets, if the secret key cannot decrypt those of the backup
 * @throws {UserError} if the backup is incomplete, damaged or of another engine, the target holds data or is being
 *   served, or the secret key is a different one
 */
export async function restoreBackup(deps: RestoreDeps, directory: string, newSecrets: boolean): Promise<Restored> {
  const source = resolve(directory);
  const manifest = readManifest(source);
  const embedded = 'file' in deps.config.locations.production;
  if (embedded !== (manifest.engine === 'sqlite')) throw otherEngine(source, manifest);
  await (embedded ? requireEmptyDirectory : requireEmptyDatabases)(deps, manifest);
  await verifyFiles(source, manifest, deps.onProgress);
  const newKey = newKeyFor(deps, manifest, newSecrets);
  const webhooks = await (embedded ? restoreFiles : restorePostgres)(deps, source, manifest, newKey);
  return { manifest, webhooks };
}

/** Restores the photos before the databases, so that no server serves the databases without them. */
async function restorePhotos({ config, onProgress }: RestoreDeps, source: string, { photos = {} }: Manifest) {
  for (const [name, { photos: total }] of Object.entries(photos)) {
    const location = config.locations[name as DeploymentName].photos;
    const onPhoto = (done: number) => onProgress?.(`Restoring the photos of ${name}`, done / total);
    const from = photosIn(source, name);
    await copyPhotos(from, await openPhotoStore(location), from.hashes(), onPhoto).catch(error => {
      throw writingError(error, location.directory);
    });
  }
}

function otherEngine(source: string, { engine }: Manifest): UserError {
  return new UserError(
    engine === 'sqlite'
      ? `The backup in ${source} is of the embedded database: unset PETSTORE_DATABASE_URL to restore it.`
      : `The backup in ${source} is of PostgreSQL: set PETSTORE_DATABASE_URL to an empty database to restore it.`,
  );
}

/** @throws {UserError} if the secrets cannot be decrypted, unless they are to be replaced */
function newKeyFor({ config }: RestoreDeps, { deployments }: Manifest, newSecrets: boolean): NewKey {
  const key = config.secretKey ?? readSecretKey(config.dataDir);
  const current = key && createEncryptor(key, config.previousSecretKey);
  const lost = Object.entries(deployments).filter(
    ([, { secretKeyCheck: check }]) => check !== null && !(current && isKeyOf(current, check)),
  );
  if (lost.length === 0) return () => undefined;
  if (!newSecrets) {
    const found = key === undefined ? 'There is no secret key' : 'The secret key is not the key of the backup';
    throw new UserError(
      `${found}, so the webhook secrets in the backup cannot be decrypted. Copy the secret.key that belongs to it to ${config.dataDir}, or set PETSTORE_SECRET_KEY. If that key is lost, restore with --new-webhook-secrets: every webhook gets a new secret and is disabled until its owner fetches the secret, and people with an authenticator app sign in with a recovery code.`,
    );
  }
  const replacement = () => current ?? createEncryptor(loadSecretKey(config.dataDir));
  return name => (lost.some(([deployment]) => deployment === name) ? replacement() : undefined);
}

/** Opens and so migrates a restored database, and replaces secrets that cannot be decrypted. */
async function complete(
  { clock, log }: RestoreDeps,
  name: DeploymentName,
  location: DatabaseLocation,
  newKey: NewKey,
): Promise<Restored['webhooks']> {
  const database: Database = await openDatabase(location, {
    ...{ migrations, clock, log, role: 'cli', migrate: true },
    origin: { command: 'restore' },
  });
  try {
    // The photos have a new location now.
    await database.write(tx => tx.run(deleteFact, { name: LOCATION_FACT }));
    const encryptor = newKey(name);
    if (encryptor === undefined) return [];
    const webhooks = await replaceSecrets(database, encryptor);
    await checkKey(database, encryptor);
    return webhooks.map(webhook => ({ deployment: name, webhook }));
  } finally {
    await database.close();
  }
}

async function restoreFiles(
  deps: RestoreDeps,
  source: string,
  manifest: Manifest,
  newKey: NewKey,
): Promise<Restored['webhooks']> {
  const { config, onProgress } = deps;
  const lock = lockDataDirectory(config.dataDir);
  const files = filesOf(deps, manifest);
  try {
    requireEmptyDirectory(deps, manifest);
    beginFiles(files);
    await restorePhotos(deps, source, manifest);
    const webhooks: Restored['webhooks'][number][] = [];
    for (const [index, { name, path, to }] of files.entries()) {
      onProgress?.('Restoring', index / files.length);
      const draft = to + RESTORING;
      const { sha256 } = await copyFile(join(source, path), draft);
      if (manifest.files.find(file => file.path === path)?.sha256 !== sha256) throw changed(source, path);
      requireSound(draft, source, path);
      webhooks.push(...(await complete(deps, name, { file: draft }, newKey)));
    }
    flushDirectory(config.dataDir);
    for (const { to } of files.toReversed()) {
      renameSync(to + RESTORING, to);
      flushDirectory(dirname(to));
    }
    return webhooks;
  } catch (error) {
    if (isBegun(files)) beginFiles(files);
    throw writingError(error, config.dataDir);
  } finally {
    lock.release();
  }
}

interface RestoredFile {
  readonly name: DeploymentName;
  /** The file in the backup. */
  readonly path: string;
  /** The path to which the file is restored. */
  readonly to: string;
}

/** Returns the files to restore, production's first. */
function filesOf({ config: { locations } }: RestoreDeps, { deployments }: Manifest): RestoredFile[] {
  const { production, staging } = deployments;
  const files = [{ name: 'production' as DeploymentName, path: production.file }];
  if (staging !== undefined) files.push({ name: 'staging', path: staging.file });
  return files.map(file => ({ ...file, to: (locations[file.name] as { file: string }).file }));
}

/** @throws {UserError} if there are databases, unless an interrupted restore has left them */
function requireEmptyDirectory(deps: RestoreDeps, manifest: Manifest): void {
  const files = filesOf(deps, manifest);
  // The temporary file of production is created first and renamed last: if it exists, the other files are from the same
  // restore.
  for (const { to } of isBegun(files) ? files.slice(0, 1) : files) {
    if (holdsData(to)) throw new UserError(`${to} exists: restore into an empty directory.`);
  }
}

/** Reports whether a restore has begun in the directory and is incomplete. */
function isBegun([production]: readonly RestoredFile[]): boolean {
  return existsSync(production!.to + RESTORING);
}

/**
 * Creates the temporary file of production, which makes every server and command reject the directory, and deletes the
 * databases that an interrupted restore has left.
 */
function beginFiles([production, ...others]: readonly RestoredFile[]): void {
  const draft = production!.to + RESTORING;
  createPrivateFile(draft);
  flushDirectory(dirname(draft));
  truncateSync(draft);
  for (const suffix of ['-wal', '-shm']) rmSync(draft + suffix, { force: true });
  for (const { to } of others) {
    for (const file of databaseFiles(to).concat(databaseFiles(to + RESTORING))) rmSync(file, { force: true });
  }
}

function holdsData(file: string): boolean {
  return databaseFiles(file).some(one => existsSync(one));
}

function requireSound(file: string, source: string, path: string): void {
  const copy = openCopy(file);
  try {
    if (copy.damage('quick', 1).length > 0) throw changed(source, path);
  } finally {
    copy.close();
  }
}

type PostgresLocations = Record<DeploymentName, { url: string }>;

/** Returns the databases to restore, production's last: without it no server starts. */
function databasesOf({ config: { locations } }: RestoreDeps): [DeploymentName, { url: string }][] {
  const { production, staging } = locations as PostgresLocations;
  const last: [DeploymentName, { url: string }] = ['production', { url: production.url }];
  return staging.url === production.url ? [last] : [['staging', { url: staging.url }], last];
}

/**
 * Accepts databases that an interrupted restore has marked: they contain only its own data.
 * @throws {UserError} if another database has tables, or the backup has a different number of databases
 */
async function requireEmptyDatabases(deps: RestoreDeps, { files }: Manifest): Promise<void> {
  const databases = databasesOf(deps);
  if (databases.length !== files.length) {
    throw new UserError(
      databases.length === 1
        ? 'The backup has staging in a database of its own: set PETSTORE_STAGING_DATABASE_URL to another empty database.'
        : "The backup has staging in production's database: unset PETSTORE_STAGING_DATABASE_URL.",
    );
  }
  const unmarked: { url: string }[] = [];
  for (const [, location] of databases) if (!(await isRestoring(location.url))) unmarked.push(location);
  await withPostgresSnapshots(unmarked, undefined, async snapshots => {
    if (snapshots.every(({ empty }) => empty)) return;
    throw new UserError('The database of the settings holds tables: restore into an empty database.');
  });
}

async function restorePostgres(
  deps: RestoreDeps,
  source: string,
  manifest: Manifest,
  newKey: NewKey,
): Promise<Restored['webhooks']> {
  const { config, environment, onProgress } = deps;
  const databases = databasesOf(deps);
  for (const [, { url }] of databases) await markRestoring(url, true);
  await restorePhotos(deps, source, manifest);
  for (const [name, { url }] of databases) {
    onProgress?.(`Restoring ${databases.length === 1 ? 'both deployments' : name}`, 0);
    // An interrupted restore may have completed the dump of a database, which is replaced then.
    const replacing = ['--clean', '--if-exists'];
    const options = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', ...replacing];
    const dump = join(source, manifest.deployments[name]!.file);
    await runOnPostgres('pg_restore', [...options, dump], { url, environment });
    await analyze(url);
  }
  for (const [, { url }] of databases) await markRestoring(url, false);
  const webhooks = [];
  for (const name of ['production', 'staging'] as const) {
    webhooks.push(...(await complete(deps, name, config.locations[name], newKey)));
  }
  return webhooks;
}
