import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { PetStore, type PetstoreError, type Time, unwrapWebhook, WebhookError } from '../../sdk/src/index.ts';
import { startHttpServer } from '../support/http-server.ts';

/** A clock whose waits end at once, except the time limits and the limits of silence. */
class Impatient implements Time {
  readonly waits: number[] = [];
  readonly silences: (() => void)[] = [];
  #ms = 0;

  now(): number {
    return this.#ms;
  }
  random(): number {
    return 0.5;
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (ms < 30_000) {
      this.waits.push(ms);
      this.#ms += ms;
    } else {
      await new Promise<void>((resolve, reject) => {
        if (ms > 30_000) this.silences.push(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    }
  }
}

/** Starts a server that sends one text after another, one on each connection, and then ends the connection as told. */
async function start(t: TestContext, streams: readonly (readonly [text: string, end: 'end' | 'break' | 'silence'])[]) {
  const positions: (string | undefined)[] = [];
  const url = await startHttpServer(t, ({ headers }, response) => {
    const [text, end] = streams[positions.length] ?? ['', 'gone'];
    positions.push(headers['last-event-id'] as string | undefined);
    if (end === 'gone') {
      response.writeHead(410).end('{"code":"events_expired","message":"The position is too old."}');
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(text, () => {
      if (end === 'end') response.end();
      if (end === 'break') response.destroy();
    });
  });
  const time = new Impatient();
  return { store: new PetStore({ baseUrl: url, apiKey: 'k', time, maxWait: 1e9 }), positions, time };
}

const event = (id: number) => `id: evt_${id}\nevent: pet.created\ndata: {"id":"evt_${id}","type":"pet.created"}\n\n`;

describe('the event stream', () => {
  test('continues after the last complete event when the connection ends or breaks', async t => {
    const { store, positions, time } = await start(t, [
      [`retry: 3000\nid: evt_1\n\n${event(2)}${event(3)}`, 'end'],
      [`:\nid: evt_9\n\n${event(10)}id: evt_11\nevent: pet.cre`, 'break'],
    ]);
    const stream = store.streamEvents({ after: 'evt_0' });
    const ids: string[] = [];
    await assert.rejects(
      async () => {
        for await (const { id } of stream) ids.push(id);
      },
      { code: 'events_expired', status: 410 },
    );
    assert.deepEqual(ids, ['evt_2', 'evt_3', 'evt_10']);
    assert.deepEqual(positions, ['evt_0', 'evt_3', 'evt_10']);
    assert.equal(stream.lastEventId, 'evt_10');
    assert.deepEqual(time.waits, [4500, 4500]);
  });

  test('reconnects when the service is silent for three heartbeats', async t => {
    const { store, positions, time } = await start(t, [
      [event(1), 'silence'],
      [event(2), 'silence'],
    ]);
    const ids: string[] = [];
    for await (const { id } of store.streamEvents()) {
      ids.push(id);
      if (id === 'evt_2') break;
      // The limit of the next read begins after this turn of the loop.
      setImmediate(() => time.silences.at(-1)!());
    }
    assert.deepEqual(ids, ['evt_1', 'evt_2']);
    assert.deepEqual(positions, [undefined, 'evt_1']);
  });

  test('ends when its signal is aborted', async t => {
    const { store } = await start(t, [[event(1), 'silence']]);
    const abort = new AbortController();
    await assert.rejects(async () => {
      for await (const _ of store.streamEvents({}, { signal: abort.signal })) abort.abort(new Error('Enough.'));
    }, /Enough/);
  });

  test('keeps trying while the service cannot be reached', async () => {
    const tries: string[] = [];
    const store = new PetStore({
      baseUrl: 'http://localhost:1',
      apiKey: 'k',
      time: new Impatient(),
      fetch: async url => {
        tries.push(String(url));
        if (tries.length < 100) throw new TypeError('fetch failed');
        return new Response(event(1));
      },
    });
    for await (const { id } of store.streamEvents({ types: ['pet.*'] }, { maxRetries: undefined })) {
      assert.equal(id, 'evt_1');
      break;
    }
    assert.equal(tries.length, 100);
    assert.equal(tries[0], 'http://localhost:1/events/stream?types=pet.*');
  });

  test('keeps characters and lines together that arrive in parts', async () => {
    const bytes = new TextEncoder().encode(
      'id: evt_1\r\ndata: {"id":"evt_1","type":"pet.created","data":{"name":"Zoë 🐈"}}\r\n\r\n',
    );
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      },
    });
    const store = new PetStore({
      baseUrl: 'http://localhost:1',
      apiKey: 'k',
      fetch: async () => new Response(body),
    });
    for await (const { data } of store.streamEvents()) {
      assert.deepEqual(data, { name: 'Zoë 🐈' });
      break;
    }
  });
});

describe('lines of a file', () => {
  test('fail when the connection breaks', async t => {
    const url = await startHttpServer(t, (_, response) => {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('{"id":1}\n{"id"', () => response.destroy());
    });
    const store = new PetStore({ baseUrl: url, apiKey: 'k' });
    const seen: unknown[] = [];
    await assert.rejects(
      async () => {
        for await (const value of store.exportPetsAsNdjson()) seen.push(value);
      },
      (error: PetstoreError) => error.name === 'ConnectionError',
    );
    assert.deepEqual(seen, [{ id: 1 }]);
  });
});

describe('unwrapWebhook', () => {
  const secret = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`;
  const body = '{"type":"pet.created","data":{"id":1,"name":"Zoë"}}';
  const headersOf = (seconds = Math.floor(Date.now() / 1000), by = 'a secret of 24 characters') => ({
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': String(seconds),
    'Webhook-Signature': `v1a,AAAA v1,${createHmac('sha256', by).update(`evt_1.${seconds}.${body}`).digest('base64')}`,
  });

  test('returns the event of a signed delivery, from text or bytes, and headers of any kind', async () => {
    const names = Object.entries(headersOf()).map(([name, value]) => [name.toLowerCase(), value]);
    for (const headers of [headersOf(), new Headers(headersOf()), Object.fromEntries(names)]) {
      for (const content of [body, new TextEncoder().encode(body), new TextEncoder().encode(body).buffer]) {
        assert.deepEqual(await unwrapWebhook(content, headers, secret), JSON.parse(body));
      }
    }
  });

  for (const [what, content, headers] of [
    ['another body', `${body} `, headersOf()],
    ['another secret', body, headersOf(undefined, 'another')],
    ['an old delivery', body, headersOf(Math.floor(Date.now() / 1000) - 301)],
    ['a delivery of the future', body, headersOf(Math.floor(Date.now() / 1000) + 400)],
    ['no headers', body, {}],
    ['a broken signature', body, { ...headersOf(), 'Webhook-Signature': 'v1,%%% v1,' }],
    ['a timestamp that is no number', body, { ...headersOf(), 'Webhook-Timestamp': 'now' }],
  ] as const) {
    test(`rejects ${what}`, async () => {
      await assert.rejects(unwrapWebhook(content, headers, secret), WebhookError);
    });
  }

  test('accepts older deliveries with another tolerance', async () => {
    const headers = headersOf(Math.floor(Date.now() / 1000) - 1000);
    assert.ok(await unwrapWebhook(body, headers, secret, { tolerance: 2000 }));
  });
});
