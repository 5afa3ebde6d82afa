import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import {
  type ClientOptions,
  ConnectionError,
  PetStore,
  PetstoreError,
  RateLimitError,
  type Time,
} from '../../sdk/src/index.ts';
import { startHttpServer } from '../support/http-server.ts';

/** A request as the server got it. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the server does with one request after another; the last for all that follow. */
type Behavior = 'break' | 'hang' | { status: number; headers?: Record<string, string>; body?: unknown };

/** A response whose body breaks off. */
const cut = (status: number, headers: Record<string, string> = {}): Behavior => ({
  status,
  headers: { 'Content-Length': '100', ...headers },
});

const ok: Behavior = { status: 200, body: { id: 1, name: 'Mia', categoryId: 2 } };
const refuse = (status: number, code: string, retryAfter?: number | string): Behavior => ({
  status,
  body: { code, message: `Not now: ${code}`, status },
  ...(retryAfter !== undefined && { headers: { 'Retry-After': String(retryAfter) } }),
});

/** A clock that a sleep moves, so that no test waits. Sleeps longer than a minute are time limits: they wait for `expire`. */
class FakeTime implements Time {
  ms = 1000;
  readonly waits: number[] = [];
  readonly #limits: (() => void)[] = [];
  readonly #jitter: number;

  constructor(jitter = 0) {
    this.#jitter = jitter;
  }

  now(): number {
    return this.ms;
  }

  random(): number {
    return this.#jitter;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => reject(signal.reason));
    if (ms === LIMIT * 1000) this.#limits.push(resolve);
    else {
      this.waits.push(ms);
      this.ms += ms;
      setImmediate(resolve);
    }
    return promise;
  }
  /** Lets the time limit of the current try end. */
  expire(): void {
    this.#limits.pop()!();
  }
}

/** The time limit of each try, in seconds, which no wait equals. */
const LIMIT = 1234;

async function start(t: TestContext, behaviors: readonly Behavior[], options: Partial<ClientOptions> = {}) {
  const seen: Seen[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const behavior = behaviors[Math.min(seen.length, behaviors.length - 1)]!;
    const place = seen.length;
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body: '' });
    let body = '';
    for await (const chunk of request) body += chunk;
    seen[place] = { ...seen[place]!, body };
    if (behavior === 'break') request.socket.destroy();
    else if (behavior === 'hang') hangs.resolve();
    else if (behavior.headers?.['Content-Length']) {
      response.writeHead(behavior.status, behavior.headers);
      response.write('{', () => request.socket.destroy());
    } else
      response.writeHead(behavior.status, { ...behavior.headers }).end(behavior.body && JSON.stringify(behavior.body));
  };
  const hangs = Promise.withResolvers<void>();
  const url = await startHttpServer(t, (request, response) => void respond(request, response).catch(() => {}));
  const time = (options.time as FakeTime) ?? new FakeTime();
  const store = new PetStore({ baseUrl: url, apiKey: 'k', timeout: LIMIT, time, ...options });
  return { store, seen, time, hangs: hangs.promise };
}

const failure = (promise: PromiseLike<unknown>) =>
  Promise.resolve(promise).then(
    () => assert.fail('The call succeeded.'),
    error => error as PetstoreError,
  );

describe('retries', () => {
  for (const [what, behavior] of [
    ['408', refuse(408, 'request_timeout')],
    ['429', refuse(429, 'rate_limit_exceeded', 2)],
    ['503', refuse(503, 'overloaded', 1)],
    ['409 idempotency_key_in_use', refuse(409, 'idempotency_key_in_use', 1)],
    ['a broken connection', 'break'],
  ] as const) {
    test(`follow ${what}`, async t => {
      const { store, seen } = await start(t, [behavior, behavior, ok]);
      assert.equal((await store.createPet({ name: 'Mia', categoryId: 2 })).name, 'Mia');
      assert.equal(seen.length, 3);
    });
  }

  for (const [what, behavior] of [
    ['400', refuse(400, 'invalid_body')],
    ['500', refuse(500, 'internal_error')],
    ['502 of a proxy', { status: 502 }],
    ['500 whose body breaks off', cut(500)],
    ['409 pet_reserved, even with Retry-After', refuse(409, 'pet_reserved', 1)],
    ['api_key_banned', refuse(429, 'api_key_banned', 1)],
    ['a redirect', { status: 307, headers: { Location: '/elsewhere' } }],
  ] as const) {
    test(`do not follow ${what}`, async t => {
      const { store, seen } = await start(t, [behavior, ok]);
      const error = await failure(store.getPet(1));
      assert.ok(error instanceof PetstoreError);
      assert.equal(seen.length, 1);
    });
  }

  test('end after maxRetries, with the last error', async t => {
    const { store, seen } = await start(t, [refuse(503, 'overloaded')], { maxRetries: 2 });
    const error = await failure(store.getPet(1));
    assert.deepEqual([error.status, error.code, seen.length], [503, 'overloaded', 3]);
    assert.equal((await failure(store.getPet(1, {}, { maxRetries: 0 }))).code, 'overloaded');
    assert.equal(seen.length, 4);
  });

  test('wait for Retry-After, and a random time that doubles on top of it', async t => {
    const time = new FakeTime(0.5);
    const { store } = await start(t, [refuse(503, 'overloaded', 7), refuse(503, 'overloaded'), 'break', ok], { time });
    await store.getPet(1);
    assert.deepEqual(time.waits, [7500, 1000, 2000]);
  });

  test('bound the random time by 30 seconds', async t => {
    const time = new FakeTime(0.5);
    const { store } = await start(t, ['break'], { time, maxRetries: 7 });
    assert.ok((await failure(store.getPet(1))) instanceof ConnectionError);
    assert.deepEqual(time.waits, [500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  });

  test('wait again when a timer is early', async t => {
    const { store, time, seen } = await start(t, [refuse(503, 'overloaded', 3), ok]);
    const { sleep } = FakeTime.prototype;
    // Node.js ends timers up to a millisecond early.
    time.sleep = (ms, signal) => sleep.call(time, ms > 1 && ms !== LIMIT * 1000 ? ms - 1 : ms, signal);
    await store.getPet(1);
    assert.deepEqual(time.waits, [2999, 1]);
    assert.equal(seen.length, 2);
  });

  test('wait for Retry-After although the body breaks off', async t => {
    const { store, time } = await start(t, [cut(503, { 'Retry-After': '7' }), ok]);
    await store.getPet(1);
    assert.deepEqual(time.waits, [7000]);
  });

  test('understand the dates that proxies write', async t => {
    const { store, time } = await start(t, [
      refuse(503, 'overloaded', new Date(Date.now() + 30_000).toUTCString()),
      ok,
    ]);
    await store.getPet(1);
    assert.ok(time.waits[0]! > 25_000 && time.waits[0]! <= 30_000, String(time.waits));
  });

  for (const status of [429, 503]) {
    test(`fail at once when a ${status} asks for more than maxWait`, async t => {
      const { store, seen, time } = await start(t, [refuse(status, 'rate_limit_exceeded', 61), ok]);
      const error = await failure(store.getPet(1));
      assert.ok(error instanceof RateLimitError);
      assert.deepEqual([error.retryAfter, error.status, error.name], [61, status, 'RateLimitError']);
      assert.deepEqual([seen.length, time.waits], [1, []]);
    });
  }

  test('fail with that error also if the call is not repeated', async t => {
    const { store } = await start(t, [refuse(503, 'overloaded', 61), refuse(503, 'overloaded', 61)]);
    for (const options of [{ idempotencyKey: null }, { maxRetries: 0 }]) {
      const error = await failure(store.createPet({ name: 'Mia', categoryId: 2 }, options));
      assert.ok(error instanceof RateLimitError && error.retryAfter === 61, JSON.stringify(options));
    }
  });

  test('wait as long as maxWait of the client or the call allows', async t => {
    const { store, seen } = await start(t, [refuse(503, 'overloaded', 61), ok], { maxWait: 61 });
    await store.getPet(1);
    assert.equal(seen.length, 2);
    const short = await start(t, [refuse(503, 'overloaded', 6), ok]);
    assert.equal((await failure(short.store.getPet(1, {}, { maxWait: 5 }))).retryAfter, 6);
  });

  test('end when the signal of the call is aborted', async t => {
    const abort = new AbortController();
    const { store, hangs } = await start(t, ['hang']);
    const call = store.getPet(1, {}, { signal: abort.signal });
    await hangs;
    abort.abort(new Error('Enough.'));
    assert.equal((await failure(call)).message, 'Enough.');
  });

  test('have no time limit if that is infinite', async t => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    t.after(() => process.off('warning', warn));
    const { store } = await start(t, [ok], { timeout: Number.POSITIVE_INFINITY, time: undefined });
    await store.getPet(1);
    // Node.js warns of timers that are too long, and ends them after a millisecond.
    assert.deepEqual(warnings, []);
  });

  test('follow a try that takes longer than the time limit', async t => {
    const { store, hangs, time, seen } = await start(t, ['hang', ok]);
    const call = store.getPet(1);
    await hangs;
    time.expire();
    assert.equal((await call).name, 'Mia');
    assert.equal(seen.length, 2);
  });

  test('read the bodies of failed tries to their ends, so that connections are used again', async t => {
    const responses: Response[] = [];
    const recorded: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      responses.push(response);
      return response;
    };
    const failures = [refuse(503, 'overloaded'), { status: 408, body: 'x'.repeat(100_000) }, { status: 502 }];
    const { store } = await start(t, failures, { fetch: recorded });
    await failure(store.exportPetsAsCsv());
    assert.deepEqual(
      responses.map(({ status, bodyUsed }) => [status, bodyUsed]),
      [
        [503, true],
        [408, true],
        [502, true],
      ],
    );
  });
});

describe('a 429', () => {
  test('holds all calls of the client back', async t => {
    const { store, seen, time } = await start(t, [refuse(429, 'rate_limit_exceeded', 10), ok]);
    const sleep = time.sleep.bind(time);
    const [firstWait, bothWait] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let waiting = 0;
    time.sleep = async (ms, signal) => {
      if (ms !== LIMIT * 1000) {
        waiting++;
        if (waiting === 1) firstWait.resolve();
        else bothWait.resolve();
        await bothWait.promise;
      }
      await sleep(ms, signal);
    };
    const first = store.getPet(1);
    await firstWait.promise;
    const second = store.listPets();
    await bothWait.promise;
    assert.equal(seen.length, 1);
    await Promise.all([first, second]);
    assert.equal(seen.length, 3);
    assert.deepEqual(time.waits, [10_000, 10_000]);
  });

  test('fails further calls without sending them while the wait is longer than maxWait', async t => {
    const { store, seen, time } = await start(t, [refuse(429, 'rate_limit_exceeded', 3600), ok]);
    await failure(store.getPet(1));
    time.ms += 600_000;
    const error = await failure(store.getPet(2));
    assert.ok(error instanceof RateLimitError);
    assert.deepEqual([error.retryAfter, error.code, seen.length], [3000, 'rate_limit_exceeded', 1]);
    time.ms += 3_000_000;
    await store.getPet(2);
    assert.equal(seen.length, 2);
  });

  test('does not hold calls of other clients back', async t => {
    const { store } = await start(t, [refuse(429, 'rate_limit_exceeded', 3600), ok]);
    await failure(store.getPet(1));
    const other = await start(t, [ok]);
    await other.store.getPet(1);
    assert.deepEqual(other.time.waits, []);
  });
});

describe('an Idempotency-Key', () => {
  test('is the same for all tries of a call, and a new one for each call', async t => {
    const { store, seen } = await start(t, ['break', refuse(503, 'overloaded'), ok, ok]);
    await store.createPet({ name: 'Mia', categoryId: 2 });
    await store.updatePet(1, { name: 'Mia' });
    const keys = seen.map(({ headers }) => headers['idempotency-key'] as string);
    assert.match(keys[0]!, /^[\x21-\x2b\x2d-\x7e]{16,255}$/);
    assert.deepEqual([keys[1], keys[2]], [keys[0], keys[0]]);
    assert.notEqual(keys[3], keys[0]);
    assert.deepEqual(new Set(seen.slice(0, 3).map(({ body }) => body)), new Set(['{"name":"Mia","categoryId":2}']));
  });

  test('can be chosen', async t => {
    const { store, seen } = await start(t, ['break', ok]);
    await store.placeOrder({ petId: 1 }, { idempotencyKey: 'order-7' });
    assert.deepEqual(
      seen.map(({ headers }) => headers['idempotency-key']),
      ['order-7', 'order-7'],
    );
  });

  for (const behavior of ['break', refuse(503, 'overloaded'), refuse(429, 'rate_limit_exceeded', 1)] as const) {
    test(`is needed to repeat a POST or PATCH after ${JSON.stringify(behavior).slice(0, 14)}`, async t => {
      const { store, seen } = await start(t, [behavior, ok]);
      await failure(store.createPet({ name: 'Mia', categoryId: 2 }, { idempotencyKey: null }));
      assert.equal(seen.length, 1);
      assert.equal(seen[0]!.headers['idempotency-key'], undefined);
    });
  }

  test('is sent and needed whatever the case of the method', async t => {
    const { store, seen } = await start(t, ['break', ok]);
    await store.request('post', '/store/orders', { body: {} });
    assert.equal(seen[1]!.headers['idempotency-key'], seen[0]!.headers['idempotency-key']);
    assert.match(seen[0]!.headers['idempotency-key'] as string, /./);
    const without = await start(t, ['break', ok]);
    await failure(without.store.request('post', '/store/orders', { body: {}, idempotencyKey: null }));
    assert.equal(without.seen.length, 1);
  });

  test('is not sent with GET, PUT and DELETE, which are repeated without it', async t => {
    const calls = [
      (store: PetStore) => store.getPet(1),
      (store: PetStore) => store.replacePet(1, { name: 'Mia', categoryId: 2 }),
      (store: PetStore) => store.deletePet(1),
    ];
    for (const call of calls) {
      const { store, seen } = await start(t, ['break', ok]);
      await call(store);
      assert.deepEqual(
        seen.map(({ headers }) => headers['idempotency-key']),
        [undefined, undefined],
      );
    }
  });
});

describe('an upload', () => {
  const bytes = new TextEncoder().encode('the photo');
  const stream = () => new Blob([bytes]).stream();

  test('is not repeated if its stream can be read only once', async t => {
    for (const file of [
      stream(),
      (async function* () {
        yield bytes;
      })(),
    ]) {
      const { store, seen } = await start(t, [refuse(503, 'overloaded'), ok]);
      assert.equal((await failure(store.addPhoto(1, file))).code, 'overloaded');
      assert.deepEqual(
        seen.map(({ body }) => body),
        ['the photo'],
      );
    }
  });

  test('is repeated with a new stream, a Blob, bytes or a path', async t => {
    const file = new URL('retries.test.ts', import.meta.url).pathname;
    for (const source of [stream, new Blob([bytes]), bytes, bytes.buffer, file]) {
      const { store, seen } = await start(t, [refuse(503, 'overloaded'), ok]);
      await store.addPhoto(1, source);
      assert.equal(seen.length, 2);
      assert.equal(seen[0]!.body, seen[1]!.body);
      assert.ok(seen[0]!.body.length >= 9);
    }
  });

  test('has the content type of the Blob, of the extension, or the usual one', async t => {
    const { store, seen } = await start(t, [ok]);
    await store.addPhoto(1, new Blob([bytes], { type: 'image/webp' }));
    await store.addPhoto(1, new File([bytes], 'rex.PNG'), { alt: 'Rex' });
    await store.addPhoto(1, stream);
    await store.importPets(bytes, { dryRun: true });
    await store.importPets(bytes, { headers: { 'content-type': 'application/x-ndjson' } });
    await store.importPets(Buffer.from('name,photo\nMia,https://example.org/mia.png'));
    assert.deepEqual(
      seen.map(({ url, headers }) => [url, headers['content-type']]),
      [
        ['/pets/1/photos', 'image/webp'],
        ['/pets/1/photos?alt=Rex', 'image/png'],
        ['/pets/1/photos', 'image/jpeg'],
        ['/imports?dryRun=true', 'text/csv'],
        ['/imports', 'application/x-ndjson'],
        ['/imports', 'text/csv'],
      ],
    );
  });

  test('of a path that does not exist fails without a request', async t => {
    const { store, seen } = await start(t, [ok]);
    assert.match(String(await failure(store.addPhoto(1, '/does/not/exist.jpg'))), /ENOENT|ERR_INVALID_ARG/);
    assert.equal(seen.length, 0);
  });
});

describe('a call', () => {
  test('without an id fails without a request', async t => {
    const { store, seen } = await start(t, [ok]);
    for (const id of [undefined, null, '', '.', '..'] as unknown as string[]) {
      assert.throws(() => store.getMessage(id), TypeError);
    }
    assert.equal(seen.length, 0);
  });

  test('repeats arrays and leaves undefined parameters out', async t => {
    const { store, seen } = await start(t, [ok]);
    await store.listPets({ status: ['available', 'sold'], q: undefined, near: 'Portland, OR' });
    await store.getPet(1);
    assert.deepEqual(
      seen.map(({ url }) => url),
      ['/pets?status=available&status=sold&near=Portland%2C+OR', '/pets/1'],
    );
  });

  test('sends the tags and preferences of its options', async t => {
    const { store, seen } = await start(t, [ok, { status: 304 }]);
    await store.updatePet(1, { name: 'Mia' }, { ifMatch: '"1.1"', headers: { 'X-Request-Id': 'mine' } });
    assert.deepEqual(
      [seen[0]!.headers['if-match'], seen[0]!.headers['x-request-id'], seen[0]!.headers.authorization],
      ['"1.1"', 'mine', 'Bearer k'],
    );
    const error = await failure(store.listPets({}, { ifNoneMatch: '"7"', total: true }));
    assert.deepEqual([error.status, error.code], [304, undefined]);
    assert.deepEqual([seen[1]!.headers['if-none-match'], seen[1]!.headers.prefer], ['"7"', 'count=exact']);
  });

  test('rejects an invalid key or address at once', async () => {
    assert.throws(() => new PetStore({ baseUrl: 'localhost', apiKey: 'k' }), TypeError);
    const store = new PetStore({ baseUrl: 'http://localhost:1', apiKey: 'a\nb' });
    assert.ok((await failure(store.getPet(1))) instanceof TypeError);
  });
});
