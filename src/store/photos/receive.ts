import { type Deployment, nowOf } from '../../access/deployment.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import type { Draft } from '../../model/photo-files/photo-files.ts';
import { boundOf } from '../../model/plan.ts';
import type { Transaction } from '../../model/schema.ts';
import { findPhoto, keepPhoto, type PhotoFacts, photoBytes, photosOf, requireBytes } from '../photo-references.ts';
import type { HolderRow, PhotoHolders } from './holders.ts';
import { type AddOptions, addPhoto, requireRoom } from './photos.ts';
import { deleteFailedUpload } from './sweep.ts';

/** The dependencies of receiving photos. */
type ReceiveDeps = Pick<Deployment, 'bounds' | 'database' | 'clock' | 'photos'>;

/** The caller who uploads a photo, with the plan that bounds the photos of the account. */
export type Uploader = Actor & { readonly accountId: number; readonly plan: string };

/**
 * Receives the file of a photo for a pet or an organization, and discards it unless `add` stores and adds it.
 * @param add gets the hash of the file, and the function that encodes its sizes and stores them
 * @param options.isRetry whether `add` may replay an earlier response, even if the holder no longer exists
 * @throws {Problem} what `holders.get` throws; `not_owner`; `overloaded`; `invalid_photo`; `storage_full`; what reading
 *   the file throws
 */
export async function receivePhoto<Row extends HolderRow, T>(
  deployment: ReceiveDeps,
  holders: PhotoHolders<Row>,
  uploader: Uploader,
  id: number,
  file: AsyncIterable<Buffer>,
  add: (hash: string, store: () => Promise<PhotoFacts>) => Promise<T>,
  { isRetry = false } = {},
): Promise<T> {
  const { files } = deployment.photos;
  const requireHolder = async () => {
    const holder = await holders.get(deployment.database, uploader, id, nowOf(deployment));
    requireOwner(uploader, holders.ownerOf(holder));
    return holder;
  };
  if (!isRetry) await requireHolder();
  await using draft = await files.receive(file);
  let keptAt: number | null = null;
  const store = async () => {
    await requireSpace(deployment, holders, uploader, await requireHolder(), draft);
    const known = await findStored(deployment, draft.hash);
    if (known !== undefined) return known;
    const { hash, type, bytes } = draft;
    const facts = { hash, type, bytes, ...(await files.encode(draft, uploader.accountId)) };
    // Store the row first: if the process is killed now, the files are deleted like those of an unused photo.
    keptAt = await deployment.database.write(tx => keepPhoto(tx, facts));
    await files.add(draft);
    return facts;
  };
  try {
    return await add(draft.hash, store);
  } catch (error) {
    // Otherwise files that count for no account would stay for a day.
    if (keptAt !== null) {
      await deleteFailedUpload(deployment.database, files.store, draft.hash, keptAt).catch(() => {});
    }
    throw error;
  }
}

/** Adds a stored photo like `addPhoto`, within the plan of the account. */
export function addReceived<Row extends HolderRow>(
  tx: Transaction,
  { bounds }: Pick<Deployment, 'bounds'>,
  holders: PhotoHolders<Row>,
  uploader: Uploader,
  id: number,
  photo: PhotoFacts,
  options?: AddOptions,
) {
  const bytesMax = boundOf(bounds, uploader, 'photoBytes');
  return addPhoto(tx, holders, uploader, id, photo, bytesMax, options);
}

/** @throws {Problem} `not_owner` unless the actor is the account, or an admin */
export function requireOwner({ admin, accountId }: Actor, ownerId: number): void {
  if (!admin && ownerId !== accountId) throw problem('not_owner');
}

/**
 * Checks that a photo can be added before its sizes are encoded.
 * @throws {Problem} `photo_limit_exceeded`; `photo_storage_exceeded`
 */
async function requireSpace<Row extends HolderRow>(
  { database, bounds }: ReceiveDeps,
  holders: PhotoHolders<Row>,
  uploader: Uploader,
  holder: Row,
  { hash, bytes }: Pick<Draft, 'hash' | 'bytes'>,
): Promise<void> {
  const photos = photosOf(holder);
  if (photos.some(({ id }) => id === hash)) return;
  requireRoom(holders, holder.id, photos);
  if (holders.ownerOf(holder) !== uploader.accountId) return;
  requireBytes(await photoBytes.read(database, uploader.accountId), bytes, boundOf(bounds, uploader, 'photoBytes'));
}

/**
 * Returns a photo whose files are stored and will stay for at least a day.
 * @throws {Problem} `overloaded`
 */
async function findStored({ database, photos: { files } }: ReceiveDeps, hash: string): Promise<PhotoFacts | undefined> {
  const known = await findPhoto(database, hash);
  if (known === undefined) return undefined;
  await database.write(tx => keepPhoto(tx, known));
  return (await files.has(hash)) ? known : undefined;
}
