import type { Readable } from 'node:stream';

/** The body, or the code of the error that it caused. */
type Read = { readonly bytes: Buffer } | { readonly error: 'body_too_large' | 'malformed_request' };

/** The most chunks of a body: more than any client sends that does not send single bytes on purpose. */
const CHUNKS_MAX = 16_384;
const FIRST_BYTES = 16 * 1024;

/**
 * Reads a body into one buffer of at most twice its size. Collecting the chunks instead would append hundreds of bytes of
 * memory for each, and processing many of them would delay other requests.
 * @param declared the request's `Content-Length`, if it has one
 * @param done called once; later chunks are ignored
 */
export function readBody(
  body: Readable,
  { declared, bytesMax }: { readonly declared: string | undefined; readonly bytesMax: number },
  done: (read: Read) => void,
): void {
  if (declared !== undefined && Number(declared) > bytesMax) {
    done({ error: 'body_too_large' });
    return;
  }
  let bytes = Buffer.allocUnsafe(Math.min(bytesMax, Number(declared ?? FIRST_BYTES), FIRST_BYTES));
  let length = 0;
  let chunks = 0;
  let ended = false;
  body.on('data', append).on('end', finish).on('error', fail);
  body.resume();

  function append(chunk: Buffer): void {
    if (ended) return;
    const needed = length + chunk.length;
    if (needed > bytesMax || ++chunks > CHUNKS_MAX) {
      end({ error: 'body_too_large' });
      return;
    }
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(2 * bytes.length, needed)));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    length += chunk.copy(bytes, length);
  }

  function finish(): void {
    if (declared !== undefined && Number(declared) !== length) fail();
    else end({ bytes: bytes.subarray(0, length) });
  }

  function fail(): void {
    end({ error: 'malformed_request' });
  }

  function end(read: Read): void {
    if (ended) return;
    ended = true;
    done(read);
  }
}
