import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/engines.ts';
import { testClock } from '../lib/clock.ts';
import { type Database, type Params, query } from '../schema.ts';
import type { NewPet } from './pet.ts';
import { countPets, createPet, getPet } from './pets.ts';

onEachEngine(engine => {
  const add = (database: Database, pet: NewPet, categories: 'open' | 'strict' = 'open') =>
    database.write(tx => createPet(tx, 7, pet, categories));

  describe('createPet', () => {
    it('adds an animal that belongs to the account, at the time of the clock', async () => {
      const database = await engine.open({ clock: testClock(1_795_000_000_123.5) });
      const pet = await add(database, { name: 'Minka', categoryId: 2 });
      assert.deepEqual(pet, { id: pet.id, name: 'Minka', categoryId: 2, status: 'available' });
      assert.deepEqual(await database.first(wholePet, { id: pet.id }), {
        id: pet.id,
        name: 'Minka',
        category_id: 2,
        status: 'available',
        account_id: 7,
        created_at: 1_795_000_000_123,
        updated_at: 1_795_000_000_123,
      });
      assert.deepEqual(await getPet(database, pet.id), pet);
    });

    it('gives ids upward from 1, and none a second time, also with many at once', async () => {
      const database = await engine.open();
      const pets = await Promise.all(Array.from({ length: 200 }, () => add(database, { name: 'x', categoryId: 1 })));
      const ids = pets.map(({ id }) => id).toSorted((a, b) => a - b);
      assert.equal(ids[0], 1);
      assert.equal(new Set(ids).size, 200);
      await database.write(tx => tx.run(removeAll, {}));
      assert.ok((await add(database, { name: 'x', categoryId: 1 })).id > ids.at(-1)!);
    });

    it('stores every name as it was sent, and every category up to 2^53 − 1', async () => {
      const database = await engine.open();
      for (const name of ['  x ', 'é', 'e\u0301', '🐈', '\'"\\%_', '\u200d', '\u{10ffff}', '\ufffe', 'x'.repeat(255)]) {
        const pet = await add(database, { name, categoryId: Number.MAX_SAFE_INTEGER });
        assert.deepEqual(await getPet(database, pet.id), pet);
        assert.equal(pet.name, name);
        assert.equal(pet.categoryId, Number.MAX_SAFE_INTEGER);
      }
    });

    it('makes a placeholder for a category that was never seen before, once, also with many at once', async () => {
      const database = await engine.open();
      await Promise.all(
        Array.from({ length: 30 }, (_, index) => add(database, { name: 'x', categoryId: 5000 + (index % 2) })),
      );
      const rows = await database.all(categoriesFrom, { id: 5000 });
      assert.deepEqual(
        rows.map(({ id, name, placeholder }) => [id, name, placeholder]),
        [
          [5000, 'Category 5000', 1],
          [5001, 'Category 5001', 1],
        ],
      );
    });

    it('refuses a category that does not exist where they are strict, and changes nothing', async () => {
      const database = await engine.open();
      await assert.rejects(add(database, { name: 'x', categoryId: 9 }, 'strict'), {
        code: 'category_not_found',
        status: 400,
      });
      assert.equal(await countPets(database, {}), 0);
      assert.deepEqual(await database.all(categoriesFrom, { id: 9 }), []);
      assert.equal((await add(database, { name: 'x', categoryId: 8 }, 'strict')).categoryId, 8);
    });
  });

  describe('getPet', () => {
    it('refuses an id that no animal has', async () => {
      const database = await engine.open();
      await assert.rejects(async () => getPet(database, 1), { code: 'pet_not_found', status: 404 });
      await assert.rejects(async () => getPet(database, Number.MAX_SAFE_INTEGER), { code: 'pet_not_found' });
    });
  });

  describe('countPets', () => {
    it('counts by one status, by one category and in all, and nothing else', async () => {
      const database = await engine.open();
      const statuses = ['available', 'pending', 'sold'] as const;
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          add(database, { name: 'x', categoryId: (index % 4) + 1, status: statuses[index % 3]! }),
        ),
      );
      assert.equal(await countPets(database, {}), 60);
      assert.equal(await countPets(database, { status: ['sold'] }), 20);
      assert.equal(await countPets(database, { categoryId: 3 }), 15);
      assert.equal(await countPets(database, { categoryId: 99 }), 0);
      for (const filter of [
        { status: ['sold', 'pending'] as const },
        { status: ['sold'] as const, categoryId: 1 },
        { id: [1] },
      ]) {
        assert.equal(await countPets(database, filter), undefined);
      }
    });

    it('counts nothing that was undone', async () => {
      const database = await engine.open();
      const undone = database.write(async tx => {
        await createPet(tx, 7, { name: 'x', categoryId: 1 }, 'open');
        throw new Error('undone');
      });
      await assert.rejects(undone, /undone/);
      assert.equal(await countPets(database, {}), 0);
      assert.equal(await countPets(database, { categoryId: 1 }), 0);
    });
  });
});

const wholePet = query((db, p: Params<{ id: number }>) => db.selectFrom('pets').selectAll().where('id', '=', p.id));

const removeAll = query(db => db.deleteFrom('pets'));

const categoriesFrom = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').selectAll().where('id', '>=', p.id).orderBy('id'),
);
