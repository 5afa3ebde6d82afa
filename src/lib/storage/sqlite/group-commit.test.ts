import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { testClock } from '../../clock.ts';
import type { CounterSums, Database, ReadableCounterTable, Transaction } from '../database.ts';
import type { Migration } from '../migration.ts';
import { createQueryFactory, type Params, sql } from '../query.ts';
import { SqliteConnection } from './connection.ts';
import { openSqlite } from './database.ts';

interface Tables {
  notes: { id: number; text: string };
  counters: { name: string; value: number };
}

const schema: Migration = {
  name: '0001-notes',
  up: ({ id, text, int, end }) => [
    `create table notes (id ${id}, text ${text} not null unique) ${end}`,
    `create table counters (name ${text} primary key, value ${int} not null) ${end}`,
  ],
};

const query = createQueryFactory<Tables>();
const insertNote = query((db, p: Params<{ text: string }>) => db.insertInto('notes').values({ text: p.text } as never));
const notes = query(db => db.selectFrom('notes').select('text').orderBy('id'));
const counters = query(db => db.selectFrom('counters').select(['name', 'value']).orderBy('name'));
const addToCounters = query((db, p: Params<CounterSums>) =>
  db
    .insertInto('counters')
    .columns(['name', 'value'])
    .expression(sql`select value ->> 0, value ->> 1 from json_each(${p.rows}) where true`)
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet(eb => ({ value: eb('counters.value', '+', eb.ref('excluded.value')) })),
    ),
);

const numberOf = query((db, p: Params<{ key: string }>) =>
  db.selectFrom('counters').select('value as number').where('name', '=', p.key),
);
const addOne = query((db, p: Params<{ key: string; by: number }>) =>
  db.insertInto('counters').values({ name: p.key, value: p.by }).returning('value as number'),
);
const setCounters = query((db, p: Params<{ value: number }>) => db.updateTable('counters').set({ value: p.value }));

async function open(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-group-commit-'));
  let writes = 0;
  const table: ReadableCounterTable = {
    table: 'counters',
    numberOf,
    addOne,
    get add() {
      writes++;
      return addToCounters;
    },
  };
  const database = await openSqlite({
    file: join(directory, 'notes.db'),
    migrations: [schema],
    clock: testClock(1000),
    role: 'server',
    log: { info() {}, warn() {}, error() {} },
    onFailed: error => assert.fail(error),
  });
  t.after(async () => {
    await database.close();
    rmSync(directory, { recursive: true });
  });
  return { database, table, counterWrites: () => writes };
}

const textsOf = async (database: Database) => (await database.all(notes, {})).map(({ text }) => text);

describe('a group commit', () => {
  it('rolls back only the work that fails after a write, also in the groups after it', async t => {
    const { database, table } = await open(t);
    const runs = new Map<string, number>();
    const add = (text: string, fails: boolean) =>
      database.write(async tx => {
        runs.set(text, (runs.get(text) ?? 0) + 1);
        await tx.run(insertNote, { text });
        tx.increment(table, 'notes', 1);
        if (fails) throw new RangeError(text);
      });
    for (let group = 0; group < 3; group++) {
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => add(`${group}.${index}`, index % 4 === 1)),
      );
      assert.deepEqual(
        results.map(({ status }) => status === 'rejected'),
        results.map((_, index) => index % 4 === 1),
      );
    }
    const kept = Array.from({ length: 30 }, (_, index) => index).filter(index => (index % 10) % 4 !== 1);
    assert.deepEqual(
      await textsOf(database),
      kept.map(index => `${Math.floor(index / 10)}.${index % 10}`),
    );
    assert.deepEqual(await database.all(counters, {}), [{ name: 'notes', value: kept.length }]);
    assert.ok(Math.max(...runs.values()) <= 2);
  });

  it('rolls back work that fails alone, and increments of work that writes nothing else', async t => {
    const { database, table } = await open(t);
    const fail = (work: (tx: Transaction) => unknown) =>
      assert.rejects(
        database.write(tx => {
          work(tx);
          throw new RangeError('no');
        }),
        RangeError,
      );
    await fail(tx => tx.run(insertNote, { text: 'a' }));
    await fail(tx => tx.increment(table, 'notes', 1));
    await Promise.all([
      fail(tx => tx.increment(table, 'notes', 1)),
      database.write(tx => tx.increment(table, 'kept', 2)),
    ]);
    assert.deepEqual(await textsOf(database), []);
    assert.deepEqual(await database.all(counters, {}), [{ name: 'kept', value: 2 }]);
  });

  it('writes each counter once, and lets statements that mention the table see the increments', async t => {
    const { database, table, counterWrites } = await open(t);
    const before = database.dataVersion('counters');
    // A group ends after 5 ms; while the clock stands still, all writes are in one group.
    const { mock } = t.mock.method(performance, 'now', () => 0);
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        database.write(tx => tx.increment(table, index % 2 ? 'odd' : 'even', 1)),
      ),
    );
    mock.restore();
    assert.equal(counterWrites(), 1);
    assert.notEqual(database.dataVersion('counters'), before);
    const [, seen] = await Promise.all([
      database.write(tx => tx.increment(table, 'even', 5)),
      database.write(async tx => {
        tx.increment(table, 'odd', -25);
        return tx.all(counters, {});
      }),
    ]);
    assert.deepEqual(seen, [
      { name: 'even', value: 30 },
      { name: 'odd', value: 0 },
    ]);
    assert.deepEqual(await database.all(counters, {}), seen);
  });

  it('returns the number of a counter with the increments of all work before, and writes it once', async t => {
    const { database, table, counterWrites } = await open(t);
    const add = (by: number) => database.write(tx => tx.incrementAndGet(table, 'notes', by));
    assert.equal(await add(3), 3);
    t.mock.method(performance, 'now', () => 0);
    const numbers = await Promise.all([
      add(1),
      database.write(tx => tx.increment(table, 'notes', 10)),
      add(-2),
      database.write(tx => tx.incrementAndGet(table, 'other', 7)),
      add(0),
    ]);
    assert.deepEqual(numbers, [4, undefined, 12, 7, 12]);
    assert.equal(counterWrites(), 2);
    assert.deepEqual(await database.all(counters, {}), [
      { name: 'notes', value: 12 },
      { name: 'other', value: 7 },
    ]);
  });

  it('reads a counter again after a statement that changes it, and after work that fails', async t => {
    const { database, table } = await open(t);
    const add = (tx: Transaction) => tx.incrementAndGet(table, 'notes', 1);
    const addAndSet = async (tx: Transaction) => {
      const before = await add(tx);
      await tx.run(setCounters, { value: 40 });
      return [before, await add(tx)];
    };
    const numbers = await Promise.all([add, addAndSet, add].map(work => database.write<unknown>(work)));
    assert.deepEqual(numbers, [1, [2, 41], 42]);
    const addAndFail = (tx: Transaction) => {
      add(tx);
      throw new RangeError('no');
    };
    const [, , third] = await Promise.allSettled([add, addAndFail, add].map(work => database.write(work)));
    assert.deepEqual(third, { status: 'fulfilled', value: 44 });
    assert.deepEqual(await database.all(counters, {}), [{ name: 'notes', value: 44 }]);
  });

  it('does not count for work that has ended, although its group has not', async t => {
    const { database, table } = await open(t);
    t.mock.method(performance, 'now', () => 0);
    let ended: Transaction;
    await Promise.all([
      database.write(tx => {
        ended = tx;
        return tx.incrementAndGet(table, 'notes', 1);
      }),
      database.write(() => assert.throws(() => ended.incrementAndGet(table, 'notes', 5), /transaction has ended/)),
    ]);
    assert.deepEqual(await database.all(counters, {}), [{ name: 'notes', value: 1 }]);
  });
});

describe('the prepared statements of a connection', () => {
  it('are bounded, and prepared again after an eviction', t => {
    const connection = new SqliteConnection(':memory:', { synchronous: 'off', cacheKiB: 64, busyMs: 0 });
    t.after(() => connection.close());
    const select = (n: number) => query(db => db.selectNoFrom(eb => eb.lit(n).as('n')));
    const first = select(-1);
    const read = (one: typeof first) => {
      const { statement, values } = connection.statements.get(one);
      return statement.get(values({}));
    };
    const prepared = connection.statements.get(first);
    assert.equal(connection.statements.get(first), prepared);
    for (let n = 0; n < 2000; n++) assert.deepEqual(read(select(n)), { n });
    assert.ok(connection.statements.size <= 512);
    assert.notEqual(connection.statements.get(first), prepared);
    assert.deepEqual(read(first), { n: -1 });
  });
});
