import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Type from 'typebox';
import { SharedBudget } from '../../shared-budget.ts';
import { Problem } from '../problem.ts';
import { operationsOver, type Route } from '../route.ts';
import type { Authenticator } from './authenticator.ts';
import { trustedProxies } from './client-address.ts';
import { HttpServer } from './server.ts';
import { UploadSlots } from './upload-slots.ts';

const REQUEST_MS = 200;

const authenticator: Authenticator = {
  isStillAuthorized: () => true,
  authenticate: () => ({
    authenticated: true,
    caller: { keyId: 'k', deployment: 'production', accountId: 1, admin: false, plan: 'free', scopes: new Set() },
    headers: [],
    countedAt: 0,
  }),
  uncount: () => [],
  addressHeaders: () => [],
};

/** Returns an operation that counts the bytes of a file; it reads at most `most` chunks. */
function receiving(path: string, timeoutMs?: number, most = Number.POSITIVE_INFINITY): Route<null> {
  return {
    ...operationsOver<null>()({
      ...{ summary: '', description: '', errors: [], examples: [] },
      upload: {
        kind: 'files',
        contentTypes: ['text/csv'],
        bytesMax: 100,
        description: '',
        ...(timeoutMs !== undefined && { timeoutMs }),
      },
      successes: [{ status: 200, description: '', schema: Type.Integer() }],
      async handle({ upload }) {
        let bytes = 0;
        let chunks = 0;
        for await (const chunk of upload!) {
          bytes += chunk.length;
          if (++chunks === most) break;
        }
        return { body: bytes };
      },
    }),
    ...{ operationId: path.slice(1), method: 'POST', path, access: { key: true }, tag: '', stability: 'stable' },
  };
}

/** Resolves once a connection is closed, also by an error. */
const closeOf = (socket: Socket) => new Promise(resolve => socket.once('close', resolve));

describe('an upload', () => {
  const entry = (status: number) => ({ status, message: 'An error.', meaning: '', remedy: '' });
  const server = new HttpServer<null>({
    routes: [receiving('/usual'), receiving('/long', 60_000), receiving('/late', 500), receiving('/partly', 60_000, 1)],
    prefix: '/v1',
    contextOf: () => null,
    authenticator,
    errors: {
      ...{ malformed_request: entry(400), invalid_content_type: entry(400), route_not_found: entry(404) },
      ...{ method_not_allowed: entry(405), request_timeout: entry(408), body_too_large: entry(413) },
      ...{ expectation_failed: entry(417), headers_too_large: entry(431), overloaded: entry(503) },
      shutting_down: entry(503),
    },
    problemOf: error => (error instanceof Problem ? error : new Problem('internal_error', 500, String(error))),
    proxies: trustedProxies([]),
    bodies: new SharedBudget<number>({ total: 0 }),
    forms: new SharedBudget<string>({ total: 0 }),
    uploads: new UploadSlots({ totals: { files: 8 }, maxOf: () => 2, networkOf: address => address }),
    publicUrl: () => 'http://service.example',
    pagesUrl: () => 'http://service.example',
    pages: [],
    errorPage: ({ status }) => ({ status, bytes: '' }),
    limits: { headersMs: 100, requestMs: REQUEST_MS, checkMs: 20 },
  });
  let port: number;
  before(async () => {
    port = await server.listen('127.0.0.1', 0);
  });
  after(() => server.close(0));

  /** Sends a file of ten bytes, one every 100 ms. Returns all bytes received until the connection is closed. */
  async function sendSlowly(path: string, then = ''): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', data => {
      received += data;
    });
    const closed = closeOf(socket);
    socket.on('error', () => {});
    socket.write(`POST /v1${path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 10\r\n\r\n`);
    for (let sent = 0; sent < 10 && !socket.destroyed; sent++) {
      await pause(100);
      socket.write('x');
    }
    socket.write(then);
    await closed;
    return received;
  }
  const statuses = (text: string) => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status));
  const close = 'GET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

  it('is rejected if it takes longer than a request may', async () => {
    assert.deepEqual(statuses(await sendSlowly('/usual')), [408]);
  });

  it('may take longer if its operation says so, and the connection serves further requests', async () => {
    const text = await sendSlowly('/long', close);
    assert.deepEqual(statuses(text), [200, 404]);
    assert.match(text, /\r\n10(HTTP|$)/m);
  });

  it('is rejected once it takes longer than its operation says', async () => {
    assert.deepEqual(statuses(await sendSlowly('/late', close))[0], 408);
  });

  it('does not let the next request of the connection take longer', async () => {
    const begun = 'POST /v1/usual HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 10\r\n\r\nx';
    assert.deepEqual(statuses(await sendSlowly('/long', begun)), [200, 408]);
  });

  it('ends soon after an early response', async () => {
    const begunMs = performance.now();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.write('POST /v1/partly HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 99\r\n\r\nx');
    const sending = setInterval(() => socket.write('x'), 300);
    await closeOf(socket);
    clearInterval(sending);
    assert.ok(performance.now() - begunMs < 15_000);
  });
});
