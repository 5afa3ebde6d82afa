import type { Deployment } from '../../../access/deployment.ts';
import { nowOf } from '../../../access/deployment.ts';
import type { OutgoingClient } from '../../../lib/http/client/client.ts';
import type { Download } from '../../../lib/http/client/download.ts';
import { BodyTooLarge } from '../../../lib/http/client/get-once.ts';
import { type Fault, RequestError } from '../../../lib/http/client/outcome.ts';
import { Problem } from '../../../lib/http/problem.ts';
import { spelled } from '../../../lib/text.ts';
import { durationIn } from '../../../lib/time.ts';
import { problem } from '../../../model/errors.ts';
import { PHOTO_BYTES_MAX, photoTypes } from '../../../model/photo.ts';
import { boundOf, MEBIBYTE } from '../../../model/plan.ts';
import { getPet } from '../../pets/pets.ts';
import { type PhotoFacts, photoBytes, photosOf } from '../../photo-references.ts';
import { petPhotos } from '../../photos/holders.ts';
import { requireRoom } from '../../photos/photos.ts';
import { receivePhoto, type Uploader } from '../../photos/receive.ts';
import type { ClaimedSource } from './sources.ts';
import { photoAddressIn } from './url.ts';

/** The dependencies of fetching photos. */
export interface FetchDeps {
  readonly deployment: Pick<Deployment, 'database' | 'clock' | 'bounds' | 'photos'>;
  readonly outgoing: OutgoingClient;
  /** The time limit of a photo with its redirects, in milliseconds. */
  readonly deadlineMs?: number;
}

const REDIRECTS_MAX = 3;
/** The time limit of a photo with its redirects. */
export const FETCH_MS = 30_000;

/**
 * Fetches a photo, with the limits of uploads. A photo of this deployment is read without a request.
 * @param add adds the photo once it is stored
 * @throws {Problem}, {RequestError}, {BodyTooLarge} or {StatusError} if there is no photo, or it cannot be added
 */
export async function fetchPhoto(
  { deployment, outgoing, deadlineMs = FETCH_MS }: FetchDeps,
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
    if (redirects > REDIRECTS_MAX)
      throw new StatusError(`The URL leads to more than ${spelled(REDIRECTS_MAX)} redirects.`);
    const timeoutMs = Math.max(1, endMs - performance.now());
    // The client checks each URL of a redirect again.
    next = await outgoing.get({ url: next, headers, bytesMax: PHOTO_BYTES_MAX, timeoutMs, signal }, async response => {
      const target = redirectOf(next!, response);
      if (target === undefined) await receive(response.body);
      return target;
    });
  }
}

/** Returns the account that imports a photo as its uploader. */
export function uploaderOf({ import: { account_id: accountId, plan } }: ClaimedSource): Uploader {
  return { accountId, plan, admin: false };
}

/** Checks before the fetch that a photo can be added. */
async function requireSpace(deployment: FetchDeps['deployment'], petId: number, uploader: Uploader): Promise<void> {
  const { database, bounds } = deployment;
  requireRoom(petPhotos, petId, photosOf(await getPet(database, petId, nowOf(deployment))));
  if ((await photoBytes.read(database, uploader.accountId)) < boundOf(bounds, uploader, 'photoBytes')) return;
  throw problem('photo_storage_exceeded');
}

/**
 * Returns the URL of a redirect; `undefined` if the response has a photo.
 * @throws {StatusError} if it has neither
 */
function redirectOf(url: string, { status, location, retryAfterMs }: Download): string | undefined {
  if (status === 200) return undefined;
  const target = [301, 302, 303, 307, 308].includes(status) ? URL.parse(location ?? '', url) : null;
  if (target === null) throw new StatusError(`The server responds with status ${status}.`, status, retryAfterMs);
  target.hash = '';
  return target.href;
}

/** Why a photo was not fetched. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Which URLs are retried: none, this URL, or all of its host; `always` does not count as an attempt. */
  readonly retry: 'never' | 'url' | 'host' | 'always';
  readonly retryAfterMs?: number | undefined;
}

/** The delay before a photo that could not be stored is fetched again. */
const STORAGE_RETRY_MS = 10 * 60_000;

/** A response without a photo. */
class StatusError extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status = 0, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Returns the failure of a photo for an error.
 * @throws errors that are faults of this process
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof RequestError) return { code: 'photo_unreachable', ...faults[error.fault] };
  if (error instanceof BodyTooLarge) {
    return {
      code: 'photo_too_large',
      message: `The file has more than ${PHOTO_BYTES_MAX / MEBIBYTE} MiB.`,
      retry: 'never',
    };
  }
  if (error instanceof StatusError) {
    const { status, message, retryAfterMs } = error;
    const isTemporary = status === 408 || status === 425 || status === 429 || status >= 500;
    return { code: 'photo_not_fetched', message, retry: isTemporary ? 'url' : 'never', retryAfterMs };
  }
  if (!(error instanceof Problem)) throw error;
  const { code, message, status } = error;
  if (status < 500) return { code, message, retry: 'never' };
  // The queue has free slots soon; a full disk stays full for a while, and each attempt fetches the file again.
  return { code, message, retry: 'always', ...(code !== 'overloaded' && { retryAfterMs: STORAGE_RETRY_MS }) };
}

const faults: Readonly<Record<Fault, Omit<Failure, 'code'>>> = {
  forbidden_url: {
    message: 'The URL of the photo, or of a redirect, is not allowed: it must begin with https://.',
    retry: 'never',
  },
  forbidden_address: { message: 'The address of the photo, or of a redirect, is not public.', retry: 'never' },
  unresolved: { message: 'The name of the host has no public address.', retry: 'host' },
  refused: { message: 'The host refuses connections.', retry: 'host' },
  unreachable: { message: 'The host cannot be reached.', retry: 'host' },
  tls: { message: 'The TLS handshake failed: the certificate may be invalid.', retry: 'host' },
  timeout: { message: `The file did not arrive within ${durationIn('second', FETCH_MS)}.`, retry: 'host' },
  reset: { message: 'The connection was closed before the end of the file.', retry: 'url' },
  malformed_answer: { message: 'The response is not valid HTTP.', retry: 'url' },
  busy: { message: 'The service sends too many requests.', retry: 'always' },
  withdrawn: { message: 'The request was withdrawn.', retry: 'always' },
  aborted: { message: 'The service is stopping.', retry: 'always' },
  failed: { message: 'The request could not be sent.', retry: 'url' },
};
