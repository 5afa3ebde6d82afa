import type { ImportFormat } from '../records.ts';

/** The most bytes of white space that a file may begin with and still be recognized as NDJSON. */
const BEGINNING_MAX = 64 * 1024;

/** Returns the format of a file, with all its bytes: a file that begins with a brace is NDJSON, every other one CSV. */
export async function recognizeFormat(
  file: AsyncIterable<Buffer>,
): Promise<{ readonly format: ImportFormat; readonly file: AsyncIterable<Buffer> }> {
  const chunks = file[Symbol.asyncIterator]();
  let beginning = Buffer.alloc(0);
  let text = '';
  while (text === '' && beginning.length < BEGINNING_MAX) {
    const { done, value } = await chunks.next();
    if (done) break;
    beginning = Buffer.concat([beginning, value]);
    // It removes a byte order mark, too.
    text = beginning.toString('utf8').trimStart();
  }
  async function* whole() {
    yield beginning;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { format: text.startsWith('{') ? 'ndjson' : 'csv', file: whole() };
}
