import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { PublicEvent } from '../../src/model/public-event.ts';
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts';
import { type Reply, send } from '../support/serving.ts';

/** A received delivery. Times are steps of one counter, so that no two are equal. */
export interface Arrival {
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: string;
  readonly at: number;
  /** When the receiver began to respond with success. */
  acceptedAt?: number;
}

type Notify = (moment: 'request' | 'response', id: string) => void;

/** A receiver that verifies deliveries, and fails at random while `failing` is set. */
export class UnreliableReceiver {
  readonly arrivals: Arrival[] = [];
  /** What was wrong with deliveries. */
  readonly errors: string[] = [];
  /** Whether it fails at random. */
  failing = true;
  /** Whether it leaves new requests without a response. */
  silent = false;
  /** The events whose last request has no response. */
  readonly unanswered = new Set<string>();
  readonly #notify: Notify;
  readonly #receiver: Receiver;
  #webhook: Webhook | undefined;
  #steps = 0;
  readonly #accepted = new Set<string>();

  private constructor(receiver: Receiver, notify: Notify) {
    this.#receiver = receiver;
    this.#notify = notify;
    receiver.respond = (delivery, response) => this.#respond(delivery, response);
  }

  /** @param notify called when a delivery is received, and when a successful response is sent */
  static async start(notify: Notify): Promise<UnreliableReceiver> {
    return new UnreliableReceiver(await startReceiver(), notify);
  }

  get url(): string {
    return this.#receiver.url;
  }

  /** The secret that verifies deliveries. */
  set secret(secret: string) {
    this.#webhook = new Webhook(secret);
  }

  /** Reports whether an event was accepted. */
  hasAccepted(id: string): boolean {
    return this.#accepted.has(id);
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }

  /** Asserts that it received these events, each at least once and unchanged, in order within each ordering key. */
  assertReceived(events: readonly PublicEvent[]): void {
    assert.deepEqual(this.errors, []);
    const arrivals = Map.groupBy(this.arrivals, ({ id }) => id);
    const expected = new Map(events.map(event => [event.id, event]));
    for (const [id, some] of arrivals) {
      const event = expected.get(id);
      assert.ok(event !== undefined, `unexpected event ${id}: ${some[0]!.body}`);
      for (const { body } of some) assert.deepEqual(JSON.parse(body), { ...event, timestamp: event.time });
      assert.equal(new Set(some.map(({ body }) => body)).size, 1, `${id} was received with two bodies`);
    }
    for (const [key, keyEvents] of Map.groupBy(events, orderingKeyOf)) {
      let before: { readonly id: string; readonly acceptedAt: number } | undefined;
      for (const { id } of keyEvents) {
        const some = arrivals.get(id) ?? [];
        const acceptedAt = some.find(arrival => arrival.acceptedAt !== undefined)?.acceptedAt;
        assert.ok(acceptedAt !== undefined, `${id} of ${key} was never accepted, but received ${some.length} times`);
        if (before !== undefined) {
          assert.ok(some[0]!.at > before.acceptedAt, `${key}: ${id} was received before ${before.id} was accepted`);
        }
        before = { id, acceptedAt };
      }
    }
  }

  #respond({ headers, body }: Received, response: ServerResponse): void {
    const id = String(headers['webhook-id']);
    try {
      this.#webhook!.verify(body, headers as Record<string, string>);
      if (JSON.parse(body).id !== id) this.errors.push(`${id}: the body is ${body}`);
    } catch (error) {
      this.errors.push(`${id}: ${error}`);
    }
    if (JSON.parse(body).type === 'webhook.test') {
      response.writeHead(204).end();
      return;
    }
    const arrival: Arrival = { id, body, at: ++this.#steps };
    this.arrivals.push(arrival);
    this.#notify('request', id);
    if (this.silent) {
      this.unanswered.add(id);
      return;
    }
    this.unanswered.delete(id);
    if (!this.failing) this.#accept(arrival, response);
    else if (Math.random() < 0.2) setTimeout(() => this.#accept(arrival, response), Math.random() * 150);
    else if (Math.random() < 0.6) this.#accept(arrival, response);
    else failures[Math.floor(Math.random() * failures.length)]!(response);
  }

  #accept(arrival: Arrival, response: ServerResponse): void {
    arrival.acceptedAt = ++this.#steps;
    this.#accepted.add(arrival.id);
    response.once('finish', () => this.#notify('response', arrival.id));
    // Only the status counts.
    if (!this.failing || Math.random() < 0.9) response.writeHead(Math.random() < 0.5 ? 200 : 204).end();
    else response.writeHead(200, { 'content-length': '100' }).write('tha', () => response.socket?.end());
  }
}

/** The ways in which a receiver fails. */
const failures: readonly ((response: ServerResponse) => void)[] = [
  response => response.writeHead(500).end('broken'),
  response => response.writeHead(503, { 'retry-after': '1' }).end(),
  response => response.writeHead(429, { 'retry-after': new Date(Date.now() + 1500).toUTCString() }).end('later'),
  response => response.destroy(),
  // The response breaks off within the headers, or within the body.
  response => response.socket?.end('HTTP/1.1 20'),
  response => response.writeHead(502, { 'content-length': '100' }).write('bro', () => response.socket?.end()),
];

/** Returns the ordering key of an event: a pet with its orders, or any other subject. */
function orderingKeyOf({ type, data }: PublicEvent): string {
  const [kind] = type.split('.');
  return kind === 'order' ? `pet ${(data as { petId?: number }).petId}` : `${kind} ${data.id}`;
}

/** A subscriber to the event stream that resumes after the last event whenever the connection breaks. */
export class StreamReader {
  readonly events: PublicEvent[] = [];
  /** How many connections delivered a position. */
  connections = 0;
  readonly #key: string;
  readonly #notify: (id: string) => void;
  #first: string | undefined;
  #last: string | undefined;
  #request: ReturnType<typeof request> | undefined;
  #stopped = false;

  /** @param notify called for each event */
  constructor(key: string, notify: (id: string) => void) {
    this.#key = key;
    this.#notify = notify;
  }

  /** The id of the last event. */
  get last(): string | undefined {
    return this.#last;
  }

  /** Reads until `stop` is called. @param url returns the base URL of the next connection */
  async read(url: () => string): Promise<void> {
    while (!this.#stopped) {
      await new Promise<void>(resolve => {
        const headers = {
          Authorization: `Bearer ${this.#key}`,
          ...(this.#last !== undefined && { 'Last-Event-ID': this.#last }),
        };
        this.#request = request(`${url()}/events/stream`, { headers, agent: false }, response => {
          this.#read(response);
          response.on('error', () => {});
          response.on('close', resolve);
        });
        this.#request.on('error', () => resolve());
        this.#request.end();
      });
      if (!this.#stopped) await pause(20);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#request?.destroy();
  }

  /** Asserts that it received exactly these events since its first position, each once and in order. */
  assertReceived(events: readonly PublicEvent[]): void {
    const start = Number(this.#first!.slice('evt_'.length));
    assert.deepEqual(
      this.events.map(({ id }) => id),
      events.filter(({ sequence }) => sequence > start).map(({ id }) => id),
    );
    const expected = new Map(events.map(event => [event.id, event]));
    for (const event of this.events) assert.deepEqual(event, expected.get(event.id));
  }

  #read(response: IncomingMessage): void {
    if (response.statusCode !== 200) {
      response.resume();
      return;
    }
    let rest = '';
    let positioned = false;
    response.setEncoding('utf8').on('data', (part: string) => {
      const messages = (rest + part).split('\n\n');
      // The rest is not complete yet.
      rest = messages.pop()!;
      for (const message of messages) {
        const id = /^id: (.*)$/m.exec(message)?.[1];
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (id === undefined) continue;
        if (!positioned) this.connections++;
        positioned = true;
        this.#first ??= id;
        this.#last = id;
        if (data === undefined) continue;
        this.events.push(JSON.parse(data));
        this.#notify(id);
      }
    });
  }
}

/** A sent message. */
interface SentMessage {
  /** Its unique text. */
  readonly mark: string;
  readonly key: string;
  /** The pet that it is about; absent for a message to the store. */
  readonly petId?: number;
}

/** Sends messages and collects the responses. */
export class MessageLoad {
  /** The accepted messages by their text. */
  readonly answered = new Map<string, SentMessage>();
  /** How many responses had status 503. */
  unavailable = 0;
  readonly #keys: readonly string[];
  readonly #petIds: readonly number[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  #open: SentMessage[] = [];

  constructor(keys: readonly string[], petIds: readonly number[]) {
    this.#keys = keys;
    this.#petIds = petIds;
  }

  /** Sends messages one after the other until `going` returns false or the server is gone. */
  async call(url: string, going: () => boolean, { staysOn = false } = {}): Promise<void> {
    while (going()) {
      const petId = this.#petIds[Math.floor(Math.random() * (this.#petIds.length + 1))];
      const key = this.#keys[Math.floor(Math.random() * this.#keys.length)]!;
      const sent: SentMessage = { mark: `message ${randomUUID()}`, key, ...(petId !== undefined && { petId }) };
      const known = await this.#send(url, sent);
      if (!known) this.#open.push(sent);
      if (!known && !staysOn) return;
      await pause(20);
    }
  }

  /** Repeats the requests without a response until each has one. */
  async retry(url: string): Promise<void> {
    const open = this.#open;
    this.#open = [];
    for (const sent of open) {
      for (let tries = 1; !(await this.#send(url, sent)); tries++) {
        assert.ok(tries < 300, `${sent.mark} gets no response`);
        await pause(20);
      }
    }
  }

  /** Sends a message; returns whether there was a final response. */
  async #send(url: string, sent: SentMessage): Promise<boolean> {
    const { mark, key, petId } = sent;
    const headers = { 'Idempotency-Key': mark.slice('message '.length) };
    const body = { message: mark, ...(petId !== undefined && { petId }) };
    let reply: Reply;
    try {
      reply = await send(`${url}/messages`, { method: 'POST', key, headers, body, agent: this.#agent });
    } catch {
      return false;
    }
    if (reply.status === 503) this.unavailable++;
    if (reply.status === 503 || reply.body?.code === 'idempotency_key_in_use') return false;
    assert.equal(reply.status, 202, reply.text);
    this.answered.set(mark, sent);
    return true;
  }
}

/** Returns the items of all pages of a list. */
export async function everyItem<Item>(url: string, key: string): Promise<Item[]> {
  const items: Item[] = [];
  let next: string | undefined = url;
  while (next !== undefined) {
    const page = await send(next, { key });
    assert.equal(page.status, 200, page.text);
    for (const item of page.body) items.push(item);
    next = page.headers['x-next'] as string | undefined;
  }
  return items;
}
