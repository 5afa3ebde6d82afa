import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type OpenOptions, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { etagOf } from '../../lib/etag.ts';
import { type CategoryEventData, type CategoryPatch, categoryValues, type NewCategory } from '../../model/category.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { createCategory, getCategory, updateCategory } from './categories.ts';
import { deleteCategory, deleteEmptyCategories } from './deletion.ts';
import { listCategories } from './list.ts';
import { ensureCategory } from './placeholders.ts';
import { withSlugConflict } from './slugs.ts';

const someone: Actor = { accountId: 7, admin: false };
const other: Actor = { accountId: 8, admin: false };
const admin: Actor = { accountId: 9, admin: true };

onEachEngine(engine => {
  const opened: Database[] = [];
  const open = async (options: OpenOptions = {}) => {
    const database = await engine.open(options);
    opened.push(database);
    return database;
  };
  // Test files share the connections of the server.
  afterEach(() => Promise.all(opened.splice(0).map(database => database.close())));

  const add = (database: Database, category: NewCategory, actor = someone) =>
    database.write(tx => createCategory(tx, actor, category));
  const patch = (database: Database, id: number, change: CategoryPatch, actor = someone) =>
    withSlugConflict(change.slug, () => database.write(tx => updateCategory(tx, actor, id, change)));
  const ensure = (database: Database, id: number) => database.write(tx => ensureCategory(tx, id, 'open', null));

  describe('createCategory', () => {
    it('creates a category of the account, with an event', async () => {
      const database = await open({ clock: testClock(1_795_000_000_123) });
      const category = await add(database, { name: 'Maine Coon', parentId: 2 });
      assert.deepEqual(category, {
        id: 1001,
        name: 'Maine Coon',
        slug: 'maine-coon',
        parentId: 2,
        breeds: null,
        colors: null,
        accountId: 7,
        creatorId: 7,
        placeholder: 0,
        createdAt: 1_795_000_000_123,
        updatedAt: 1_795_000_000_123,
        version: 1,
      });
      assert.deepEqual(await getCategory(database, 1001), category);
      const [event, ...others] = await eventsOf<CategoryEventData>(database, 'category', 1001);
      assert.deepEqual(others, []);
      assert.equal(event!.action, 'created');
      assert.equal(event!.accountId, 7);
      assert.deepEqual(event!.data, {
        category: { name: 'Maine Coon', slug: 'maine-coon', parentId: 2, placeholder: false },
        ownerId: 7,
      });
    });

    it('assigns the smallest id above 1,000 that no category ever had', async () => {
      const database = await open();
      for (const id of [9, 1000, 1001, 1003, 1004]) await ensure(database, id);
      assert.equal((await add(database, { name: 'a' })).id, 1002);
      assert.equal((await add(database, { name: 'b' })).id, 1005);
      await ensure(database, 1006);
      await database.write(tx => deleteCategory(tx, someone, 1002));
      await database.write(tx => deleteCategory(tx, admin, 1006));
      assert.equal((await add(database, { name: 'c' })).id, 1007);
      await ensure(database, 5000);
      assert.equal((await add(database, { name: 'd' })).id, 1008);
    });

    it('skips a thousand ids that pets named', async () => {
      const database = await open();
      await database.write(tx => tx.run(insertMany, { from: 1001, to: 2200 }));
      assert.equal((await add(database, { name: 'a' })).id, 2201);
      assert.equal((await add(database, { name: 'b' })).id, 2202);
    });

    it('assigns unique ids and slugs to concurrent requests, also when pets name the same ids', async () => {
      const database = await open();
      const added = Array.from({ length: 20 }, () => add(database, { name: 'Category 1003' }));
      const named = Array.from({ length: 10 }, (_, index) => ensure(database, 1001 + index));
      const [categories] = await Promise.all([Promise.all(added), Promise.all(named)]);
      const ids = categories.map(({ id }) => id);
      assert.equal(new Set(ids).size, 20);
      assert.equal(new Set(categories.map(({ slug }) => slug)).size, 20);
      assert.ok(Math.max(...ids) <= 1030);
      const rows = await database.all(allSlugs, {});
      assert.equal(new Set(rows.map(({ slug }) => slug)).size, rows.length);
      for (let id = 1001; id <= 1010; id++) await getCategory(database, id);
    });

    it('derives slugs from names, with numbers if they are taken', async () => {
      const database = await open();
      const slugs: string[] = [];
      for (const name of ['Dog', 'dög', 'DOG!', '猫', 'x'.repeat(120), 'x'.repeat(120), 'Dog 3']) {
        slugs.push((await add(database, { name })).slug);
      }
      assert.deepEqual(slugs, [
        'dog-2',
        'dog-3',
        'dog-4',
        'category-1004',
        'x'.repeat(100),
        `${'x'.repeat(91)}-2`,
        'dog-3-2',
      ]);
    });

    it('finds a free slug when a thousand of them are taken', async () => {
      const database = await open();
      await database.write(tx => tx.run(insertSlugs, { base: 'dog', from: 2, to: 1100 }));
      assert.match((await add(database, { name: 'Dog' })).slug, /^dog-[0-9a-f]{8}$/);
    });

    it('gives a slug to one of many requests, and rejects the others', async () => {
      const database = await open();
      const tries = await Promise.allSettled(
        Array.from({ length: 12 }, (_, index) => add(database, { name: `n${index}`, slug: 'the-one' })),
      );
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const one of tries) if (one.status === 'rejected') assert.equal(one.reason.code, 'category_slug_taken');
    });

    it('rejects an unknown parent and an eleventh level', async () => {
      const database = await open();
      await assert.rejects(add(database, { name: 'x', parentId: 4711 }), { code: 'category_not_found', status: 400 });
      let parentId = 1;
      for (let level = 2; level <= 10; level++) parentId = (await add(database, { name: `l${level}`, parentId })).id;
      await assert.rejects(add(database, { name: 'x', parentId }), { code: 'invalid_body', status: 400 });
    });
  });

  describe('ensureCategory', () => {
    it('creates a placeholder once, also concurrently', async () => {
      const database = await open();
      await Promise.all(Array.from({ length: 20 }, () => ensure(database, 9000)));
      const events = await eventsOf<CategoryEventData>(database, 'category', 9000);
      assert.deepEqual(
        events.map(({ action, accountId, data }) => ({ action, accountId, data })),
        [
          {
            action: 'created',
            accountId: null,
            data: { category: { name: 'Category 9000', slug: 'category-9000', placeholder: true } },
          },
        ],
      );
    });

    it('chooses another slug if the default one is taken', async () => {
      const database = await open();
      await add(database, { name: 'x', slug: 'category-9000' });
      await ensure(database, 9000);
      assert.equal((await getCategory(database, 9000)).slug, 'category-9000-2');
    });

    it('continues the versions of a deleted category, so that entity tags stay unique', async () => {
      const database = await open();
      await ensure(database, 9000);
      const before = [etagOf(await getCategory(database, 9000))];
      before.push(etagOf(await patch(database, 9000, { name: 'Alpacas' }, admin)));
      await database.write(tx => deleteCategory(tx, admin, 9000));
      await ensure(database, 9000);
      assert.ok(!before.includes(etagOf(await getCategory(database, 9000))));
    });
  });

  describe('updateCategory', () => {
    it('changes the given members, and records their values before', async () => {
      const clock = testClock(1_795_000_000_000);
      const database = await open({ clock });
      await add(database, { name: 'Coons', parentId: 2 });
      clock.advance(1000);
      const after = await patch(database, 1001, { name: 'Maine Coons', slug: 'maine-coons', parentId: null });
      assert.deepEqual(categoryValues.fullOf(after), {
        id: 1001,
        name: 'Maine Coons',
        slug: 'maine-coons',
        placeholder: false,
        createdAt: '2026-11-18T11:06:40.000Z',
        updatedAt: '2026-11-18T11:06:41.000Z',
      });
      assert.deepEqual(await getCategory(database, 1001), after);
      assert.equal(etagOf(after), '"1001.2"');
      const [, event] = await eventsOf<CategoryEventData>(database, 'category', 1001);
      assert.deepEqual(event!.data, {
        category: { name: 'Maine Coons', slug: 'maine-coons', placeholder: false },
        was: { name: 'Coons', slug: 'coons', parentId: 2 },
        ownerId: 7,
      });
    });

    it('does nothing if nothing changes', async () => {
      const database = await open();
      const before = await add(database, { name: 'Coons', parentId: 2 });
      assert.deepEqual(await patch(database, 1001, { name: 'Coons', slug: 'coons', parentId: 2 }), before);
      assert.deepEqual(await patch(database, 1001, {}), before);
      assert.equal((await eventsOf(database, 'category', 1001)).length, 1);
    });

    it('turns a placeholder that gets a name, even the same, into a regular category', async () => {
      const database = await open();
      await ensure(database, 9000);
      assert.equal((await patch(database, 9000, { slug: 'alpacas' }, admin)).placeholder, 1);
      const named = await patch(database, 9000, { name: 'Category 9000' }, operator);
      assert.equal(named.placeholder, 0);
      assert.equal(named.accountId, null);
      const [, , event] = await eventsOf<CategoryEventData>(database, 'category', 9000);
      assert.deepEqual(event!.data.was, { placeholder: true });
      assert.equal(event!.accountId, null);
    });

    it('checks the owner before the preconditions', async () => {
      const database = await open();
      await add(database, { name: 'Coons' });
      await assert.rejects(patch(database, 1001, { name: 'x' }, other), { code: 'not_owner' });
      await assert.rejects(patch(database, 1, { name: 'x' }, other), { code: 'not_owner' });
      await assert.rejects(patch(database, 4711, { name: 'x' }, other), { code: 'no_such_category' });
      const checkPreconditions = () => {
        throw new Error('expected another');
      };
      await assert.rejects(
        database.write(tx => updateCategory(tx, other, 1001, { name: 'x' }, checkPreconditions)),
        { code: 'not_owner' },
      );
      await assert.rejects(
        database.write(tx => updateCategory(tx, admin, 1001, { name: 'x' }, checkPreconditions)),
        /expected another/,
      );
    });

    it('rejects a taken slug, and gives a free one to one of many requests', async () => {
      const database = await open();
      const ids: number[] = [];
      for (let index = 0; index < 8; index++) ids.push((await add(database, { name: `n${index}` })).id);
      await assert.rejects(patch(database, 1001, { slug: 'n1' }), { code: 'category_slug_taken', status: 409 });
      const tries = await Promise.allSettled([
        ...ids.map(id => patch(database, id, { slug: 'category-9000' })),
        ensure(database, 9000),
      ]);
      const refusals = tries.flatMap(one => (one.status === 'rejected' ? [one.reason.code] : []));
      assert.ok(refusals.length >= 7, String(refusals.length));
      assert.deepEqual(new Set(refusals), new Set(['category_slug_taken']));
      assert.match((await getCategory(database, 9000)).slug, /^category-9000/);
    });

    it('rejects cycles', async () => {
      const database = await open();
      const a = (await add(database, { name: 'a' })).id;
      const b = (await add(database, { name: 'b', parentId: a })).id;
      const c = (await add(database, { name: 'c', parentId: b })).id;
      for (const parentId of [a, b, c]) {
        await assert.rejects(patch(database, a, { parentId }), { code: 'category_cycle', status: 409 });
      }
      await assert.rejects(patch(database, a, { parentId: 4711 }), { code: 'category_not_found', status: 400 });
      await assert.rejects(patch(database, a, { parentId: a }), {
        message: `Category ${a} cannot contain itself; choose another one.`,
      });
      assert.equal((await patch(database, c, { parentId: a })).parentId, a);
    });

    it('prevents cycles when many categories move concurrently', async () => {
      const database = await open();
      const ids: number[] = [];
      for (let index = 0; index < 6; index++) ids.push((await add(database, { name: `n${index}` })).id);
      for (let round = 0; round < 5; round++) {
        const moves = ids.flatMap((id, index) => [
          patch(database, id, { parentId: ids[(index + 1) % ids.length]! }),
          patch(database, id, { parentId: ids[(index + 2 + round) % ids.length]! }),
        ]);
        for (const move of await Promise.allSettled(moves)) {
          if (move.status === 'rejected') assert.equal(move.reason.code, 'category_cycle', String(move.reason));
        }
        const parents = new Map((await database.all(allSlugs, {})).map(({ id, parentId }) => [id, parentId]));
        for (const id of ids) {
          let steps = 0;
          for (let at: number | null = id; at !== null; at = parents.get(at)!) assert.ok(++steps <= 6, `${id}`);
        }
        for (const id of ids) await patch(database, id, { parentId: null });
      }
    });

    it('allows ten levels and no more', async () => {
      const database = await open();
      const line = async (name: string, levels: number) => {
        let parentId: number | undefined;
        const ids: number[] = [];
        for (let level = 1; level <= levels; level++) {
          const added = await add(database, { name: `${name}${level}`, ...(parentId && { parentId }) });
          ids.push(added.id);
          parentId = added.id;
        }
        return ids;
      };
      const four = await line('a', 4);
      const seven = await line('b', 7);
      await assert.rejects(patch(database, four[0]!, { parentId: seven[6]! }), { code: 'invalid_body', status: 400 });
      assert.equal((await patch(database, four[1]!, { parentId: seven[6]! })).parentId, seven[6]);
      await assert.rejects(patch(database, four[0]!, { parentId: four[3]! }), { code: 'invalid_body' });
      // Moving up is always possible.
      assert.equal((await patch(database, four[1]!, { parentId: seven[5]! })).parentId, seven[5]);
    });
  });

  describe('updateCategory with very many descendants', () => {
    it('rejects a move down, and allows a move up', async () => {
      const database = await open();
      await add(database, { name: 'wide', parentId: 2 });
      await add(database, { name: 'deep', parentId: 1 });
      await database.write(async tx => {
        await tx.run(insertMany, { from: 2001, to: 12_001 });
        await tx.run(putBelow, { parentId: 1001, from: 2001 });
      });
      await assert.rejects(patch(database, 1001, { parentId: 1002 }), {
        code: 'invalid_body',
        message: /more than 10,000 descendants/,
      });
      assert.equal((await patch(database, 1001, { parentId: 1 })).parentId, 1);
      assert.equal((await patch(database, 1001, { parentId: null })).parentId, null);
    });
  });

  describe('deleteCategory', () => {
    it('deletes an empty category, with an event', async () => {
      const database = await open();
      await add(database, { name: 'Coons' });
      await database.write(tx => deleteCategory(tx, someone, 1001));
      await assert.rejects(async () => getCategory(database, 1001), { code: 'no_such_category', status: 404 });
      const [, event] = await eventsOf<CategoryEventData>(database, 'category', 1001);
      assert.equal(event!.action, 'deleted');
      assert.deepEqual(event!.data, { category: { name: 'Coons', slug: 'coons', placeholder: false }, ownerId: 7 });
      await assert.rejects(
        database.write(tx => deleteCategory(tx, someone, 1001)),
        { code: 'no_such_category' },
      );
      // The slug is available again.
      assert.equal((await add(database, { name: 'Coons' })).slug, 'coons');
    });

    it('rejects a category with subcategories, and callers who do not own it', async () => {
      const database = await open();
      await add(database, { name: 'a' });
      await add(database, { name: 'b', parentId: 1001 });
      const remove = (id: number, actor: Actor) => database.write(tx => deleteCategory(tx, actor, id));
      await assert.rejects(remove(1001, someone), { code: 'category_in_use', message: /contains 1 category\./ });
      await assert.rejects(remove(1002, other), { code: 'not_owner' });
      await assert.rejects(remove(8, someone), { code: 'not_owner' });
      await remove(8, admin);
      await remove(1002, operator);
      await remove(1001, someone);
    });

    it('leaves no orphan when a subcategory is created concurrently', async () => {
      const database = await open();
      for (let round = 0; round < 10; round++) {
        const { id } = await add(database, { name: 'above' });
        const [added, removed] = await Promise.allSettled([
          add(database, { name: 'below', parentId: id }),
          database.write(tx => deleteCategory(tx, someone, id)),
        ]);
        if (added.status === 'rejected') assert.equal(added.reason.code, 'category_not_found');
        if (removed.status === 'rejected') assert.equal(removed.reason.code, 'category_in_use');
        assert.notEqual(added.status, removed.status);
      }
    });
  });

  describe('deleteEmptyCategories', () => {
    it('deletes empty categories from the leaves up, a few at a time, with events', async () => {
      const database = await open();
      for (let index = 0; index < 3; index++) await add(database, { name: `n${index}` });
      await patch(database, 1001, { parentId: 1002 });
      const some = () => database.write(tx => deleteEmptyCategories(tx, 1));
      const left = async () => (await listCategories(database, {}, { limit: 100 })).rows.map(({ id }) => id);
      assert.equal(await some(), 1);
      assert.deepEqual((await left()).slice(8), [1002, 1003]);
      assert.equal(await some(), 1);
      assert.equal(await some(), 1);
      assert.equal(await some(), 0);
      assert.deepEqual(await left(), [1, 2, 3, 4, 5, 6, 7, 8]);
      assert.equal((await eventsOf(database, 'category', 1003)).at(-1)!.action, 'deleted');
    });
  });

  describe('listCategories', () => {
    it('returns a list forward and backward, with every filter', async () => {
      const database = await open();
      await database.write(async tx => {
        for (let index = 0; index < 12; index++)
          await addBelow(tx, 2 + (index % 2), index % 3 === 0 ? 1 : 0, 2001 + index);
      });
      const all = await database.all(allSlugs, {});
      for (const filter of [
        {},
        { parentId: 2 },
        { placeholder: true },
        { placeholder: false },
        { parentId: 3, placeholder: true },
        { slug: 'n2003' },
        { slug: 'n2003', parentId: 2 },
        { slug: 'n2003', parentId: 3 },
        { slug: 'n2003', placeholder: true },
        { parentId: 4711 },
      ]) {
        const wanted = all
          .filter(
            one =>
              (filter.parentId === undefined || one.parentId === filter.parentId) &&
              (filter.placeholder === undefined || (one.placeholder === 1) === filter.placeholder) &&
              (filter.slug === undefined || one.slug === filter.slug),
          )
          .map(({ id }) => id);
        const pages: number[][] = [];
        let cursor: string | undefined;
        let back: string | undefined;
        do {
          const page = await listCategories(database, filter, { limit: 3, cursor });
          pages.push(page.rows.map(({ id }) => id));
          back = page.previous;
          cursor = page.next;
        } while (cursor !== undefined);
        assert.deepEqual(pages.flat(), wanted, JSON.stringify(filter));
        const backward: number[][] = [];
        while (back !== undefined) {
          const page = await listCategories(database, filter, { limit: 3, cursor: back });
          backward.unshift(page.rows.map(({ id }) => id));
          back = page.previous;
        }
        assert.deepEqual(backward.flat(), pages.slice(0, -1).flat(), JSON.stringify(filter));
      }
    });

    it('scans 20,000 categories per page', async () => {
      const database = await open();
      await database.write(tx => tx.run(insertMany, { from: 2001, to: 24_000 }));
      await database.write(tx => addBelow(tx, null, 0, 30_000));
      const first = await listCategories(database, { placeholder: false }, { limit: 20 });
      assert.deepEqual(
        first.rows.map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7, 8],
      );
      const second = await listCategories(database, { placeholder: false }, { limit: 20, cursor: first.next });
      assert.deepEqual(
        second.rows.map(({ id }) => id),
        [30_000],
      );
      assert.equal(second.next, undefined);
      const back = await listCategories(database, { placeholder: false }, { limit: 20, cursor: second.previous });
      assert.deepEqual(back.rows, []);
      const start = await listCategories(database, { placeholder: false }, { limit: 20, cursor: back.previous });
      assert.deepEqual(
        start.rows.map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7, 8],
      );
    });

    it('rejects invalid cursors', async () => {
      const database = await open();
      for (const text of ['x', 'bnVsbA', 'WzEsMiwzLDRd', 'e30']) {
        await assert.rejects(listCategories(database, {}, { limit: 20, cursor: text }), { code: 'invalid_parameter' });
      }
    });
  });
});

function addBelow(tx: Transaction, parentId: number | null, placeholder: number, id: number) {
  return tx.run(insertOne, { id, slug: `n${id}`, parentId, placeholder });
}

const insertOne = query((db, p: Params<{ id: number; slug: string; parentId: number | null; placeholder: number }>) =>
  db.insertInto('categories').values({
    id: p.id,
    name: p.slug,
    slug: p.slug,
    parent_id: p.parentId,
    placeholder: p.placeholder,
    created_at: 0,
    updated_at: 0,
  }),
);

const numbers = (db: Parameters<Parameters<typeof query>[0]>[0], from: unknown, to: unknown) =>
  db.withRecursive('numbers(number)', with_ =>
    with_
      .selectNoFrom(sql<number>`cast(${from} as bigint)`.as('number'))
      .unionAll(
        with_
          .selectFrom('numbers')
          .select(sql<number>`number + 1`.as('number'))
          .where('number', '<', sql<number>`cast(${to} as bigint)`),
      ),
  );

/** Placeholders with these ids. */
const insertMany = query((db, p: Params<{ from: number; to: number }>) =>
  numbers(db, p.from, p.to)
    .insertInto('categories')
    .columns(['id', 'name', 'slug', 'placeholder', 'created_at', 'updated_at'])
    .expression(eb =>
      eb
        .selectFrom('numbers' as never)
        .select([
          sql<number>`number`.as('id'),
          sql<string>`'Category ' || number`.as('name'),
          sql<string>`'category-' || number`.as('slug'),
          sql<number>`1`.as('placeholder'),
          sql<number>`0`.as('created_at'),
          sql<number>`0`.as('updated_at'),
        ]),
    ),
);

const putBelow = query((db, p: Params<{ parentId: number; from: number }>) =>
  db.updateTable('categories').set({ parent_id: p.parentId }).where('id', '>=', p.from),
);

/** Categories with this slug and a number appended to it. */
const insertSlugs = query((db, p: Params<{ base: string; from: number; to: number }>) =>
  numbers(db, p.from, p.to)
    .insertInto('categories')
    .columns(['id', 'name', 'slug', 'placeholder', 'created_at', 'updated_at'])
    .expression(eb =>
      eb
        .selectFrom('numbers' as never)
        .select([
          sql<number>`number + 100000`.as('id'),
          sql<string>`'x'`.as('name'),
          sql<string>`cast(${p.base} as text) || '-' || number`.as('slug'),
          sql<number>`0`.as('placeholder'),
          sql<number>`0`.as('created_at'),
          sql<number>`0`.as('updated_at'),
        ]),
    ),
);

const allSlugs = query(db =>
  db.selectFrom('categories').select(['id', 'slug', 'parent_id as parentId', 'placeholder']).orderBy('id'),
);
