import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Check } from 'typebox/value';
import { type Static, Type } from '../../lib/type.ts';
import { UserError } from '../../lib/user-error.ts';
import { migrations } from '../../model/migrations/index.ts';
import { damageOf } from '../../model/photo-files/photo-copies.ts';
import { changed, readDigest } from './digest.ts';
import { PHOTOS, photosIn, verifySums } from './photo-sums.ts';

/** The file that describes a backup. It is written last: a directory without it is not a complete backup. */
const MANIFEST = 'manifest.json';

const Time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' });

const Deployment = Type.Object({
  /** The file that contains the deployment. On PostgreSQL, both deployments may be in one file. */
  file: Type.String({ pattern: '^[a-z]+\\.(db|dump)$' }),
  /** The last migration that the database had. */
  schema: Type.String(),
  /** The result of `keyCheckOf`, which shows whether a secret key can decrypt the secrets; null if there are none. */
  secretKeyCheck: Type.Union([Type.String(), Type.Null()]),
});

const Digest = { bytes: Type.Integer({ minimum: 0 }), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) };

const Photos = Type.Object({
  photos: Type.Integer({ minimum: 0 }),
  /** How many photos had no files when the backup was made. */
  missing: Type.Integer({ minimum: 0 }),
  /**
   * The digest of the list of file digests; see `sumsOf`. Absent without photos, and in backups of earlier releases.
   */
  sums: Type.Optional(Type.Object(Digest)),
});

const Manifest = Type.Object({
  product: Type.Literal('petstore'),
  version: Type.String(),
  engine: Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')]),
  startedAt: Time,
  finishedAt: Time,
  deployments: Type.Object({ production: Deployment, staging: Type.Optional(Deployment) }),
  /** The photos in the directory `photos`. Absent in backups of earlier releases. */
  photos: Type.Optional(Type.Object({ production: Type.Optional(Photos), staging: Type.Optional(Photos) })),
  /** The files of the databases, by their path in the directory. */
  files: Type.Array(Type.Object({ path: Type.String({ pattern: '^[a-z]+\\.(db|dump)$' }), ...Digest })),
});

/** The description of a backup. */
export type Manifest = Static<typeof Manifest>;
export type BackedUpDeployment = Static<typeof Deployment>;

export function writeManifest(directory: string, manifest: Manifest): void {
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  writeFileSync(join(directory, MANIFEST), text, { flag: 'wx', mode: 0o600, flush: true });
}

/**
 * Reads the manifest of a backup, without its files.
 * @throws {UserError} if the directory has no manifest, or the backup is of a newer release
 */
export function readManifest(directory: string): Manifest {
  const manifest = parseManifest(directory);
  const { version, deployments } = manifest;
  for (const { schema } of Object.values(deployments)) {
    if (migrations.some(({ name }) => name === schema)) continue;
    throw new UserError(`The backup in ${directory} was made by a newer release, ${version}: use that release.`);
  }
  return manifest;
}

/** Like `readManifest`, but also accepts a newer release. */
export function parseManifest(directory: string): Manifest {
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(join(directory, MANIFEST), 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw changed(directory, MANIFEST);
    throw new UserError(`There is no backup in ${directory}: its ${MANIFEST} cannot be read (${code}).`);
  }
  if (!Check(Manifest, manifest)) throw changed(directory, MANIFEST);
  const { deployments, files } = manifest;
  for (const { file } of Object.values(deployments)) {
    if (!files.some(({ path }) => path === file)) throw changed(directory, MANIFEST);
  }
  return manifest;
}

/**
 * Reads every file of a backup and compares it with the manifest.
 * @param onProgress called with the current step and its completed share, from 0 to 1
 * @throws {UserError} naming the first file that is missing, truncated or changed
 */
export async function verifyFiles(
  directory: string,
  { files, photos = {} as NonNullable<Manifest['photos']> }: Manifest,
  onProgress?: (step: string, share: number) => void,
): Promise<void> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  for (const { path, bytes, sha256 } of files) {
    const digest = await readDigest(directory, path, done => onProgress?.('Verifying', (before + done) / total));
    if (digest.bytes !== bytes || digest.sha256 !== sha256) throw changed(directory, path);
    before += bytes;
  }
  for (const [name, stored] of Object.entries(photos)) {
    await verifyPhotos(directory, name, stored, share => onProgress?.(`Verifying the photos of ${name}`, share));
  }
}

async function verifyPhotos(
  directory: string,
  name: string,
  { photos: expected, sums }: NonNullable<NonNullable<Manifest['photos']>['production']>,
  onProgress: (share: number) => void,
): Promise<void> {
  const onPhoto = (done: number) => onProgress(done / expected);
  const listed = sums && (await verifySums(directory, name, sums, onPhoto));
  let found = 0;
  const store = photosIn(directory, name);
  for await (const hash of store.hashes()) {
    found++;
    if (sums !== undefined) continue;
    if ((await damageOf(store, hash)) !== undefined) throw changed(directory, `the photo ${hash}`);
    onPhoto(found);
  }
  if (found !== expected || (listed ?? found) !== expected) throw changed(directory, `${PHOTOS}/${name}`);
}
