import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { PublicEvent } from '../../src/events/public/public-event.ts';
import { type Received, type Receiver, startReceiver } from './receiver.ts';
import { type Reply, send } from './serving.ts';

/** A delivery that a receiver got. Times are steps of one count, so that no two are alike. */
export interface Arrival {
  /** As its header says it. */
  readonly id: string;
  readonly body: string;
  readonly at: number;
  /** When the answer began that says that it was taken. */
  takenAt?: number;
}

type Happens = (moment: 'request' | 'answer', id: string) => void;

/** A receiver that verifies what it gets, and fails at random for as long as it is told to. */
export class UnreliableReceiver {
  readonly arrivals: Arrival[] = [];
  /** What was wrong with a delivery. */
  readonly faults: string[] = [];
  /** Whether it fails at random. */
  failing = true;
  /** Whether it leaves everything without an answer that comes from now on. */
  silent = false;
  /** The events whose last request has no answer. */
  readonly unanswered = new Set<string>();
  readonly #happens: Happens;
  readonly #receiver: Receiver;
  #webhook: Webhook | undefined;
  #steps = 0;
  readonly #taken = new Set<string>();

  private constructor(receiver: Receiver, happens: Happens) {
    this.#receiver = receiver;
    this.#happens = happens;
    receiver.respond = (delivery, response) => this.#answer(delivery, response);
  }

  /** @param happens told in the instant in which it has a delivery, and in which it has answered that it takes one */
  static async start(happens: Happens): Promise<UnreliableReceiver> {
    return new UnreliableReceiver(await startReceiver(), happens);
  }

  get url(): string {
    return this.#receiver.url;
  }

  /** What deliveries are verified with. */
  set secret(secret: string) {
    this.#webhook = new Webhook(secret);
  }

  /** Whether an event was answered once as taken. */
  hasTaken(id: string): boolean {
    return this.#taken.has(id);
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }

  /** Demands that this is what came, each at least once and as it is told, and each lane in its order. */
  assertGot(events: readonly PublicEvent[]): void {
    assert.deepEqual(this.faults, []);
    const arrivals = Map.groupBy(this.arrivals, ({ id }) => id);
    const told = new Map(events.map(event => [event.id, event]));
    for (const [id, some] of arrivals) {
      const event = told.get(id);
      assert.ok(event !== undefined, `nothing is told of ${id}: ${some[0]!.body}`);
      for (const { body } of some) assert.deepEqual(JSON.parse(body), { ...event, timestamp: event.time });
      assert.equal(new Set(some.map(({ body }) => body)).size, 1, `${id} came in two forms`);
    }
    for (const [lane, itsEvents] of Map.groupBy(events, laneOf)) {
      let before: { readonly id: string; readonly takenAt: number } | undefined;
      for (const { id } of itsEvents) {
        const some = arrivals.get(id) ?? [];
        const takenAt = some.find(arrival => arrival.takenAt !== undefined)?.takenAt;
        assert.ok(takenAt !== undefined, `${id} of ${lane} was never taken, came ${some.length} times`);
        if (before !== undefined) {
          assert.ok(some[0]!.at > before.takenAt, `${lane}: ${id} came before ${before.id} was taken`);
        }
        before = { id, takenAt };
      }
    }
  }

  #answer({ headers, body }: Received, response: ServerResponse): void {
    const id = String(headers['webhook-id']);
    try {
      this.#webhook!.verify(body, headers as Record<string, string>);
      if (JSON.parse(body).id !== id) this.faults.push(`${id}: its body is ${body}`);
    } catch (error) {
      this.faults.push(`${id}: ${error}`);
    }
    if (JSON.parse(body).type === 'webhook.test') {
      response.writeHead(204).end();
      return;
    }
    const arrival: Arrival = { id, body, at: ++this.#steps };
    this.arrivals.push(arrival);
    this.#happens('request', id);
    if (this.silent) {
      this.unanswered.add(id);
      return;
    }
    this.unanswered.delete(id);
    if (!this.failing) this.#take(arrival, response);
    else if (Math.random() < 0.2) setTimeout(() => this.#take(arrival, response), Math.random() * 150);
    else if (Math.random() < 0.6) this.#take(arrival, response);
    else failures[Math.floor(Math.random() * failures.length)]!(response);
  }

  #take(arrival: Arrival, response: ServerResponse): void {
    arrival.takenAt = ++this.#steps;
    this.#taken.add(arrival.id);
    response.once('finish', () => this.#happens('answer', arrival.id));
    // What it says beside its status counts for nothing.
    if (!this.failing || Math.random() < 0.9) response.writeHead(Math.random() < 0.5 ? 200 : 204).end();
    else response.writeHead(200, { 'content-length': '100' }).write('tha', () => response.socket?.end());
  }
}

/** The ways in which a receiver does not take a delivery. */
const failures: readonly ((response: ServerResponse) => void)[] = [
  response => response.writeHead(500).end('broken'),
  response => response.writeHead(503, { 'retry-after': '1' }).end(),
  response => response.writeHead(429, { 'retry-after': new Date(Date.now() + 1500).toUTCString() }).end('later'),
  response => response.destroy(),
  // It breaks off in the head of an answer, then in the body.
  response => response.socket?.end('HTTP/1.1 20'),
  response => response.writeHead(502, { 'content-length': '100' }).write('bro', () => response.socket?.end()),
];

/** What an event keeps its order with: the events of an animal and of its orders are one lane. */
function laneOf({ type, data }: PublicEvent): string {
  const [kind] = type.split('.');
  return kind === 'order' ? `pet ${(data as { petId?: number }).petId}` : `${kind} ${data.id}`;
}

/** A reader of the event stream, who goes on behind the last event that he was told of whenever it breaks off. */
export class StreamReader {
  readonly events: PublicEvent[] = [];
  /** How often he was told where he is, and so began. */
  connections = 0;
  readonly #key: string;
  readonly #happens: (id: string) => void;
  #first: string | undefined;
  #last: string | undefined;
  #under: ReturnType<typeof request> | undefined;
  #over = false;

  /** @param happens told in the instant in which there was an event */
  constructor(key: string, happens: (id: string) => void) {
    this.#key = key;
    this.#happens = happens;
  }

  /** The id of what he is behind. */
  get last(): string | undefined {
    return this.#last;
  }

  /** Reads until he is stopped; `url` says where, each time. */
  async read(url: () => string): Promise<void> {
    while (!this.#over) {
      await new Promise<void>(resolve => {
        const headers = {
          Authorization: `Bearer ${this.#key}`,
          ...(this.#last !== undefined && { 'Last-Event-ID': this.#last }),
        };
        this.#under = request(`${url()}/events/stream`, { headers, agent: false }, response => {
          this.#hear(response);
          response.on('error', () => {});
          response.on('close', resolve);
        });
        this.#under.on('error', () => resolve());
        this.#under.end();
      });
      if (!this.#over) await pause(20);
    }
  }

  stop(): void {
    this.#over = true;
    this.#under?.destroy();
  }

  /** Demands that he was told of all of them since he began, each once and in order, and of nothing else. */
  assertTold(events: readonly PublicEvent[]): void {
    const start = Number(this.#first!.slice('evt_'.length));
    assert.deepEqual(
      this.events.map(({ id }) => id),
      events.filter(({ sequence }) => sequence > start).map(({ id }) => id),
    );
    const told = new Map(events.map(event => [event.id, event]));
    for (const event of this.events) assert.deepEqual(event, told.get(event.id));
  }

  #hear(response: IncomingMessage): void {
    if (response.statusCode !== 200) {
      response.resume();
      return;
    }
    let rest = '';
    let begun = false;
    response.setEncoding('utf8').on('data', (part: string) => {
      const messages = (rest + part).split('\n\n');
      // What did not come whole did not come.
      rest = messages.pop()!;
      for (const message of messages) {
        const id = /^id: (.*)$/m.exec(message)?.[1];
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (id === undefined) continue;
        if (!begun) this.connections++;
        begun = true;
        this.#first ??= id;
        this.#last = id;
        if (data === undefined) continue;
        this.events.push(JSON.parse(data));
        this.#happens(id);
      }
    });
  }
}

/** A message that was sent. */
interface Sent {
  /** Its text, which no other has. */
  readonly mark: string;
  readonly key: string;
  /** The animal that it is about; it is to the store where there is none. */
  readonly petId?: number;
}

/** Senders of messages, and what they were told. */
export class MessageLoad {
  /** Those that were answered, by what they say. */
  readonly answered = new Map<string, Sent>();
  /** How often the answer was 503. */
  unavailable = 0;
  readonly #keys: readonly string[];
  readonly #petIds: readonly number[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  #open: Sent[] = [];

  constructor(keys: readonly string[], petIds: readonly number[]) {
    this.#keys = keys;
    this.#petIds = petIds;
  }

  /** Sends one after the other, with a little time between, until it is over or the server is gone. */
  async call(url: string, going: () => boolean, { staysOn = false } = {}): Promise<void> {
    while (going()) {
      const petId = this.#petIds[Math.floor(Math.random() * (this.#petIds.length + 1))];
      const key = this.#keys[Math.floor(Math.random() * this.#keys.length)]!;
      const sent: Sent = { mark: `message ${randomUUID()}`, key, ...(petId !== undefined && { petId }) };
      const known = await this.#ask(url, sent);
      if (!known) this.#open.push(sent);
      if (!known && !staysOn) return;
      await pause(20);
    }
  }

  /** Sends those again of which nothing is known, until something is. */
  async retry(url: string): Promise<void> {
    const open = this.#open;
    this.#open = [];
    for (const sent of open) {
      for (let tries = 1; !(await this.#ask(url, sent)); tries++) {
        assert.ok(tries < 300, `${sent.mark} gets no answer`);
        await pause(20);
      }
    }
  }

  /** Whether something is known of it then. */
  async #ask(url: string, sent: Sent): Promise<boolean> {
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

/** Everything that a list has, page after page. */
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
