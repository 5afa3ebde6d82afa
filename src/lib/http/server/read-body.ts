import type { IncomingMessage, ServerResponse } from 'node:http';

/** The body, or the code of its error. */
export type Read =
  | { readonly bytes: Buffer }
  | { readonly error: 'body_too_large' | 'malformed_request' | 'overloaded' };

/** The maximum number of chunks of a body. Only a client that deliberately sends single bytes exceeds it. */
export const BODY_CHUNKS_MAX = 16_384;
export const BODY_BYTES_MAX = 1024 * 1024;
const FIRST_BYTES = 16 * 1024;
const noBytes = Buffer.alloc(0);

/**
 * Reads a body into one buffer of at most twice its size. Collecting the chunks instead would append hundreds of bytes
 * of memory for each, and processing many of them would delay other requests.
 * @param response reading stops when it has been sent or the client has disconnected
 * @param declared the request's `Content-Length`, if it has one
 * @param reserve called before memory is used: once with the declared length, otherwise whenever the buffer grows. If
 *   it returns false, reading stops
 * @param done called once; later chunks are ignored
 * @param bytesMax the size of the largest body
 */
export function readBody(
  body: IncomingMessage,
  response: ServerResponse,
  declared: string | undefined,
  reserve: (bytes: number) => boolean,
  done: (read: Read) => void,
  bytesMax = BODY_BYTES_MAX,
): void {
  const max = declared === undefined ? bytesMax : Number(declared);
  let bytes = noBytes;
  let length = 0;
  let chunks = 0;
  let ended = false;
  // If the client disconnected while the request waited, no event follows.
  if (body.socket.destroyed) end({ error: 'malformed_request' });
  else if (max > bytesMax) end({ error: 'body_too_large' });
  else if (!reserve(declared === undefined ? FIRST_BYTES : max)) end({ error: 'overloaded' });
  else {
    bytes = Buffer.allocUnsafe(Math.min(max, FIRST_BYTES));
    body.on('data', append).on('end', finish).on('error', fail);
    // Node emits no event for a body after it has responded itself, for example with 408.
    response.once('close', fail);
    body.resume();
  }

  function append(chunk: Buffer): void {
    if (ended) return;
    const needed = length + chunk.length;
    if (needed > bytesMax || ++chunks > BODY_CHUNKS_MAX) {
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
    const isWhole = declared === undefined || max === length;
    end(isWhole ? { bytes: bytes.subarray(0, length) } : { error: 'malformed_request' });
  }

  function fail(): void {
    end({ error: 'malformed_request' });
  }

  function end(read: Read): void {
    if (ended) return;
    ended = true;
    response.off('close', fail);
    // Release the bytes: the connection keeps this closure with its latest request.
    bytes = noBytes;
    done(read);
  }
}
