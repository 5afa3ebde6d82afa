import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Engine, onEachEngine, silent } from '../test/engines.ts';
import { eventsOf } from './events/log.ts';
import { sweepWhenDue } from './expiry.ts';
import { createHold } from './holds/holds.ts';
import { systemClock, testClock } from './lib/clock.ts';
import type { Log } from './lib/log.ts';
import { StorageError } from './lib/storage/database.ts';
import { formatTime } from './lib/time.ts';
import { placeOrder } from './orders/orders.ts';
import { createPet } from './pets/pets.ts';
import { type Database, query } from './schema.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const caller = { accountId: 2, admin: false };

onEachEngine(engine => {
  afterEach(closeAll);

  describe('expiry', () => {
    it('ends holds and orders that have run out, each once, also with several processes at it', async () => {
      const { clock, database } = await open(engine);
      await database.write(tx => createHold(tx, caller, { petIds: [1, 2] }, 100));
      await database.write(tx => placeOrder(tx, caller, { petId: 3 }));
      const several = [1, 2, 3].map(() => sweepWhenDue({ database, clock, log: silent }));
      clock.advance(15 * MINUTE);
      await until(async () => (await actions(database, 'hold', 1)).includes('expired'));
      assert.deepEqual(await actions(database, 'order', 1), ['placed']);
      clock.advance(7 * DAY);
      await until(async () => (await actions(database, 'order', 1)).includes('expired'));
      await Promise.all(several.map(one => one.close()));
      assert.deepEqual(await actions(database, 'hold', 1), ['created', 'expired']);
      assert.deepEqual(await actions(database, 'order', 1), ['placed', 'expired']);
      for (const pet of [1, 2, 3])
        assert.deepEqual(await actions(database, 'pet', pet), ['created', 'updated', 'updated']);
      assert.deepEqual(await database.all(inForce, {}), []);
    });

    it('ends what ran out while nobody was there', async () => {
      const { clock, database } = await open(engine);
      await database.write(tx => createHold(tx, caller, { petIds: [1] }, 100));
      clock.advance(DAY);
      const expiry = sweepWhenDue({ database, clock, log: silent });
      await until(async () => (await actions(database, 'hold', 1)).includes('expired'));
      await expiry.close();
    });

    it('is there at the instant, on a clock that runs', async () => {
      const clock = systemClock();
      const { database } = await open(engine, clock);
      const expiry = sweepWhenDue({ database, clock, log: silent });
      const end = Math.ceil(clock.now()) + 1500;
      await database.write(tx => createHold(tx, caller, { petIds: [1], expiresAt: formatTime(end) }, 100));
      await until(async () => (await actions(database, 'hold', 1)).includes('expired'));
      const [, expired] = await eventsOf(database, 'hold', 1);
      assert.ok(expired!.at >= end);
      await expiry.close();
    });

    it('works at one sweep at a time, and waits for it at the end', async () => {
      const { clock, database } = await open(engine);
      const { slow, mostAtOnce, begun } = slowed(database);
      for (const petId of [1, 2, 3]) await database.write(tx => createHold(tx, caller, { petIds: [petId] }, 100));
      clock.advance(15 * MINUTE);
      const expiry = sweepWhenDue({ database: slow, clock, log: silent });
      await begun;
      await expiry.close();
      assert.equal(mostAtOnce(), 1);
      // The sweep of the animals was in hand; nothing was begun after it.
      assert.deepEqual(await actions(database, 'pet', 3), ['created', 'updated', 'updated']);
      assert.deepEqual(await actions(database, 'hold', 3), ['created']);
    });

    it('goes on after what goes wrong, which it logs once', async () => {
      const { clock, database } = await open(engine);
      await database.write(tx => createHold(tx, caller, { petIds: [1] }, 100));
      clock.advance(15 * MINUTE);
      let refusals = 2;
      const ill: Database = over(database, {
        write: work => {
          if (refusals-- > 0) throw new StorageError('unavailable', 'The database is away.');
          return database.write(work);
        },
      });
      const lines: string[] = [];
      const log: Log = { ...silent, warn: (_: unknown, text?: string) => lines.push(text!) };
      const expiry = sweepWhenDue({ database: ill, clock, log });
      await until(async () => (await actions(database, 'hold', 1)).includes('expired'));
      await expiry.close();
      assert.equal(lines.length, 1);
      assert.match(lines[0]!, /cannot be ended for now/);
    });

    it('says nothing of a storage that is closed under it', async () => {
      const { clock, database } = await open(engine);
      const lines: unknown[] = [];
      const expiry = sweepWhenDue({
        database,
        clock,
        log: { ...silent, warn: (...line: unknown[]) => lines.push(line) },
      });
      await expiry.close();
      await database.close();
      await pause(50);
      assert.deepEqual(lines, []);
    });
  });
});

const opened: Database[] = [];

async function closeAll() {
  await Promise.all(opened.splice(0).map(database => database.close()));
}

/** A store with three animals of one account. */
async function open(engine: Engine, clock: { now(): number } = testClock(Date.parse('2026-11-21T12:00:00Z'))) {
  const database = await engine.open({ clock });
  opened.push(database);
  for (let pet = 0; pet < 3; pet++) {
    await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
  }
  return { database, clock: clock as ReturnType<typeof testClock> };
}

async function actions(database: Database, kind: 'pet' | 'hold' | 'order', id: number) {
  return (await eventsOf(database, kind, id)).map(({ action }) => action);
}

/** Waits until something is so. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(20);
}

/** A database with some of its members replaced. */
function over(database: Database, members: Partial<Database>): Database {
  return {
    engine: database.engine,
    all: (read, params) => database.all(read, params),
    first: (read, params) => database.first(read, params),
    write: work => database.write(work),
    version: table => database.version(table),
    heard: topic => database.heard(topic),
    health: () => database.health(),
    close: () => database.close(),
    ...members,
  };
}

/** A database whose writes take their time; how many of them there were at once. */
function slowed(database: Database) {
  let now = 0;
  let most = 0;
  const begun = Promise.withResolvers<void>();
  const slow = over(database, {
    async write(work) {
      most = Math.max(most, ++now);
      begun.resolve();
      await pause(100);
      try {
        return await database.write(work);
      } finally {
        now--;
      }
    },
  });
  return { slow, mostAtOnce: () => most, begun: begun.promise };
}

const inForce = query(db => db.selectFrom('reservations').select('id').where('active', '=', 1));
