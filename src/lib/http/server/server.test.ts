import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Type from 'typebox';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { SharedBudget } from '../../shared-budget.ts';
import { Problem } from '../problem.ts';
import { operationsOver, type Route } from '../route.ts';
import type { Authenticator } from './authenticator.ts';
import { trustedProxies } from './client-address.ts';
import type { ConnectionLimits } from './options.ts';
import type { PageRoute } from './pages.ts';
import { HttpServer } from './server.ts';

const operation = operationsOver<null>();
const access = { key: true } as const;
const documentation = { tag: 'Things', summary: '', description: '', errors: [], examples: [] };
const anything = { status: 200, description: '', schema: Type.Unknown() };

const entry = (status: number, message: string) => ({ status, message, meaning: '', remedy: '' });
const errors = {
  malformed_request: entry(400, 'Malformed.'),
  invalid_parameter: entry(400, 'Invalid parameter.'),
  invalid_content_type: entry(400, 'Wrong content type.'),
  invalid_json: entry(400, 'Not JSON.'),
  invalid_body: entry(400, 'Invalid body.'),
  route_not_found: entry(404, 'Nothing here.'),
  method_not_allowed: entry(405, 'Not this method.'),
  request_timeout: entry(408, 'Too slow.'),
  precondition_failed: entry(412, 'Changed meanwhile.'),
  body_too_large: entry(413, 'Too large.'),
  expectation_failed: entry(417, 'Not expected.'),
  precondition_required: entry(428, 'Name the version.'),
  headers_too_large: entry(431, 'Too many headers.'),
  internal_error: entry(500, 'Our fault.'),
  overloaded: entry(503, 'Too much.'),
  shutting_down: entry(503, 'Stopping.'),
};

/** Returns the server's side of the next connection that this process accepts. */
function nextAccepted(): Promise<Socket> {
  return new Promise(resolve => {
    const taken = (message: unknown) => {
      unsubscribe('net.server.socket', taken);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe('net.server.socket', taken);
  });
}

/** Counts how often the server's side of a connection that this process accepts from now on is paused. */
function subscribeToPauses() {
  let pauses = 0;
  const taken = (message: unknown) => {
    (message as { socket: Socket }).socket.on('pause', () => pauses++);
  };
  subscribe('net.server.socket', taken);
  return {
    count() {
      unsubscribe('net.server.socket', taken);
      return pauses;
    },
  };
}

/** More than a kernel buffers for a client that does not read. */
const LARGE_BYTES = 128 * 1024 * 1024;

const MIB = 1024 * 1024;

/** Authenticates every request; each response has a header that shows it. */
const openGate: Authenticator = {
  isStillAuthorized: () => true,
  authenticate: () => ({
    authenticated: true,
    caller: {
      keyId: 'key',
      deployment: 'production',
      accountId: 1,
      admin: false,
      plan: 'free',
      scopes: new Set(['any']),
    },
    headers: ['X-Gate', 'admitted'],
    countedAt: 7,
  }),
  uncount: (_, countedAt) => ['X-Gate', `uncounted ${countedAt}`],
  addressHeaders: address => ['X-Gate', `shown to ${address}`],
};

describe('a server of routes', () => {
  let release: () => void = () => {};
  let released = new Promise<void>(resolve => {
    release = resolve;
  });
  let waiting = 0;
  const causes: unknown[] = [];

  const things: Route<null> = {
    ...operation({ ...documentation, successes: [anything], handle: () => ({ body: ['thing'] }) }),
    operationId: 'listThings',
    method: 'GET',
    path: '/things',
    access,
    tag: 'Things',
    stability: 'stable',
  };
  const add: Route<null> = {
    ...operation({
      ...documentation,
      body: Type.Object({ name: Type.String() }),
      successes: [{ ...anything, status: 201 }],
      handle: ({ body }) => ({ body }),
    }),
    operationId: 'addThing',
    method: 'POST',
    path: '/things',
    access,
    tag: 'Things',
    stability: 'stable',
  };
  const slow: Route<null> = {
    ...operation({
      ...documentation,
      successes: [anything],
      async handle() {
        waiting++;
        await released;
        return { body: 'slow' };
      },
    }),
    operationId: 'waitForThing',
    method: 'GET',
    path: '/things/slow',
    access,
    tag: 'Things',
    stability: 'stable',
  };
  const fault: Route<null> = {
    ...operation({
      ...documentation,
      successes: [anything],
      handle() {
        throw new Error('the secret cause');
      },
    }),
    operationId: 'breakThing',
    method: 'GET',
    path: '/things/broken',
    access,
    tag: 'Things',
    stability: 'stable',
  };
  const lateFault: Route<null> = {
    ...operation({
      ...documentation,
      successes: [anything],
      async handle() {
        await pause(1);
        throw new Error('the secret cause');
      },
    }),
    operationId: 'breakThingLater',
    method: 'GET',
    path: '/things/broken-later',
    access,
    tag: 'Things',
    stability: 'stable',
  };
  const large: Route<null> = {
    ...operation({ ...documentation, successes: [anything], handle: () => ({ body: 'x'.repeat(LARGE_BYTES) }) }),
    operationId: 'getLargeThing',
    method: 'GET',
    path: '/things/large',
    access,
    tag: 'Things',
    stability: 'stable',
  };

  /** How often `computeThing` was called. */
  let computed = 0;
  const busy: Route<null> = {
    ...operation({
      ...documentation,
      successes: [anything],
      handle({ search }) {
        computed++;
        const end = performance.now() + (search === '?short' ? 0.4 : 2);
        while (performance.now() < end);
        return { body: 'done' };
      },
    }),
    operationId: 'computeThing',
    method: 'GET',
    path: '/things/busy',
    access,
    tag: 'Things',
    stability: 'stable',
  };

  const servers: HttpServer<null>[] = [];
  after(() => Promise.all(servers.map(server => server.close(0))));

  async function start(
    limits: Partial<ConnectionLimits> = {},
    gate: Authenticator = openGate,
    bodies = new SharedBudget<number>({ total: 4 * MIB, perClient: 4 * MIB }),
    loadPages = async (): Promise<readonly PageRoute[]> => [],
  ) {
    const server = new HttpServer<null>({
      routes: [things, add, slow, fault, lateFault, large, busy],
      prefix: '/v1',
      contextOf: () => null,
      authenticator: gate,
      errors,
      problemOf(error) {
        if (error instanceof Problem) return error;
        causes.push(error);
        return new Problem('internal_error', 500, 'Our fault.');
      },
      proxies: trustedProxies([]),
      bodies,
      forms: new SharedBudget<string>({ total: 0 }),
      uploads: {} as never,
      publicUrl: () => 'http://service.example',
      pagesUrl: () => 'http://service.example',
      pages: [],
      loadPages,
      errorPage: ({ status }) => ({ status, bytes: '' }),
      limits: { checkMs: 20, ...limits },
    });
    servers.push(server);
    return { server, port: await server.listen('127.0.0.1', 0) };
  }

  let port: number;
  before(async () => {
    port = (await start()).port;
  });

  it('responds to two requests on one connection', async () => {
    const text = await exchange(port, [get('/v1/things') + last('/v1/things')]);
    assert.deepEqual(statuses(text), [200, 200]);
  });

  it('tells when the last request arrived', async () => {
    const { port, server } = await start();
    assert.equal(server.lastRequestMs, Number.NEGATIVE_INFINITY);
    const beforeMs = performance.now();
    await exchange(port, [last('/v1/things')]);
    assert.ok(server.lastRequestMs >= beforeMs && server.lastRequestMs <= performance.now());
  });

  it('sheds load while it is overloaded, and none afterwards', async () => {
    const { port, server } = await start();
    const load = spawn(process.execPath, ['--input-type=module', '--eval', overload, String(port)]);
    const output = text(load.stdout);
    load.stderr.pipe(process.stderr);
    const { ok, refused, latest } = JSON.parse(await output);
    assert.ok(ok > 0);
    assert.ok(refused > 0);
    assert.ok(server.load().shed.event_loop >= refused);
    const [head] = latest.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 503 /);
    assert.match(head, /\r\nRetry-After: [123]\r\n/);
    // The key was not checked.
    assert.match(head, /\r\nX-Gate: shown to 127\.0\.0\.1\r\n/);
    assert.match(latest, /"code":"overloaded"/);
    await waitUntil(() => server.load().connections === 0);
    for (let count = 0; count < 20; count++) {
      assert.deepEqual(statuses(await exchange(port, [last('/v1/things/busy')])), [200]);
    }
  });

  it('responds to a page while many requests of the API wait for their turn, which all get their responses', async () => {
    const { port } = await start({}, openGate, undefined, async () => [
      { method: 'GET', path: '/page', handle: () => ({ status: 200, bytes: 'a page' }) },
    ]);
    const sockets = Array.from({ length: 101 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.write(get('/page'));
      await once(socket, 'data');
    }
    const ended: string[] = [];
    const responses = sockets.map(async (socket, index) => {
      const path = index === 100 ? '/page' : '/v1/things/busy';
      const response = await exchangeOn(socket, [last(path)]);
      ended.push(path);
      return response;
    });
    assert.deepEqual((await Promise.all(responses)).flatMap(statuses), Array(101).fill(200));
    assert.ok(ended.indexOf('/page') < 60, `${ended.indexOf('/page')} of 100 before the page`);
  });

  it('reads again from connections whose requests have waited, also what arrived in the pause', async () => {
    const { port } = await start();
    const pauses = subscribeToPauses();
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.write(get('/v1/things'));
      await once(socket, 'data');
    }
    const rounds = async (socket: Socket) => {
      for (let round = 0; round < 3; round++) {
        // All rounds together last less than the time in which long waits are accepted, also beside other processes.
        socket.write(get('/v1/things/busy?short'));
        await once(socket, 'data');
      }
      const body = '{"name":"x"}';
      const post = `POST /v1/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      return exchangeOn(socket, [post + body + last('/v1/things')]);
    };
    const texts = await Promise.all(sockets.map(rounds));
    assert.ok(pauses.count() > 100, `${pauses.count()} pauses`);
    for (const text of texts) assert.deepEqual(statuses(text), [201, 200]);
  });

  it('reads again from connections whose requests have waited and take longer than all others', async () => {
    const { port } = await start();
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.write(get('/v1/things'));
      await once(socket, 'data');
    }
    const before = waiting;
    const responses = sockets.map(socket => once(socket, 'data'));
    for (const [index, socket] of sockets.entries())
      socket.write(get(index < 80 ? '/v1/things/busy' : '/v1/things/slow'));
    await Promise.all(responses.slice(0, 80));
    await waitUntil(() => waiting === before + 20);
    release();
    await Promise.all(responses);
    released = new Promise(resolve => {
      release = resolve;
    });
    for (const socket of sockets.slice(80))
      assert.deepEqual(statuses(await exchangeOn(socket, [last('/v1/things')])), [200]);
  });

  it('does not start a request that waits when its client has disconnected', async () => {
    const { port, server } = await start();
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.write(get('/v1/things'));
      await once(socket, 'data');
    }
    const before = computed;
    for (const socket of sockets) socket.write(get('/v1/things/busy'));
    for (const socket of sockets) socket.resetAndDestroy();
    await waitUntil(() => server.load().connections === 0);
    assert.deepEqual(statuses(await exchange(port, [last('/v1/things/busy')])), [200]);
    assert.ok(computed - before < 80, `${computed - before} of 101 were started`);
  });

  it('loads pages for the first request outside the API, and again if that failed', async () => {
    let loads = 0;
    const { port } = await start({}, openGate, undefined, async () => {
      loads++;
      if (loads === 1) throw new Error('the secret cause');
      return [{ method: 'GET', path: '/page', handle: () => ({ status: 200, bytes: 'a page' }) }];
    });
    await exchange(port, [last('/v1/things')]);
    assert.equal(loads, 0);
    const failed = await exchange(port, [last('/page')]);
    assert.deepEqual(statuses(failed), [500]);
    assert.doesNotMatch(failed, /secret/);
    const texts = await Promise.all(['/page', '/page', '/nothing'].map(path => exchange(port, [last(path)])));
    assert.deepEqual(texts.map(statuses), [[200], [200], [404]]);
    assert.match(texts[0]!, /a page$/);
    assert.equal(loads, 2);
  });

  it('reports an internal error without its cause, which is logged', async () => {
    for (const path of ['/v1/things/broken', '/v1/things/broken-later']) {
      causes.length = 0;
      const text = await exchange(port, [last(path)]);
      assert.deepEqual(statuses(text), [500]);
      assert.match(text, /X-Gate: admitted\r\n/);
      assert.match(text, /"code":"internal_error"/);
      assert.doesNotMatch(text, /secret/);
      assert.match(String(causes[0]), /the secret cause/);
    }
  });

  it('reports an error of the authenticator like any other, with the rate limits of the address', async () => {
    for (const authenticate of [() => Promise.reject(new Error('away')), () => fail()]) {
      const { port } = await start({}, { ...openGate, authenticate });
      const text = await exchange(port, [last('/v1/things')]);
      assert.deepEqual(statuses(text), [500]);
      assert.match(text, /X-Gate: shown to 127\.0\.0\.1\r\n/);
    }
    function fail(): never {
      throw new Error('broken');
    }
  });

  it('returns 408 for slow headers, and closes the connection', async () => {
    const { port } = await start({ headersMs: 60 });
    for (const begun of ['', 'GET /v1/things HTTP/1.1\r\nHost: x\r\nX-Slow: ']) {
      const text = await exchange(port, begun === '' ? [] : [begun]);
      assert.deepEqual(statuses(text), [408]);
      assert.match(text, /X-Gate: shown to 127\.0\.0\.1\r\n/);
      assert.match(text, /"code":"request_timeout"/);
    }
  });

  it('returns 408 for a slow body, and closes the connection', async () => {
    const { port } = await start({ headersMs: 50, requestMs: 100 });
    const text = await exchange(port, [`${post(100)}{"name":`]);
    assert.deepEqual(statuses(text), [408]);
    assert.match(text, /X-Gate: shown to 127\.0\.0\.1\r\n/);
  });

  it('responds once to a request whose body continues too long after the response', async () => {
    const { port } = await start({ headersMs: 50, requestMs: 100 });
    const text = await exchange(port, ['GET /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc']);
    assert.deepEqual(statuses(text), [200]);
  });

  it('reads a body that it has rejected, so that the client gets the response to its last request', async () => {
    for (const bytes of [2 * MIB, 20 * MIB]) {
      const head = post(bytes).replace('\r\n', '\r\nConnection: close\r\n');
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      let received = '';
      socket.on('data', data => {
        received += data;
      });
      // Some clients read the response only after they have sent the whole body.
      for (const part of [head, ...Array.from({ length: bytes / 65_536 }, () => Buffer.alloc(65_536))]) {
        if (!socket.write(part)) await once(socket, 'drain');
      }
      socket.end();
      await once(socket, 'close');
      assert.deepEqual(statuses(received), [413]);
    }
  });

  it('closes the connection of a rejected body that goes on arriving', async () => {
    const accepted = nextAccepted();
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {}).resume();
    const beginMs = performance.now();
    socket.write(post(2 * MIB).replace('\r\n', '\r\nConnection: close\r\n'));
    const sending = setInterval(() => socket.write('x'), 100);
    await once(await accepted, 'close');
    clearInterval(sending);
    assert.ok(performance.now() - beginMs < 15_000);
    socket.destroy();
  });

  it('closes a connection that stays idle', async () => {
    const { port } = await start({ idleMs: 50 });
    const text = await exchange(port, [get('/v1/things')]);
    assert.deepEqual(statuses(text), [200]);
  });

  it('closes a connection whose client does not read the response', async () => {
    const { port } = await start({ stalledMs: 100 });
    const accepted = nextAccepted();
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    socket.write(last('/v1/things/large'));
    // The client reads only after the server has given up, and then gets just what was sent before.
    await once(await accepted, 'close');
    let bytes = 0;
    socket.on('data', part => {
      bytes += part.length;
    });
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'close');
    assert.ok(bytes < LARGE_BYTES, `${bytes} bytes came`);
  });

  it('closes the least recently used connection if there are too many', async () => {
    const { port } = await start({ connectionsMax: 3 });
    const open = async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    const sockets = [await open(), await open(), await open()] as const;
    sockets[0].write(get('/v1/things'));
    await once(sockets[0], 'data');
    const fourth = await open();
    await once(sockets[1], 'close');
    for (const socket of [sockets[0], sockets[2], fourth]) {
      socket.write(get('/v1/things'));
      await once(socket, 'data');
      socket.destroy();
    }
  });

  it('responds to pipelined requests in order, and to a malformed one last', async () => {
    waiting = 0;
    const answered = exchange(port, [`${get('/v1/things/slow')}${get('/v1/things')}NONSENSE\r\n\r\n`]);
    while (waiting === 0) await pause(5);
    release();
    const text = await answered;
    assert.deepEqual(statuses(text), [200, 200, 400]);
    assert.ok(text.indexOf('"slow"') < text.indexOf('["thing"]'));
    released = new Promise(resolve => {
      release = resolve;
    });
  });

  it('limits how many pipelined requests it reads ahead, and responds to all', async () => {
    waiting = 0;
    const request = `GET /v1/things/slow HTTP/1.1\r\nHost: x\r\nX-Padding: ${'x'.repeat(2000)}\r\n`;
    const answered = exchange(port, [`${request}\r\n`.repeat(999), `${request}Connection: close\r\n\r\n`]);
    while (waiting < 64) await pause(5);
    await pause(100);
    assert.ok(waiting < 200, `${waiting} requests are served at once`);
    release();
    assert.deepEqual(statuses(await answered), new Array(1000).fill(200));
    released = new Promise(resolve => {
      release = resolve;
    });
  });

  it('starts one pipelined request per turn of the event loop, and serves others in between', async () => {
    const open = async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    const [many, other] = await Promise.all([open(), open()]);
    let text = '';
    many.setEncoding('latin1').on('data', part => {
      text += part;
    });
    many.write(`${get('/v1/things').repeat(99)}${last('/v1/things')}`);
    other.write(last('/v1/things'));
    await once(other, 'data');
    const before = statuses(text).length;
    await once(many, 'close');
    assert.equal(statuses(text).length, 100);
    assert.ok(before < 50, `${before} of 100 were answered before the one of somebody else`);
  });

  it('accepts a body in thousands of chunks, but not in tens of thousands', async () => {
    const head =
      'POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
    const inPieces = (count: number) =>
      `${head}Connection: close\r\n\r\n${[...JSON.stringify({ name: 'x'.repeat(count) })]
        .map(piece => `1\r\n${piece}\r\n`)
        .join('')}0\r\n\r\n`;
    assert.deepEqual(statuses(await exchange(port, [inPieces(10_000)])), [201]);
    const text = await exchange(port, [inPieces(20_000)]);
    assert.deepEqual(statuses(text), [413]);
    assert.match(text, /"code":"body_too_large"/);
  });

  describe('with a budget for bodies', () => {
    const byAccount: Authenticator = {
      ...openGate,
      authenticate: ({ authorization }) => ({
        authenticated: true,
        caller: {
          keyId: 'key',
          deployment: 'production',
          accountId: Number(authorization),
          admin: false,
          plan: 'free',
          scopes: new Set(['any']),
        },
        headers: ['X-Gate', 'admitted'],
        countedAt: 8,
      }),
    };
    const head = (account: number, framing: string) =>
      `POST /v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: ${account}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
    const whole = (account: number) => `${head(account, 'Content-Length: 12\r\nConnection: close')}{"name":"x"}`;

    /** Begins a request, and returns its socket once its body takes `bytes` of the budget. */
    async function begin(port: number, bodies: SharedBudget<number>, text: string, bytes: number): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      const before = bodies.used;
      socket.write(text);
      await waitUntil(() => bodies.used === before + bytes);
      return socket;
    }

    it('returns 503 before it reads more than an account may send, and serves other accounts', async () => {
      const bodies = new SharedBudget<number>({ total: 2 * MIB, perClient: MIB });
      const { port } = await start({}, byAccount, bodies);
      const first = await begin(port, bodies, head(1, `Content-Length: ${MIB - 100}`), MIB - 100);
      const refused = await exchange(port, [head(1, 'Content-Length: 101\r\nConnection: close')]);
      assert.deepEqual(statuses(refused), [503]);
      assert.match(refused, /"code":"overloaded"/);
      assert.match(refused, /\r\nRetry-After: 1\r\n/);
      assert.match(refused, /\r\nX-Gate: uncounted 8\r\n/);
      assert.deepEqual(statuses(await exchange(port, [whole(1)])), [201]);
      assert.deepEqual(statuses(await exchange(port, [whole(2)])), [201]);
      assert.equal(bodies.used, MIB - 100);
      first.write(JSON.stringify({ name: 'x'.repeat(MIB - 111) }));
      const [response] = (await once(first, 'data')) as [Buffer];
      assert.deepEqual(statuses(response.toString('latin1')), [201]);
      first.destroy();
      assert.equal(bodies.used, 0);
    });

    it('counts a body without Content-Length as it grows', async () => {
      const bodies = new SharedBudget<number>({ total: MIB, perClient: 64 * 1024 });
      const { port } = await start({}, byAccount, bodies);
      const chunked = head(1, 'Transfer-Encoding: chunked');
      const first = await begin(port, bodies, `${chunked}1\r\n{\r\n`, 16 * 1024);
      first.write(`7000\r\n${' '.repeat(0x7000)}\r\n`);
      await waitUntil(() => bodies.used === 32 * 1024);
      first.write(`9000\r\n${' '.repeat(0x9000)}\r\n`);
      const [response] = (await once(first, 'data')) as [Buffer];
      assert.deepEqual(statuses(response.toString('latin1')), [503]);
      assert.equal(bodies.used, 0);
      first.destroy();
    });

    it('releases a body that never arrives', async () => {
      const bodies = new SharedBudget<number>({ total: MIB, perClient: MIB });
      const { port } = await start({ headersMs: 50, requestMs: 100 }, byAccount, bodies);
      const gone = await begin(port, bodies, head(1, 'Content-Length: 1000'), 1000);
      gone.destroy();
      await waitUntil(() => bodies.used === 0);
      const slow = await begin(port, bodies, head(1, 'Content-Length: 1000'), 1000);
      const [response] = (await once(slow, 'data')) as [Buffer];
      assert.deepEqual(statuses(response.toString('latin1')), [408]);
      await waitUntil(() => bodies.used === 0);
      const broken = await begin(port, bodies, `${head(1, 'Transfer-Encoding: chunked')}`, 16 * 1024);
      broken.write('nonsense\r\n');
      await waitUntil(() => bodies.used === 0);
      const [malformed] = (await once(broken, 'data')) as [Buffer];
      assert.deepEqual(statuses(malformed.toString('latin1')), [400]);
    });

    it('reserves nothing for a client that has gone while its key was checked', async () => {
      const bodies = new SharedBudget<number>({ total: MIB });
      const asked = Promise.withResolvers<void>();
      const checked = Promise.withResolvers<void>();
      const authenticate: Authenticator['authenticate'] = async request => {
        asked.resolve();
        await checked.promise;
        return byAccount.authenticate(request);
      };
      const { server, port } = await start({}, { ...openGate, authenticate }, bodies);
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(head(1, 'Content-Length: 1000'));
      await asked.promise;
      socket.destroy();
      // The server has noticed that the connection is closed.
      await server.close(3000);
      await nextTurn();
      checked.resolve();
      await nextTurn();
      assert.equal(bodies.used, 0);
    });

    it('keeps no memory of a body whose request is answered, while the connection stays open', async () => {
      const bodies = new SharedBudget<number>({ total: MIB, perClient: MIB });
      const { port } = await start({ idleMs: 3_600_000 }, byAccount, bodies);
      const sockets: Socket[] = [];
      const before = process.memoryUsage().arrayBuffers;
      const body = JSON.stringify({ name: 'x'.repeat(MIB - 20) });
      for (let count = 0; count < 40; count++) {
        const socket = connect(port, '127.0.0.1');
        sockets.push(socket);
        socket.write(head(1, `Content-Length: ${body.length}`) + body);
        await once(socket, 'data');
        socket.pause();
      }
      setFlagsFromString('--expose-gc');
      await waitUntil(() => {
        runInNewContext('gc')();
        return process.memoryUsage().arrayBuffers - before < 10 * MIB;
      });
      for (const socket of sockets) socket.destroy();
    });
  });

  it('responds to a client that has half-closed the connection', async () => {
    waiting = 0;
    const socket = connect(port, '127.0.0.1');
    socket.end(get('/v1/things/slow'));
    while (waiting === 0) await pause(5);
    await pause(20);
    release();
    const [part] = (await once(socket, 'data')) as [Buffer];
    assert.match(part.toString(), /"slow"/);
    await once(socket, 'close');
    released = new Promise(resolve => {
      release = resolve;
    });
  });

  it('responds once to a malformed body, after the requests before it', async () => {
    const chunked =
      'POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const text = await exchange(port, [`${get('/v1/things')}${chunked}2\r\n{}\r\nnonsense\r\n`]);
    assert.deepEqual(statuses(text), [200, 400]);
    assert.match(text, /"code":"malformed_request"/);
  });

  it('stops: completes pending requests, rejects later ones, and closes idle connections', async () => {
    const { server, port } = await start();
    const idle = connect(port, '127.0.0.1');
    await once(idle, 'connect');
    const used = connect(port, '127.0.0.1');
    used.write(get('/v1/things'));
    await once(used, 'data');
    const begun = connect(port, '127.0.0.1');
    begun.write('GET /v1/things HTTP/1.1\r\nHost: x\r\n');
    waiting = 0;
    const answered = exchange(port, [get('/v1/things/slow')]);
    while (waiting === 0) await pause(5);

    const closed = server.close(5000);
    await Promise.all([once(idle, 'close'), once(used, 'close')]);
    begun.write('\r\n');
    const [refusal] = (await once(begun, 'data')) as [Buffer];
    assert.match(refusal.toString(), /^HTTP\/1\.1 503 /);
    assert.match(refusal.toString(), /"code":"shutting_down"/);
    assert.match(refusal.toString(), /\r\nX-Gate: shown to 127\.0\.0\.1\r\n/);
    assert.match(refusal.toString(), /\r\nRetry-After: 1\r\n/);
    assert.match(refusal.toString(), /\r\nConnection: close\r\n/i);
    release();
    assert.deepEqual(statuses(await answered), [200]);
    await closed;
  });

  it('serves every request as the last one on its connection until the delay of a stop ends', async () => {
    const page: PageRoute = { method: 'GET', path: '/page', handle: () => ({ status: 200, bytes: 'a page' }) };
    const { server, port } = await start({}, openGate, undefined, async () => [page]);
    const used = connect(port, '127.0.0.1');
    used.write(get('/v1/things'));
    await once(used, 'data');
    const delay = Promise.withResolvers<void>();
    const drained = server.drain(delay.promise);
    const preflight =
      'OPTIONS /v1/things HTTP/1.1\r\nHost: x\r\nOrigin: x\r\nAccess-Control-Request-Method: GET\r\n\r\n';
    const requests = [get('/v1/things'), `${post(12)}{"name":"x"}`, get('/page'), get('/v1/nothing'), preflight];
    const texts = await Promise.all([exchangeOn(used, [requests[0]!]), ...requests.map(one => exchange(port, [one]))]);
    assert.deepEqual(texts.map(statuses), [[200], [200], [201], [200], [404], [204]]);
    for (const text of texts) assert.match(text, /\r\nConnection: close\r\n/i);
    delay.resolve();
    await drained;
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
  });

  it('serves the connections that wait in the kernel when the delay of a stop ends', async () => {
    const { server, port } = await start();
    const accepted = nextAccepted();
    const late = connect(port, '127.0.0.1');
    await accepted;
    const answers = Array.from({ length: 50 }, () => exchange(port, [get('/v1/things')]));
    const drained = server.drain(Promise.resolve());
    assert.deepEqual((await Promise.all(answers)).map(statuses), new Array(50).fill([200]));
    // This connection was accepted before, and sends its request only now.
    assert.deepEqual(statuses(await exchangeOn(late, [get('/v1/things')])), [200]);
    await drained;
    await server.close(0);
  });

  it('sends the rest of a large response when it stops', async () => {
    const { server, port } = await start({ idleMs: 3_600_000 });
    const socket = connect(port, '127.0.0.1');
    let bytes = 0;
    socket.write(get('/v1/things/large'));
    await once(socket, 'readable');
    const closed = server.close(3_600_000);
    socket.on('data', part => {
      bytes += part.length;
    });
    await once(socket, 'close');
    assert.ok(bytes > LARGE_BYTES, `${bytes} bytes came`);
    await closed;
  });

  it('stops after its time limit even with pending requests', async () => {
    const { server, port } = await start();
    const begun = connect(port, '127.0.0.1');
    begun.write('GET /v1/things HTTP/1.1\r\nHost: x\r\n');
    begun.on('error', () => {});
    await once(begun, 'connect');
    await pause(20);
    const ended = once(begun, 'close');
    await server.close(100);
    await ended;
  });

  it('does not start with a route that defines no access', () => {
    const open = { ...things, access: undefined } as unknown as typeof things;
    assert.throws(
      () =>
        new HttpServer<null>({
          routes: [open],
          prefix: '',
          contextOf: () => null,
          authenticator: openGate,
          errors,
          problemOf: error => error as Problem,
          proxies: trustedProxies([]),
          bodies: new SharedBudget<number>({ total: 0, perClient: 0 }),
          forms: new SharedBudget<string>({ total: 0 }),
          uploads: {} as never,
          publicUrl: () => '',
          pagesUrl: () => '',
          pages: [],
          errorPage: ({ status }) => ({ status, bytes: '' }),
        }),
      /listThings does not state who may call it/,
    );
  });
});

/**
 * A program that overloads a server until 50 requests were rejected: 100 connections send one request after another,
 * and new connections arrive continuously.
 */
const overload = `
  import { connect } from 'node:net';
  let ok = 0, refused = 0, latest = '';
  function open(once) {
    const socket = connect(Number(process.argv[1]), '127.0.0.1');
    const send = () => socket.write('GET /v1/things/busy HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
    socket.on('error', () => {});
    socket.on('connect', send);
    socket.setEncoding('latin1').on('data', text => {
      if (text.startsWith('HTTP/1.1 503')) {
        refused++;
        latest = text;
      } else ok++;
      if (once) socket.destroy();
      else if (!socket.readableEnded) send();
    });
    socket.on('close', () => { if (!once && refused < 50) open(false); });
  }
  for (let count = 0; count < 100; count++) open(false);
  const timer = setInterval(() => {
    if (refused < 50 && performance.now() < 30_000) for (let count = 0; count < 5; count++) open(true);
    else process.stdout.write(JSON.stringify({ ok, refused, latest }), () => process.exit());
  }, 10);
`;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const last = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const post = (length: number) =>
  `POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends pieces on a new connection. Returns all bytes received until the server ended it. */
function exchange(port: number, pieces: readonly string[]): Promise<string> {
  return exchangeOn(connect(port, '127.0.0.1'), pieces);
}

async function exchangeOn(socket: Socket, pieces: readonly string[]): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', part => {
    text += part;
  });
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  await once(socket, 'close');
  return text;
}

/** Returns the statuses of all responses in a text, in order. */
function statuses(text: string): number[] {
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][\w -]*\r\n/g), match => Number(match[1]));
}
