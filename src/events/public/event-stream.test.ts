import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import type { ResponseWriter } from '../../lib/http/route.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { EventBus, type Subscriber } from '../../model/log/event-bus.ts';
import { type Database, type Params, query, sql } from '../../model/schema.ts';
import { createHold, releaseHold } from '../../store/holds/holds.ts';
import { createPet } from '../../store/pets/pets.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';
import { listEvents } from './list-events.ts';

const WRITERS = 50;
const CHANGES_EACH = 6;
const READERS = 12;
/** For writers whose progress the test does not check. */
const noProgress = { bytesWritten: 0, bytesAcknowledged: async () => undefined };
const reader = { accountId: 1, admin: false };

onEachEngine(engine => {
  describe('EventStream', () => {
    it('sends every event once and in order, with concurrent writers, late commits and reconnects', async t => {
      const { databases, buses, now } = await openSeveral(engine);
      let writing = true;
      const written = Promise.all(
        Array.from({ length: WRITERS }, (_, index) => write(databases[index % databases.length]!, index)),
      ).finally(() => {
        writing = false;
      });
      const readers = Array.from({ length: READERS }, (_, index) => new Reader(buses[index % buses.length]!));
      await Promise.all(readers.map(one => one.readWhile(() => writing)));
      await written;

      const all = await everything(databases[0]!, now());
      assert.equal(new Set(all).size, all.length);
      assert.ok(all.length >= WRITERS * CHANGES_EACH);
      for (const one of readers) {
        one.connect();
        await one.reaches(all.at(-1)!);
        one.disconnect();
        assert.deepEqual(one.ids, all);
      }
      t.diagnostic(`${all.length} events; connections: ${readers.map(({ connections }) => connections)}`);
      await Promise.all(buses.map(eventBus => eventBus.close()));
    });

    it('starts with new events, or after a given event', async () => {
      const database = await engine.open();
      const eventBus = new EventBus({ database, log: silent });
      const add = () => database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      await add();
      const fresh = new Reader(eventBus, await eventBus.lastPosition());
      fresh.connect();
      await add();
      await fresh.reaches(2);
      assert.deepEqual(fresh.ids, [2]);
      const late = new Reader(eventBus);
      late.connect();
      await late.reaches(2);
      assert.deepEqual(late.ids, [1, 2]);
      for (const one of [fresh, late]) one.disconnect();
      // The stream has no subscription for a while, and continues without a gap.
      for (let added = 0; added < 3; added++) await add();
      fresh.connect();
      await fresh.reaches(5);
      assert.deepEqual(fresh.ids, [2, 3, 4, 5]);
      fresh.disconnect();
      await eventBus.close();
    });

    it('misses nothing after an empty log', async () => {
      const database = await engine.open();
      const eventBus = new EventBus({ database, log: silent });
      const one = new Reader(eventBus, await eventBus.lastPosition());
      one.connect();
      for (let round = 0; round < 20; round++) await turn();
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      await one.reaches(1);
      assert.deepEqual(one.ids, [1]);
      one.disconnect();
      await eventBus.close();
    });

    it('sends the events that the account can see and the types select', async () => {
      const database = await engine.open();
      const eventBus = new EventBus({ database, log: silent });
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      const readers = [1, 2, 3].map(accountId => new Reader(eventBus, 0, { accountId, types: ['hold.*'] }));
      for (const one of readers) one.connect();
      const holder = { accountId: 2, admin: false };
      const { id } = await database.write(tx => createHold(tx, holder, { petIds: [1] }, 100));
      await database.write(tx => releaseHold(tx, holder, id));
      await Promise.all(readers.slice(0, 2).map(one => one.reaches(5)));
      assert.deepEqual(
        readers.map(({ ids }) => ids),
        [[3, 5], [3, 5], []],
      );
      for (const one of readers) one.disconnect();
      await eventBus.close();
    });
  });
});

describe('EventStream', () => {
  it('writes nothing to a blocked client and disconnects it after thirty seconds', async () => {
    const nowMs = mock.method(performance, 'now', () => 1000);
    try {
      let subscribed: Subscriber | undefined;
      let destroyed = false;
      const written: string[] = [];
      const stream = streamOver(
        busWith(subscriber => {
          subscribed = subscriber;
        }),
        () => true,
      );
      stream.begin({
        write: bytes => written.push(String(bytes)) < 2,
        end: () => assert.fail('the stream must not end'),
        destroy: () => {
          destroyed = true;
        },
        ...noProgress,
      });
      await turn();
      nowMs.mock.mockImplementation(() => 16_001);
      subscribed!.tick();
      assert.deepEqual(written, ['retry: 2000\nid: evt_0\n\n', ': still here\nid: evt_0\n\n']);
      nowMs.mock.mockImplementation(() => 45_000);
      subscribed!.tick();
      subscribed!.receive({ after: 0, upTo: 1, events: [] });
      assert.deepEqual([written.length, destroyed], [2, false]);
      nowMs.mock.mockImplementation(() => 46_002);
      subscribed!.tick();
      assert.equal(destroyed, true);
    } finally {
      nowMs.mock.restore();
    }
  });

  it('ends before it sends more once the caller is no longer authorized', async () => {
    for (const isStillAuthorized of [() => false, () => Promise.resolve(false)]) {
      let subscribed: Subscriber | undefined;
      let ends = 0;
      const written: string[] = [];
      const stream = streamOver(
        busWith(subscriber => {
          subscribed = subscriber;
        }),
        isStillAuthorized,
      );
      stream.begin({
        write: bytes => written.push(String(bytes)) > 0,
        end: () => {
          ends++;
        },
        destroy: () => assert.fail(),
        ...noProgress,
      });
      await turn();
      subscribed!.tick();
      await turn();
      subscribed!.receive({ after: 0, upTo: 1, events: [] });
      assert.deepEqual([ends, written.length], [1, 1]);
    }
  });
});

/** An event bus without events. */
function busWith(onSubscribe: (subscriber: Subscriber) => void): EventStreamOptions['eventBus'] {
  return {
    position: 0,
    subscribe(subscriber) {
      onSubscribe(subscriber);
      return () => {};
    },
    readAfter: async position => ({ after: position, upTo: position, events: [] }),
  };
}

function streamOver(eventBus: EventStreamOptions['eventBus'], isStillAuthorized: () => MaybePromise<boolean>) {
  return new EventStream({ eventBus, actor: reader, types: undefined, position: 0, isStillAuthorized, onClose() {} });
}

/** A client that reconnects after every connection, and whose socket blocks occasionally. */
class Reader {
  readonly #eventBus: EventBus;
  readonly #options: { readonly accountId: number; readonly types?: readonly string[] };
  #last: number;
  #stream: EventStream | undefined;
  readonly ids: number[] = [];
  connections = 0;

  constructor(
    eventBus: EventBus,
    position = 0,
    options: { accountId: number; types?: readonly string[] } = { accountId: 1 },
  ) {
    this.#eventBus = eventBus;
    this.#last = position;
    this.#options = options;
  }

  connect(): void {
    this.connections++;
    const { accountId, types } = this.#options;
    const stream = new EventStream({
      eventBus: this.#eventBus,
      actor: { accountId, admin: false },
      types,
      position: this.#last,
      isStillAuthorized: () => (Math.random() < 0.2 ? Promise.resolve(true) : true),
      onClose() {},
    });
    this.#stream = stream;
    const writer: ResponseWriter = {
      write: bytes => {
        if (this.#stream !== stream) return true;
        this.#take(String(bytes));
        if (Math.random() < 0.7) return true;
        setTimeout(() => stream.drained(), Math.random() * 20);
        return false;
      },
      end: () => assert.fail('the stream must not end'),
      destroy: () => assert.fail('the client must not be disconnected'),
      ...noProgress,
    };
    stream.begin(writer);
  }

  disconnect(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.closed();
  }

  async readWhile(more: () => boolean): Promise<void> {
    while (more()) {
      this.connect();
      await new Promise(resolve => setTimeout(resolve, Math.random() * 60));
      this.disconnect();
    }
  }

  async reaches(id: number): Promise<void> {
    while ((this.ids.at(-1) ?? 0) < id) await new Promise(resolve => setTimeout(resolve, 2));
    for (let round = 0; round < 5; round++) await turn();
  }

  #take(text: string): void {
    for (const message of text.split('\n\n')) {
      const id = Number(/^id: evt_(\d+)$/m.exec(message)?.[1]);
      const data = /^data: (.*)$/m.exec(message)?.[1];
      if (Number.isNaN(id)) continue;
      assert.ok(id >= this.#last, 'ids rise');
      this.#last = id;
      if (data === undefined) continue;
      assert.equal(JSON.parse(data).id, `evt_${id}`);
      this.ids.push(id);
    }
  }
}

/** The same event log opened several times: by two nodes, or by a server and a command. */
async function openSeveral(engine: Engine) {
  const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
  const location = await engine.newLocation();
  const first = await engine.open({ location, clock });
  const second = await engine.open({ location, clock, role: engine.name === 'sqlite' ? 'cli' : 'server' });
  const buses = (engine.name === 'sqlite' ? [first] : [first, second]).map(
    database => new EventBus({ database, log: silent }),
  );
  return { databases: [first, second], buses, now: () => clock.now() };
}

/** Creates pets; on PostgreSQL each transaction waits before its commit. */
async function write(database: Database, writer: number): Promise<void> {
  for (let change = 0; change < CHANGES_EACH; change++) {
    await database.write(async tx => {
      await createPet(tx, writer, { name: `${writer} ${change}`, categoryId: 1 + (writer % 8) }, 'open');
      if (tx.engine === 'postgres') await tx.first(sleep, { seconds: Math.random() ** 4 * 0.15 });
    });
  }
}

async function everything(database: Database, now: number): Promise<number[]> {
  const all: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listEvents(database, reader, {}, { limit: 100, cursor }, now, 1000);
    all.push(...page.events.map(({ sequence }) => sequence));
    if (page.next === undefined) return all;
    cursor = page.next;
  }
}

const sleep = query((db, p: Params<{ seconds: number }>) => db.selectNoFrom(sql`pg_sleep(${p.seconds})`.as('slept')));
