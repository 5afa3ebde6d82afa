import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config, DatabaseLocation } from '../config.ts';
import { deleteFact } from '../facts.ts';
import { createEncryptor, type Encryptor } from '../lib/encryption.ts';
import type { Database } from '../lib/storage/database.ts';
import { openDatabase } from '../lib/storage/open.ts';
import { withPostgresSnapshots } from '../lib/storage/postgres/snapshots.ts';
import { openCopy } from '../lib/storage/sqlite/copy.ts';
import { RESTORING } from '../lib/storage/sqlite/data-directory.ts';
import { lockDataDirectory } from '../lib/storage/sqlite/directory-lock.ts';
import { flushDirectory } from '../lib/storage/sqlite/flush.ts';
import { UserError } from '../lib/user-error.ts';
import { migrations } from '../migrations/index.ts';
import { DiskStore } from '../photos/files/disk-store.ts';
import { openPhotoStore } from '../photos/files/open.ts';
import { copyPhotos } from '../photos/files/photo-copies.ts';
import { LOCATION_FACT } from '../photos/location.ts';
import type { DeploymentName } from '../schema.ts';
import { replaceSecrets } from '../webhooks/replace-secrets.ts';
import { checkKey, isKeyOf, loadSecretKey, readSecretKey } from '../webhooks/secret-key.ts';
import type { WebhookRow } from '../webhooks/webhook.ts';
import { type BackupDeps, writingError } from './backup.ts';
import { copyFile } from './digest.ts';
import { changed, type Manifest, photosIn, readManifest, verifyFiles } from './manifest.ts';
import { runOnPostgres } from './postgres-programs.ts';

/** What a restore needs. */
export interface RestoreDeps extends BackupDeps {
  readonly config: Pick<Config, 'locations' | 'dataDir' | 'secretKey' | 'previousSecretKey'>;
}

/** A restored backup, and the webhooks whose secrets were replaced, with their state before. */
export interface Restored {
  readonly manifest: Manifest;
  readonly webhooks: readonly { readonly deployment: DeploymentName; readonly webhook: WebhookRow }[];
}

/** Returns the key for the secrets of a deployment that cannot be decrypted any more; `undefined` if they can. */
type NewKey = (name: DeploymentName) => Encryptor | undefined;

/**
 * Restores a backup into the empty place that the settings name, and migrates it. Verifies every file first. An interrupted
 * restore leaves nothing that a server would use, and may be repeated.
 * @param newSecrets whether webhooks may get new secrets, if the secret key cannot decrypt those of the backup
 * @throws {UserError} if the backup is incomplete, damaged or of another engine, the target holds data or is being served,
 *   or the secret key is another one
 */
export async function restoreBackup(deps: RestoreDeps, directory: string, newSecrets: boolean): Promise<Restored> {
  const { config, onProgress } = deps;
  const source = resolve(directory);
  const manifest = readManifest(source);
  const embedded = 'file' in config.locations.production;
  if (embedded !== (manifest.engine === 'sqlite')) throw otherEngine(source, manifest);
  await verifyFiles(source, manifest, share => onProgress?.('Verifying', share));
  const newKey = newKeyFor(deps, manifest, newSecrets);
  // Before the databases, so that nothing serves these without their photos. Photos of the same content are the same.
  for (const name of Object.keys(manifest.photos ?? {}) as DeploymentName[]) {
    onProgress?.(`Restoring the photos of ${name}`, 0);
    const from = new DiskStore(photosIn(source, name));
    const { photos } = config.locations[name];
    await copyPhotos(from, await openPhotoStore(photos), from.hashes()).catch(error => {
      throw writingError(error, photos.directory);
    });
  }
  const webhooks = await (embedded ? restoreFiles : restorePostgres)(deps, source, manifest, newKey);
  return { manifest, webhooks };
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
    const found = key === undefined ? 'There is no secret key' : 'The secret key is another one';
    throw new UserError(
      `${found}, so the webhook secrets in the backup cannot be decrypted. Copy the secret.key that belongs to it to ${config.dataDir}, or set PETSTORE_SECRET_KEY. If that key is lost, restore with --new-webhook-secrets: every webhook gets a new secret and is disabled until its owner fetches the secret.`,
    );
  }
  const replacement = current ?? createEncryptor(loadSecretKey(config.dataDir));
  return name => (lost.some(([deployment]) => deployment === name) ? replacement : undefined);
}

/** Opens a restored database, which migrates it, and replaces the secrets that cannot be decrypted. */
async function complete(
  { clock }: RestoreDeps,
  name: DeploymentName,
  location: DatabaseLocation,
  newKey: NewKey,
): Promise<Restored['webhooks']> {
  const log = { info() {}, warn() {}, error() {} };
  const database: Database = await openDatabase(location, {
    ...{ migrations, clock, log, role: 'cli', migrate: true },
    origin: { command: 'restore' },
  });
  try {
    // The photos are elsewhere now.
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
  const drafts = files.map(({ to }) => to + RESTORING);
  try {
    removeInterrupted(files.map(({ to }) => to));
    for (const { to } of files)
      if (holdsData(to)) throw new UserError(`${to} exists: restore into an empty directory.`);
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
    // While the draft of production's file is there, no server and no command opens the database.
    for (const { to } of files.toReversed()) {
      renameSync(to + RESTORING, to);
      flushDirectory(dirname(to));
    }
    return webhooks;
  } catch (error) {
    for (const draft of drafts) removeDatabase(draft);
    throw writingError(error, config.dataDir);
  } finally {
    lock.release();
  }
}

/** Returns the files to restore, production's first. */
function filesOf({ config: { locations } }: RestoreDeps, { deployments }: Manifest) {
  const { production, staging } = deployments;
  const files = [{ name: 'production' as DeploymentName, path: production.file }];
  if (staging !== undefined) files.push({ name: 'staging', path: staging.file });
  return files.map(file => ({ ...file, to: (locations[file.name] as { file: string }).file }));
}

/**
 * Deletes what an interrupted restore has left. Its draft of production's file is written first and renamed last, so if that
 * exists, everything else is from the same restore.
 */
function removeInterrupted(files: readonly string[]): void {
  const [production, ...others] = files as [string, ...string[]];
  if (!existsSync(production + RESTORING)) return;
  for (const file of others) for (const one of [file, file + RESTORING]) removeDatabase(one);
  removeDatabase(production + RESTORING);
}

function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

function holdsData(file: string): boolean {
  return ['', '-wal', '-shm'].some(suffix => existsSync(file + suffix));
}

function requireSound(file: string, source: string, path: string): void {
  const copy = openCopy(file);
  try {
    if (copy.damage('quick', 1).length > 0) throw changed(source, path);
  } finally {
    copy.close();
  }
}

async function restorePostgres(
  deps: RestoreDeps,
  source: string,
  { deployments, files }: Manifest,
  newKey: NewKey,
): Promise<Restored['webhooks']> {
  const { config, environment, onProgress } = deps;
  const { production, staging } = config.locations as Record<DeploymentName, { url: string }>;
  const isShared = staging.url === production.url;
  if (isShared !== (files.length === 1)) {
    throw new UserError(
      isShared
        ? 'The backup has staging in a database of its own: set PETSTORE_STAGING_DATABASE_URL to another empty database.'
        : "The backup has staging in production's database: unset PETSTORE_STAGING_DATABASE_URL.",
    );
  }
  // Production last: without it no server starts.
  const dumps = (
    isShared
      ? [['production', production]]
      : [
          ['staging', staging],
          ['production', production],
        ]
  ) as [DeploymentName, { url: string }][];
  await withPostgresSnapshots(
    dumps.map(([, { url }]) => ({ url })),
    undefined,
    async snapshots => {
      if (snapshots.every(({ empty }) => empty)) return;
      throw new UserError('The database of the settings holds tables: restore into an empty database.');
    },
  );
  for (const [name, { url }] of dumps) {
    onProgress?.(`Restoring ${isShared ? 'both deployments' : name}`, 0);
    const options = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction'];
    await runOnPostgres('pg_restore', [...options, join(source, deployments[name]!.file)], { url, environment });
  }
  const webhooks = [];
  for (const name of ['production', 'staging'] as const) {
    webhooks.push(...(await complete(deps, name, config.locations[name], newKey)));
  }
  return webhooks;
}
