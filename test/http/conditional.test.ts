import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Example, Route } from '../../src/lib/http/route.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { query } from '../../src/model/schema.ts';
import { routes as allRoutes } from '../../src/views/api.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import {
  anew,
  type ExampleStore,
  openExampleStore,
  prepare,
  type SentExample,
  sendExample,
} from '../support/examples.ts';
import { assertApiResponse, type Reply, send, serve, type TestService } from '../support/serving.ts';

const routes = allRoutes as readonly Route<never>[];
const changing = routes.filter(({ method }) => method !== 'GET');
const reading = routes.filter(({ method, streams }) => method === 'GET' && !streams);

/** Returns the first successful example of a route. */
function firstExample(route: Route<never>): Example {
  const example = route.examples.find(({ code }) => code === undefined);
  assert.ok(example, `${route.operationId} has an example of a success`);
  return example;
}

/** The store of all changes in this file. */
let changed: ExampleStore | undefined;
after(() => changed?.serving.stop());

/** Runs work with new resources, for which the preceding examples of an example have run. */
async function within(example: Example, work: (store: ExampleStore) => Promise<void>): Promise<void> {
  changed ??= await openExampleStore();
  const store = await anew(changed);
  await prepare(example, store);
  await work(store);
}

/** Returns the route that reads the resource of a path: the longest prefix that has one. */
function readerOf({ path }: Route<never>): Route<never> | undefined {
  const parts = path.split('/');
  for (let length = parts.length; length > 1; length--) {
    const found = reading.find(route => route.path === parts.slice(0, length).join('/') && /\}$/.test(route.path));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Reads the resource that an example names. */
function readResource(route: Route<never>, example: Example, store: ExampleStore): Promise<SentExample> {
  const reader = readerOf(route);
  assert.ok(reader, `no route reads what ${route.operationId} changes`);
  const { name, summary, path = {}, as } = example;
  return sendExample(reader, { name, summary, path, ...(as && { as }), status: 200 }, store);
}

const eventsOf = async ({ serving }: ExampleStore) => (await serving.app.databases.production.first(countEvents, {}))!;
const codeOf = ({ body }: SentExample) => (body as { code?: string } | undefined)?.code;

describe('every read', () => {
  for (const route of reading) {
    describe(`of ${route.operationId}`, () => {
      const first = firstExample(route);
      // The log of requests grows with each of them; entries of no request are the same each time.
      const example = route.operationId === 'listRequests' ? { ...first, query: 'requestId=none' } : first;
      let store: ExampleStore;
      before(async () => {
        store = await openExampleStore();
        await prepare(example, store);
      });
      after(() => store?.serving.stop());

      const read = (more: Record<string, string> = {}, as = example.as) =>
        sendExample(route, { ...example, ...(as && { as }) }, store, more);

      it('returns an entity tag, and 304 for that tag', async () => {
        const first = await read();
        const etag = first.headers.get('etag')!;
        assert.match(etag, /^"[\x21\x23-\x7e]+"$/, 'a strong tag');
        assert.equal((await read()).headers.get('etag'), etag);
        for (const ifNoneMatch of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
          assertNotModified(await read({ 'if-none-match': ifNoneMatch }), first);
        }
        for (const ifNoneMatch of ['"another"', etag.slice(1, -1), '', '"']) {
          const whole = await read({ 'if-none-match': ifNoneMatch });
          assert.deepEqual([whole.status, whole.text, whole.headers.get('etag')], [200, first.text, etag]);
        }
        // Strict handling does not change the tag.
        assertNotModified(await read({ 'if-none-match': etag, prefer: 'handling=strict' }), first);
      });

      it('returns for HEAD what it returns for GET, without the body', async () => {
        const got = await read();
        const head = { ...route, method: 'HEAD' as never };
        const headed = await sendExample(head, example, store);
        assert.deepEqual([headed.status, headed.text], [200, '']);
        assert.deepEqual(lasting(headed), lasting(got));
        assertNotModified(await sendExample(head, example, store, { 'if-none-match': got.headers.get('etag')! }), got);
      });

      it('fails if If-Match names another version', async () => {
        const etag = (await read()).headers.get('etag')!;
        for (const ifMatch of [etag, '*', `"another",${etag}`]) {
          assert.equal((await read({ 'if-match': ifMatch })).status, 200);
        }
        assert.equal(codeOf(await read({ 'if-match': '"another"' })), 'precondition_failed');
        assert.equal(codeOf(await read({ 'if-match': `W/${etag}` })), 'precondition_failed');
        assert.equal(codeOf(await read({ 'if-match': etag.slice(1) })), 'invalid_parameter');
      });

      it('returns the same tag for every key that sees the same', async () => {
        const own = await read();
        for (const as of ['admin', 'stranger'] as const) {
          const other = await read({}, as);
          if (other.status !== 200) continue;
          const isOne = /\}$/.test(route.path);
          // Pages with the same rows differ if only one of them has a next page.
          const same = isOne || (other.text === own.text && other.headers.get('link') === own.headers.get('link'));
          assert.equal(other.headers.get('etag') === own.headers.get('etag'), same);
        }
      });
    });
  }

  /** Asserts a 304 with the tag and the headers of every response only (RFC 9110, 15.4.5). */
  function assertNotModified(answer: SentExample, whole: SentExample): void {
    assert.deepEqual([answer.status, answer.text], [304, '']);
    assert.equal(answer.headers.get('etag'), whole.headers.get('etag'));
    for (const name of ['content-type', 'content-length', 'x-next', 'x-total-count', 'location']) {
      assert.equal(answer.headers.get(name), null, name);
    }
    const { headers, status, text, body } = answer;
    assertApiResponse({ status, text, body, headers: Object.fromEntries(headers) });
  }

  /** Returns the headers that do not change from response to response. */
  function lasting({ headers }: SentExample): Record<string, string> {
    const changing =
      /^(date|x-request-id|x-ratelimit-(remaining|reset)|ratelimit|connection|keep-alive|transfer-encoding)$/;
    return Object.fromEntries([...headers].filter(([name]) => !changing.test(name)));
  }
});

describe('every change', () => {
  // Messages change when they are delivered, and imports as they run; secrets, tests and redeliveries have no entity tag.
  const untagged = [
    ...['sendMessage', 'rotateWebhookSecret', 'testWebhook', 'redeliverEvents'],
    ...['importPets', 'cancelImport'],
  ];
  for (const route of changing.filter(
    ({ successes, operationId }) => successes[0].schema && !untagged.includes(operationId),
  )) {
    it(`by ${route.operationId} returns the tag that the next read returns`, async () => {
      const example = firstExample(route);
      await within(example, async store => {
        const before = route.method === 'POST' ? undefined : await readResource(route, example, store);
        const answer = await sendExample(route, example, store);
        assert.equal(answer.status, example.status, answer.text);
        const etag = answer.headers.get('etag')!;
        assert.match(etag, /^"\d+\.\d+"$/);
        assert.notEqual(before?.headers.get('etag'), etag);
        const location = answer.headers.get('location');
        const read =
          location === null
            ? await readResource(route, example, store)
            : await send(location, { key: store.keys[example.as ?? 'owner'] });
        // A merged category no longer exists.
        if (read.status !== 404 || location !== null) assert.equal(tagOf(read), etag);
      });
    });
  }

  // Secrets cannot be read, and photos are read with their animal.
  const unread = ['rotateWebhookSecret', 'addPhoto', 'addOrganizationPhoto'];
  for (const route of changing.filter(
    ({ successes, operationId }) => successes[0].status === 201 && !unread.includes(operationId),
  )) {
    it(`by ${route.operationId} returns the URL of the new resource`, async () => {
      const example = firstExample(route);
      await within(example, async store => {
        const { headers } = await sendExample(route, example, store);
        const location = headers.get('location')!;
        assert.ok(location.startsWith(`${store.baseUrl}/`), location);
        assert.equal((await send(location, { key: store.keys[example.as ?? 'owner'] })).status, 200);
      });
    });
  }

  function tagOf({ headers }: SentExample | Reply): unknown {
    return headers instanceof Headers ? headers.get('etag') : headers.etag;
  }
});

describe('every change of a resource with a tag', () => {
  for (const route of changing.filter(({ conditional }) => conditional)) {
    it(`by ${route.operationId} fails if If-Match names another version, and changes nothing`, async () => {
      const example = firstExample(route);
      await within(example, async store => {
        const before = await readResource(route, example, store);
        const etag = before.headers.get('etag')!;
        const { events } = await eventsOf(store);
        for (const [name, value, code] of [
          ['if-match', '"another"', 'precondition_failed'],
          ['if-match', `W/${etag}`, 'precondition_failed'],
          ['if-none-match', etag, 'precondition_failed'],
          ['if-none-match', '*', 'precondition_failed'],
          ['if-match', etag.slice(0, -1), 'invalid_parameter'],
          ['if-match', 'another', 'invalid_parameter'],
          ['if-none-match', '', 'invalid_parameter'],
        ] as const) {
          const refused = await sendExample(route, example, store, { [name]: value });
          assert.equal(codeOf(refused), code, `${name}: ${value}`);
        }
        assert.equal((await readResource(route, example, store)).headers.get('etag'), etag);
        assert.equal((await eventsOf(store)).events, events);

        const done = await sendExample(route, example, store, { 'if-match': `"another", ${etag}` });
        assert.equal(done.status, example.status, done.text);
        const late = await sendExample(route, example, store, { 'if-match': etag });
        assert.ok(late.status >= 400, 'the version that it was has gone');
      });
    });

    it(`by ${route.operationId} succeeds with If-Match: *`, async () => {
      const example = firstExample(route);
      await within(example, async store => {
        const done = await sendExample(route, example, store, { 'if-match': '*', 'if-none-match': '"another"' });
        assert.equal(done.status, example.status, done.text);
      });
    });
  }
});

describe('with PETSTORE_REQUIRE_IF_MATCH', () => {
  let store: ExampleStore;
  before(async () => {
    store = await openExampleStore({ environment: { PETSTORE_REQUIRE_IF_MATCH: 'true' } });
  });
  after(() => store.serving.stop());

  for (const route of changing) {
    const wants = route.conditional === true && route.method !== 'POST';
    it(`${route.operationId} ${wants ? 'requires If-Match' : 'does not require If-Match'}`, async () => {
      const example = firstExample(route);
      const { events } = await eventsOf(store);
      const without = await sendExample(route, example, store);
      assert.equal(codeOf(without) === 'precondition_required', wants, without.text);
      if (!wants) return;
      assert.equal(without.status, 428);
      assert.equal((await eventsOf(store)).events, events);
      const withAny = await sendExample(route, example, store, { 'if-match': '*' });
      assert.notEqual(codeOf(withAny), 'precondition_required');
    });
  }
});

overEachEngine(engine => {
  let serving: TestService;
  let key: IssuedKey;
  let base: string;
  before(async () => {
    serving = await serve({ environment: await engine.settings() });
    key = await serving.newKey();
    base = serving.urls.production;
  });
  after(() => serving?.stop());

  const create = async (name: string) =>
    (await send(`${base}/pets`, { method: 'POST', key, body: { name, categoryId: 2 } })).body.id as number;
  const read = (path: string, more: Record<string, string> = {}) => send(base + path, { key, headers: more });
  const change = (id: number, body: unknown, ifMatch?: string) =>
    send(`${base}/pets/${id}`, {
      method: 'PATCH',
      key,
      headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch },
      body,
    });

  it('a list keeps its tag until its content changes', async () => {
    const [one, other] = [await create('One'), await create('Other')];
    const list = `/pets?id=${one}`;
    const first = await read(list);
    const { etag } = first.headers;
    assert.equal((await read(list, { 'If-None-Match': etag! })).status, 304);
    await change(other, { name: 'Another' });
    assert.equal((await read(list, { 'If-None-Match': etag! })).status, 304, 'a change elsewhere');
    await change(one, { name: 'First' });
    const next = await read(list, { 'If-None-Match': etag! });
    assert.deepEqual([next.status, next.body[0].name], [200, 'First']);
    assert.notEqual(next.headers.etag, etag);
    await change(one, { name: 'One' });
    assert.equal((await read(list)).headers.etag, etag, 'the same list has the same tag');
  });

  it('a list with other links or another total has another tag', async () => {
    const id = await create('One');
    const tags = new Set<unknown>();
    const total = { Prefer: 'count=exact' };
    for (const more of [{}, total]) tags.add((await read('/pets?limit=1', more)).headers.etag);
    await create('Two');
    tags.add((await read('/pets?limit=1', total)).headers.etag);
    tags.add((await read('/pets?limit=2')).headers.etag);
    assert.equal(tags.size, 4);
    assert.equal((await read(`/pets/${id}`)).status, 200);
  });

  it('one of several changes of the same version succeeds; the others get the current tag', async () => {
    const id = await create('One');
    for (let round = 0; round < 5; round++) {
      const etag = String((await read(`/pets/${id}`)).headers.etag);
      const replies = await Promise.all(
        Array.from({ length: 16 }, (_, n) => change(id, { name: `${round}/${n}` }, etag)),
      );
      const [winner, ...more] = replies.filter(({ status }) => status === 200);
      assert.equal(more.length, 0);
      for (const reply of replies) {
        assertApiResponse(reply);
        if (reply === winner) continue;
        assert.deepEqual([reply.status, reply.body.code], [412, 'precondition_failed']);
        assert.ok(reply.body.message.includes(winner!.headers.etag));
      }
      const now = await read(`/pets/${id}`);
      assert.deepEqual([now.body.name, now.headers.etag], [winner!.body.name, winner!.headers.etag]);
    }
  });

  it('a change without effect keeps the tag', async () => {
    const id = await create('One');
    const { etag } = (await read(`/pets/${id}`)).headers;
    assert.equal((await change(id, { name: 'One' }, etag)).headers.etag, etag);
    assert.equal((await change(id, {}, etag)).headers.etag, etag);
  });
});

const countEvents = query(db => db.selectFrom('events').select(eb => eb.fn.countAll<number>().as('events')));
