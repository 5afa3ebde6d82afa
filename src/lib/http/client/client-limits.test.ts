import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import {
  type Behavior,
  endless,
  listen,
  loopback,
  ok,
  onRequest,
  open,
  post,
  respond,
  respondAndClose,
  resultOf,
  silent,
} from '../../../../test/support/raw-server.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';

describe('Misbehaving receivers', () => {
  const quick = { timeoutMs: 400 };

  for (const [name, behavior] of Object.entries({
    'with an endless body': endless('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)),
    'with an endless body in chunks': endless(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\nx\r\n'.repeat(500),
    ),
    'with a huge body': endless(`HTTP/1.1 200 OK\r\nContent-Length: ${10 ** 15}\r\n\r\n`, 'x'.repeat(16_384)),
  })) {
    it(`cuts off a response ${name}, and returns its status`, async t => {
      let sent = 0;
      const listener = await listen(t, (socket, listener) => {
        behavior(socket, listener);
        socket.on('close', () => {
          sent = socket.bytesWritten;
        });
      });
      const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.body], [200, 'x'.repeat(1024)]);
      await waitUntil(() => listener.open === 0);
      assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
    });
  }

  for (const [name, head, part, expected] of [
    [
      'chunk extensions that are longer than the chunks',
      'Transfer-Encoding: chunked\r\n\r\n',
      `1;${'x'.repeat(16_000)}\r\nx\r\n`,
      200,
    ],
    ['a chunk whose size never ends', 'Transfer-Encoding: chunked\r\n\r\n', '0'.repeat(16_384), 200],
    ['blank lines before the status line', undefined, '\r\n'.repeat(8192), 'malformed_answer'],
  ] as const) {
    it(`cuts off a response with ${name} at once`, async t => {
      let sent = 0;
      const begin = head === undefined ? '' : `HTTP/1.1 200 OK\r\n${head}`;
      const listener = await listen(t, (socket, listener) => {
        endless(begin, part)(socket, listener);
        socket.on('close', () => {
          sent = socket.bytesWritten;
        });
      });
      const outcome = await post(open(t, loopback, { timeoutMs: 2000 }), `http://127.0.0.1:${listener.port}/`);
      assert.equal(resultOf(outcome), expected);
      await waitUntil(() => listener.open === 0);
      assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
      assert.ok(outcome.durationMs < 1500, `${outcome.durationMs} ms`);
    });
  }

  it('cuts off a slow body at the time limit, and returns the status', async t => {
    const listener = await listen(t, endless('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', 'x', 50));
    const outcome = await post(open(t, loopback, quick), `http://127.0.0.1:${listener.port}/`);
    assert.ok('status' in outcome);
    assert.equal(outcome.status, 200);
    assert.match(outcome.body, /^x{1,20}$/);
    assert.ok(outcome.durationMs >= 390 && outcome.durationMs < 2000);
    await waitUntil(() => listener.open === 0);
  });

  for (const [name, behavior] of Object.entries({
    'the receiver never responds': silent,
    'the receiver sends headers slowly': endless('HTTP/1.1 200 OK\r\nX: ', 'x', 50),
    'the receiver sends the status line slowly': endless('', 'HTTP/1.1 200 OK'.slice(0, 1), 10_000),
    'the receiver sends interim responses slowly': endless('', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n', 50),
    'the receiver sends nothing': (socket => socket.resume()) as Behavior,
  })) {
    it(`times out: ${name}`, async t => {
      const listener = await listen(t, behavior);
      const outcome = await post(open(t, loopback, quick), `http://127.0.0.1:${listener.port}/`);
      assert.deepEqual(Object.keys(outcome), ['fault', 'durationMs']);
      assert.equal(resultOf(outcome), 'timeout');
      assert.ok(outcome.durationMs >= 390 && outcome.durationMs < 2000);
      await waitUntil(() => listener.open === 0);
    });
  }

  it('times out: the receiver reads nothing of a large request', async t => {
    const listener = await listen(t, socket => socket.pause());
    const outgoing = open(t, loopback, quick);
    const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`, { body: Buffer.alloc(30_000_000) });
    assert.equal(resultOf(outcome), 'timeout');
  });

  it('times out on a DNS lookup that never ends, and reports names that do not resolve', async t => {
    const outgoing = open(t, loopback, { ...quick, findAddresses: () => new Promise(() => undefined) });
    assert.equal(resultOf(await post(outgoing, 'https://hook.example/')), 'timeout');
    for (const findAddresses of [async () => [], () => Promise.reject(new Error('no'))]) {
      assert.equal(resultOf(await post(open(t, loopback, { findAddresses }), 'https://hook.example/')), 'unresolved');
    }
  });

  it('reports responses that are not HTTP, or whose headers are too large, as malformed', async t => {
    const head = 'HTTP/1.1 200 OK\r\n';
    for (const [name, behavior] of Object.entries({
      'another protocol': respond('SSH-2.0-OpenSSH_9.6\r\n'),
      'a mail server': respond('220 mail.example ESMTP\r\n'),
      bytes: respond(Buffer.alloc(4096, 0x80)),
      'an unknown HTTP version': respond('HTTP/9.9 200 OK\r\n\r\n'),
      'no status code': respond('HTTP/1.1 OK\r\n\r\n'),
      'an invalid status': respond('HTTP/1.1 000 Nothing\r\nContent-Length: 2\r\n\r\nok'),
      'a header without a name': respond(`${head}: x\r\n\r\n`),
      'a header with a control character': respond(`${head}X: a\x01b\r\n\r\n`),
      'two content lengths': respond(`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nok`),
      'an invalid content length': respond(`${head}Content-Length: x\r\n\r\nok`),
      'a content length and chunks': respond(`${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok`),
      'a huge header': respond(`${head}X: ${'x'.repeat(17_000)}\r\n\r\n`),
      'headers that are too large in total': respond(
        head,
        ...Array.from({ length: 20 }, (_, i) => `X-${i}: ${'x'.repeat(1000)}\r\n`),
        '\r\n',
      ),
      'a huge reason phrase': respond(`HTTP/1.1 200 ${'x'.repeat(17_000)}\r\n\r\n`),
      'endless headers': endless(head, `X: ${'x'.repeat(1000)}\r\n`),
      'an endless header': endless(`${head}X: `, 'x'.repeat(1000)),
      'endless interim responses': endless('', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'),
      'an unrequested protocol switch': respond(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n`,
      ),
    })) {
      const listener = await listen(t, behavior);
      const outcome = await post(open(t, loopback, { timeoutMs: 5000 }), `http://127.0.0.1:${listener.port}/`);
      assert.equal(resultOf(outcome), 'malformed_answer', name);
      await waitUntil(() => listener.open === 0);
    }
  });

  it('skips interim responses', async t => {
    const interim = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'];
    const listener = await listen(t, respond(...interim, 'HTTP/1.1 204 No Content\r\n\r\n'));
    assert.equal(resultOf(await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`)), 204);
  });

  it('reports a connection that closes before the end of the headers as reset', async t => {
    for (const [name, behavior] of Object.entries<Behavior>({
      'at once': socket => socket.destroy(),
      'with a reset': socket => socket.resetAndDestroy(),
      'after the request': (socket, listener) => onRequest(socket, listener, () => socket.destroy()),
      'with a reset after the request': (socket, listener) =>
        onRequest(socket, listener, () => socket.resetAndDestroy()),
      'within the status': respondAndClose('HTTP/1.1 2'),
      'within the head': respondAndClose('HTTP/1.1 200 OK\r\nX: y\r\n'),
    })) {
      const listener = await listen(t, behavior);
      assert.equal(resultOf(await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`)), 'reset', name);
      assert.equal(listener.connections, 1, name);
    }
  });

  it('returns the status of a response that breaks off within the body', async t => {
    for (const [behavior, text] of [
      [respondAndClose('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'), 'half'],
      [respondAndClose('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'), 'half'],
      [respond('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n'), ''],
    ] as const) {
      const listener = await listen(t, behavior);
      const outcome = await post(open(t, loopback), `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.deepEqual([outcome.status, outcome.body], [200, text]);
      await waitUntil(() => listener.open === 0);
    }
  });

  it('closes a connection on which an unexpected second response arrives', async t => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
    const listener = await listen(t, respond(`${answer}ok${answer}no`));
    const outgoing = open(t, loopback);
    for (let i = 0; i < 3; i++) {
      const outcome = await post(outgoing, `http://127.0.0.1:${listener.port}/`);
      assert.ok('status' in outcome);
      assert.equal(outcome.body, 'ok');
      await waitUntil(() => listener.open === 0);
    }
  });

  it('reports a port on which nothing listens as refused', async t => {
    const listener = await listen(t, ok);
    const { port } = listener;
    const other = createServer().listen(0, '127.0.0.1');
    const free = await new Promise<number>(resolve =>
      other.once('listening', () => {
        const { port } = other.address() as { port: number };
        other.close(() => resolve(port));
      }),
    );
    assert.notEqual(free, port);
    assert.equal(resultOf(await post(open(t, loopback), `http://127.0.0.1:${free}/`)), 'refused');
  });
});
