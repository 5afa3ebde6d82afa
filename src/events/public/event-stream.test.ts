import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { createHold, releaseHold } from '../../holds/holds.ts';
import { testClock } from '../../lib/clock.ts';
import type { ResponseWriter } from '../../lib/http/route.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { createPet } from '../../pets/pets.ts';
import { type Database, type Params, query, sql } from '../../schema.ts';
import { createEventBus, type EventBus, type Follower } from '../event-bus.ts';
import { eventStream } from './event-stream.ts';
import { listEvents } from './list-events.ts';

const WRITERS = 50;
const CHANGES_EACH = 6;
const READERS = 12;
const reader = { accountId: 1, admin: false };

onEachEngine(engine => {
  describe('an event stream', () => {
    it('tells every event once and in order, whoever writes, however late it commits, and however often it breaks', async t => {
      const { databases, hubs, now } = await openSeveral(engine);
      let writing = true;
      const written = Promise.all(
        Array.from({ length: WRITERS }, (_, index) => write(databases[index % databases.length]!, index)),
      ).finally(() => {
        writing = false;
      });
      const readers = Array.from({ length: READERS }, (_, index) => new Reader(hubs[index % hubs.length]!));
      await Promise.all(readers.map(one => one.follow(() => writing)));
      await written;

      const all = await everything(databases[0]!, now());
      assert.equal(new Set(all).size, all.length);
      assert.ok(all.length >= WRITERS * CHANGES_EACH);
      for (const one of readers) {
        one.connect();
        await one.reaches(all.at(-1)!);
        one.breakOff();
        assert.deepEqual(one.ids, all);
      }
      t.diagnostic(`${all.length} events; connections: ${readers.map(({ connections }) => connections)}`);
      await Promise.all(hubs.map(hub => hub.close()));
    });

    it('begins with what comes from now on, and goes on behind what one has', async () => {
      const database = await engine.open();
      const hub = createEventBus({ database, log: silent });
      const add = () => database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      await add();
      const fresh = new Reader(hub, await hub.end());
      fresh.connect();
      await add();
      await fresh.reaches(2);
      assert.deepEqual(fresh.ids, [2]);
      const late = new Reader(hub);
      late.connect();
      await late.reaches(2);
      assert.deepEqual(late.ids, [1, 2]);
      for (const one of [fresh, late]) one.breakOff();
      // Nobody follows for a while; then it goes on without a gap.
      for (let added = 0; added < 3; added++) await add();
      fresh.connect();
      await fresh.reaches(5);
      assert.deepEqual(fresh.ids, [2, 3, 4, 5]);
      fresh.breakOff();
      await hub.close();
    });

    it('from an empty log misses nothing either', async () => {
      const database = await engine.open();
      const hub = createEventBus({ database, log: silent });
      const one = new Reader(hub, await hub.end());
      one.connect();
      for (let round = 0; round < 20; round++) await turn();
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      await one.reaches(1);
      assert.deepEqual(one.ids, [1]);
      one.breakOff();
      await hub.close();
    });

    it('tells an account what it may see, of the types that it wants', async () => {
      const database = await engine.open();
      const hub = createEventBus({ database, log: silent });
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      const readers = [1, 2, 3].map(accountId => new Reader(hub, 0, { accountId, types: ['hold.*'] }));
      for (const one of readers) one.connect();
      const holder = { accountId: 2, admin: false };
      const { id } = await database.write(tx => createHold(tx, holder, { petIds: [1] }, 100));
      await database.write(tx => releaseHold(tx, holder, id));
      await Promise.all(readers.slice(0, 2).map(one => one.reaches(5)));
      assert.deepEqual(
        readers.map(({ ids }) => ids),
        [[3, 5], [3, 5], []],
      );
      for (const one of readers) one.breakOff();
      await hub.close();
    });
  });
});

describe('an event stream', () => {
  it('is written nothing while it is full, and is cut off after thirty seconds of that', async () => {
    const nowMs = mock.method(performance, 'now', () => 1000);
    try {
      let followed: Follower | undefined;
      let destroyed = false;
      const written: string[] = [];
      const stream = streamOver(
        hubWith(follower => {
          followed = follower;
        }),
        () => true,
      );
      stream.begin({
        write: bytes => written.push(String(bytes)) < 2,
        end: () => assert.fail('it does not end by itself'),
        destroy: () => {
          destroyed = true;
        },
      });
      await turn();
      nowMs.mock.mockImplementation(() => 16_001);
      followed!.tick();
      assert.deepEqual(written, ['retry: 2000\nid: evt_0\n\n', ': still here\nid: evt_0\n\n']);
      nowMs.mock.mockImplementation(() => 45_000);
      followed!.tick();
      followed!.take({ after: 0, upTo: 1, events: [] });
      assert.deepEqual([written.length, destroyed], [2, false]);
      nowMs.mock.mockImplementation(() => 46_002);
      followed!.tick();
      assert.equal(destroyed, true);
    } finally {
      nowMs.mock.restore();
    }
  });

  it('ends before anything more is told once the caller would not get in, also where it takes time to know', async () => {
    for (const says of [() => false, () => Promise.resolve(false)]) {
      let followed: Follower | undefined;
      let ends = 0;
      const written: string[] = [];
      const stream = streamOver(
        hubWith(follower => {
          followed = follower;
        }),
        says,
      );
      stream.begin({
        write: bytes => written.push(String(bytes)) > 0,
        end: () => {
          ends++;
        },
        destroy: () => assert.fail(),
      });
      await turn();
      followed!.tick();
      await turn();
      followed!.take({ after: 0, upTo: 1, events: [] });
      assert.deepEqual([ends, written.length], [1, 1]);
    }
  });
});

/** A hub where nothing happens. */
function hubWith(follow: (follower: Follower) => void): EventBus {
  return {
    place: 0,
    follow(follower) {
      follow(follower);
      return () => {};
    },
    behind: async place => ({ after: place, upTo: place, events: [] }),
    end: async () => 0,
    close: async () => {},
  };
}

function streamOver(hub: EventBus, stillAdmitted: () => MaybePromise<boolean>) {
  return eventStream({ hub, actor: reader, types: undefined, place: 0, stillAdmitted, released() {} });
}

/** One who follows through one connection after the other; its socket is full now and then. */
class Reader {
  readonly #hub: EventBus;
  readonly #options: { readonly accountId: number; readonly types?: readonly string[] };
  #last: number;
  #stream: ReturnType<typeof eventStream> | undefined;
  readonly ids: number[] = [];
  connections = 0;

  constructor(hub: EventBus, place = 0, options: { accountId: number; types?: readonly string[] } = { accountId: 1 }) {
    this.#hub = hub;
    this.#last = place;
    this.#options = options;
  }

  connect(): void {
    this.connections++;
    const { accountId, types } = this.#options;
    const stream = eventStream({
      hub: this.#hub,
      actor: { accountId, admin: false },
      types,
      place: this.#last,
      stillAdmitted: () => (Math.random() < 0.2 ? Promise.resolve(true) : true),
      released() {},
    });
    this.#stream = stream;
    const outlet: ResponseWriter = {
      write: bytes => {
        if (this.#stream !== stream) return true;
        this.#take(String(bytes));
        if (Math.random() < 0.7) return true;
        setTimeout(() => stream.drained(), Math.random() * 20);
        return false;
      },
      end: () => assert.fail('it does not end'),
      destroy: () => assert.fail('it is not cut off'),
    };
    stream.begin(outlet);
  }

  breakOff(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.closed();
  }

  async follow(more: () => boolean): Promise<void> {
    while (more()) {
      this.connect();
      await new Promise(resolve => setTimeout(resolve, Math.random() * 60));
      this.breakOff();
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

/** The same log several times: nodes, or embedded one server and one command. */
async function openSeveral(engine: Engine) {
  const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
  const place = await engine.place();
  const first = await engine.open({ place, clock });
  const second = await engine.open({ place, clock, role: engine.name === 'sqlite' ? 'cli' : 'server' });
  const hubs = (engine.name === 'sqlite' ? [first] : [first, second]).map(database =>
    createEventBus({ database, log: silent }),
  );
  return { databases: [first, second], hubs, now: () => clock.now() };
}

/** One who adds animals; on PostgreSQL each transaction waits before it is committed. */
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
    const page = await listEvents(database, reader, {}, 100, cursor, now, 1000);
    all.push(...page.events.map(({ sequence }) => sequence));
    if (page.next === undefined) return all;
    cursor = page.next;
  }
}

const sleep = query((db, p: Params<{ seconds: number }>) => db.selectNoFrom(sql`pg_sleep(${p.seconds})`.as('slept')));
