import type { Deployment } from '../../deployment.ts';
import { nowOf } from '../../deployment.ts';
import { problem } from '../../errors.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { Download } from '../../lib/http/client/download.ts';
import { getPet } from '../../pets/pets.ts';
import { petPhotos } from '../../photos/holders.ts';
import { PHOTO_BYTES_MAX, photoTypes } from '../../photos/photo.ts';
import { requireRoom } from '../../photos/photos.ts';
import { receivePhoto, type Uploader } from '../../photos/receive.ts';
import { type PhotoFacts, photoBytes, photosOf } from '../../photos/references.ts';
import { boundOf } from '../../plans/plan.ts';
import type { ClaimedSource } from './claim.ts';
import { StatusError } from './failure.ts';
import { photoAddressIn } from './url.ts';

/** What fetching photos needs. */
export interface FetchDeps {
  readonly deployment: Pick<Deployment, 'database' | 'clock' | 'bounds' | 'photos'>;
  readonly outgoing: OutgoingClient;
  /** How long a photo may take with its redirects, in milliseconds. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 30_000;
const REDIRECTS_MAX = 3;

/**
 * Fetches a photo, with the limits of one that is uploaded. A photo of this deployment is read without a request.
 * @param add adds the photo once it is stored
 * @throws {Problem}, {RequestError}, {BodyTooLarge} or {StatusError} if there is no photo, or it cannot be added
 */
export async function fetchPhoto(
  { deployment, outgoing, deadlineMs = DEADLINE_MS }: FetchDeps,
  source: ClaimedSource,
  signal: AbortSignal,
  add: (facts: PhotoFacts) => Promise<void>,
): Promise<void> {
  const { pet_id: petId, url } = source;
  const uploader = uploaderOf(source);
  await requireSpace(deployment, petId, uploader);
  const receive = (file: AsyncIterable<Buffer>) =>
    receivePhoto(deployment, petPhotos, uploader, petId, file, async (_, store) => add(await store()));
  const address = photoAddressIn(url);
  const stored = address && (await deployment.photos.files.find(address.hash, address.size));
  if (stored !== undefined) return receive(stored.parts);

  const endMs = performance.now() + deadlineMs;
  const headers = { accept: photoTypes.join(', '), 'user-agent': 'Petstore-Photos/1' };
  let next: string | undefined = url;
  for (let redirects = 0; next !== undefined; redirects++) {
    if (redirects > REDIRECTS_MAX) throw new StatusError('It leads to more than three redirects.');
    const timeoutMs = Math.max(1, endMs - performance.now());
    // Each URL passes the checks of the client again.
    next = await outgoing.get({ url: next, headers, bytesMax: PHOTO_BYTES_MAX, timeoutMs, signal }, async response => {
      const target = redirectOf(next!, response);
      if (target === undefined) await receive(response.body);
      return target;
    });
  }
}

/** Returns the account that imports a photo. */
export function uploaderOf({ import: { account_id: accountId, plan } }: ClaimedSource): Uploader {
  return { accountId, plan, admin: false };
}

/** Requires that a photo can be added before it is fetched. */
async function requireSpace(deployment: FetchDeps['deployment'], petId: number, uploader: Uploader): Promise<void> {
  const { database, bounds } = deployment;
  requireRoom(petPhotos, petId, photosOf(await getPet(database, petId, nowOf(deployment))));
  if ((await photoBytes.read(database, uploader.accountId)) < boundOf(bounds, uploader, 'photoBytes')) return;
  throw problem('photo_storage_exceeded');
}

/** Returns where a redirect leads; `undefined` if the response has a photo. @throws {StatusError} if it has none */
function redirectOf(url: string, { status, location, retryAfterMs }: Download): string | undefined {
  if (status === 200) return undefined;
  const target = [301, 302, 303, 307, 308].includes(status) ? URL.parse(location ?? '', url) : null;
  if (target === null) throw new StatusError(`The server responds with status ${status}.`, status, retryAfterMs);
  target.hash = '';
  return target.href;
}
