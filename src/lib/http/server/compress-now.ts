import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** The most bytes of a text that is compressed well, and at all: each takes about a millisecond of processor time. */
const WELL_MAX = 192 * 1024;
const MAX = 384 * 1024;
/** Headers and packets cost more than a smaller text saves. */
const MIN = 1024;

/**
 * Compresses a text that is sent once, in at most some two milliseconds of processor time. It does so in the thread of the
 * caller: on the thread pool, it would wait behind the flushes of files.
 * @returns the compressed text, or `undefined` if the text stays as it is
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
