import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Route } from '../../src/lib/http/route.ts';
import { routes as allRoutes } from '../../src/views/api.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import {
  assertApiResponse,
  newProcessKey,
  type Process,
  type Reply,
  send,
  sendRaw,
  spawnService,
} from '../support/serving.ts';

const routes = allRoutes as readonly Route<never>[];

/** Every form is repeated exactly by its seed: `PETSTORE_TEST_SEED=…`. */
const seed = Number(process.env.PETSTORE_TEST_SEED ?? randomInt(2 ** 31));
const counts = long ? { bodies: 1500, headers: 5000 } : { bodies: 120, headers: 500 };

/** What an answer must never show: a stack, a path of the program, the words of a parser or an engine. */
const leak = /node_modules|node:internal|\.ts:\d|\bat [A-Z]\w+\.|SQLITE|sqlite|FST_|HPE_|Unexpected token|constraint/;

overEachEngine(engine => {
  let service: Process;
  let key: string;
  let base: string;

  before(async () => {
    service = await spawnService({ environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '' } });
    base = service.urls.production;
    key = await newProcessKey(service);
    for (let index = 0; index < 20; index++) await create();
  });
  after(async () => {
    await service?.stop();
    await service?.remove();
  });

  const minka = { name: 'Minka', categoryId: 2 };
  const create = async () => (await send(`${base}/pets`, { method: 'POST', key, body: minka })).body.id as number;
  const readTag = async (id: number) => (await send(`${base}/pets/${id}`, { key })).headers.etag;

  /** An answer in order and form, which is none of ours to regret and shows nothing of the inside. */
  function assertHarmless(reply: Pick<Reply, 'status' | 'headers' | 'text' | 'body'>, what: string): void {
    assertApiResponse(reply, what);
    assert.ok(reply.status < 500, `${reply.status} ${reply.text}: ${what}`);
    if (reply.status >= 300) assert.doesNotMatch(reply.text, leak, what);
  }

  for (const route of routes.filter(({ body }) => body !== undefined)) {
    it(`${route.operationId} accepts valid bodies and rejects all others`, async t => {
      const examples = route.examples.filter(({ code, body }) => code === undefined && body !== undefined);
      const good = examples.map(({ body }) => body as object);
      const seen: Record<number, number> = {};
      for (const body of fc.sample(bodiesLike(good), { seed, numRuns: counts.bodies })) {
        const path = route.path
          .replace('{photoId}', '0'.repeat(64))
          .replaceAll(/\{\w+\}/g, () => String(1 + (body.length % 20)));
        const reply = await send(base + path, { method: route.method, key, body });
        const expected = [...route.successes.map(({ status }) => status), 400, 403, 404, 409];
        assert.ok(expected.includes(reply.status), `${route.operationId} ${body}: ${reply.status} ${reply.text}`);
        assertHarmless(reply, `${route.operationId} ${body}`);
        seen[reply.status] = (seen[reply.status] ?? 0) + 1;
      }
      t.diagnostic(JSON.stringify(seen));
      assert.ok(seen[400]! > counts.bodies / 20, JSON.stringify(seen));
    });
  }

  it('handles every If-Match, If-None-Match and Idempotency-Key with an expected status', async t => {
    t.diagnostic(`PETSTORE_TEST_SEED=${seed}`);
    const id = await create();
    const seen: Record<number, number> = {};
    for (const { names, values, method } of fc.sample(headerSets, { seed, numRuns: counts.headers })) {
      const tag = String(await readTag(id));
      const headers = Object.fromEntries(names.map((name, index) => [name, values[index]!.replaceAll('TAG', tag)]));
      const reply = await send(`${base}/pets/${id}`, {
        method,
        key,
        headers,
        ...(method === 'GET' ? {} : { body: { ...minka, name: `${Object.keys(seen).length}` } }),
      });
      const what = `${method} ${JSON.stringify(headers)}`;
      assertHarmless(reply, what);
      assert.ok([200, 304, 400, 412, 422].includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
      seen[reply.status] = (seen[reply.status] ?? 0) + 1;
    }
    t.diagnostic(JSON.stringify(seen));
    assert.ok(seen[200]! > 10 && seen[400]! > 10 && seen[412]! > 10, JSON.stringify(seen));
  });

  it('evaluates headers of the maximum length', async () => {
    const id = await create();
    const tag = String(await readTag(id));
    const long = 15_000;
    for (const [name, value, status] of [
      ['If-Match', '"'.repeat(long), 400],
      ['If-Match', `"${'a'.repeat(long)}"`, 412],
      ['If-Match', '"a",'.repeat(long / 4) + tag, 200],
      ['If-Match', `${tag}${' ,'.repeat(long / 2)}`, 200],
      ['If-Match', `${tag}${' '.repeat(long)}x`, 400],
      ['If-None-Match', '"a",'.repeat(long / 4) + tag, 412],
      ['If-None-Match', 'W/'.repeat(long / 2), 400],
      ['Idempotency-Key', 'a'.repeat(long), 400],
      ['Idempotency-Key', ','.repeat(long), 400],
      ['Prefer', `a=${' '.repeat(long)}@ @`, 200],
      ['Content-Type', `application/merge-patch+json;${' '.repeat(long)}x`, 400],
      ['Content-Type', `application/json${';a=b'.repeat(long / 4)}`, 200],
    ] as const) {
      const reply = await send(`${base}/pets/${id}`, { method: 'PATCH', key, headers: { [name]: value }, body: {} });
      assertApiResponse(reply, name);
      assert.equal(reply.status, status, `${name}: ${value.slice(0, 20)}… ${reply.text}`);
    }
  });

  it('treats repeated headers as one list', async () => {
    const id = await create();
    const tag = String(await readTag(id));
    const ask = (headers: Record<string, string[]>) =>
      send(`${base}/pets/${id}`, { method: 'PATCH', key, headers, body: {} });
    assert.equal((await ask({ 'If-Match': ['"another"', tag] })).status, 200);
    assert.equal((await ask({ 'If-Match': ['"another"', '"other"'] })).status, 412);
    assert.equal((await ask({ 'If-Match': ['*', tag] })).status, 400);
    assert.equal((await ask({ 'If-None-Match': ['"another"', tag] })).status, 412);
    assert.equal((await ask({ 'Idempotency-Key': ['a', 'a'] })).status, 400);
  });

  it('accepts JSON bodies everywhere, and merge patches for PATCH', async () => {
    const id = await create();
    const change = async (method: string, type: string) => {
      const reply = await send(`${base}/pets/${id}`, { method, key, headers: { 'Content-Type': type }, body: minka });
      assertHarmless(reply, `${method} ${type}`);
      assert.ok(reply.status === 200 || reply.body.code === 'invalid_content_type', `${type} ${reply.text}`);
      return reply.status;
    };
    for (const type of ['application/json', 'Application/JSON; charset=utf-8', ' application/json ;x="y"']) {
      for (const method of ['PUT', 'PATCH']) assert.equal(await change(method, type), 200, type);
    }
    for (const type of ['application/merge-patch+json', 'APPLICATION/merge-patch+JSON;charset="UTF-8"']) {
      assert.deepEqual([await change('PUT', type), await change('PATCH', type)], [400, 200], type);
    }
    for (const type of [
      ...['', 'application/json-patch+json', 'application/merge-patch', 'merge-patch+json', 'text/json', '*/*'],
      ...['application/merge-patch+jsonx', 'application/merge-patch+json;charset=latin1', 'application/x-json'],
      ...['application/merge-patch+json, application/json', 'application/ld+json', 'multipart/form-data', 'json'],
    ]) {
      assert.deepEqual([await change('PUT', type), await change('PATCH', type)], [400, 400], type);
    }
  });

  it('rejects compressed bodies, and says so', async () => {
    for (const [path, type] of [
      ['/pets', 'application/json'],
      ['/imports', 'text/csv'],
    ]) {
      const headers = { 'Content-Type': type!, 'Content-Encoding': 'gzip' };
      const zipped = await send(`${base}${path}`, { method: 'POST', key, headers, body: gzipSync('{}') });
      assert.deepEqual([zipped.status, zipped.body.code], [400, 'invalid_content_type']);
      assert.match(zipped.body.message, /without Content-Encoding/);
    }
  });

  it('skips a body that the operation does not read, and never parses it as a request', async () => {
    const body = 'GET /v1/stolen HTTP/1.1\r\nHost: x\r\n\r\n';
    const forms: Record<string, string> = {
      'with a length': `Content-Length: ${body.length}\r\n\r\n${body}`,
      'as JSON that is none': `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'as text': `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'in chunks': `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      'of no length': 'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n',
    };
    for (const [name, form] of Object.entries(forms)) {
      for (const [method, status] of [
        ['GET', 200],
        ['DELETE', 204],
      ] as const) {
        const headers = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
        const request = `${method} /v1/pets/${await create()} ${headers}${form}`;
        const last = `GET /v1/pets?limit=1 ${headers}Connection: close\r\n\r\n`;
        const { replies, rest } = await sendRaw(base, [request, last], { waitMs: 10_000 });
        assert.deepEqual([replies.map(reply => reply.status), rest], [[status, 200], ''], `${method} ${name}`);
      }
    }
    const odd = await send(`${base}/pets/1`, { method: 'DELETE', key, headers: { 'Content-Type': ';;' }, body });
    assert.deepEqual([odd.status, odd.body.code], [400, 'invalid_content_type']);
    const huge = await send(`${base}/pets/1`, { method: 'DELETE', key, body: Buffer.alloc(1024 * 1024 + 1, ' ') });
    assert.deepEqual([huge.status, huge.body.code], [413, 'body_too_large']);
  });

  it('leaves the service responsive and its log empty', async () => {
    assert.equal((await send(`${base}/pets?limit=1`, { key })).status, 200);
    assert.ok(!service.log().includes('internal_error'), service.log().slice(0, 2000));
    assert.equal(service.child.exitCode, null);
  });
});

/** Good bodies with some of their members left out, of another type, out of bounds or unknown; and other JSON. */
function bodiesLike(good: readonly object[]): fc.Arbitrary<string> {
  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, true, '', ' ', 'a\u0000b', '\ud800', 'x'.repeat(300), [], [null], {}, { a: 1 }),
    fc.constantFrom<unknown>(
      0,
      -1,
      1,
      2,
      1.5,
      4711,
      2 ** 53 - 1,
      2 ** 53,
      1e300,
      '1',
      [1],
      [1, 1],
      [1, 2, '3'],
      [1e300],
    ),
    fc.constantFrom<unknown>('2026-11-21T12:00:00Z', '2026-02-30T00:00:00Z', '9999-12-31T23:59:59Z', '0000', 'P1D'),
    fc.jsonValue(),
  );
  const members = [...new Set([...good.flatMap(body => Object.keys(body)), 'id', '__proto__', 'constructor', ''])];
  const step = fc.tuple(fc.constantFrom('put', 'put', 'leave out', 'into'), fc.constantFrom(...members), odd);
  const changed = fc
    .tuple(fc.constantFrom<object>({}, ...good), fc.array(step, { minLength: 1, maxLength: 3 }))
    .map(([body, steps]) => {
      const copy = new Map<string, unknown>(Object.entries(structuredClone(body)));
      for (const [kind, member, value] of steps) {
        const inner = copy.get(member);
        if (kind === 'leave out') copy.delete(member);
        else if (kind === 'into' && typeof inner === 'object' && inner !== null) {
          copy.set(
            member,
            Array.isArray(inner) ? [...inner, value] : { ...inner, [Object.keys(inner)[0] ?? 'x']: value },
          );
        } else copy.set(member, value);
      }
      return `{${Array.from(copy, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`;
    });
  const broken = changed.map(text => text.slice(0, -1));
  return fc.oneof(
    { weight: 8, arbitrary: changed },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: fc.json() },
  );
}

const tagLike = fc.oneof(
  fc.constantFrom('TAG', 'W/TAG', '*', '"1.1"', '"', '""', 'W/', 'w/"a"', '"a b"', '"a,b"', '"\xff"', '1.1', '', ' '),
  fc.string({ maxLength: 6 }).map(text => `"${text.replaceAll(/[^\x21\x23-\x7e]/g, '')}"`),
);
const headerLike = fc
  .array(tagLike, { minLength: 1, maxLength: 4 })
  .chain(tags => fc.constantFrom(',', ', ', ' ,', ' ', ',,').map(separator => tags.join(separator)));
const headerSets = fc
  .record({
    names: fc.subarray(['If-Match', 'If-None-Match', 'Idempotency-Key'], { minLength: 1 }),
    values: fc.array(headerLike, { minLength: 3, maxLength: 3 }),
    method: fc.constantFrom('GET', 'PATCH', 'PUT'),
  })
  // An empty value would leave the header out.
  .filter(({ values }) => values.every(value => value !== ''));
