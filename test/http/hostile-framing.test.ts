import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chunksWithBareLf } from '../support/bare-lf.ts';
import { assertApiResponse, send, sendRaw, serve, type TestService } from '../support/serving.ts';

const body = '{"name":"Minka","categoryId":2}';
/** What a smuggler wants to be read as a request of its own: it would add an animal. */
const smuggledBody = '{"name":"Smuggled","categoryId":7}';

describe('malformed HTTP framing', () => {
  let serving: TestService;
  let base: string;
  let authorized: string;
  let key: string;

  before(async () => {
    serving = await serve();
    base = serving.urls.production;
    key = (await serving.newKey()).token;
    authorized = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  });
  after(() => serving.stop());

  const smuggled = () =>
    `POST /v1/pets HTTP/1.1\r\n${authorized}Content-Length: ${smuggledBody.length}\r\n\r\n${smuggledBody}`;
  const list = () => `GET /v1/pets?limit=1 HTTP/1.1\r\n${authorized}\r\n`;
  const create = () => `POST /v1/pets HTTP/1.1\r\n${authorized}Content-Length: ${body.length}\r\n\r\n${body}`;

  /** The statuses of all answers to bytes on one connection, each checked; the connection ends by itself. */
  async function statuses(bytes: string | readonly string[], options = {}): Promise<number[]> {
    const { replies, rest, closed } = await sendRaw(base, bytes, { end: true, waitMs: 5000, ...options });
    assert.ok(closed, 'the connection ends');
    assert.equal(rest, '', 'nothing behind the last answer');
    for (const reply of replies) assertApiResponse(reply);
    return replies.map(({ status }) => status);
  }

  async function countSmuggled(): Promise<number> {
    const { headers } = await send(`${base}/pets?categoryId=7`, { key, headers: { Prefer: 'count=exact' } });
    return Number(headers['x-total-count']);
  }

  const heads: Record<string, string> = {
    'a length and chunks': 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n',
    'chunks and a length': 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
    'two lengths': 'Content-Length: 0\r\nContent-Length: 4\r\n',
    'two equal lengths': 'Content-Length: 4\r\nContent-Length: 4\r\n',
    'two lengths in one': 'Content-Length: 4, 4\r\n',
    'a signed length': 'Content-Length: +4\r\n',
    'a length in hexadecimal': 'Content-Length: 0x4\r\n',
    'a length with a space within': 'Content-Length: 1 4\r\n',
    'an empty length': 'Content-Length: \r\n',
    'a length beyond every bound': 'Content-Length: 18446744073709551617\r\n',
    identity: 'Transfer-Encoding: identity\r\n',
    'chunks that are not last': 'Transfer-Encoding: chunked, identity\r\n',
    'compressed chunks': 'Transfer-Encoding: gzip, chunked\r\n',
    'chunks twice': 'Transfer-Encoding: chunked, chunked\r\n',
    'two encodings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
    'two chunked encodings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
    'a misspelt encoding': 'Transfer-Encoding: xchunked\r\n',
    'a quoted encoding': 'Transfer-Encoding: "chunked"\r\n',
    'an encoding with a vertical tab': 'Transfer-Encoding: \x0bchunked\r\n',
    'an encoding behind a parameter': 'Transfer-Encoding: chunked;q=1\r\n',
    'an empty encoding': 'Transfer-Encoding:\r\n',
    'a space before the colon': 'Transfer-Encoding : chunked\r\n',
    'a tab before the name': '\tTransfer-Encoding: chunked\r\n',
    'a folded encoding': 'Transfer-Encoding:\r\n chunked\r\n',
    'a bare CR before it': 'X: y\rTransfer-Encoding: chunked\r\n',
    'a bare LF before it': 'X: y\nTransfer-Encoding: chunked\r\n',
    'a NUL in it': 'Transfer-Encoding: chun\0ked\r\n',
  };

  for (const [what, head] of Object.entries(heads)) {
    it(`with ${what} returns one 400 and ignores what follows`, async () => {
      const before = await countSmuggled();
      for (const content of [`0\r\n\r\n${smuggled()}`, `4\r\n${smuggled()}`, smuggled()]) {
        const answered = await statuses(`POST /v1/pets HTTP/1.1\r\n${authorized}${head}\r\n${content}`);
        assert.deepEqual(answered, [400]);
      }
      assert.equal(await countSmuggled(), before);
    });
  }

  it('in chunks returns one 400 and ignores what follows', async () => {
    const before = await countSmuggled();
    const head = `POST /v1/pets HTTP/1.1\r\n${authorized}Transfer-Encoding: chunked\r\n\r\n`;
    for (const chunks of [
      'x\r\n',
      '-1\r\n',
      '0x2\r\n{}\r\n0\r\n\r\n',
      '2 \r\n{}\r\n0\r\n\r\n',
      ' 2\r\n{}\r\n0\r\n\r\n',
      '2\r\n{}0\r\n\r\n',
      '2\r\n{}x\r\n0\r\n\r\n',
      '2;a\rb\r\n{}\r\n0\r\n\r\n',
      '10000000000000002\r\n{}\r\n0\r\n\r\n',
      '\r\n2\r\n{}\r\n0\r\n\r\n',
    ]) {
      assert.deepEqual(await statuses(`${head}${chunks}${smuggled()}`), [400], JSON.stringify(chunks));
    }
    assert.equal(await countSmuggled(), before);
  });

  it('in chunks with a line that ends with a bare LF returns one 400, however they are split', async () => {
    const before = await countSmuggled();
    const head = `POST /v1/pets HTTP/1.1\r\n${authorized}Transfer-Encoding: chunked\r\n\r\n`;
    for (const [what, chunks] of Object.entries(chunksWithBareLf(body, smuggled()))) {
      const bytes = head + chunks;
      assert.deepEqual(await statuses(bytes), [400], what);
      assert.deepEqual(await statuses(bytes.split(/(?<=\n)|(?=\n)/)), [400], what);
    }
    assert.equal(await countSmuggled(), before);
  });

  it('in a head with a line that ends with a bare LF returns one 400', async () => {
    const before = await countSmuggled();
    for (const wrong of [
      list().replace(' HTTP/1.1\r\n', ' HTTP/1.1\n'),
      list().replace(' HTTP/1.1\r\n', '\n'),
      list().replace('Host: x\r\n', 'Host: x\n'),
      list().replace(/\r\n$/, '\n'),
      list().replaceAll('\r\n', '\n'),
    ]) {
      assert.deepEqual(await statuses(wrong + smuggled()), [400], JSON.stringify(wrong));
    }
    assert.equal(await countSmuggled(), before);
  });

  it('with endless chunk extensions is rejected', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\n${authorized}Transfer-Encoding: chunked\r\n\r\n`;
    assert.deepEqual(await statuses(`${head}2;${'a'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n`), [413]);
    const many = Array.from(body, character => `1;x=${'y'.repeat(40)}\r\n${character}\r\n`).join('');
    assert.deepEqual(await statuses(`${head}${many}0\r\n\r\n`), [201]);
  });

  it('with endless trailers is rejected', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\n${authorized}Transfer-Encoding: chunked\r\n\r\n`;
    assert.deepEqual(await statuses(`${head}0\r\n${'X-Y: zzzzzzzzzzzzzzzzzzzz\r\n'.repeat(2000)}\r\n`), [431]);
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
    const harmless = 'Authorization: x\r\nHost: y\r\nX-Request-Id: z\r\n';
    assert.deepEqual(await statuses(`${head}${chunk}0\r\n${harmless}\r\n${list()}`), [201, 200]);
    for (const trailer of ['Content-Length: 4', 'Transfer-Encoding: chunked']) {
      assert.deepEqual(await statuses(`${head}${chunk}0\r\n${trailer}\r\n\r\n${list()}`), [400]);
    }
  });

  it('does not reject valid chunks, however they are split', async () => {
    const chunk = `${body.length.toString(16).padStart(6, '0').toUpperCase()}\r\n${body}\r\n0\r\n\r\n`;
    const bytes = `POST /v1/pets HTTP/1.1\r\n${authorized}transfer-encoding: CHUNKED\r\n\r\n${chunk}`;
    assert.deepEqual(await statuses(bytes.split('')), [201]);
    assert.deepEqual(await statuses(bytes + bytes + list()), [201, 201, 200]);
  });

  it('after valid requests gets one response after theirs, and ends the connection', async () => {
    const before = await countSmuggled();
    for (const broken of [
      'NONSENSE\r\n\r\n',
      'GET /v1/pets HTTP/1.1\r\nBad Header: x\r\n\r\n',
      '\0\0\0\0',
      'GET / HTTP/9\r\n\r\n',
    ]) {
      const answered = await statuses(create() + list() + broken + smuggled());
      assert.deepEqual(answered, [201, 200, 400], JSON.stringify(broken));
    }
    assert.deepEqual(
      await statuses(
        `${create()}${list()}POST /v1/pets HTTP/1.1\r\n${authorized}Content-Length: x\r\n\r\n${smuggled()}`,
      ),
      [201, 200, 400],
    );
    assert.deepEqual(await statuses(`${list()}${create()}GET /v1/pets HTTP/1.1\r\n\r\n${smuggled()}`), [200, 201, 400]);
    assert.equal(await countSmuggled(), before);
  });

  it('gets no response after a response that ends the connection', async () => {
    const before = await countSmuggled();
    const closing = create().replace('\r\n', '\r\nConnection: close\r\n');
    assert.deepEqual(await statuses(closing + smuggled()), [201]);
    assert.deepEqual(await statuses(`${closing}NONSENSE\r\n\r\n`), [201]);
    assert.deepEqual(await statuses(`GET /v1/pets HTTP/1.0\r\n${authorized}\r\n${smuggled()}`), [200]);
    assert.deepEqual(await statuses(`${list().replace('\r\n', '\r\nExpect: x\r\n')}${smuggled()}`), [417]);
    assert.deepEqual(await statuses(`${list().replace('/pets', '/%ZZ')}${smuggled()}`), [400]);
    assert.equal(await countSmuggled(), before);
  });

  it('gets one response per request, in order', async () => {
    const bytes = Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? create() : list())).join('');
    assert.deepEqual(
      await statuses(bytes),
      Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? 201 : 200)),
    );
    const ids = Array.from(
      { length: 40 },
      (_, index) => `GET /v1/nothing HTTP/1.1\r\n${authorized}X-Request-Id: r${index}\r\n\r\n`,
    );
    const { replies } = await sendRaw(base, ids.join(''), { count: 40 });
    assert.deepEqual(
      replies.map(({ headers }) => headers['x-request-id']),
      ids.map((_, index) => `r${index}`),
    );
  });

  it('is ignored in the body of a request that reads none', async () => {
    const before = await countSmuggled();
    const inside = smuggled();
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']) {
      const bytes = `${method} /v1/pets?limit=1 HTTP/1.1\r\n${authorized}Content-Length: ${inside.length}\r\n\r\n${inside}`;
      const { replies } = await sendRaw(base, bytes + list(), { end: true, heads: method === 'HEAD' });
      if (method !== 'HEAD') assert.equal(replies.length, 2, method);
      assert.ok(replies.every(({ status }) => status !== 201));
    }
    assert.equal(await countSmuggled(), before);
  });

  it('that is cut off ends the connection, with 400 if any bytes arrived', async () => {
    const whole = create();
    for (const length of [1, 10, 40, 100, whole.length - 1]) {
      const answered = await statuses(whole.slice(0, length));
      assert.deepEqual(answered, [400], `after ${length} bytes`);
    }
    assert.deepEqual(await statuses(''), []);
  });

  it('of huge or deep bodies returns 400, and the next request succeeds', async () => {
    for (const text of [
      '['.repeat(1024 * 1024),
      '{"a":'.repeat(200_000),
      `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
      `{"name":"x","categoryId":2,"more":${'['.repeat(400_000)}${']'.repeat(400_000)}`,
      `{"name":${'9'.repeat(1_000_000)}}`,
      `"${'\\u0000'.repeat(170_000)}"`,
    ]) {
      const reply = await send(`${base}/pets`, { method: 'POST', key, body: text });
      assert.equal(reply.status, 400, text.slice(0, 10));
      assertApiResponse(reply);
    }
    const deep = (levels: number) => `{"name":"x","categoryId":2,"more":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const post = (text: string, headers = {}) => send(`${base}/pets`, { method: 'POST', key, body: text, headers });
    assert.equal((await post(deep(9000) + ' '.repeat(100_000))).status, 201);
    assert.equal((await post(deep(9000), { Prefer: 'handling=strict' })).status, 400);
    assert.equal((await post(deep(400_000))).body.code, 'invalid_json');
    const brackets = `{"name":"x","categoryId":2,"more":"\\"${'['.repeat(400_000)}"}`;
    assert.equal((await post(brackets)).status, 201);
    assert.equal((await send(`${base}/pets?limit=1`, { key })).status, 200);
  });
});
