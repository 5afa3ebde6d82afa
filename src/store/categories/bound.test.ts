import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import { mergeCategory } from '../category-merge/merge.ts';
import { createPet, updatePet } from '../pets/pets.ts';
import { countCategories, type NewCategories } from './bound.ts';
import { createCategory } from './categories.ts';
import { deleteCategory } from './deletion.ts';

const creator = { accountId: 1, admin: false };
const other = { accountId: 2, admin: false };
const admin = { accountId: 3, admin: true };
const operator = { accountId: null, admin: true };

onEachEngine(engine => {
  describe('the bound of categories', () => {
    let database: Database;
    beforeEach(async () => {
      database = await engine.open({ clock: testClock(Date.UTC(2026, 10, 22)) });
    });

    const outcomeOf = (work: (tx: Transaction) => Promise<unknown>) =>
      database.write(work).then(
        () => 'done',
        error => (error instanceof Problem ? error.code : String(error)),
      );
    const create = (name: string, max = 3, actor: typeof operator | typeof creator = creator) =>
      outcomeOf(tx => createCategory(tx, actor, { name }, max));
    const add = (categoryId: number, categories: NewCategories = 3, account = 1) =>
      outcomeOf(tx => createPet(tx, account, { name: 'Minka', categoryId }, categories));
    const count = (accountId = 1) => countCategories(database, accountId);

    it('is exact for concurrent categories and placeholders', async () => {
      // Regular categories wait for each other's lock of the tree; only placeholders, which come last, can exceed the
      // bound.
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, (_, index) => (index < 15 ? create(`Cats ${index}`, 20) : add(5000 + index, 20))),
      );
      assert.equal(outcomes.filter(outcome => outcome === 'done').length, 20);
      assert.equal(outcomes.filter(outcome => outcome === 'category_limit_exceeded').length, 10);
      assert.equal(await count(), 20);
      assert.equal(await create('One of another account', 20, other), 'done');
    });

    it('accepts pets in existing categories, also in one that is created concurrently', async () => {
      assert.deepEqual(await Promise.all(Array.from({ length: 10 }, () => add(5000, 1))), Array(10).fill('done'));
      assert.equal(await add(5001, 1), 'category_limit_exceeded');
      assert.equal(await add(5000, 1), 'done');
      assert.equal(await add(1, 1), 'done');
      assert.equal(await count(), 1);
    });

    it('counts the category of a changed pet against the account that changes it', async () => {
      await add(1, 3, 2);
      const move = (actor: typeof creator, categoryId: number) =>
        outcomeOf(tx => updatePet(tx, actor, 1, { categoryId }, 1));
      assert.equal(await move(other, 5000), 'done');
      assert.equal(await move(admin, 5001), 'done');
      assert.equal(await move(other, 5002), 'category_limit_exceeded');
      assert.deepEqual([await count(2), await count(3)], [1, 1]);
    });

    it('stops counting a category that is deleted or merged', async () => {
      assert.equal(await create('Coons', 2), 'done');
      assert.equal(await add(5000, 2), 'done');
      assert.equal(await create('Hares', 2), 'category_limit_exceeded');
      await database.write(tx => deleteCategory(tx, creator, 1001));
      assert.equal(await create('Hares', 2), 'done');
      await database.write(tx => mergeCategory(tx, admin, { id: 5000, intoId: 2 }));
      assert.equal(await count(), 1);
      assert.equal(await add(5001, 2), 'done');
    });

    it('does not apply to the operator, and built-in categories count for nobody', async () => {
      for (let index = 0; index < 5; index++) assert.equal(await create(`Cats ${index}`, 1, operator), 'done');
      assert.deepEqual([await count(1), await count(2)], [0, 0]);
    });
  });
});
