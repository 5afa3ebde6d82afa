import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type OpenOptions, onEachEngine } from '../../../test/support/engines.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { descendantsOf } from './tree.ts';

onEachEngine(engine => {
  const opened: Database[] = [];
  const open = async (options: OpenOptions = {}) => {
    const database = await engine.open(options);
    opened.push(database);
    return database;
  };
  // Test files share the connections of the server.
  afterEach(() => Promise.all(opened.splice(0).map(database => database.close())));

  describe('descendantsOf', () => {
    it('returns a category and its descendants, ascending', async () => {
      const database = await tree(await open());
      assert.deepEqual(await descendantsOf(database, 2, 10), [2, 1001, 1002, 1003, 1004]);
      assert.deepEqual(await descendantsOf(database, 1002, 10), [1002, 1004]);
      assert.deepEqual(await descendantsOf(database, 1, 10), [1]);
      assert.deepEqual(await descendantsOf(database, 999, 10), [999]);
    });

    it('returns undefined for more than the maximum', async () => {
      const database = await tree(await open());
      assert.equal(await descendantsOf(database, 2, 4), undefined);
      assert.equal((await descendantsOf(database, 2, 5))?.length, 5);
    });
  });
});

/** Creates a tree below category 2: 1001 and 1002, then 1003 below 1001, and 1004 below 1002. */
async function tree(database: Database): Promise<Database> {
  await database.write(async tx => {
    for (const [id, parentId] of [
      [1001, 2],
      [1002, 2],
      [1003, 1001],
      [1004, 1002],
    ] as const) {
      await tx.run(insertBelow, { id, parentId, slug: `category-${id}` });
    }
  });
  return database;
}

const insertBelow = query((db, p: Params<{ id: number; parentId: number; slug: string }>) =>
  db.insertInto('categories').values({
    id: p.id,
    name: p.slug,
    slug: p.slug,
    parent_id: p.parentId,
    placeholder: 0,
    created_at: 0,
    updated_at: 0,
  }),
);
