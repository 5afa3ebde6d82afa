import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { isUniqueViolation, StorageError } from '../../src/lib/storage/database.ts';
import { type Database, type Params, query } from '../../src/model/schema.ts';
import { onEachEngine } from '../support/engines.ts';
import { waitUntil } from '../support/wait-until.ts';

const setFact = query((db, p: Params<{ name: string; value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: p.name, value: p.value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value: p.value })),
);
const factByName = query((db, p: Params<{ name: string }>) =>
  db.selectFrom('facts').select('value').where('name', '=', p.name),
);
/** Returns all facts but those that migrations insert. */
const everyFact = query(db =>
  db
    .selectFrom('facts')
    .select(['name', 'value'])
    .where('name', 'not in', ['dispatched', 'dispatched-ahead', 'deleted events', 'words', 'words_of_descriptions'])
    .orderBy('name'),
);
const addAccount = query((db, p: Params<{ email: string; now: number }>) =>
  db
    .insertInto('accounts')
    .values({
      email: p.email,
      name: 'Somebody',
      plan: 'free',
      per_minute: null,
      per_day: null,
      admin: 0,
      created_at: p.now,
    })
    .returning('id'),
);
const countAccounts = query(db => db.selectFrom('accounts').select(db.fn.countAll<number>().as('accounts')));
const addPet = query((db, p: Params<{ name: string; categoryId: number }>) =>
  db
    .insertInto('pets')
    .values({
      name: p.name,
      category_id: p.categoryId,
      status: 'available',
      account_id: 1,
      created_at: 9_007_199_254_740_991,
      updated_at: 0,
    })
    .returning(['id', 'created_at']),
);
const petsByName = query(db => db.selectFrom('pets').select(['id', 'name']).orderBy('name').orderBy('id'));
const addToCount = query((db, p: Params<{ key: string }>) =>
  db
    .insertInto('pet_counts')
    .values({ kind: 'status', key: p.key, slot: 0, pets: 1 })
    .onConflict(conflict =>
      conflict
        .columns(['kind', 'key', 'slot'])
        .doUpdateSet(({ eb, ref }) => ({ pets: eb(ref('pet_counts.pets'), '+', 1) })),
    ),
);
const sumOfCounts = query(db => db.selectFrom('pet_counts').select(db.fn.sum<number>('pets').as('pets')));

onEachEngine(engine => {
  describe('a database', () => {
    it('has the built-in categories from the first migration', async () => {
      const database = await engine.open();
      const names = query(db => db.selectFrom('categories').select('name').orderBy('id'));
      const rows = await database.all(names, {});
      assert.deepEqual(rows[0], { name: 'Dog' });
      assert.equal(rows.length, 8);
      assert.equal(database.engine, engine.name);
    });

    it('returns integers up to 2^53 as numbers, including sums and counts', async () => {
      const database = await engine.open();
      const pet = await database.write(tx => tx.first(addPet, { name: 'Rex', categoryId: 1 }));
      assert.deepEqual(pet, { id: 1, created_at: 9_007_199_254_740_991 });
      await database.write(tx => tx.run(addToCount, { key: 'available' }));
      await database.write(tx => tx.run(addToCount, { key: 'available' }));
      assert.deepEqual(await database.first(sumOfCounts, {}), { pets: 2 });
      assert.deepEqual(await database.first(countAccounts, {}), { accounts: 0 });
    });

    it('sorts text by code point', async () => {
      const database = await engine.open();
      const names = ['zebra', 'Zoe', 'ähre', 'a b', 'ab', '😀', '\uff5e', '_', '10', '9'];
      await database.write(async tx => {
        for (const name of names) await tx.first(addPet, { name, categoryId: 1 });
      });
      const sorted = (await database.all(petsByName, {})).map(({ name }) => name);
      assert.deepEqual(
        sorted,
        names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
    });

    it('stores text unchanged', async () => {
      const database = await engine.open();
      for (const value of ['', ' ', "'; drop table facts; --", '$1 ? :a \\', 'ﷺ\u2028\u{10ffff}', 'é\u0301', '\t\n']) {
        await database.write(tx => tx.run(setFact, { name: 'text', value }));
        assert.deepEqual(await database.first(factByName, { name: 'text' }), { value });
      }
    });

    it('returns no rows if there are none', async () => {
      const database = await engine.open();
      assert.equal(await database.first(factByName, { name: 'none' }), undefined);
      assert.deepEqual(await database.all(everyFact, {}), []);
    });
  });

  describe('a transaction', () => {
    it('sees its own changes; others see them after the commit', async () => {
      const database = await engine.open();
      const seen = await database.write(async tx => {
        assert.equal(await tx.run(setFact, { name: 'a', value: '1' }), 1);
        return tx.first(factByName, { name: 'a' });
      });
      assert.deepEqual(seen, { value: '1' });
      assert.deepEqual(await database.first(factByName, { name: 'a' }), { value: '1' });
    });

    it('is visible to another process right after the commit, not before', async () => {
      const location = await engine.newLocation();
      const one = await engine.open({ location });
      const other = await engine.open({ location, role: 'cli' });
      await one.write(async tx => {
        await tx.run(setFact, { name: 'a', value: '1' });
        assert.equal(await other.first(factByName, { name: 'a' }), undefined);
      });
      assert.deepEqual(await other.first(factByName, { name: 'a' }), { value: '1' });
      await other.write(tx => tx.run(setFact, { name: 'a', value: '2' }));
      assert.deepEqual(await one.first(factByName, { name: 'a' }), { value: '2' });
    });

    it('rolls back if its work throws, and rethrows the error', async () => {
      const database = await engine.open();
      const fault = new Error('a change of mind');
      await assert.rejects(
        database.write(async tx => {
          await tx.run(setFact, { name: 'a', value: '1' });
          throw fault;
        }),
        error => error === fault,
      );
      assert.equal(await database.first(factByName, { name: 'a' }), undefined);
      await database.write(tx => tx.run(setFact, { name: 'a', value: '2' }));
      assert.deepEqual(await database.first(factByName, { name: 'a' }), { value: '2' });
    });

    it('rolls back on a unique violation, which is recognizable', async () => {
      const database = await engine.open();
      await database.write(tx => tx.first(addAccount, { email: 'a@example.org', now: tx.now }));
      await assert.rejects(
        database.write(async tx => {
          await tx.run(setFact, { name: 'a', value: '1' });
          await tx.first(addAccount, { email: 'a@example.org', now: tx.now });
        }),
        error => isUniqueViolation(error) && !(error instanceof StorageError),
      );
      assert.equal(await database.first(factByName, { name: 'a' }), undefined);
      assert.deepEqual(await database.first(countAccounts, {}), { accounts: 1 });
    });

    it('distinguishes other constraint violations from unique violations', async () => {
      const database = await engine.open();
      await assert.rejects(
        database.write(tx => tx.first(addPet, { name: 'Rex', categoryId: 999 })),
        error => !isUniqueViolation(error) && !(error instanceof StorageError),
      );
    });

    it('lets one of many insert a unique value, and assigns each id once', async () => {
      const database = await engine.open();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          database.write(tx => tx.first(addAccount, { email: `${index % 20}@example.org`, now: tx.now })),
        ),
      );
      const won = outcomes.filter(outcome => outcome.status === 'fulfilled').map(({ value }) => value?.id);
      assert.equal(won.length, 20);
      assert.equal(new Set(won).size, 20);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.ok(isUniqueViolation(outcome.reason), String(outcome.reason));
      }
    });

    it('loses no update of concurrent writers to the same row', async () => {
      const location = await engine.newLocation();
      const one = await engine.open({ location });
      const other = await engine.open({ location, role: 'cli' });
      await Promise.all(
        [one, other].flatMap(database =>
          Array.from({ length: 50 }, () => database.write(tx => tx.run(addToCount, { key: 'available' }))),
        ),
      );
      assert.deepEqual(await one.first(sumOfCounts, {}), { pets: 100 });
    });

    it('has one time in whole milliseconds, never before an earlier transaction', async () => {
      const clock = testClock(1_800_000_000_000.75);
      const database = await engine.open({ clock });
      let before = 0;
      for (const ms of [0, 0.3, 1, 0, 12.5]) {
        clock.advance(ms);
        const now = await database.write(async tx => {
          const first = tx.now;
          await tx.first(factByName, { name: 'a' });
          assert.equal(tx.now, first);
          return first;
        });
        assert.equal(now, Math.floor(clock.now()));
        assert.ok(now >= before);
        before = now;
      }
    });
  });

  describe('notifications', () => {
    async function heardBy(database: Database, topic: string): Promise<number> {
      await waitUntil(() => database.topicVersion(topic) !== undefined);
      return database.topicVersion(topic) as number;
    }

    it('advance in the same process as soon as the transaction commits', async () => {
      const database = await engine.open();
      let before = await heardBy(database, 'keys');
      for (let round = 0; round < 5; round++) {
        await database.write(tx => tx.notify('keys'));
        const now = await heardBy(database, 'keys');
        assert.notEqual(now, before);
        before = now;
      }
    });

    it('advance in other processes', async () => {
      const location = await engine.newLocation();
      const one = await engine.open({ location });
      const other = await engine.open({ location, role: 'cli' });
      let before = await heardBy(one, 'keys');
      for (let round = 0; round < 3; round++) {
        await other.write(async tx => {
          await tx.run(setFact, { name: 'a', value: `${round}` });
          await tx.notify('keys');
        });
        await waitUntil(() => one.topicVersion('keys') !== undefined && one.topicVersion('keys') !== before);
        before = await heardBy(one, 'keys');
        assert.deepEqual(await one.first(factByName, { name: 'a' }), { value: `${round}` });
      }
    });

    it('are not sent by a transaction that rolls back', async () => {
      const database = await engine.open();
      const before = await heardBy(database, 'keys');
      await assert.rejects(
        database.write(async tx => {
          await tx.notify('keys');
          throw new Error('a change of mind');
        }),
      );
      assert.equal(database.topicVersion('keys') ?? before, before);
    });
  });

  describe('version', () => {
    it('changes with every commit, or is undefined', async () => {
      const location = await engine.newLocation();
      const one = await engine.open({ location });
      const other = await engine.open({ location, role: 'cli' });
      if (engine.name === 'postgres') return assert.equal(one.dataVersion('facts'), undefined);
      for (const database of [one, other]) {
        const before = one.dataVersion('facts');
        assert.equal(typeof before, 'number');
        await database.write(tx => tx.run(setFact, { name: 'a', value: `${before}` }));
        await waitUntil(() => one.dataVersion('facts') !== before);
      }
    });
  });

  describe('closing', () => {
    it('finishes pending work and rejects later work', async () => {
      const location = await engine.newLocation();
      const database = await engine.open({ location });
      const writes = Array.from({ length: 20 }, (_, index) =>
        database.write(tx => tx.run(setFact, { name: `${index}`.padStart(2, '0'), value: '1' })),
      );
      await database.close();
      await Promise.all(writes);
      await assert.rejects(
        database.write(tx => tx.run(setFact, { name: 'late', value: '1' })),
        error => error instanceof StorageError && error.reason === 'closed',
      );
      const again = await engine.open({ location });
      assert.equal((await again.all(everyFact, {})).length, 20);
    });

    it('is idempotent', async () => {
      const database = await engine.open();
      await Promise.all([database.close(), database.close()]);
      await database.close();
    });

    it('leaves the database intact', async () => {
      const database = await engine.open();
      assert.deepEqual(await database.health(), { ok: true, writes: 'ok', detail: '' });
    });
  });
});
