import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { type Route, takesIdempotencyKey } from '../../src/lib/http/route.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { type Database, query } from '../../src/model/schema.ts';
import { routes as allRoutes } from '../../src/views/api.ts';
import { overEachEngine, overPostgres } from '../support/engines-over-http.ts';
import {
  anew,
  type ExampleStore,
  examplesAt,
  openExampleStore,
  prepare,
  sendExample,
  untilDelivered,
  untilImported,
} from '../support/examples.ts';
import { skipFor } from '../support/selection.ts';
import {
  assertApiResponse,
  newProcessKey,
  type Reply,
  send,
  serve,
  spawnService,
  type TestService,
} from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';

const routes = allRoutes as readonly Route<never>[];
const retried = routes.filter(takesIdempotencyKey);

const HOUR_MS = 60 * 60 * 1000;

/** Counts the rows of each table; stored responses are counted separately. */
async function rowsIn(database: Database): Promise<Record<string, number>> {
  return Object.fromEntries(
    await Promise.all(
      Object.entries(counts).map(async ([table, count]) => [table, (await database.first(count, {}))!.rows] as const),
    ),
  );
}

describe('every operation that takes an Idempotency-Key', () => {
  let shared: ExampleStore;
  /** A store that nothing succeeds in. */
  let unchanged: ExampleStore;
  let keys = 0;
  before(async () => {
    [shared, unchanged] = await Promise.all([openExampleStore(), openExampleStore()]);
  });
  after(() => Promise.all([shared?.serving.stop(), unchanged?.serving.stop()]));

  it('is a POST or a PATCH', () => {
    for (const { operationId, method } of routes) {
      assert.equal(
        retried.some(route => route.operationId === operationId),
        method === 'POST' || method === 'PATCH',
      );
    }
    assert.ok(retried.length > 1);
  });

  for (const route of retried) {
    it(`${route.operationId} runs once and replays its response to a retry byte for byte`, async () => {
      await within(async store => {
        const { serving, clock } = store;
        const example = route.examples.find(({ code }) => code === undefined)!;
        await prepare(example, store);
        const key = { 'idempotency-key': `a-key-${++keys}` };
        const once = () => sendExample(route, example, store, key);
        const first = await once();
        assert.equal(first.status, example.status, first.text);
        assert.equal(first.headers.get('idempotency-replayed'), null);
        await untilDelivered(store);
        await untilImported(store);
        const rows = await rowsIn(serving.app.databases.production);

        clock.advance(1500);
        const retry = await once();
        assert.equal(retry.headers.get('idempotency-replayed'), 'true');
        // A replay hides secrets.
        const text = first.text.replace(/"secret":"[^"]+"/, '"secret":null');
        assert.deepEqual([retry.status, retry.text], [first.status, text]);
        const same = text === first.text ? ['content-length'] : [];
        for (const name of ['location', 'etag', 'content-type', ...same]) {
          assert.equal(retry.headers.get(name), first.headers.get(name), name);
        }
        const left = (answer: typeof first) => Number(answer.headers.get('x-ratelimit-remaining'));
        assert.equal(left(retry), left(first) - 1, 'the rate limit is current');
        assert.notEqual(retry.headers.get('x-request-id'), first.headers.get('x-request-id'));
        assert.deepEqual(await rowsIn(serving.app.databases.production), rows);

        const strict = await sendExample(route, example, store, { ...key, prefer: 'handling=strict' });
        assert.deepEqual([strict.status, strict.text], [first.status, text]);
        assert.equal(strict.headers.get('preference-applied'), 'handling=strict');

        // Even if the operation ignores the member.
        const { file } = example;
        const other = file
          ? { ...example, file: { ...file, base64: Buffer.from(`${atob(file.base64)}.`, 'latin1').toString('base64') } }
          : { ...example, body: { ...(example.body as object | undefined), more: 1 } };
        const reused = await sendExample(route, other, store, key);
        assert.deepEqual([reused.status, (reused.body as { code: string }).code], [422, 'idempotency_key_reused']);
      });
    });

    it(`${route.operationId} stores nothing for an error`, async () => {
      const stored = async () => (await unchanged.serving.app.databases.production.first(storedAnswers, {}))!.rows;
      for (const example of route.examples.filter(({ code, given }) => code !== undefined && given === undefined)) {
        const refused = await sendExample(route, example, unchanged, { 'idempotency-key': 'a-key' });
        assert.equal(refused.status, example.status, refused.text);
      }
      assert.equal(await stored(), 0);
    });

    it(`${route.operationId} rejects the key of another request`, async () => {
      await within(async store => {
        const key = { 'idempotency-key': `a-key-${++keys}` };
        const example = route.examples.find(({ code }) => code === undefined)!;
        const create = routes.find(({ operationId }) => operationId === 'createPet')!;
        const { file: _, ...rest } = example;
        const other = { ...rest, path: {}, body: { name: 'Another', categoryId: 1 } };
        assert.equal((await sendExample(create, other, store, key)).status, 201);
        await prepare(example, store);
        const rows = await rowsIn(store.serving.app.databases.production);
        const refused = await sendExample(route, example, store, key);
        assert.deepEqual([refused.status, (refused.body as { code: string }).code], [422, 'idempotency_key_reused']);
        assert.deepEqual(await rowsIn(store.serving.app.databases.production), rows);
      });
    });
  }

  for (const route of routes.filter(route => !takesIdempotencyKey(route))) {
    it(`excludes ${route.operationId}, which ignores the header`, async () => {
      await within(async store => {
        const example = route.examples.find(({ code }) => code === undefined)!;
        await prepare(example, store);
        const answer = await sendExample(route, example, store, { 'idempotency-key': ' , ' });
        assert.equal(answer.status, example.status, answer.text);
        assert.equal(answer.headers.get('idempotency-replayed'), null);
      });
    });
  }

  async function within(work: (store: ExampleStore) => Promise<void>): Promise<void> {
    await work(await anew(shared));
  }
});

overEachEngine(engine => {
  let clock: TestClock;
  let serving: TestService;
  let key: IssuedKey;
  let keys = 0;
  let idempotencyKey: string;

  before(async () => {
    clock = testClock(examplesAt);
    serving = await serve({ clock, environment: await engine.settings() });
    key = await serving.newKey();
  });
  after(() => serving?.stop());
  beforeEach(() => {
    idempotencyKey = `key-${++keys}`;
  });

  const minka = { name: 'Minka', categoryId: 2 };
  const create = (body: unknown = minka, more: { key?: IssuedKey; name?: string; base?: string } = {}) =>
    send(`${more.base ?? serving.urls.production}/pets`, {
      method: 'POST',
      key: more.key ?? key,
      headers: { 'Idempotency-Key': more.name ?? idempotencyKey },
      body,
    });
  const patch = (id: number, body: unknown, more: Record<string, string> = {}) =>
    send(`${serving.urls.production}/pets/${id}`, {
      method: 'PATCH',
      key,
      headers: { 'Idempotency-Key': idempotencyKey, ...more },
      body,
    });
  const pets = async () => (await rowsIn(serving.app.databases.production))['pets']!;

  it('creates one animal for 20 concurrent requests with the same key', async () => {
    for (let round = 0; round < 5; round++) {
      const before = await pets();
      const name = `${idempotencyKey}-${round}`;
      const replies = await Promise.all(Array.from({ length: 20 }, () => create(minka, { name })));
      assert.equal(await pets(), before + 1);
      assertOneResult(replies);
      const retry = await create(minka, { name });
      assert.equal(retry.headers['idempotency-replayed'], 'true');
      assert.equal(retry.text, replies.find(({ status }) => status === 201)!.text);
    }
  });

  it('rejects the same key with another body, path or operation', async () => {
    const { id } = (await create()).body;
    const other = (await create(minka, { name: `${idempotencyKey}-other` })).body;
    for (const refused of [
      await create({ ...minka, name: 'Mia' }),
      await patch(id, minka),
      await create({ ...minka, status: 'available' }),
    ]) {
      assertApiResponse(refused);
      assert.deepEqual([refused.status, refused.body.code], [422, 'idempotency_key_reused']);
    }
    idempotencyKey += '-patch';
    assert.equal((await patch(id, { name: 'Mia' })).status, 200);
    assert.equal((await patch(other.id, { name: 'Mia' })).status, 422);
    // White space in the body makes no difference.
    const spaced = await patch(id, '{ "name" :\n"Mia" }', { 'Content-Type': 'application/merge-patch+json' });
    assert.equal(spaced.headers['idempotency-replayed'], 'true');
  });

  it('rejects the same key with another body even if that body is invalid', async () => {
    const before = await pets();
    for (const body of [{ name: '' }, '{', '[]', { ...minka, status: 'lost' }]) {
      const unused = await create(body);
      assert.deepEqual([unused.status, unused.headers['idempotency-replayed']], [400, undefined], unused.text);
    }
    assert.equal((await create()).status, 201);
    for (const body of [{ name: '' }, '{', '[]', { ...minka, status: 'lost' }]) {
      const reused = await create(body);
      assertApiResponse(reused);
      assert.deepEqual([reused.status, reused.body.code], [422, 'idempotency_key_reused'], reused.text);
    }
    assert.equal((await create()).headers['idempotency-replayed'], 'true');
    assert.equal(await pets(), before + 1);
    // Keys are per account, and errors that precede the body take precedence.
    assert.equal((await create({ name: '' }, { key: await serving.newKey() })).status, 400);
    const reader = await serving.newKey({ accountId: key.accountId, scopes: ['pets:read'] });
    assert.equal((await create({ name: '' }, { key: reader })).body.code, 'insufficient_scope');
    assert.equal((await create({ name: '' }, { name: 'a b' })).body.code, 'invalid_body');
    clock.advance(24 * HOUR_MS);
    assert.equal((await create({ name: '' })).body.code, 'invalid_body');
  });

  it('reports the error of a body that is the same but no longer valid', async () => {
    const { id } = (await create(minka, { name: `${idempotencyKey}-first` })).body;
    const body = { name: 'Mia', colour: 'red' };
    assert.equal((await patch(id, body)).status, 200);
    const strict = { Prefer: 'handling=strict' };
    const refused = await patch(id, body, strict);
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, 'unknown_member']);
    assert.equal((await patch(id, { name: 'Mia', size: 1 }, strict)).body.code, 'idempotency_key_reused');
    assert.equal((await patch(id, body)).headers['idempotency-replayed'], 'true');
  });

  it('compares keys per account, whatever API key is used', async () => {
    const { body } = await create();
    const other = await create(minka, { key: await serving.newKey() });
    assert.equal(other.status, 201);
    assert.notEqual(other.body.id, body.id);
    const rotated = await create(minka, { key: await serving.newKey({ accountId: key.accountId }) });
    assert.equal(rotated.headers['idempotency-replayed'], 'true');
    assert.equal(rotated.body.id, body.id);
  });

  it('separates production and staging, even concurrently', async () => {
    const staging = await serving.newKey({ accountId: key.accountId, deployment: 'staging' });
    const [one, other] = await Promise.all([create(), create(minka, { key: staging, base: serving.urls.staging })]);
    assert.deepEqual([one.status, other.status], [201, 201]);
    for (const reply of [one, other]) assert.equal(reply.headers['idempotency-replayed'], undefined);
  });

  it('accepts the same key for a new request after 24 hours', async () => {
    const first = await create();
    clock.advance(24 * HOUR_MS - 1);
    assert.equal((await create()).headers['idempotency-replayed'], 'true');
    assert.equal((await create({ ...minka, name: 'Mia' })).status, 422);
    clock.advance(1);
    const other = await create({ ...minka, name: 'Mia' });
    assert.deepEqual([other.status, other.body.name], [201, 'Mia']);
    assert.notEqual(other.body.id, first.body.id);
  });

  it('runs a request again after an error, and stores the success', async () => {
    const { id } = (await create(minka, { name: `${idempotencyKey}-first` })).body;
    assert.equal((await create({ name: '' })).body.code, 'invalid_body');
    assert.equal((await patch(999_999, { name: 'Mia' })).body.code, 'pet_not_found');
    assert.equal((await patch(id, { name: 'Mia' }, { 'If-Match': '"another"' })).body.code, 'precondition_failed');
    const stranger = await serving.newKey();
    const url = `${serving.urls.production}/pets/${id}`;
    const headers = { 'Idempotency-Key': idempotencyKey };
    const foreign = await send(url, { method: 'PATCH', key: stranger, headers, body: { name: 'x' } });
    assert.equal(foreign.body.code, 'not_owner');
    const hold = await send(`${serving.urls.production}/holds`, { method: 'POST', key, body: { petIds: [id] } });
    assert.equal((await patch(id, { status: 'sold' })).body.code, 'pet_reserved');
    await send(`${hold.headers.location}/release`, { method: 'POST', key });
    const done = await patch(id, { status: 'sold' });
    assert.deepEqual([done.status, done.headers['idempotency-replayed']], [200, undefined]);
    assert.equal((await patch(id, { status: 'sold' })).headers['idempotency-replayed'], 'true');
  });

  it('replays before it evaluates If-Match', async () => {
    const made = await create(minka, { name: `${idempotencyKey}-first` });
    const ifMatch = { 'If-Match': String(made.headers.etag) };
    const done = await patch(made.body.id, { name: 'Mia' }, ifMatch);
    const retry = await patch(made.body.id, { name: 'Mia' }, ifMatch);
    assert.deepEqual([done.status, retry.status], [200, 200]);
    assert.equal(retry.headers['idempotency-replayed'], 'true');
    assert.equal(retry.headers.etag, done.headers.etag);
    assert.notEqual(done.headers.etag, made.headers.etag);
  });

  it('replays the stored response even if the animal was deleted', async () => {
    const first = await create();
    const url = `${serving.urls.production}/pets/${first.body.id}`;
    assert.equal((await send(url, { method: 'DELETE', key })).status, 204);
    const retry = await create();
    assert.deepEqual([retry.status, retry.text], [201, first.text]);
    assert.equal((await send(url, { key })).status, 404);
  });

  it('rejects a malformed key with 400', async () => {
    const before = await pets();
    for (const name of ['a b', 'a,b', 'a\tb', '"a" "b"', 'x'.repeat(256), 'x'.repeat(15_000), '\xe4', ' ']) {
      const reply = await create(minka, { name });
      assertApiResponse(reply);
      assert.deepEqual([reply.status, reply.body.code], [400, 'invalid_parameter'], name);
      assert.equal(reply.body.errors[0].path, 'Idempotency-Key');
    }
    const two = await send(`${serving.urls.production}/pets`, {
      method: 'POST',
      key,
      headers: { 'Idempotency-Key': ['one', 'two'] },
      body: minka,
    });
    assert.equal(two.body.code, 'invalid_parameter');
    assert.equal(await pets(), before);
  });

  it('replays after kill -9', async () => {
    const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '' };
    const before = await spawnService({ environment });
    try {
      const token = await newProcessKey(before);
      const ask = (base: string) =>
        send(`${base}/pets`, { method: 'POST', key: token, headers: { 'Idempotency-Key': 'a' }, body: minka });
      const first = await ask(before.urls.production);
      assert.equal(first.status, 201);
      await before.stop('SIGKILL');
      const after = await spawnService({ directory: before.directory, environment });
      try {
        const retry = await ask(after.urls.production);
        assert.equal(retry.headers['idempotency-replayed'], 'true');
        assert.deepEqual([retry.status, retry.text, retry.headers.etag], [201, first.text, first.headers.etag]);
        const all = await send(`${after.urls.production}/pets`, { key: token });
        assert.equal(all.body.length, 1);
      } finally {
        await after.stop();
      }
    } finally {
      await before.stop('SIGKILL');
      await before.remove();
    }
  });
});

overPostgres(engine => {
  const skip = skipFor(withoutValkey);

  it('creates one animal for concurrent requests to two nodes', { skip }, async () => {
    const environment = {
      ...(await engine.settings()),
      PETSTORE_VALKEY_URL: valkeyUrl,
      PETSTORE_STAGING_PORT: '',
      PETSTORE_MESSAGES_PORT: '',
    };
    const nodes = [await serve({ environment }), await serve({ environment })];
    try {
      const key = await nodes[0]!.newKey();
      const ids = new Set<number>();
      for (let round = 0; round < 20; round++) {
        const replies = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            send(`${nodes[n % 2]!.urls.production}/pets`, {
              method: 'POST',
              key,
              headers: { 'Idempotency-Key': `round-${round}` },
              body: { name: 'Minka', categoryId: 2 },
            }),
          ),
        );
        ids.add(assertOneResult(replies));
      }
      assert.equal((await rowsIn(nodes[0]!.app.databases.production))['pets'], ids.size);
      assert.equal(ids.size, 20);
    } finally {
      for (const node of nodes) await node.stop();
    }
  });
});

/** Asserts that one request ran and the others got its response or idempotency_key_in_use; returns the id. */
function assertOneResult(replies: readonly Reply[]): number {
  const done = replies.filter(({ status }) => status === 201);
  assert.equal(done.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1);
  assert.equal(new Set(done.map(({ text }) => text)).size, 1);
  for (const reply of replies) {
    assertApiResponse(reply);
    if (reply.status === 201) continue;
    assert.deepEqual([reply.status, reply.body.code], [409, 'idempotency_key_in_use']);
    assert.equal(reply.headers['retry-after'], '1');
  }
  return done[0]!.body.id;
}

const counts = Object.fromEntries(
  (['pets', 'categories', 'holds', 'orders', 'reservations', 'events', 'imports'] as const).map(table => [
    table,
    query(db => db.selectFrom(table).select(eb => eb.fn.countAll<number>().as('rows'))),
  ]),
);
const storedAnswers = query(db => db.selectFrom('idempotency').select(eb => eb.fn.countAll<number>().as('rows')));
