import type { IncomingMessage } from 'node:http';

/** The body, or the code of the error that it caused. */
export type Read =
  | { readonly bytes: Buffer }
  | { readonly error: 'body_too_large' | 'malformed_request' | 'overloaded' };

/** The most chunks of a body: more than any client sends that does not send single bytes on purpose. */
const CHUNKS_MAX = 16_384;
const BYTES_MAX = 1024 * 1024;
const FIRST_BYTES = 16 * 1024;
const noBytes = Buffer.alloc(0);

/**
 * Reads a body into one buffer of at most twice its size. Collecting the chunks instead would append hundreds of bytes of
 * memory for each, and processing many of them would delay other requests.
 * @param declared the request's `Content-Length`, if it has one
 * @param reserve called before memory is used: once with the declared length, otherwise whenever the buffer grows. When it
 *   returns false, the body is not read any further
 * @param done called once; later chunks are ignored
 * @param bytesMax the size of the largest body
 * @returns a function that stops reading, for a request that has its response already
 */
export function readBody(
  body: IncomingMessage,
  declared: string | undefined,
  reserve: (bytes: number) => boolean,
  done: (read: Read) => void,
  bytesMax = BYTES_MAX,
): () => void {
  const max = declared === undefined ? bytesMax : Number(declared);
  let bytes = noBytes;
  let length = 0;
  let chunks = 0;
  let ended = false;
  // The client may have gone while the request waited. Then no event follows.
  if (body.socket.destroyed) end({ error: 'malformed_request' });
  else if (max > bytesMax) end({ error: 'body_too_large' });
  else if (!reserve(declared === undefined ? FIRST_BYTES : max)) end({ error: 'overloaded' });
  else {
    bytes = Buffer.allocUnsafe(Math.min(max, FIRST_BYTES));
    body.on('data', append).on('end', finish).on('error', fail);
    body.resume();
  }
  return fail;

  function append(chunk: Buffer): void {
    if (ended) return;
    const needed = length + chunk.length;
    if (needed > bytesMax || ++chunks > CHUNKS_MAX) {
      end({ error: 'body_too_large' });
      return;
    }
    if (needed > bytes.length) {
      const size = Math.min(max, Math.max(2 * bytes.length, needed));
      if (declared === undefined && !reserve(size - bytes.length)) {
        end({ error: 'overloaded' });
        return;
      }
      const larger = Buffer.allocUnsafe(size);
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    length += chunk.copy(bytes, length);
  }

  function finish(): void {
    if (declared !== undefined && max !== length) fail();
    else end({ bytes: bytes.subarray(0, length) });
  }

  function fail(): void {
    end({ error: 'malformed_request' });
  }

  function end(read: Read): void {
    if (ended) return;
    ended = true;
    // The connection keeps its latest request, and with it this closure.
    bytes = noBytes;
    done(read);
  }
}
