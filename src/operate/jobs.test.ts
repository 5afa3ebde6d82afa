import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Engine, onEachEngine, silent, type TestLocation } from '../../test/support/engines.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { createAccount } from '../access/accounts/accounts.ts';
import { systemClock, testClock } from '../lib/clock.ts';
import { createEncryptor } from '../lib/encryption.ts';
import type { Log } from '../lib/log.ts';
import { StorageError } from '../lib/storage/database.ts';
import type { CompiledQuery } from '../lib/storage/query.ts';
import { formatTime } from '../lib/time.ts';
import { eventsOf } from '../model/log/log.ts';
import { type Database, type Query, query } from '../model/schema.ts';
import { createHold } from '../store/holds/holds.ts';
import type { EmailSender } from '../store/messages/email-sender.ts';
import { sendMessage } from '../store/messages/messages.ts';
import { placeOrder } from '../store/orders/orders.ts';
import { createPet } from '../store/pets/pets.ts';
import { startJobs } from './jobs.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const caller = { accountId: 2, admin: false };

onEachEngine(engine => {
  afterEach(closeAll);

  describe('the jobs of a deployment', () => {
    it('runs one query a second while idle', async () => {
      const { clock, database } = await open(engine);
      const { counting, asked } = counted(database);
      await database.write(tx => createHold(tx, caller, { petIds: [1, 2] }, 100));
      await database.write(tx => placeOrder(tx, caller, { petId: 3 }));
      await database.write(async tx => {
        await createAccount(tx, { email: 'root@example.org', name: 'Root', admin: true });
        await sendMessage(tx, caller, { message: 'Hello' });
      });
      const worker = startJobs({ ...everything(counting), clock });
      await waitUntil(async () => (await database.first(triedOnce, {})) !== undefined);
      const observe = async () => {
        const before = { ...asked };
        const startMs = performance.now();
        await waitUntil(async () => asked.reads >= before.reads + 4);
        return { elapsedMs: performance.now() - startMs, writes: asked.writes - before.writes };
      };
      // Jobs that start with the process may still read and write.
      let settling = await observe();
      for (let i = 0; i < 10 && (settling.writes > 0 || settling.elapsedMs < 3000); i++) settling = await observe();
      const { elapsedMs, writes } = await observe();
      await worker.close(2000);
      assert.equal(writes, 0);
      assert.ok(elapsedMs >= 3000, `four queries in ${elapsedMs} ms`);
    });

    it('finds the next due time from indexes alone', async t => {
      if (engine.name === 'postgres') return t.skip('its plans depend on how many rows there are');
      const { clock, database } = await open(engine);
      const asked: CompiledQuery<unknown>[] = [];
      const reading = over(database, {
        first(read, params) {
          asked.push(read.compiledFor(engine.name) as CompiledQuery<unknown>);
          return database.first(read, params);
        },
      });
      const worker = startJobs({ ...everything(reading), clock });
      await waitUntil(async () => asked.length > 0);
      await worker.close(2000);
      const plan = (await database.all(planOf(asked[0]!), {})).map(({ detail }) => detail);
      assert.ok(plan.length > 5, plan.join('\n'));
      const without =
        /^(SCAN|SEARCH) (?!CONSTANT ROW)(?!.*USING (COVERING )?(INDEX|PRIMARY KEY|INTEGER PRIMARY KEY))|TEMP B-TREE/;
      // The query reads only the last event, by the primary key.
      assert.deepEqual(
        plan.filter(line => without.test(line)),
        ['SCAN events'],
      );
      return undefined;
    });
  });

  describe('expiry', () => {
    it('expires holds and orders once each, with several processes', async () => {
      const { clock, database, location } = await open(engine);
      await database.write(tx => createHold(tx, caller, { petIds: [1, 2] }, 100));
      await database.write(tx => placeOrder(tx, caller, { petId: 3 }));
      // On the embedded engine, only one process serves a file.
      const other = engine.name === 'postgres' ? await open(engine, clock, location) : { database };
      const several = [database, other.database, database].map(one => startJobs({ database: one, clock, log: silent }));
      clock.advance(15 * MINUTE);
      await waitUntil(async () => (await actions(database, 'hold', 1)).includes('expired'));
      assert.deepEqual(await actions(database, 'order', 1), ['placed']);
      clock.advance(7 * DAY);
      await waitUntil(async () => (await actions(database, 'order', 1)).includes('expired'));
      await Promise.all(several.map(one => one.close(2000)));
      assert.deepEqual(await actions(database, 'hold', 1), ['created', 'expired']);
      assert.deepEqual(await actions(database, 'order', 1), ['placed', 'expired']);
      for (const pet of [1, 2, 3])
        assert.deepEqual(await actions(database, 'pet', pet), ['created', 'updated', 'updated']);
      assert.deepEqual(await database.all(inForce, {}), []);
    });

    it('expires what ended while no process was running', async () => {
      const { clock, database } = await open(engine);
      await database.write(tx => createHold(tx, caller, { petIds: [1] }, 100));
      clock.advance(DAY);
      const worker = startJobs({ database, clock, log: silent });
      await waitUntil(async () => (await actions(database, 'hold', 1)).includes('expired'));
      await worker.close(2000);
    });

    it('expires at the exact time on a running clock', async () => {
      const clock = systemClock();
      const { database } = await open(engine, clock);
      const worker = startJobs({ database, clock, log: silent });
      const end = Math.ceil(clock.now()) + 1500;
      await database.write(tx => createHold(tx, caller, { petIds: [1], expiresAt: formatTime(end) }, 100));
      await waitUntil(async () => (await actions(database, 'hold', 1)).includes('expired'));
      const [, expired] = await eventsOf(database, 'hold', 1);
      assert.ok(expired!.at >= end);
      await worker.close(2000);
    });

    it('runs one sweep of a kind at a time and waits for it on close', async () => {
      const { clock, database } = await open(engine);
      const { slow, writes } = slowed(database);
      for (const petId of [1, 2, 3]) await database.write(tx => createHold(tx, caller, { petIds: [petId] }, 100));
      clock.advance(15 * MINUTE);
      const worker = startJobs({ database: slow, clock, log: silent });
      await waitUntil(async () => writes.begun > 0);
      await worker.close(10_000);
      assert.equal(writes.begun, writes.ended);
      const { begun } = writes;
      // One transaction for the animals, one for each hold, one for retention: all transactions that began have ended.
      assert.ok(begun <= 5, `${begun} transactions`);
      await pause(150);
      assert.equal(writes.begun, begun, 'nothing is begun after it was closed');
      assert.deepEqual(await actions(database, 'pet', 3), ['created', 'updated', 'updated']);
    });

    it('continues after an error and logs it once', async () => {
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
      const worker = startJobs({ database: ill, clock, log });
      await waitUntil(async () => (await actions(database, 'hold', 1)).includes('expired'));
      await worker.close(2000);
      assert.equal(lines.length, 1);
      assert.match(lines[0]!, /cannot run because storage is unavailable/);
    });

    it('does not log that storage was closed', async () => {
      const { clock, database } = await open(engine);
      const lines: unknown[] = [];
      const worker = startJobs({
        database,
        clock,
        log: { ...silent, warn: (...line: unknown[]) => lines.push(line) },
      });
      await worker.close(2000);
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

/** Opens a store with three animals of one account, or an existing store again. */
async function open(
  engine: Engine,
  clock: { now(): number } = testClock(Date.parse('2026-11-21T12:00:00Z')),
  before?: TestLocation,
) {
  const location = before ?? (await engine.newLocation());
  const database = await engine.open({ clock, location });
  opened.push(database);
  for (let pet = 0; pet < 3 && before === undefined; pet++) {
    await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
  }
  return { database, clock: clock as ReturnType<typeof testClock>, location };
}

async function actions(database: Database, kind: 'pet' | 'hold' | 'order', id: number) {
  return (await eventsOf(database, kind, id)).map(({ action }) => action);
}

/** Returns a database with some of its members replaced. */
function over(database: Database, members: Partial<Database>): Database {
  return {
    engine: database.engine,
    all: (read, params) => database.all(read, params),
    first: (read, params) => database.first(read, params),
    write: work => database.write(work),
    readTimestamp: now => database.readTimestamp(now),
    dataVersion: table => database.dataVersion(table),
    topicVersion: topic => database.topicVersion(topic),
    health: () => database.health(),
    close: () => database.close(),
    ...members,
  };
}

/** Returns a database with slow writes, which counts the writes that began and ended. */
function slowed(database: Database) {
  const writes = { begun: 0, ended: 0 };
  const slow = over(database, {
    async write(work) {
      writes.begun++;
      await pause(100);
      try {
        return await database.write(work);
      } finally {
        writes.ended++;
      }
    },
  });
  return { slow, writes };
}

/** Returns a database that counts its queries. */
function counted(database: Database) {
  const asked = { reads: 0, writes: 0 };
  const counting = over(database, {
    all(read, params) {
      asked.reads++;
      return database.all(read, params);
    },
    first(read, params) {
      asked.reads++;
      return database.first(read, params);
    },
    write(work) {
      asked.writes++;
      return database.write(work);
    },
  });
  return { counting, asked };
}

/** A mail server that defers all messages. */
const postponing: EmailSender = {
  send: async () => ({ reason: 'postponed', final: false, detail: '' }),
};

/** Adds work of every kind, without a webhook. */
function everything(database: Database) {
  const outgoing = {
    post: () => Promise.reject(new Error('there is no webhook')),
    get: () => Promise.reject(new Error('there is no photo')),
    close: async () => {},
    now: () => 0,
  };
  const webhooks = { accounts: database, outgoing, encryptor: createEncryptor(Buffer.alloc(32)), scheduleMs: [] };
  return { database, log: silent, emailSender: postponing, webhooks };
}

const triedOnce = query(db => db.selectFrom('message_attempts').select('number').limit(1));

/** Returns the query plan of the embedded engine for a query without parameters. */
function planOf({
  sql,
  words,
  values,
}: CompiledQuery<unknown>): Query<Record<never, never>, { readonly detail: string }> {
  const any = query(db => db.selectFrom('facts').select('value as detail'));
  return { ...any, compiledFor: () => ({ sql: `explain query plan ${sql}`, changedTable: undefined, words, values }) };
}

const inForce = query(db => db.selectFrom('reservations').select('id').where('active', '=', 1));
