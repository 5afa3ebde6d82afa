import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Compressed } from '../lib/http/server/responses.ts';

export type { Compressed };

const [brotli, zip] = [promisify(brotliCompress), promisify(gzip)];

/** Compresses bytes that are served many times, on the thread pool. */
export async function compress(bytes: Buffer): Promise<Compressed> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return { br: await brotli(bytes, { params }), gzip: await zip(bytes, { level: 9 }) };
}
