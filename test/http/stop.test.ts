import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { long } from '../support/selection.ts';
import {
  assertApiResponse,
  dial,
  newProcessKey,
  type Process,
  parseReplies,
  type RawReply,
  type Reply,
  send,
  spawnService,
} from '../support/serving.ts';

describe('graceful shutdown', () => {
  const started: Process[] = [];
  after(async () => {
    for (const service of started) {
      await service.stop('SIGKILL');
      await service.remove();
    }
  });

  async function start(environment: Record<string, string> = {}) {
    const service = await spawnService({ environment });
    started.push(service);
    const key = await newProcessKey(service);
    return { service, key, base: service.urls.production };
  }

  const post = (key: string, body: string, more = '') =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
  const pet = '{"name":"Minka","categoryId":2}';

  it('finishes pending requests, rejects new ones, exits with 0 and keeps everything it acknowledged', async () => {
    const { service, key, base } = await start();
    // Writers that go on until they are refused; the stop comes in the midst of their flushes.
    const acknowledged: number[] = [];
    const refusals: RawReply[] = [];
    let enough: () => void = () => {};
    const underWay = new Promise<void>(resolve => {
      enough = resolve;
    });
    const writers = Array.from({ length: 32 }, async () => {
      const socket = dial(base);
      const line = new Line(socket);
      while (true) {
        const reply = await line.ask(post(key, pet));
        if (reply === undefined) return;
        assertApiResponse(reply);
        if (reply.status === 201) acknowledged.push(reply.body.id);
        else refusals.push(reply);
        if (acknowledged.length === 500) enough();
      }
    });
    const slow = new Line(dial(base));
    const idle = dial(base);
    await once(idle, 'connect');
    const begun = slow.ask(post(key, pet).slice(0, -10));
    await underWay;

    service.child.kill('SIGTERM');
    await once(idle, 'close');
    await untilRefused(base);
    service.child.kill('SIGTERM');
    slow.write(pet.slice(-10));
    const last = await begun;
    assert.equal(last?.status, 201);
    assert.equal(last!.headers['connection'], 'close');
    acknowledged.push(last!.body.id);
    await Promise.all(writers);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    for (const refusal of refusals) {
      assert.equal(refusal.status, 503);
      assert.equal(refusal.body.code, 'shutting_down');
      assert.match(String(refusal.headers['retry-after']), /^\d+$/);
    }

    const again = await spawnService({ directory: service.directory });
    started.push(again);
    assert.equal(new Set(acknowledged).size, acknowledged.length, 'no id twice');
    for (let from = 0; from < acknowledged.length; from += 100) {
      const ids = acknowledged.slice(from, from + 100);
      const { body } = await send(`${again.urls.production}/pets?limit=100&id=${ids.join()}`, { key });
      assert.equal(body.length, ids.length);
    }
    assert.deepEqual(await again.stop('SIGINT'), { code: 0, signal: null });
  });

  it('returns 503 from /readyz', async () => {
    const { service, key, base } = await start();
    const slow = new Line(dial(base));
    const begun = slow.ask(post(key, pet).slice(0, -10));
    // This connection has a request under way, so it stays open.
    const asking = new Line(dial(base));
    asking.write('GET /readyz HTTP/1.1\r\n');
    const other = new Line(dial(base));
    other.write('GET /v1/pets HTTP/1.1\r\n');
    await send(`${base}/pets`, { key });
    service.child.kill('SIGTERM');
    await untilRefused(base);
    const ready = await asking.ask('Host: x\r\n\r\n');
    assert.equal(ready?.status, 503);
    assert.equal(ready!.body.status, 'stopping');
    const refused = await other.ask('Host: x\r\n\r\n');
    assert.equal(refused?.status, 503);
    assertApiResponse(refused!);
    slow.write(pet.slice(-10));
    assert.equal((await begun)?.status, 201);
    assert.equal((await service.stop()).code, 0);
  });

  it('serves on for the delay, with 503 from /readyz, whatever signals follow', async () => {
    const { service, key, base } = await start({ PETSTORE_STOP_DELAY: '6s' });
    const stream = await fetch(`${base}/events/stream`, { headers: { Authorization: `Bearer ${key}` } });
    const streamed = stream.text();
    const { origin } = new URL(base);
    const agent = new Agent({ keepAlive: true });
    assert.equal((await send(`${base}/pets?limit=1`, { key, agent })).headers['connection'], 'keep-alive');
    const fromMs = performance.now();
    service.child.kill('SIGTERM');
    let ready: Reply;
    do ready = await send(`${origin}/readyz`);
    while (ready.status !== 503);
    assert.equal(ready.body.status, 'stopping');
    service.child.kill('SIGINT');
    const replies = [
      await send(`${base}/pets?limit=1`, { key, agent }),
      await send(`${base}/pets`, { method: 'POST', key, body: { name: 'Minka', categoryId: 2 } }),
      await send(`${origin}/livez`),
      await send(`${origin}/guides`),
    ];
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 201, 200, 200],
    );
    for (const { headers } of [ready, ...replies]) assert.equal(headers['connection'], 'close');
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    assert.ok(performance.now() - fromMs >= 6000);
    assert.match(await streamed, /event: pet\.created/);
  });

  it('waits at most ten seconds for a pending request', {
    skip: !long && 'PETSTORE_TEST_LONG',
  }, async () => {
    const { service, key, base } = await start();
    const slow = new Line(dial(base));
    const begun = slow.ask(post(key, pet).slice(0, -10));
    await send(`${base}/pets`, { key });
    const from = performance.now();
    assert.equal((await service.stop()).code, 0);
    assert.ok(performance.now() - from < 13_000);
    assert.equal(await begun, undefined);
  });

  async function untilRefused(base: string): Promise<void> {
    while (true) {
      const socket = dial(base);
      const refused = await Promise.race([
        once(socket, 'connect').then(() => false),
        once(socket, 'error').then(() => true),
      ]).catch(() => true);
      socket.destroy();
      if (refused) return;
    }
  }
});

/** A connection on which one request follows the other. */
class Line {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #heard: () => void = () => {};
  #closed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (part: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, part]);
      this.#heard();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#closed = true;
      this.#heard();
    });
  }

  write(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  /** Sends the rest of one request; its answer, or `undefined` where the connection ends without. */
  async ask(text: string): Promise<RawReply | undefined> {
    this.write(text);
    while (true) {
      const { replies, rest } = parseReplies(this.#bytes);
      if (replies.length > 0) {
        this.#bytes = Buffer.from(rest, 'latin1');
        return replies[0];
      }
      if (this.#closed) return undefined;
      await new Promise<void>(resolve => {
        this.#heard = resolve;
      });
    }
  }
}
