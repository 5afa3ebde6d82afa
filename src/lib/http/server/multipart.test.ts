import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../problem.ts';
import { readFileForm } from './multipart.ts';

/** Returns the form that a browser would send, with its type. */
async function sent(fields: Readonly<Record<string, string | Buffer>>) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)]), 'a "photo".jpg');
  }
  const response = new Response(form);
  return { type: response.headers.get('content-type')!, bytes: Buffer.from(await response.arrayBuffer()) };
}

async function* inChunks(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

const malformed = (error: unknown) => error instanceof Problem && error.code === 'malformed_request';

describe('a form with a file', () => {
  it('is read whatever the chunks, with a file that looks like the end of a part', async () => {
    const file = Buffer.from('\r\n--\r\n\r\n------formdata\r\n\r\n-\r\n');
    const { type, bytes } = await sent({ token: 'a=b & ü', file, later: 'x' });
    for (const length of [1, 2, 7, 50, bytes.length]) {
      const form = await readFileForm(inChunks(bytes, length), type);
      assert.equal(form.fields.get('token'), 'a=b & ü');
      assert.deepEqual(Buffer.concat(await Array.fromAsync(form.file!)), file, `chunks of ${length}`);
      assert.equal(form.fields.get('later'), null);
    }
  });

  it('may have no file, or an empty one', async () => {
    const none = await sent({ token: 'x' });
    assert.equal((await readFileForm(inChunks(none.bytes, 9), none.type)).file, undefined);
    const empty = await sent({ token: '', file: Buffer.alloc(0) });
    const form = await readFileForm(inChunks(empty.bytes, 9), empty.type);
    assert.deepEqual([form.fields.get('token'), await Array.fromAsync(form.file!)], ['', []]);
  });

  it('is rejected if it is cut off, is another type, or has large or many fields', async () => {
    const { type, bytes } = await sent({ token: 'x', file: Buffer.alloc(100) });
    for (let end = 0; end < bytes.length - 4; end += 3) {
      await assert.rejects(async () => {
        const { file } = await readFileForm(inChunks(bytes.subarray(0, end), 20), type);
        await Array.fromAsync(file!);
      }, malformed);
    }
    await assert.rejects(
      readFileForm(inChunks(bytes, 9), 'application/json'),
      (error: Problem) => error.code === 'invalid_content_type',
    );
    const large = await sent({ token: 'x'.repeat(5000) });
    await assert.rejects(readFileForm(inChunks(large.bytes, 900), large.type), malformed);
    const many = await sent(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, ''])));
    await assert.rejects(readFileForm(inChunks(many.bytes, 900), many.type), malformed);
    const other = await sent({ token: 'x' });
    await assert.rejects(readFileForm(inChunks(other.bytes, 9), type), malformed);
  });
});
