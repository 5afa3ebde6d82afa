import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { type Database, query } from '../../model/schema.ts';
import { descendantsOf } from '../categories/tree.ts';
import { changedPets } from './changed.ts';
import { listPets } from './list.ts';
import { createPet } from './pets.ts';

/**
 * More descendants than one query reads or compares pets with. Each category of the second half is in a category of the
 * first half.
 */
const ids = Array.from({ length: 2600 }, (_, index) => 5000 + index);
const ROOT = 4;

onEachEngine(engine => {
  describe('a category with thousands of descendants', () => {
    const clock = testClock(Date.UTC(2026, 10, 22));
    let database: Database;
    let inTree: number[];

    before(async () => {
      database = await engine.open({ clock });
      await database.write(async tx => {
        await tx.run(insertTree, {});
        for (let index = 0; index < 900; index++) {
          const categoryId = index % 3 === 0 ? ids[(index * 7) % ids.length]! : index % 3;
          await createPet(tx, 1, { name: `Pet ${index % 50}`, categoryId }, 'open');
        }
      });
      inTree = Array.from({ length: 300 }, (_, index) => index * 3 + 1);
    });

    it('has all of them, up to the maximum', async () => {
      assert.deepEqual(await descendantsOf(database, ROOT, 10_000), [ROOT, ...ids]);
      assert.deepEqual(await descendantsOf(database, ids[3]!, 10_000), [ids[3], ids[1303]]);
      assert.equal((await descendantsOf(database, ROOT, 2601))?.length, 2601);
      assert.equal(await descendantsOf(database, ROOT, 2600), undefined);
    });

    it('lists their pets, page by page', async () => {
      for (const sort of ['id', '-id', 'name', '-name'] as const) {
        const found: number[] = [];
        let cursor: string | undefined;
        do {
          const filter = { categoryId: ROOT, includeDescendants: true, sort };
          const page = await listPets(database, filter, { limit: 70, cursor }, clock.now());
          found.push(...page.rows.map(({ id }) => id));
          cursor = page.next;
        } while (cursor !== undefined);
        if (sort === 'id') assert.deepEqual(found, inTree);
        if (sort === '-id') assert.deepEqual(found, inTree.toReversed());
        assert.deepEqual(
          found.toSorted((a, b) => a - b),
          inTree,
        );
      }
    });

    it('lists their changed pets', async () => {
      const found: number[] = [];
      let cursor: string | undefined;
      do {
        const filter = { categoryId: ROOT, includeDescendants: true, updatedSince: '2026-11-01T00:00:00Z' };
        const page = await changedPets(database, filter, { limit: 70, cursor }, clock.now());
        found.push(...page.rows.map(({ id }) => id));
        cursor = page.next;
      } while (cursor !== undefined);
      assert.deepEqual(found, inTree);
    });
  });
});

const insertTree = query(db =>
  db.insertInto('categories').values(
    ids.map((id, index) => ({
      id,
      name: `Category ${id}`,
      slug: `category-${id}`,
      parent_id: index < 1300 ? ROOT : ids[index - 1300]!,
      placeholder: 0,
      account_id: null,
      created_at: 0,
      updated_at: 0,
    })),
  ),
);
