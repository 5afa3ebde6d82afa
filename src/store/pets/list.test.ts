import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { encodeCursor } from '../../lib/http/pagination/cursor.ts';
import { formatTime } from '../../lib/time.ts';
import { type NewPet, type Pet, type PetStatus, petValues } from '../../model/pet.ts';
import { type Database, type Params, query, sql } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import { countPets } from './counts.ts';
import { expireReservations } from './expiry.ts';
import { categoriesOf, type PetFilter, type PetSort, petList } from './filter.ts';
import { listPets } from './list.ts';
import { createPet } from './pets.ts';

const sorts: readonly PetSort[] = ['id', '-id', 'name', '-name'];
const statuses: readonly PetStatus[] = ['available', 'pending', 'sold'];
const subsets: readonly (readonly PetStatus[] | undefined)[] = [
  undefined,
  ['available'],
  ['pending'],
  ['sold'],
  ['available', 'pending'],
  ['available', 'sold'],
  ['pending', 'sold'],
  [...statuses],
];

describe('listPets', () => {
  onEachEngine(engine => {
    it('pages forward and backward through all matching pets in order', async () => {
      const database = await engine.open();
      const names = ['b', 'a', 'B', 'é', 'e\u0301', 'z', '🐈', '\uffee', 'aa', 'b'];
      const pets: Pet[] = [];
      for (let index = 0; index < 70; index++) {
        const name = names[(index * 3) % names.length]!;
        const pet = { name, categoryId: (index % 3) + 1, status: statuses[(index * 5) % 3]! };
        pets.push(await add(database, pet, ownerOf(index + 1)));
      }
      const own = pets.filter(({ id }) => ownerOf(id) === 2);
      for (const status of [undefined, ['sold'], ['sold', 'available'], [...statuses]] as const) {
        for (const categoryId of [undefined, 2]) {
          for (const id of [undefined, pets.filter(pet => pet.id % 4 !== 0).map(pet => pet.id)]) {
            for (const sort of sorts) {
              await assertWalks(database, { id, status, categoryId, sort }, 9, pets);
              await assertWalks(database, { id, status, categoryId, sort, ownerId: 2 }, 5, own);
              await assertWalks(database, { id, status, categoryId, sort, ownerId: 99 }, 5, []);
            }
          }
        }
      }
      const ownCats: PetFilter = { ownerId: 2, categoryId: 2, includeDescendants: true, sort: 'id' };
      await assertWalks(
        database,
        ownCats,
        2,
        own.filter(({ categoryId }) => categoryId === 2),
      );
      assert.equal(await countPets(database, { ownerId: 2 }, 0), undefined);
    });

    it('pages across long ranges without matches in both directions', async () => {
      const database = await engine.open();
      const rare: Pet[] = [];
      const addRare = async (name: string) => rare.push(await add(database, { name, categoryId: 2, status: 'sold' }));
      await addRare('m');
      await add(database, { name: 'n', categoryId: 2 });
      // 44,000 animals, none of them sold.
      await database.write(async tx => {
        await tx.run(many, { rows: 1 });
        for (let times = 0; times < 15; times++)
          await tx.run(double, { rows: Math.min(2 ** times, 44_000 - 2 ** times), from: 0 });
        for (let left = 44_000 - 2 ** 15; left > 0; left -= 8000)
          await tx.run(double, { rows: Math.min(left, 8000), from: 0 });
      });
      await addRare('n*****');
      await assertReadsOn();
      await addRare('a');
      await addRare('zz');
      await assertReadsOn();

      const own = await add(database, { name: 'n***', categoryId: 2 }, 2);
      for (const sort of sorts) {
        await assertWalks(database, { ownerId: 2, status: ['available'], categoryId: 2, sort }, 10, [own]);
        const pages = await assertWalks(database, { ownerId: 1, status: ['sold'], categoryId: 2, sort }, 10, rare);
        assert.ok(pages >= 3, `${sort}: ${pages} pages`);
      }

      async function assertReadsOn() {
        const total = await database.first(countAll, {});
        assert.ok(total!.count > 44_000);
        for (const sort of sorts) {
          const pages = await assertWalks(database, { status: ['sold'], categoryId: 2, sort }, 10, rare);
          assert.ok(pages >= 3, `${sort}: ${pages} pages`);
          await assertWalks(database, { status: ['sold', 'pending'], categoryId: 2, sort }, 1, rare);
          await assertWalks(database, { status: ['pending'], categoryId: 2, sort }, 10, []);
        }
        for (const sort of ['name', '-name'] as const) await assertWalks(database, { status: ['sold'], sort }, 2, rare);
      }
    });

    it('includes the descendants of a category, few or many, across long ranges without matches', async () => {
      const database = await engine.open();
      const child = async (id: number, parent: number) => database.write(tx => tx.run(addCategory, { id, parent }));
      await child(1001, 2);
      await child(1002, 1001);
      for (let id = 2001; id <= 2070; id++) await child(id, id % 2 ? 3 : id - 1);
      const pets: Pet[] = [];
      for (let index = 0; index < 160; index++) {
        const categoryId = [1, 2, 1001, 1002, 3, 2001 + (index % 70), 2070][index % 7]!;
        const name = `Pet ${(index * 31) % 50}`;
        pets.push(await add(database, { name, categoryId, status: statuses[(index * 5) % 3]! }));
      }
      const few = [2, 1001, 1002];
      const many = [3, ...Array.from({ length: 70 }, (_, index) => 2001 + index)];
      for (const [categoryId, below] of [
        [2, few],
        [1001, [1001, 1002]],
        [1002, [1002]],
        [3, many],
        [77_777, []],
      ] as const) {
        const within = pets.filter(pet => below.includes(pet.categoryId as never));
        const ids = pets.filter(pet => pet.id % 3 !== 0).map(pet => pet.id);
        for (const status of [undefined, ['sold'], ['available', 'sold']] as const) {
          for (const sort of sorts) {
            const filter: PetFilter = { categoryId, includeDescendants: true, status, sort };
            await assertWalks(database, filter, 7, within);
            await assertWalks(database, { ...filter, id: ids.slice(0, 90) }, 7, within);
          }
        }
        assert.equal(
          await countPets(
            database,
            { categoryId: await categoriesOf(database, { categoryId, includeDescendants: true }) },
            0,
          ),
          within.length,
        );
      }

      // 44,000 animals in one of the categories, none of them sold.
      const last = await add(database, { name: 'n', categoryId: 1002 });
      await database.write(async tx => {
        for (let count = 1; count < 44_000; count *= 2)
          await tx.run(double, { rows: Math.min(count, 44_000 - count), from: last.id });
      });
      for (const [categoryId, below] of [
        [2, few],
        [3, many],
      ] as const) {
        const sold = pets.filter(pet => pet.status === 'sold' && below.includes(pet.categoryId as never));
        for (const sort of sorts) {
          await assertWalks(database, { categoryId, includeDescendants: true, status: ['sold'], sort }, 20, sold);
        }
      }
    });

    it('treats a pet as available from the millisecond its hold expires, recorded or not', async () => {
      const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
      const start = clock.now();
      const database = await engine.open({ clock });
      const pets: Pet[] = [];
      for (let index = 0; index < 36; index++) {
        const name = `Pet ${(index * 7) % 12}`;
        pets.push(
          await add(database, { name, categoryId: (index % 2) + 1, status: statuses[[0, 0, 0, 1, 2][index % 5]!]! }),
        );
      }
      const free = pets.filter(({ status }) => status === 'available');
      const ends = new Map(free.map(({ id }, index) => [id, [start + 1000, start + 2000, undefined][index % 3]]));
      for (const until of [start + 1000, start + 2000]) {
        const petIds = free.filter(({ id }) => ends.get(id) === until).map(({ id }) => id);
        const actor = { accountId: 5, admin: false };
        await database.write(tx => createHold(tx, actor, { petIds, expiresAt: formatTime(until) }, 100));
      }

      for (const now of [start, start + 999, start + 1000, start + 1999, start + 2000, start + 9000]) {
        const then = pets.map(pet => ({
          ...pet,
          ...((ends.get(pet.id) ?? 0) > now && { status: 'pending' as const }),
        }));
        for (const status of subsets) {
          for (const more of [
            {},
            { categoryId: 2 },
            { categoryId: 2, includeDescendants: true },
            { id: pets.filter(({ id }) => id % 3).map(({ id }) => id) },
          ]) {
            for (const sort of sorts) {
              const filter: PetFilter = { ...more, status, sort };
              const there = filter.includeDescendants ? then.filter(pet => pet.categoryId === 2) : then;
              await assertWalks(database, filter, 4, there, now);
              const { rows: full } = await listPets(database, filter, { limit: 100 }, now, 'full');
              const plain = full.map(({ id, name, categoryId, status }) => ({ id, name, categoryId, status }));
              assert.deepEqual(plain, (await listPets(database, filter, { limit: 100 }, now)).rows);
            }
          }
          if (status?.length === 1) {
            const counted = await countPets(database, { status }, now);
            assert.equal(counted, then.filter(pet => pet.status === status[0]).length, `${status} at ${now - start}`);
          }
        }
      }
    });

    it('shows the full view as it is after the hold expires', async () => {
      const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
      const now = clock.now();
      const database = await engine.open({ clock });
      const { id } = await add(database, { name: 'x', categoryId: 2, price: { amount: 5, currency: 'EUR' } });
      await add(database, { name: 'y', categoryId: 2, status: 'sold', statusReason: 'adopted' });
      const hold = { petIds: [id], expiresAt: formatTime(now + 1000) };
      await database.write(tx => createHold(tx, { accountId: 5, admin: false }, hold, 100));
      const common = { accountId: 1, createdAt: formatTime(now) };
      const held = { id, name: 'x', categoryId: 2, price: { amount: 5, currency: 'EUR' }, ...common };
      const other = {
        id: 2,
        name: 'y',
        categoryId: 2,
        status: 'sold',
        statusReason: 'adopted',
        ...common,
        updatedAt: formatTime(now),
        etag: '"2.1"',
      };
      const list = async (at: number) => (await listPets(database, { sort: 'id' }, { limit: 20 }, at, 'full')).rows;
      assert.deepEqual(await list(now + 999), [
        { ...held, status: 'pending', updatedAt: formatTime(now), etag: '"1.2"' },
        other,
      ]);
      const free = { ...held, status: 'available', updatedAt: formatTime(now + 1000), etag: '"1.3"' };
      assert.deepEqual(await list(now + 1000), [free, other]);
      clock.advance(5000);
      await expireReservations(database, clock.now());
      assert.deepEqual(await list(now + 5000), [free, other]);
    });

    it('keeps a cursor valid when the pet at its position changes or is deleted', async () => {
      const database = await engine.open();
      for (let index = 0; index < 9; index++) await add(database, { name: `Pet ${index}`, categoryId: 1 });
      const filter: PetFilter = { sort: 'name' };
      const { rows: pets, next } = await listPets(database, filter, { limit: 4 }, 0);
      await database.write(tx => tx.run(remove, { id: pets.at(-1)!.id }));
      const rest = await listPets(database, filter, { limit: 100, cursor: next }, 0);
      assert.deepEqual(
        rest.rows.map(({ name }) => name),
        ['Pet 4', 'Pet 5', 'Pet 6', 'Pet 7', 'Pet 8'],
      );
    });

    it('rejects a cursor of another list, and accepts any name in a cursor', async () => {
      const database = await engine.open();
      const here: PetFilter = { sort: 'name', status: ['sold'] };
      const cursor = encodeCursor(petList(here), { backward: false, id: 1, key: "x'; --\u{10ffff}" });
      assert.deepEqual((await listPets(database, here, { limit: 5, cursor }, 0)).rows, []);
      for (const other of [
        { sort: '-name', status: ['sold'] },
        { sort: 'name' },
        { ...here, categoryId: 1 },
        { ...here, ownerId: 1 },
      ] as const) {
        await assert.rejects(async () => listPets(database, other, { limit: 5, cursor }, 0), {
          code: 'invalid_parameter',
        });
      }
    });
  });
});

/** Reads all pages of a list forward and backward, and asserts the same animals both times. */
async function assertWalks(
  database: Database,
  filter: PetFilter,
  limit: number,
  all: readonly Pet[],
  now = 0,
): Promise<number> {
  const { id, status, categoryId, includeDescendants, sort } = filter;
  const sign = sort.startsWith('-') ? -1 : 1;
  const byName = (a: Pet, b: Pet) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
  const expected = all
    .filter(pet => id === undefined || id.includes(pet.id))
    .filter(pet => status === undefined || status.includes(pet.status!))
    .filter(pet => categoryId === undefined || includeDescendants || pet.categoryId === categoryId)
    .toSorted((a, b) => sign * ((sort.endsWith('name') ? byName(a, b) : 0) || a.id - b.id));

  const forward: Pet[] = [];
  let page = await listPets(database, filter, { limit }, now);
  let pages = 1;
  assert.equal(page.previous, undefined);
  for (forward.push(...page.rows); page.next !== undefined; forward.push(...page.rows)) {
    page = await listPets(database, filter, { limit, cursor: page.next }, now);
    assert.ok(page.rows.length <= limit);
    assert.ok(++pages <= 100);
  }
  assert.deepEqual(forward, expected, JSON.stringify(filter));

  const backward = [...page.rows];
  for (let back = 0; page.previous !== undefined; backward.unshift(...page.rows)) {
    page = await listPets(database, filter, { limit, cursor: page.previous }, now);
    assert.ok(page.rows.length <= limit);
    assert.ok(++back <= 100);
  }
  assert.deepEqual(backward, expected, `back: ${JSON.stringify(filter)}`);
  return pages;
}

/** The owner of every fifth animal is account 2. */
const ownerOf = (id: number) => (id % 5 === 0 ? 2 : 1);

function add(database: Database, pet: NewPet, accountId = 1): Promise<Pet> {
  return database.write(async tx => petValues.plainOf(await createPet(tx, accountId, pet, 'open')));
}

const columns = ['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at'] as const;

const many = query((db, _: Params<{ rows: number }>) =>
  db
    .insertInto('pets')
    .values({ name: 'n', category_id: 2, status: 'available', account_id: 1, created_at: 0, updated_at: 0 }),
);

/** Adds copies of available animals from an id on, with longer names. */
const double = query((db, p: Params<{ rows: number; from: number }>) =>
  db
    .insertInto('pets')
    .columns(columns)
    .expression(
      db
        .selectFrom('pets')
        .select(eb => [
          eb('name', '||', '*').as('name'),
          'category_id',
          'status',
          'account_id',
          'created_at',
          'updated_at',
        ])
        .where('status', '=', 'available')
        .where('id', '>=', p.from)
        .orderBy('id')
        .limit(p.rows),
    ),
);

const addCategory = query((db, p: Params<{ id: number; parent: number }>) =>
  db.insertInto('categories').values({
    id: p.id,
    name: 'x',
    slug: sql<string>`cast(${p.id} as text)`,
    parent_id: p.parent,
    placeholder: 0,
    created_at: 0,
    updated_at: 0,
  }),
);

const countAll = query(db => db.selectFrom('pets').select(eb => eb.fn.countAll<number>().as('count')));

const remove = query((db, p: Params<{ id: number }>) => db.deleteFrom('pets').where('id', '=', p.id));
