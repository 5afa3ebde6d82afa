import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { revokeKey } from '../../src/access/keys/keys.ts';
import type { NewEvent } from '../../src/model/log/event.ts';
import { recordEvents } from '../../src/model/log/log.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long } from '../support/selection.ts';
import {
  assertApiResponse,
  dial,
  newProcessKey,
  type Process,
  send,
  sendRaw,
  serve,
  spawnService,
} from '../support/serving.ts';

const SUBSCRIBERS = long ? 9900 : 600;
const CHANGES = long ? 30 : 3;
const KILLS = long ? 50 : 4;

const outsideLinux = process.platform === 'linux' ? false : 'left out: resident memory is read from /proc';

overEachEngine(engine => {
  describe('the event stream', () => {
    async function start(t: TestContext, environment: Record<string, string> = {}) {
      const serving = await serve({ environment: { ...(await engine.settings()), ...environment } });
      t.after(() => serving.stop());
      const key = await serving.newKey();
      const base = serving.urls.production;
      const add = (name: string) => send(`${base}/pets`, { method: 'POST', key, body: { name, categoryId: 2 } });
      return { serving, key, base, add };
    }

    it('sends events with rate limit headers and continues after a given event', async t => {
      const { base, key, add } = await start(t);
      await add('Minka');
      const line = new Line(base, key.token);
      await line.until(text => text.includes('retry: '));
      assertApiResponse(line.reply());
      assert.equal(line.reply().headers['content-type'], 'text/event-stream');
      assert.equal(line.reply().headers['x-ratelimit-remaining'], '999999998');
      const { headers } = await send(`${base}/events`, { key });
      await add('Moritz');
      await line.until(() => line.events.length === 1);
      const { body: listed } = await send(`${base}/events?after=${headers['x-sync-token']}`, { key });
      assert.deepEqual(line.events, listed);
      line.end();
      const again = new Line(base, key.token, 'Last-Event-ID: evt_0\r\n');
      await again.until(() => again.events.length === 4);
      assert.deepEqual(again.ids, ['evt_1', 'evt_2', 'evt_3', 'evt_4']);
      assert.deepEqual(
        again.events.map(({ type }) => type),
        ['account.created', 'key.created', 'pet.created', 'pet.created'],
      );
      again.end();
    });

    it('shows events of a kind only with its scope, as the list does', async t => {
      const { serving, base, key, add } = await start(t);
      const { token } = await serving.newKey({ accountId: key.accountId, scopes: ['events:read', 'messages:read'] });
      const line = new Line(base, token, 'Last-Event-ID: evt_0\r\n');
      const { body: pet } = await add('Minka');
      await send(`${base}/store/orders`, { method: 'POST', key, body: { petId: pet.id } });
      await send(`${base}/webhooks`, { method: 'POST', key, body: { url: 'https://example.org/' } });
      await add('Moritz');
      const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);
      const visible = ['pet.created', 'pet.updated', 'pet.created'];
      await line.until(() => line.events.length >= visible.length);
      assert.deepEqual(typesOf(line.events), visible);
      const list = async (by: string, query = '') => typesOf((await send(`${base}/events${query}`, { key: by })).body);
      assert.deepEqual(await list(token), visible);
      assert.deepEqual(await list(token, '?types=order.*&types=account.*&types=webhook.created'), []);
      const all = ['account.created', 'key.created', 'key.created', 'pet.created', 'order.placed', 'pet.updated'];
      assert.deepEqual((await list(key.token)).sort(), [...all, 'webhook.created', 'pet.created'].sort());
      line.end();
    });

    it('ends soon after its key is revoked', async t => {
      const { serving, base, key } = await start(t);
      const line = new Line(base, key.token);
      await line.until(text => text.includes('retry: '));
      await serving.app.databases.production.write(tx => revokeKey(tx, key.id));
      const sinceMs = performance.now();
      await line.closed;
      t.diagnostic(`${Math.round(performance.now() - sinceMs)} ms`);
    });

    it('ends soon after its account is suspended', async t => {
      const { serving, base, key } = await start(t);
      const line = new Line(base, key.token);
      await line.until(text => text.includes('retry: '));
      await serving.app.databases.production.write(tx => suspendAccount(tx, key.accountId));
      await line.closed;
    });

    it('sends the revocation of a key to other streams of the account, but not to its own', async t => {
      const { serving, base, key } = await start(t);
      const other = await serving.newKey({ accountId: key.accountId });
      const stranger = await serving.newKey();
      const [own, others, foreign] = [key, other, stranger].map(({ token }) => new Line(base, token)) as [
        Line,
        Line,
        Line,
      ];
      await Promise.all([own, others, foreign].map(line => line.until(text => text.includes('retry: '))));
      await serving.app.databases.production.write(tx => revokeKey(tx, key.id));
      await own.closed;
      assert.deepEqual(own.events, []);
      await others.until(() => others.events.length === 1);
      const [revoked] = others.events;
      assert.deepEqual([revoked.type, revoked.data.id], ['key.revoked', key.id]);
      assert.deepEqual(revoked.changes, { revokedAt: { to: revoked.data.revokedAt } });
      // Something that the stranger does hear of, behind it.
      await send(`${base}/pets`, { method: 'POST', key: other, body: { name: 'Minka', categoryId: 2 } });
      await foreign.until(() => foreign.events.length === 1);
      assert.equal(foreign.events[0].type, 'pet.created');
      for (const line of [others, foreign]) line.end();
    });

    it('is limited per account, and a closed stream frees a slot', async t => {
      const { base, key } = await start(t, { PETSTORE_STREAMS_MAX: '5' });
      const lines = Array.from({ length: 5 }, () => new Line(base, key.token));
      await Promise.all(lines.map(line => line.until(text => text.includes('retry: '))));
      const refused = await send(`${base}/events/stream`, { key });
      assert.deepEqual([refused.status, refused.body.code], [409, 'stream_limit_exceeded']);
      lines[0]!.end();
      let head = refused;
      while (head.status === 409) head = await send(`${base}/events/stream`, { key, method: 'HEAD' });
      assert.equal(head.status, 200);
      const next = new Line(base, key.token);
      await next.until(text => text.includes('retry: '));
      for (const line of [...lines, next]) line.end();
    });

    it('gives way at the limit if its client has acknowledged nothing for two heartbeats', {
      skip: outsideLinux,
    }, async t => {
      const { serving, base, key } = await start(t, { PETSTORE_STREAMS_MAX: '2' });
      const realNow = performance.now.bind(performance);
      let aheadMs = 0;
      t.mock.method(performance, 'now', () => realNow() + aheadMs);
      const [vanished, alive] = [new Line(base, key.token), new Line(base, key.token)];
      for (const line of [vanished, alive]) await line.until(text => text.includes('retry: '));
      vanished.socket.pause();
      // More than a socket receives unread, and less than the kernel takes for sending.
      const data = { pet: { name: 'x'.repeat(2000) }, ownerId: 1 };
      const event: NewEvent = { kind: 'pet', action: 'created', subjectId: 1, accountId: null, data };
      await serving.app.databases.production.write(tx => recordEvents(tx, Array<NewEvent>(200).fill(event)));
      await alive.until(() => alive.messages === 200);
      const open = () => send(`${base}/events/stream`, { key, method: 'HEAD' });
      for (let heartbeats = 1; heartbeats <= 2; heartbeats++) {
        assert.equal((await open()).status, 409, 'no stream is known to be stalled');
        aheadMs += 15_001;
        await alive.until(text => text.split(': still here').length > heartbeats);
      }
      aheadMs += 1001;
      assert.equal((await open()).status, 200);
      vanished.socket.resume();
      await vanished.closed;
      const next = new Line(base, key.token);
      await next.until(text => text.includes('retry: '));
      assert.equal((await open()).status, 409, 'a stream that is read keeps its slot');
      for (const line of [alive, next]) line.end();
    });

    it('ends cleanly and immediately when the service stops, even for blocked clients', async t => {
      const { serving, base, key } = await start(t);
      const lines = Array.from({ length: 4 }, () => new Line(base, key.token));
      await Promise.all(lines.map(line => line.until(text => text.includes('retry: '))));
      lines[0]!.socket.pause();
      await serving.stop();
      await Promise.all(lines.slice(1).map(line => line.closed));
      for (const line of lines.slice(1)) assert.match(line.text, /\r\n0\r\n\r\n$/, 'the last chunk is there');
      lines[0]!.end();
    });

    it('rejects an invalid start position before the first byte', async t => {
      const { base, key } = await start(t);
      for (const [id, status, code] of [
        ['evt_1000', 410, 'events_expired'],
        ['1', 400, 'invalid_parameter'],
        ['evt_01', 400, 'invalid_parameter'],
      ] as const) {
        const reply = await send(`${base}/events/stream`, { key, headers: { 'Last-Event-ID': id } });
        assert.deepEqual([reply.status, reply.body.code], [status, code]);
      }
      const { replies } = await sendRaw(
        base,
        `HEAD /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.token}\r\n\r\n`,
        { count: 1, heads: true },
      );
      assert.equal(replies[0]!.headers['content-type'], 'text/event-stream');
    });

    it('is sent to HTTP/1.0 without chunks', async t => {
      const { base, key, add } = await start(t);
      const line = new Line(base, key.token, '', '1.0');
      await line.until(text => text.includes('retry: '));
      await add('Minka');
      await line.until(text => text.includes('event: pet.created\n'));
      assert.doesNotMatch(line.text, /transfer-encoding/i);
      line.end();
    });
  });

  it('loses and repeats no event across a kill', async t => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-events-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const environment = await engine.settings();
    const named = new Set<string>();
    const told: { sequence: number; name: string }[] = [];
    let token: string | undefined;
    for (let round = 0; round <= KILLS; round++) {
      const service = await spawnService({ directory, environment });
      token ??= await newProcessKey(service);
      const base = service.urls.production;
      const from = told.at(-1)?.sequence ?? 0;
      const line = new Line(base, token, `Last-Event-ID: evt_${from}\r\n`);
      const last = round === KILLS;
      let killed = false;
      const writers = Array.from({ length: last ? 0 : 8 }, async (_, writer) => {
        for (let n = 0; !killed; n++) {
          const name = `${round} ${writer} ${n}`;
          const reply = await send(`${base}/pets`, {
            method: 'POST',
            key: token!,
            body: { name, categoryId: 2 },
          }).catch(() => undefined);
          if (reply?.status === 201) named.add(name);
        }
      });
      if (last) {
        const { headers } = await send(`${base}/events?after=evt_${from}&limit=1&types=order.*`, { key: token });
        const end = Number(String(headers['x-sync-token']).slice(4));
        if (end > from) await line.until(() => (line.events.at(-1)?.sequence ?? 0) >= end);
        await service.stop();
      } else {
        await pause(150 + Math.random() * 300);
        killed = true;
        await service.stop('SIGKILL');
      }
      await Promise.all(writers);
      await line.closed;
      for (const { type, sequence, data } of line.events) {
        if (type.startsWith('pet.')) told.push({ sequence, name: data.name });
      }
    }
    const names = told.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, 'nothing is told twice');
    for (const name of named) assert.ok(names.includes(name), `${name} was answered`);
    assert.ok(told.every(({ sequence }, index) => index === 0 || told[index - 1]!.sequence < sequence));
    t.diagnostic(`${told.length} events over ${KILLS} kills`);
  });
});

describe('many streams', { skip: outsideLinux }, () => {
  async function start(t: TestContext): Promise<{ service: Process; token: string; memory(): number }> {
    const service = await spawnService({
      environment: { PETSTORE_STREAMS_MAX: '100000', PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' },
    });
    t.after(async () => {
      await service.stop('SIGKILL');
      await service.remove();
    });
    const status = `/proc/${service.child.pid}/status`;
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))![1]) / 1024;
    return { service, token: await newProcessKey(service), memory };
  }

  it(`deliver each change to ${SUBSCRIBERS} clients`, async t => {
    const { service, token, memory } = await start(t);
    const base = service.urls.production;
    const before = memory();
    const lines: Line[] = [];
    for (let first = 0; first < SUBSCRIBERS; first += 100) {
      const some = Array.from({ length: 100 }, () => new Line(base, token));
      await Promise.all(some.map(line => line.until(text => text.includes('retry: '))));
      lines.push(...some);
    }
    const open = memory();
    const delays: number[] = [];
    for (let change = 1; change <= CHANGES; change++) {
      const sinceMs = performance.now();
      const heard = Promise.all(
        lines.map(line =>
          line.until(() => line.messages >= change).then(() => delays.push(performance.now() - sinceMs)),
        ),
      );
      await send(`${base}/pets`, { method: 'POST', key: token, body: { name: 'Minka', categoryId: 2 } });
      await heard;
      await pause(Math.max(0, 1000 - (performance.now() - sinceMs)));
    }
    delays.sort((a, b) => a - b);
    const at = (share: number) => Math.round(delays[Math.floor((delays.length - 1) * share)]!);
    t.diagnostic(
      `${lines.length} streams: ${Math.round(before)} MiB before, ${Math.round(open)} open, ${Math.round(memory())} after ` +
        `${CHANGES} changes; from the request to a reader p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, last ${at(1)} ms`,
    );
    assert.ok(memory() < 500, 'within 500 MB');
    assert.ok(lines.every(line => line.messages === CHANGES));
    for (const line of lines) line.end();
  });

  it('uses no memory for blocked clients, which receive everything later', async t => {
    const { service, token, memory } = await start(t);
    const base = service.urls.production;
    const lines = Array.from({ length: long ? 30 : 60 }, () => new Line(base, token));
    await Promise.all(lines.map(line => line.until(text => text.includes('retry: '))));
    for (const line of lines) line.socket.pause();
    const name = '🐈'.repeat(255);
    // 2 KiB each: about 400 MiB for all clients, in either run.
    const changes = long ? 9000 : 3500;
    const before = memory();
    for (let first = 0; first < changes; first += 50) {
      await Promise.all(
        Array.from({ length: 50 }, () =>
          send(`${base}/pets`, { method: 'POST', key: token, body: { name, categoryId: 2 } }),
        ),
      );
    }
    const grown = memory() - before;
    t.diagnostic(
      `${changes} events for ${lines.length} who do not read: ${Math.round(before)} MiB, and ${Math.round(grown)} more`,
    );
    // What the sockets themselves take is not half of it.
    assert.ok(grown < 200, `${grown} MiB`);
    const reading = lines.slice(0, 5);
    for (const line of reading) line.socket.resume();
    await Promise.all(reading.map(line => line.until(() => line.messages >= changes)));
    for (const line of reading) assert.equal(line.messages, changes);
    for (const line of lines) line.end();
  });
});

/** A stream on a connection of its own. */
class Line {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** What came, until it was looked through; all of it while it is short. */
  text = '';
  messages = 0;
  #heard: () => void = () => {};
  #ended = false;
  #rest = '';

  constructor(base: string, token: string, headers = '', version = '1.1') {
    this.socket = dial(base);
    this.closed = new Promise(resolve => {
      this.socket.on('close', () => {
        this.#ended = true;
        this.#heard();
        resolve();
      });
    });
    this.socket.on('error', () => {});
    this.socket.on('data', (part: Buffer) => {
      const text = part.toString('latin1');
      if (this.text.length < 1_000_000) this.text += text;
      this.#rest += text;
      this.messages += this.#rest.split('\ndata: ').length - 1;
      this.#rest = this.#rest.slice(Math.max(this.#rest.lastIndexOf('\ndata: ') + 1, this.#rest.length - 6));
      this.#heard();
    });
    this.socket.write(
      `GET /v1/events/stream HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n`,
    );
  }

  /** The events that came whole. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
  get events(): any[] {
    const body = this.text.slice(this.text.indexOf('\r\n\r\n') + 4).replaceAll(/\r\n[\da-f]+\r\n|^[\da-f]+\r\n/g, '');
    return [...body.matchAll(/^data: (.*)\n\n/gm)].map(([, json]) => JSON.parse(json!));
  }

  get ids(): string[] {
    return this.events.map(({ id }) => id);
  }

  /** Its head. */
  reply() {
    const [line = '', ...lines] = this.text.slice(0, this.text.indexOf('\r\n\r\n')).split('\r\n');
    const headers = Object.fromEntries(
      lines.map(one => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 1).trim()]),
    );
    return {
      status: Number(line.split(' ')[1]),
      headers: headers as Record<string, string>,
      text: '',
      body: undefined,
    };
  }

  async until(is: (text: string) => boolean): Promise<void> {
    while (!is(this.text)) {
      assert.ok(!this.#ended, `it goes on: ${this.text.slice(-300)}`);
      await new Promise<void>(resolve => {
        this.#heard = resolve;
      });
    }
  }

  end(): void {
    this.socket.destroy();
  }
}
