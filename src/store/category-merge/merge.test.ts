import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type OpenOptions, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import type { CategoryEventData } from '../../model/category.ts';
import type { Actor } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { NewPet } from '../../model/pet.ts';
import { petValues } from '../../model/pet.ts';
import { type Database, type Params, query, sql } from '../../model/schema.ts';
import { createCategory, getCategory, updateCategory } from '../categories/categories.ts';
import { deleteCategory } from '../categories/deletion.ts';
import type { PetEventData } from '../pets/change.ts';
import { countPets } from '../pets/counts.ts';
import { lockPet } from '../pets/lock.ts';
import { createPet, getPet, updatePet } from '../pets/pets.ts';
import { reservationOf, reserve } from '../pets/reservations.ts';
import { mergeCategory, movingAhead } from './merge.ts';

const someone: Actor = { accountId: 7, admin: false };
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

  const add = (database: Database, pet: NewPet) => database.write(tx => createPet(tx, 7, pet, 'open'));
  const category = (database: Database, name: string, parentId?: number) =>
    database.write(tx => createCategory(tx, someone, { name, ...(parentId && { parentId }) }));
  const merge = (database: Database, id: number, intoId: number, actor = admin) =>
    movingAhead(database, actor, { id, intoId }, () => database.write(tx => mergeCategory(tx, actor, { id, intoId })));
  const petsOf = (database: Database, id: number) => database.all(petsIn, { category: id });

  describe('mergeCategory', () => {
    it('moves every pet, with a new version and a regular event', async () => {
      const clock = testClock(1_795_000_000_000);
      const database = await open({ clock });
      const animals: NewPet[] = [
        { name: 'Minka', categoryId: 5000 },
        { name: 'Moritz', categoryId: 5000, status: 'sold', price: { amount: 12_500, currency: 'EUR' } },
        { name: '"Ä\\ 🐈 \u2028', categoryId: 5000, status: 'pending', statusReason: 'in "foster"\\' },
        { name: 'x', categoryId: 5000, price: { amount: Number.MAX_SAFE_INTEGER, currency: 'USD' } },
      ];
      const ids: number[] = [];
      for (const animal of animals) ids.push((await add(database, animal)).id);
      const bystander = await add(database, { name: 'Rex', categoryId: 1 });
      clock.advance(1000);

      const into = await merge(database, 5000, 2);

      assert.equal(into.id, 2);
      assert.equal(into.version, 1);
      for (const id of ids) {
        const row = await getPet(database, id, 0);
        assert.equal(row.categoryId, 2);
        assert.equal(row.version, 2);
        assert.equal(row.updatedAt, 1_795_000_001_000);
        const [, event, ...more] = await eventsOf<PetEventData>(database, 'pet', id);
        assert.deepEqual(more, []);
        assert.equal(event!.action, 'updated');
        assert.equal(event!.accountId, 9);
        assert.equal(event!.at, 1_795_000_001_000);
        assert.deepEqual(event!.data, {
          pet: petValues.stateOf(row),
          was: { categoryId: 5000 },
          reason: 'category_merged',
          ownerId: row.accountId,
        });
      }
      assert.equal((await getPet(database, bystander.id, 0)).version, 1);
      assert.equal(await countPets(database, { categoryId: [5000] }, 0), 0);
      assert.equal(await countPets(database, { categoryId: [2] }, 0), 4);
      assert.equal(await countPets(database, {}, 0), 5);
      await assert.rejects(async () => getCategory(database, 5000), { code: 'no_such_category' });
      const [, ended] = await eventsOf<CategoryEventData>(database, 'category', 5000);
      assert.equal(ended!.action, 'merged');
      assert.deepEqual(ended!.data, {
        category: { name: 'Category 5000', slug: 'category-5000', placeholder: true },
        intoId: 2,
      });
    });

    it('records the same for a pet as a change of its category', async () => {
      const database = await open();
      const animal: NewPet = {
        name: 'Moritz',
        categoryId: 5000,
        status: 'pending',
        statusReason: 'in foster',
        price: { amount: 1, currency: 'EUR' },
      };
      const merged = await add(database, animal);
      const changed = await add(database, animal);
      await database.write(tx => updatePet(tx, admin, changed.id, { categoryId: 2 }, 'open'));
      await merge(database, 5000, 2);
      const texts = await Promise.all(
        [merged, changed].map(async ({ id }) => (await database.all(dataOf, { id })).at(-1)!.data),
      );
      assert.equal(texts[0]!.replace(',"reason":"category_merged"', ''), texts[1]);
    });

    it('moves the subcategories with their descendants', async () => {
      const database = await open();
      const from = (await category(database, 'from', 3)).id;
      const child = (await category(database, 'child', from)).id;
      const grandchild = (await category(database, 'grandchild', child)).id;
      await merge(database, from, 2);
      const moved = await getCategory(database, child);
      assert.equal(moved.parentId, 2);
      assert.equal(moved.version, 2);
      assert.equal((await getCategory(database, grandchild)).parentId, child);
      assert.equal((await getCategory(database, grandchild)).version, 1);
      const [, event] = await eventsOf<CategoryEventData>(database, 'category', child);
      assert.equal(event!.accountId, 9);
      assert.deepEqual(event!.data, {
        category: { name: 'child', slug: 'child', parentId: 2, placeholder: false },
        was: { parentId: from },
        reason: 'category_merged',
        ownerId: 7,
      });
    });

    it('moves many pets in batches, and those that are added meanwhile', async () => {
      const database = await open();
      await add(database, { name: 'x', categoryId: 5000 });
      await database.write(tx => tx.run(insertPets, { category: 5000, most: 1300 }));
      await database.write(tx => tx.run(countMore, { category: '5000', status: 'available', by: 1300 }));
      for (let index = 0; index < 3; index++) await category(database, `below ${index}`, 5000);
      let transactions = 0;
      const counting: Database = {
        ...database,
        write: work => {
          transactions++;
          return database.write(work);
        },
      };
      const [, ...late] = await Promise.all([
        merge(counting, 5000, 2),
        ...Array.from({ length: 30 }, () => add(database, { name: 'late', categoryId: 5000 })),
      ]);
      assert.ok(transactions >= 5, String(transactions));
      const left = await petsOf(database, 5000);
      const moved = await petsOf(database, 2);
      assert.equal(left.length + moved.length, 1301 + late.length);
      assert.equal(await countPets(database, { categoryId: [5000] }, 0), left.length);
      assert.equal(await countPets(database, { categoryId: [2] }, 0), moved.length);
      assert.ok(left.every(({ name }) => name === 'late'));
      assert.ok(moved.every(({ version }) => version <= 2));
      const { events } = (await database.first(mergerEvents, {}))!;
      assert.equal(events, moved.filter(({ version }) => version === 2).length);
    });

    it('moves many subcategories in batches', async () => {
      const database = await open();
      await add(database, { name: 'x', categoryId: 5000 });
      await database.write(async tx => {
        for (let index = 0; index < 1100; index++) {
          await tx.run(insertBelow, { id: 6000 + index, slug: `n${index}`, parentId: 5000 });
        }
      });
      await merge(database, 5000, 2);
      const { categories } = (await database.first(below, { parentId: 2 }))!;
      assert.equal(categories, 1100);
      assert.equal((await getCategory(database, 6000)).version, 2);
      assert.equal((await eventsOf(database, 'category', 7099)).length, 1);
    });

    it('keeps holds and orders of its pets, and ends those that expired before', async () => {
      const clock = testClock(1_795_000_000_000);
      const database = await open({ clock });
      const held = await add(database, { name: 'held', categoryId: 5000 });
      const over = await add(database, { name: 'over', categoryId: 5000 });
      await database.write(async tx => {
        for (const [pet, holdId, until] of [
          [held, 1, clock.now() + 60_000],
          [over, 2, clock.now() + 1000],
        ] as const) {
          await tx.run(insertHold, { id: holdId, until, now: tx.now });
          await reserve(tx, await lockPet(tx, pet.id), { holdId, until }, 8);
        }
      });
      clock.advance(2000);
      await merge(database, 5000, 2);

      const kept = await getPet(database, held.id, clock.now());
      assert.equal(kept.status, 'pending');
      assert.equal(kept.categoryId, 2);
      assert.equal((await getPet(database, held.id, clock.now() + 60_000)).status, 'available');
      assert.deepEqual(await reservationOf(database, held.id), {
        holdId: 1,
        orderId: null,
        until: 1_795_000_060_000,
      });
      assert.equal(await reservationOf(database, over.id), undefined);
      const events = await eventsOf<PetEventData>(database, 'pet', over.id);
      assert.deepEqual(
        events.map(({ data }) => [data.reason, data.pet.status, data.pet.categoryId]),
        [
          [undefined, 'available', 5000],
          ['held', 'pending', 5000],
          ['hold_expired', 'available', 5000],
          ['category_merged', 'available', 2],
        ],
      );
    });

    it('rejects callers other than admins, unknown targets, cycles and too many levels', async () => {
      const database = await open();
      const from = (await category(database, 'from')).id;
      const below = (await category(database, 'below', from)).id;
      const pet = await add(database, { name: 'x', categoryId: from });
      await assert.rejects(merge(database, from, 2, someone), { code: 'not_owner', status: 403 });
      await assert.rejects(merge(database, 4711, 2), { code: 'no_such_category', status: 404 });
      await assert.rejects(merge(database, from, 4711), { code: 'category_not_found', status: 400 });
      await assert.rejects(merge(database, from, from), { code: 'category_cycle', status: 409 });
      await assert.rejects(merge(database, from, below), { code: 'category_cycle', status: 409 });
      let deep = 1;
      for (let level = 2; level <= 10; level++) deep = (await category(database, `l${level}`, deep)).id;
      await assert.rejects(merge(database, from, deep), { code: 'invalid_body', status: 400 });
      assert.equal((await getPet(database, pet.id, 0)).version, 1);
      await database.write(tx => updateCategory(tx, admin, below, { parentId: null }));
      assert.equal((await merge(database, from, deep)).id, deep);
    });

    it('stays consistent when pets are added and categories merged and deleted concurrently', async () => {
      const database = await open();
      const codes = new Set(['no_such_category', 'category_not_found', 'category_in_use', 'category_cycle']);
      for (let round = 0; round < 8; round++) {
        const work = Array.from({ length: 6 }, (_, index) => [
          add(database, { name: 'x', categoryId: 5000 + (index % 3) }),
          merge(database, 5000 + (index % 3), 5000 + ((index + 1) % 3)),
          database.write(tx => deleteCategory(tx, admin, 5000 + (index % 3))),
          add(database, { name: 'y', categoryId: 5000 + ((index + 1) % 3) }).then(({ id }) =>
            database.write(tx => updatePet(tx, admin, id, { categoryId: 5000 + (index % 3) }, 'open')),
          ),
        ]).flat();
        for (const one of await Promise.allSettled(work)) {
          if (one.status === 'rejected') assert.ok(codes.has(one.reason.code), String(one.reason));
        }
      }
      const counted = await database.all(countedPets, {});
      const kept = await database.all(keptCounts, {});
      assert.deepEqual(
        kept.filter(({ pets }) => pets !== 0),
        counted,
      );
      assert.equal(
        counted.reduce((sum, { pets }) => sum + pets, 0),
        8 * 12,
      );
      assert.deepEqual(await database.all(versionsWithoutEvents, {}), []);
    });
  });

  describe('deleteCategory', () => {
    it('rejects a category with pets, also with one that is added concurrently', async () => {
      const database = await open();
      for (let round = 0; round < 10; round++) {
        const { id } = await category(database, 'x');
        const [added, removed] = await Promise.allSettled([
          add(database, { name: 'x', categoryId: id }),
          database.write(tx => deleteCategory(tx, someone, id)),
        ]);
        assert.equal(added.status, 'fulfilled');
        const { placeholder } = await getCategory(database, id);
        if (removed.status === 'rejected') assert.match(removed.reason.message, /contains 1 animal\./);
        // If the category was deleted first, the pet created a placeholder.
        assert.equal(placeholder, removed.status === 'rejected' ? 0 : 1);
      }
    });

    if (engine.name === 'postgres') {
      it('waits for a pet that is being added, and the pet for it', async () => {
        const database = await open();
        const { id } = await category(database, 'x');
        const come = Promise.withResolvers<void>();
        const go = Promise.withResolvers<void>();
        const adding = database.write(async tx => {
          await createPet(tx, 7, { name: 'x', categoryId: id }, 'open');
          come.resolve();
          await go.promise;
        });
        await come.promise;
        const removing = database.write(tx => deleteCategory(tx, someone, id));
        removing.catch(() => {});
        go.resolve();
        await adding;
        await assert.rejects(removing, { code: 'category_in_use' });

        const empty = await category(database, 'y');
        const removed = Promise.withResolvers<void>();
        const commit = Promise.withResolvers<void>();
        const first = database.write(async tx => {
          await deleteCategory(tx, someone, empty.id);
          removed.resolve();
          await commit.promise;
        });
        await removed.promise;
        const late = add(database, { name: 'late', categoryId: empty.id });
        commit.resolve();
        await first;
        assert.equal((await late).categoryId, empty.id);
        assert.equal((await getCategory(database, empty.id)).placeholder, 1);
      });
    }
  });
});

const petsIn = query((db, p: Params<{ category: number }>) =>
  db.selectFrom('pets').select(['id', 'name', 'version']).where('category_id', '=', p.category).orderBy('id'),
);

const dataOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('events').select('data').where('kind', '=', 'pet').where('subject_id', '=', p.id).orderBy('id'),
);

/** As many animals per category as one counting query counts. */
const insertPets = query((db, p: Params<{ category: number; most: number }>) =>
  db
    .withRecursive('numbers(number)', with_ =>
      with_
        .selectNoFrom(sql<number>`1`.as('number'))
        .unionAll(
          with_
            .selectFrom('numbers')
            .select(sql<number>`number + 1`.as('number'))
            .where('number', '<', sql<number>`cast(${p.most} as bigint)`),
        ),
    )
    .insertInto('pets')
    .columns(['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at'])
    .expression(eb =>
      eb
        .selectFrom('numbers')
        .select([
          sql<string>`'n' || number`.as('name'),
          sql<number>`cast(${p.category} as bigint)`.as('category_id'),
          sql<'available'>`'available'`.as('status'),
          sql<number>`7`.as('account_id'),
          sql<number>`0`.as('created_at'),
          sql<number>`0`.as('updated_at'),
        ]),
    ),
);

const countMore = query((db, p: Params<{ category: string; status: string; by: number }>) =>
  db.insertInto('pet_counts').values([
    { kind: 'category', key: p.category, slot: 99, pets: p.by },
    { kind: 'status', key: p.status, slot: 99, pets: p.by },
  ]),
);

const insertBelow = query((db, p: Params<{ id: number; slug: string; parentId: number }>) =>
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

const below = query((db, p: Params<{ parentId: number }>) =>
  db
    .selectFrom('categories')
    .select(eb => eb.fn.countAll<number>().as('categories'))
    .where('parent_id', '=', p.parentId),
);

const mergerEvents = query(db =>
  db
    .selectFrom('events')
    .select(eb => eb.fn.countAll<number>().as('events'))
    .where('kind', '=', 'pet')
    .where('data', 'like', '%"category_merged"%'),
);

const insertHold = query((db, p: Params<{ id: number; until: number; now: number }>) =>
  db.insertInto('holds').values({ id: p.id, account_id: 8, expires_at: p.until, created_at: p.now, updated_at: p.now }),
);

const countedPets = query(db =>
  db
    .selectFrom('pets')
    .select(eb => [sql<string>`cast(category_id as text)`.as('key'), eb.fn.countAll<number>().as('pets')])
    .groupBy('category_id')
    .orderBy('category_id'),
);

const keptCounts = query(db =>
  db
    .selectFrom('pet_counts')
    .select(eb => ['key', eb.fn.sum<number>('pets').as('pets')])
    .where('kind', '=', 'category')
    .groupBy('key')
    .orderBy('key'),
);

/** Animals whose version does not match the number of their events. */
const versionsWithoutEvents = query(db =>
  db
    .selectFrom('pets')
    .select('id')
    .where('version', '<>', sql<number>`(select count(*) from events where kind = 'pet' and subject_id = pets.id)`),
);
