import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { onEachEngine, silent } from '../../test/support/engines.ts';
import { type TestClock, testClock } from '../lib/clock.ts';
import { StorageError } from '../lib/storage/database.ts';
import { type Database, type Params, query, type Transaction } from '../model/schema.ts';
import { startJobs } from './jobs.ts';
import { type DeleteExpired, retentionJob } from './retention.ts';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOON = Date.parse('2026-11-21T12:00:00Z');
const TODAY = Math.floor(NOON / DAY);

onEachEngine(engine => {
  describe('retention', () => {
    it('deletes expired rows and nothing else', async () => {
      const { database, clock } = await filled(350);
      const before = await rowsOfAll(database);
      const worker = startJobs({ database, clock, log: silent });
      await done(database, NOON);
      await worker.close(2000);
      assert.deepEqual(await left(database), {
        // A response that was stored exactly 24 hours ago has expired.
        answers: ['nearly', 'new-0', 'new-1'],
        days: [TODAY - 1, TODAY, TODAY + 1],
      });
      const after = await rowsOfAll(database);
      assert.deepEqual(
        { ...after, idempotency: 0, day_counts: 0, facts: 0 },
        { ...before, idempotency: 0, day_counts: 0, facts: 0 },
      );
    });

    it('deletes at most a hundred rows per transaction and pauses in between', async () => {
      const { database } = await filled(350);
      const sizes: number[] = [];
      const work = retentionJob({ database });
      for (;;) {
        const { rows, jobs } = await work.claim(1);
        assert.deepEqual(jobs, []);
        if (rows === 0) break;
        sizes.push(rows);
      }
      assert.ok(work.pauseMs! > 0);
      assert.deepEqual(sizes, [100, 100, 100, 51, 2]);
    });

    it('runs once an hour and is idle in between', async () => {
      const { database, clock } = await filled(1);
      let looks = 0;
      const kind: DeleteExpired = () => {
        looks++;
        return 0;
      };
      const open = () => startJobs({ database, clock, log: silent, retention: [kind] });
      const worker = open();
      await done(database, NOON);
      clock.advance(HOUR - 1);
      await pause(1200);
      // Another process that starts knows of the last run.
      const other = open();
      await pause(100);
      assert.equal(looks, 1);
      await other.close(2000);
      clock.advance(1);
      await done(database, NOON + HOUR);
      await worker.close(2000);
      assert.equal(looks, 2);
    });

    it('continues after an interruption at the next start', async () => {
      const { database, clock } = await filled(350);
      let writes = 0;
      const failing = writing(database, () => {
        if (++writes === 3) throw new StorageError('unavailable', 'The database is away.');
      });
      const killed = retentionJob({ database: failing });
      await killed.claim(1);
      await killed.claim(1);
      await assert.rejects(killed.claim(1), /away/);
      assert.equal((await left(database)).answers.length, 350 + 1 + 3 - 200);
      assert.equal(await database.first(ended, {}), undefined);

      const worker = startJobs({ database, clock, log: silent });
      await done(database, NOON);
      await worker.close(2000);
      assert.deepEqual((await left(database)).answers, ['nearly', 'new-0', 'new-1']);
    });

    it('is shared by several processes without deleting too much', async t => {
      if (engine.name === 'sqlite') return t.skip('one process serves a file');
      const { database, clock, location } = await filled(350);
      const other = await engine.open({ location, clock });
      const workers = [database, other, database].map(one => startJobs({ database: one, clock, log: silent }));
      await done(database, NOON);
      // The process that finished first may have skipped a few rows that others had locked.
      for (let tries = 0; (await left(database)).answers.length > 3 && tries < 500; tries++) await pause(10);
      for (const worker of workers) await worker.close(2000);
      assert.deepEqual(await left(database), {
        answers: ['nearly', 'new-0', 'new-1'],
        days: [TODAY - 1, TODAY, TODAY + 1],
      });
      return undefined;
    });
  });

  /**
   * Opens a database with `old` expired responses, one that has just expired and three valid ones, and with counts of
   * days.
   */
  async function filled(old: number) {
    const clock: TestClock = testClock(NOON);
    const location = await engine.newLocation();
    const database = await engine.open({ location, clock });
    await database.write(async tx => {
      for (let n = 0; n < old; n++) await answer(tx, `old-${n}`, NOON - DAY - 1 - n);
      await answer(tx, 'just', NOON - DAY);
      await answer(tx, 'nearly', NOON - DAY + 1);
      await answer(tx, 'new-0', NOON - HOUR);
      await answer(tx, 'new-1', NOON);
      for (const day of [TODAY - 400, TODAY - 2, TODAY - 1, TODAY, TODAY + 1]) await tx.run(addDay, { day });
    });
    return { database, clock, location };
  }
});

async function answer(tx: Transaction, key: string, at: number) {
  await tx.run(addAnswer, { key, at });
}

/** Returns the rows that are left in tables with a retention. */
async function left(database: Database) {
  return {
    answers: (await database.all(answers, {})).map(({ key }) => key).sort(),
    days: (await database.all(days, {})).map(({ day }) => day),
  };
}

/** Returns the number of rows of each table. */
async function rowsOfAll(database: Database) {
  const rows: Record<string, number> = {};
  for (const table of tables) rows[table] = (await database.first(counts[table], {}))!.rows;
  return rows;
}

/** Waits until all rows are deleted that had expired at a time. */
async function done(database: Database, at: number) {
  while ((await database.first(ended, {}))?.value !== String(at)) await pause(5);
}

/** Returns a database that calls a function before each write. */
function writing(database: Database, told: () => void): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name === 'write') {
        return async (work: Parameters<Database['write']>[0]) => {
          told();
          return target.write(work);
        };
      }
      const member = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

const tables = [
  'categories',
  'pets',
  'pet_counts',
  'holds',
  'orders',
  'reservations',
  'messages',
  'message_attempts',
  'events',
  'idempotency',
  'accounts',
  'keys',
  'bans',
  'day_counts',
  'minute_counts',
  'nodes',
  'facts',
  'announcements',
  'migrations',
] as const;

const counts = Object.fromEntries(
  tables.map(table => [table, query(db => db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('rows')))]),
) as Record<(typeof tables)[number], ReturnType<typeof query<Record<never, never>, { rows: number }>>>;

const answers = query(db => db.selectFrom('idempotency').select('key'));
const days = query(db => db.selectFrom('day_counts').select('day').orderBy('day'));
const ended = query(db => db.selectFrom('facts').select('value').where('name', '=', 'forgotten'));

const addAnswer = query((db, p: Params<{ key: string; at: number }>) =>
  db.insertInto('idempotency').values({ account_id: 1, key: p.key, fingerprint: 'f', body: '', created_at: p.at }),
);
const addDay = query((db, p: Params<{ day: number }>) =>
  db.insertInto('day_counts').values({ subject: 'account production 1', day: p.day, node: 'n', reserved: 1 }),
);
