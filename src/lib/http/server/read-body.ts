import type { Readable } from 'node:stream';

/** Why a body could not be read. */
export type BodyFault = 'body_too_large' | 'malformed_request';

/** The most pieces that a body may come in: more than a client sends that does not send byte by byte on purpose. */
const PIECES_MAX = 16_384;
const FIRST_BYTES = 16 * 1024;

/**
 * Reads a body into one piece of memory, of twice its size at most: a piece of one byte is an object of hundreds, and
 * nobody else can be served while each is looked at.
 * @param declared the request's `Content-Length`, where it has one
 * @param done told once: the bytes, or why there are none; what else comes is then no longer looked at
 */
export function readBody(
  body: Readable,
  { declared, bytesMax }: { readonly declared: string | undefined; readonly bytesMax: number },
  done: (read: { readonly bytes: Buffer } | { readonly fault: BodyFault }) => void,
): void {
  if (declared !== undefined && Number(declared) > bytesMax) {
    done({ fault: 'body_too_large' });
    return;
  }
  let bytes = Buffer.allocUnsafe(Math.min(bytesMax, Number(declared ?? FIRST_BYTES), FIRST_BYTES));
  let length = 0;
  let pieces = 0;
  body.on('data', take).on('end', finish).on('error', fail);
  body.resume();

  function take(piece: Buffer): void {
    const needed = length + piece.length;
    if (needed > bytesMax || ++pieces > PIECES_MAX) {
      end({ fault: 'body_too_large' });
      return;
    }
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(2 * bytes.length, needed)));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    length += piece.copy(bytes, length);
  }

  function finish(): void {
    if (declared !== undefined && Number(declared) !== length) fail();
    else end({ bytes: bytes.subarray(0, length) });
  }

  function fail(): void {
    end({ fault: 'malformed_request' });
  }

  function end(read: Parameters<typeof done>[0]): void {
    body.off('data', take).off('end', finish).off('error', fail);
    done(read);
  }
}
