import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { long } from '../support/selection.ts';
import {
  assertApiResponse,
  dial,
  newProcessKey,
  type Process,
  type RawReply,
  send,
  sendRaw,
  spawnService,
} from '../support/serving.ts';

/** Every form is repeated exactly by its seed: `PETSTORE_TEST_SEED=…`. */
const seed = Number(process.env.PETSTORE_TEST_SEED ?? randomInt(2 ** 31));
const counts = long
  ? { bodies: 15_000, queries: 15_000, mutations: 25_000 }
  : { bodies: 1200, queries: 1200, mutations: 2000 };

/** Stands where secrets stand, and must appear nowhere else. */
const canary = 'C4n4ryC4n4ryC4n4ryC4n4ry';
/** What an answer must never show: a stack, a path of the program, the words of a parser or an engine. */
const leak = new RegExp(
  `${canary}|node_modules|node:internal|\\.ts:\\d|\\bat [A-Z]\\w+\\.|SQLITE|sqlite|FST_|HPE_|Unexpected token`,
);

describe('thousands of bad requests', () => {
  let service: Process;
  let key: string;
  let base: string;
  let memoryKiB: number;

  before(async () => {
    service = await spawnService();
    base = service.urls.production;
    key = await newProcessKey(service);
    for (let index = 0; index < 300; index++) await create({ name: `Pet ${index}`, categoryId: (index % 8) + 1 });
  });
  after(async () => {
    await service.stop();
    await service.remove();
  });

  const create = (body: unknown) => send(`${base}/pets`, { method: 'POST', key, body });

  it('with arbitrary JSON return 201 if it is valid, 400 otherwise', async t => {
    t.diagnostic(`PETSTORE_TEST_SEED=${seed}`);
    await together(fc.sample(bodies, { seed, numRuns: counts.bodies }), async body => {
      const reply = await create(body);
      assertApiResponse(reply, body);
      if (reply.status >= 300) assert.doesNotMatch(reply.text, leak);
      const pet = JSON.parse(body);
      if (!isNewPet(pet)) {
        assert.equal(reply.status, 400, body);
        assert.equal(reply.body.code, 'invalid_body');
        return;
      }
      assert.equal(reply.status, 201, body);
      const { name, categoryId, status = 'available' } = pet;
      assert.equal(reply.text, JSON.stringify({ id: reply.body.id, name, categoryId, status }));
    });
  });

  it('with arbitrary queries return 200 or 400', async () => {
    const seen: Record<number, number> = {};
    await together(fc.sample(queries, { seed, numRuns: counts.queries }), async query => {
      const { replies } = await sendRaw(base, [
        `GET /v1/pets?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
      ]);
      const reply = onlyOne(replies, query);
      assertApiResponse(reply, query);
      assert.ok(reply.status === 200 || reply.status === 400, `${query} ${reply.status} ${reply.text}`);
      if (reply.status >= 300) assert.doesNotMatch(reply.text, leak);
      seen[reply.status] = (seen[reply.status] ?? 0) + 1;
    });
    assert.ok(seen[200]! > 50 && seen[400]! > 50, JSON.stringify(seen));
    memoryKiB = await residentKiB();
  });

  it('with random bytes get well-formed responses in order, or a closed connection', async t => {
    const seen = await sendMutations(base, [...goodRequests(key), ...viewRequests(key)], counts.mutations, reply => {
      // Other tests assert what the MCP server responds.
      if ('x-ratelimit-limit' in reply.headers && reply.body?.jsonrpc === undefined) assertApiResponse(reply);
      assert.ok(reply.status < 500);
    });
    t.diagnostic(JSON.stringify(seen));
    assert.ok(seen[400]! > 100, JSON.stringify(seen));
  });

  it('with random bytes get such responses from the classic Petstore', async t => {
    const seen = await sendMutations(service.urls.staging, classicRequests(), counts.mutations / 4, reply => {
      // The original fails for some invalid requests.
      if (reply.status >= 500) assert.match(reply.text, /something bad happened|There was an error|^$/);
    });
    t.diagnostic(JSON.stringify(seen));
    assert.ok(seen[200]! > 20 && seen[400]! > 20, JSON.stringify(seen));
  });

  /** Sends random changes of requests, asserts each response, and returns the number of responses by status. */
  async function sendMutations(
    url: string,
    requests: readonly Buffer[],
    numRuns: number,
    assertReply: (reply: RawReply) => void,
  ): Promise<Record<string, number>> {
    const seen: Record<string, number> = {};
    await together(fc.sample(mutations(requests), { seed, numRuns }), async bytes => {
      const { replies, closed } = await sendRaw(url, bytes, { end: true, waitMs: 10_000 });
      const what = JSON.stringify(bytes.toString('latin1'));
      assert.ok(closed, `hangs: ${what}`);
      for (const reply of replies) {
        assert.doesNotThrow(() => assertReply(reply), `${reply.status} ${reply.text}: ${what}`);
        if (reply.status >= 300) assert.doesNotMatch(reply.text, leak);
        seen[reply.status] = (seen[reply.status] ?? 0) + 1;
      }
    });
    return seen;
  }

  it('that are pipelined without reading responses neither delay others nor use memory', async t => {
    const body = '{"name":"Minka","categoryId":2}';
    const request = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const bytes = Buffer.from(request.repeat(long ? 20_000 : 4000));
    const sockets = Array.from({ length: 20 }, () =>
      dial(base)
        .on('error', () => {})
        .pause(),
    );
    for (const socket of sockets) socket.write(bytes);
    for (let index = 0; index < 20; index++) assert.equal((await send(`${base}/pets?limit=1`, { key })).status, 200);
    const during = await residentKiB();
    for (const socket of sockets) socket.destroy();
    t.diagnostic(`${Math.round(during / 1024)} MiB`);
    assert.ok(during < memoryKiB + 250 * 1024, `memory grew from ${memoryKiB} to ${during} KiB`);
    assert.equal((await create({ name: 'x', categoryId: 1 })).status, 201);
    memoryKiB = Math.max(memoryKiB, during);
  });

  it('leave the service responsive, its memory steady, and its log empty and free of secrets', async t => {
    const reply = await send(`${base}/pets?limit=1`, { key });
    assert.equal(reply.status, 200);
    assert.equal(service.child.exitCode, null);
    const after = await residentKiB();
    t.diagnostic(`${Math.round(memoryKiB / 1024)} MiB, then ${Math.round(after / 1024)} MiB`);
    assert.ok(after < memoryKiB + 80 * 1024, `memory grew from ${memoryKiB} to ${after} KiB`);
    assert.ok(!service.log().includes(canary), 'a secret in the log');
    assert.ok(!service.log().includes(key), 'a key in the log');
    assert.ok(!service.log().includes('internal_error'), service.log().slice(0, 2000));
  });

  /** Resident memory of the service; undefined systems have no such file and are left out by `long` runs elsewhere. */
  async function residentKiB(): Promise<number> {
    const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8').catch(() => 'VmRSS: 0 kB');
    return Number(/VmRSS:\s+(\d+)/.exec(status)![1]);
  }
});

/** The contract's NewPet with the bounds of the decision "requests and answers", said once more and otherwise. */
function isNewPet(value: unknown): value is { name: string; categoryId: number; status?: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const own = (name: string) => (Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined);
  const [name, categoryId, status] = [own('name'), own('categoryId'), own('status')];
  if (typeof name !== 'string' || !Number.isSafeInteger(categoryId) || (categoryId as number) < 1) return false;
  const points = Array.from(name, character => character.codePointAt(0)!);
  const isControl = (point: number) => point < 0x20 || (point >= 0x7f && point < 0xa0);
  const isLone = (point: number) => point >= 0xd800 && point <= 0xdfff;
  if (points.length < 1 || points.length > 255 || points.some(isControl) || points.some(isLone)) return false;
  if (/^\s*$/.test(name)) return false;
  return status === undefined
    ? !Object.hasOwn(value, 'status')
    : ['available', 'pending', 'sold'].includes(status as string);
}

const nameLike = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 200, maxLength: 300 }) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\u00a0', '\ud83d', 'x'.repeat(255), '🐈'.repeat(256)) },
  { weight: 1, arbitrary: fc.jsonValue() },
);
const categoryLike = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 1.5, 2 ** 53 - 1, 2 ** 53, 2 ** 63, 1e300, '1', true, null) },
);
const statusLike = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('available', 'pending', 'sold') },
  { weight: 1, arbitrary: fc.constantFrom('Sold', '', null, 0, [], {}) },
  { weight: 1, arbitrary: fc.jsonValue() },
);
const petLike = fc
  .record(
    { name: nameLike, categoryId: categoryLike, status: statusLike, id: fc.jsonValue(), __proto__: fc.jsonValue() },
    { requiredKeys: [] },
  )
  .map(value => JSON.stringify(value));
const complete = fc
  .record({ name: nameLike, categoryId: categoryLike, status: statusLike }, { requiredKeys: ['name', 'categoryId'] })
  .map(value => JSON.stringify(value));
const bodies = fc.oneof(
  { weight: 5, arbitrary: complete },
  { weight: 2, arbitrary: petLike },
  { weight: 1, arbitrary: fc.json() },
);

const parameter = fc.oneof(
  fc.tuple(fc.constant('limit'), fc.oneof(fc.integer({ min: -2, max: 110 }).map(String), fc.string({ maxLength: 5 }))),
  fc.tuple(fc.constant('status'), fc.constantFrom('available', 'sold', 'pending,sold', 'lost', '', ',', 'sold,')),
  fc.tuple(fc.constant('sort'), fc.constantFrom('id', '-id', 'name', '-name', '', 'status')),
  fc.tuple(
    fc.constant('id'),
    fc.array(fc.integer({ min: -1, max: 400 }), { maxLength: 105 }).map(ids => ids.join()),
  ),
  fc.tuple(
    fc.constant('categoryId'),
    fc.oneof(fc.integer({ min: -1, max: 20 }).map(String), fc.string({ maxLength: 4 })),
  ),
  fc.tuple(
    fc.constant('cursor'),
    fc.oneof(fc.base64String({ maxLength: 60 }), fc.string({ maxLength: 40 }), forgedCursor()),
  ),
  fc.tuple(fc.string({ maxLength: 8 }), fc.string({ unit: 'binary', maxLength: 8 })),
);
const good = fc
  .tuple(
    fc.constantFrom('limit=5', 'limit=100', 'status=sold', 'sort=-name', 'sort=name&categoryId=3&status=available', ''),
    fc.constantFrom('', 'id=1,2,3', 'x=y', 'categoryId=1'),
  )
  .map(parts => parts.filter(part => part !== '').join('&'));
const queries = fc.oneof(
  { weight: 1, arbitrary: good },
  {
    weight: 3,
    arbitrary: fc
      .array(parameter, { maxLength: 4 })
      .map(pairs => pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map(text => text.replace(/[^!-~]/g, '%')) },
);

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** A cursor with the right form and any contents. */
function forgedCursor() {
  return fc
    .tuple(
      fc.constantFrom(0, 1, 2),
      fc.base64String({ maxLength: 8 }),
      fc.integer({ min: -1, max: 2 }),
      fc.jsonValue(),
      fc.jsonValue(),
    )
    .map(parts => Buffer.from(JSON.stringify(parts)).toString('base64url'));
}

function goodRequests(key: string): Buffer[] {
  const body = '{"name":"Minka","categoryId":2,"status":"sold"}';
  const head = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nX-Secret: ${canary}\r\n`;
  const json = `${head}Content-Type: application/json\r\n`;
  const list = `GET /v1/pets?limit=2&sort=-name HTTP/1.1\r\n${head}\r\n`;
  const create = `POST /v1/pets HTTP/1.1\r\n${json}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = `POST /v1/pets HTTP/1.1\r\n${json}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)};x=y\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n`;
  const one = `GET /v1/pets/1 HTTP/1.1\r\n${head}Accept: application/problem+json\r\nPrefer: handling=strict, count=exact\r\n\r\n`;
  const secret = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer petstore_live_${canary}\r\n\r\n`;
  const patch = '{"name":"Moritz"}';
  const change = `PATCH /v1/pets/2 HTTP/1.1\r\n${head}Content-Type: application/merge-patch+json\r\nIf-Match: "2.1", *\r\nIdempotency-Key: k\r\nContent-Length: ${patch.length}\r\n\r\n${patch}`;
  const hold = `POST /v1/holds HTTP/1.1\r\n${json}Idempotency-Key: 8e03978e\r\nContent-Length: 14\r\n\r\n{"petIds":[4]}`;
  const release = `POST /v1/holds/1/release HTTP/1.1\r\n${head}If-Match: *\r\nContent-Length: 0\r\n\r\n`;
  const remove = `DELETE /v1/pets/3 HTTP/1.1\r\n${head}If-Match: W/"3.1"\r\nIf-None-Match: "x"\r\n\r\n`;
  const preflight = `OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\nAccess-Control-Request-Method: GET\r\n\r\n`;
  const single = [list, create, chunked, one, change, hold, release, remove, secret, preflight];
  return [...single, list + create, chunked + one, hold + release + change].map(text => Buffer.from(text));
}

/** Requests to the views of every deployment. */
function viewRequests(key: string): Buffer[] {
  const head = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nX-Secret: ${canary}\r\n`;
  const call =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_pets","arguments":{"q":"cat","near":"US-90210"}}}';
  const form = `grant_type=client_credentials&client_id=${key.split('_')[2]}&client_secret=${key}`;
  return [
    `POST /mcp HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${call.length}\r\n\r\n${call}`,
    `POST /petfinder/v2/oauth2/token?${form} HTTP/1.1\r\n${head}Content-Length: ${form.length}\r\n\r\n${form}`,
    `GET /petfinder/v2/animals/?breed[]=Pug&location=0,0&page=2 HTTP/1.1\r\n${head}\r\n`,
  ].map(text => Buffer.from(text));
}

/** Requests to the classic Petstore, which needs no key. */
function classicRequests(): Buffer[] {
  const head = `Host: localhost\r\nX-Secret: ${canary}\r\nX-Sandbox: ${canary.slice(0, 5)}\r\n`;
  const withBody = (target: string, type: string, body: string) =>
    `${target} HTTP/1.1\r\n${head}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const upload =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n\x89PNG\r\n--x\r\nContent-Disposition: form-data; name="additionalMetadata"\r\n\r\ntext\r\n--x--\r\n';
  return [
    withBody('POST /v2/pet', 'application/json', '{"id":7,"name":"Minka","photoUrls":[],"tags":[{"id":1,"name":"x"}]}'),
    withBody('PUT /api/v3/pet', 'application/xml', '<?xml version="1.0"?><Pet><id>7</id><name>a &amp; b</name></Pet>'),
    withBody('POST /v2/user/createWithList', 'application/json', '[{"username":"jo","userStatus":1}]'),
    withBody('POST /v2/pet/7', 'application/x-www-form-urlencoded', 'name=Rex&status=sold'),
    withBody('POST /v2/pet/7/uploadImage', 'multipart/form-data; boundary=x', upload),
    `GET /v2/pet/findByTags?tags=x,y HTTP/1.1\r\n${head}Accept: application/xml\r\n\r\n`,
    `DELETE /api/v3/store/order/1 HTTP/1.1\r\n${head}api_key: special-key\r\n\r\n`,
  ].map(text => Buffer.from(text, 'latin1'));
}

/** Bytes of good requests with some cut, doubled, swapped, overwritten or put in. */
function mutations(requests: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const special = fc.constantFrom(
    ...'\r\n|\n|\r|\0| |\t|:|%|%ZZ|//|/../|;|\x7f|\xff|\r\n\r\n|HTTP/1.1|Transfer-Encoding: chunked\r\n|Content-Length: 5\r\n|Content-Length: 99999999999999999999\r\n|Expect: x\r\n|Expect: 100-continue\r\n|Connection: close\r\n|Upgrade: h2c\r\n|Connection: Upgrade\r\n|Host: y\r\n|X-Request-Id: <\r\n|Prefer: ,;="\r\n|0\r\n\r\n|ffffffffff\r\n|{|[[[[[[|\\u0000|"'.split(
      '|',
    ),
  );
  const step = fc.record({
    kind: fc.constantFrom('cut', 'double', 'overwrite', 'insert', 'insert', 'truncate', 'case'),
    at: fc.noBias(fc.integer({ min: 0, max: 9999 })),
    length: fc.integer({ min: 1, max: 24 }),
    text: fc.oneof(special, fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 })),
  });
  return fc
    .tuple(fc.constantFrom(...requests), fc.array(step, { minLength: 1, maxLength: 3 }))
    .map(([request, steps]) => {
      let bytes = request;
      for (const { kind, at, length, text } of steps) {
        const from = Math.floor((at / 10_000) * bytes.length);
        const [before, part, rest] = [
          bytes.subarray(0, from),
          bytes.subarray(from, from + length),
          bytes.subarray(from + length),
        ];
        const put = Buffer.from(text, 'latin1');
        if (kind === 'cut') bytes = Buffer.concat([before, rest]);
        else if (kind === 'double') bytes = Buffer.concat([before, part, part, rest]);
        else if (kind === 'overwrite') bytes = Buffer.concat([before, put, bytes.subarray(from + put.length)]);
        else if (kind === 'insert') bytes = Buffer.concat([before, put, part, rest]);
        else if (kind === 'truncate') bytes = bytes.subarray(0, Math.max(from, 1));
        else bytes = Buffer.concat([before, Buffer.from(part.toString('latin1').toUpperCase(), 'latin1'), rest]);
      }
      return bytes;
    });
}

function onlyOne(replies: readonly RawReply[], what: string): RawReply {
  assert.equal(replies.length, 1, what);
  return replies[0]!;
}

/** Does work for every item, some at once; the first failure ends it. */
async function together<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: 24 }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
