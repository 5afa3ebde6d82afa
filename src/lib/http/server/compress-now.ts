import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/**
 * The maximum sizes of a text for good compression, and for any compression. Each takes about a millisecond of
 * processor time.
 */
const WELL_MAX = 192 * 1024;
const MAX = 384 * 1024;
/** The minimum size: compressing a smaller text saves less than headers and packets cost. */
const MIN = 1024;

/**
 * Compresses a text that is sent once, in at most about two milliseconds of processor time. Runs in the caller's
 * thread: on the thread pool, it would wait behind file flushes.
 * @returns the compressed text, or `undefined` to send the text uncompressed
 */
export function compressNow(text: string | Buffer, encoding: 'br' | 'gzip'): Buffer | undefined {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (bytes.length < MIN || bytes.length > MAX) return undefined;
  const isSmall = bytes.length <= WELL_MAX;
  if (encoding === 'gzip') return gzipSync(bytes, { level: isSmall ? 3 : 1 });
  const quality = isSmall ? 4 : 1;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params });
}
