import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { onEachEngine } from '../../test/engines.ts';
import { words } from '../lib/storage/migration.ts';
import { migrations } from '../migrations/index.ts';
import { type Database, type Params, type PetStatus, type Query, query, type Reader } from '../schema.ts';
import { listPets } from './list-pets.ts';
import type { NewPet, Pet } from './pet.ts';
import { encodeCursor, type PetFilter, type PetSort } from './pet-list.ts';
import { createPet } from './pets.ts';

const sorts: readonly PetSort[] = ['id', '-id', 'name', '-name'];
const statuses: readonly PetStatus[] = ['available', 'pending', 'sold'];

describe('a list of animals', () => {
  onEachEngine(engine => {
    it('leads forward and backward through everything that a filter lets through, in order', async () => {
      const database = await engine.open();
      const names = ['b', 'a', 'B', 'é', 'e\u0301', 'z', '🐈', '\uffee', 'aa', 'b'];
      const pets: Pet[] = [];
      for (let index = 0; index < 70; index++) {
        const name = names[(index * 3) % names.length]!;
        pets.push(await add(database, { name, categoryId: (index % 3) + 1, status: statuses[(index * 5) % 3]! }));
      }
      for (const status of [undefined, ['sold'], ['sold', 'available'], [...statuses]] as const) {
        for (const categoryId of [undefined, 2]) {
          for (const id of [undefined, pets.filter(pet => pet.id % 4 !== 0).map(pet => pet.id)]) {
            for (const sort of sorts) await assertWalks(database, { id, status, categoryId, sort }, 9, pets);
          }
        }
      }
    });

    it('reads on over long stretches in which there is nothing, both ways', async () => {
      const database = await engine.open();
      const rare: Pet[] = [];
      const addRare = async (name: string) => rare.push(await add(database, { name, categoryId: 2, status: 'sold' }));
      await addRare('m');
      await add(database, { name: 'n', categoryId: 2 });
      // 44,000 animals, none of them sold.
      await database.write(async tx => {
        await tx.run(many, { rows: 1 });
        for (let times = 0; times < 15; times++)
          await tx.run(double, { rows: Math.min(2 ** times, 44_000 - 2 ** times) });
        for (let left = 44_000 - 2 ** 15; left > 0; left -= 8000) await tx.run(double, { rows: Math.min(left, 8000) });
      });
      await addRare('n*****');
      await assertReadsOn();
      await addRare('a');
      await addRare('zz');
      await assertReadsOn();

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

    it('has the same place also when what stood there is gone or has changed', async () => {
      const database = await engine.open();
      for (let index = 0; index < 9; index++) await add(database, { name: `Pet ${index}`, categoryId: 1 });
      const filter: PetFilter = { sort: 'name' };
      const { pets, next } = await listPets(database, filter, 4, undefined);
      await database.write(tx => tx.run(remove, { id: pets.at(-1)!.id }));
      const rest = await listPets(database, filter, 100, next);
      assert.deepEqual(
        rest.pets.map(({ name }) => name),
        ['Pet 4', 'Pet 5', 'Pet 6', 'Pet 7', 'Pet 8'],
      );
    });

    it('refuses a cursor of another list, and takes any name in one', async () => {
      const database = await engine.open();
      const here: PetFilter = { sort: 'name', status: ['sold'] };
      const cursor = encodeCursor(here, { backward: false, id: 1, name: "x'; --\u{10ffff}" });
      assert.deepEqual((await listPets(database, here, 5, cursor)).pets, []);
      for (const other of [
        { sort: '-name', status: ['sold'] },
        { sort: 'name' },
        { ...here, categoryId: 1 },
      ] as const) {
        await assert.rejects(async () => listPets(database, other, 5, cursor), { code: 'invalid_parameter' });
      }
    });
  });

  it('follows an index whatever the filter and the sort, on the embedded engine', async () => {
    const sqlite = new SqliteDatabase(':memory:');
    for (const { up } of migrations) for (const statement of up(words.sqlite)) sqlite.exec(statement);
    const asked: string[] = [];
    const note = (query: Query<never, unknown>) => asked.push(query.on('sqlite').sql);
    const edge = { id: 5, name: 'x' };
    const reader = {
      engine: 'sqlite',
      first: (query: Query<never, unknown>) => note(query) && edge,
      all: (query: Query<never, unknown>) => note(query) && [],
    } as unknown as Reader;
    for (const status of [undefined, ['sold'], ['sold', 'pending'], [...statuses]] as const) {
      for (const categoryId of [undefined, 2]) {
        for (const sort of sorts) {
          const filter: PetFilter = { status, categoryId, sort };
          for (const place of [undefined, { ...edge, backward: false }, { ...edge, backward: true }]) {
            asked.length = 0;
            await listPets(reader, filter, 20, place && encodeCursor(filter, place));
            for (const sql of asked) {
              const plan = sqlite
                .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
                .all(...new Array((sql.match(/\?/g) ?? []).length).fill(1))
                .map(({ detail }) => detail);
              // Two runs along the index of statuses, merged, are sorted as the few that they are.
              const merged = plan.some(detail => /UNION ALL|CO-ROUTINE/.test(detail));
              const what = `${JSON.stringify(filter)}: ${sql}: ${plan.join('; ')}`;
              if (!merged) assert.ok(!plan.some(detail => detail.includes('TEMP B-TREE')), what);
              assert.ok(
                plan.every(
                  detail => !detail.startsWith('SCAN pets') || detail.includes('INDEX') || sort.endsWith('id'),
                ),
                what,
              );
            }
          }
        }
      }
    }
    sqlite.close();
  });
});

/** Walks through a list to its end and back, and demands the same animals both times. */
async function assertWalks(database: Database, filter: PetFilter, limit: number, all: readonly Pet[]): Promise<number> {
  const { id, status, categoryId, sort } = filter;
  const sign = sort.startsWith('-') ? -1 : 1;
  const byName = (a: Pet, b: Pet) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
  const expected = all
    .filter(pet => id === undefined || id.includes(pet.id))
    .filter(pet => status === undefined || status.includes(pet.status!))
    .filter(pet => categoryId === undefined || pet.categoryId === categoryId)
    .toSorted((a, b) => sign * ((sort.endsWith('name') ? byName(a, b) : 0) || a.id - b.id));

  const forward: Pet[] = [];
  let page = await listPets(database, filter, limit, undefined);
  let pages = 1;
  assert.equal(page.previous, undefined);
  for (forward.push(...page.pets); page.next !== undefined; forward.push(...page.pets)) {
    page = await listPets(database, filter, limit, page.next);
    assert.ok(page.pets.length <= limit);
    assert.ok(++pages <= 100);
  }
  assert.deepEqual(forward, expected, JSON.stringify(filter));

  const backward = [...page.pets];
  for (let back = 0; page.previous !== undefined; backward.unshift(...page.pets)) {
    page = await listPets(database, filter, limit, page.previous);
    assert.ok(page.pets.length <= limit);
    assert.ok(++back <= 100);
  }
  assert.deepEqual(backward, expected, `back: ${JSON.stringify(filter)}`);
  return pages;
}

function add(database: Database, pet: NewPet): Promise<Pet> {
  return database.write(tx => createPet(tx, 1, pet, 'open'));
}

const columns = ['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at'] as const;

const many = query((db, _: Params<{ rows: number }>) =>
  db
    .insertInto('pets')
    .values({ name: 'n', category_id: 2, status: 'available', account_id: 1, created_at: 0, updated_at: 0 }),
);

/** Adds copies of animals that are not sold, with longer names. */
const double = query((db, p: Params<{ rows: number }>) =>
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
        .orderBy('id')
        .limit(p.rows),
    ),
);

const countAll = query(db => db.selectFrom('pets').select(eb => eb.fn.countAll<number>().as('count')));

const remove = query((db, p: Params<{ id: number }>) => db.deleteFrom('pets').where('id', '=', p.id));
