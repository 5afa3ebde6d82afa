import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { DAY_MS, formatDate } from '../../lib/time.ts';
import type { NewPet, PetStatus } from '../../model/pet.ts';
import { type Database, query } from '../../model/schema.ts';
import { movePets } from '../category-merge/merge.ts';
import { createHold } from '../holds/holds.ts';
import { countFacets, type FacetCounts } from './facets.ts';
import { categoriesOf, type PetFilter } from './filter.ts';
import { listPets } from './list.ts';
import { createPet, deletePet, updatePet } from './pets.ts';

const owner = { accountId: 1, admin: false };
const start = Date.UTC(2026, 10, 20);
const statuses: readonly PetStatus[] = ['available', 'pending', 'sold'];

describe('countFacets', () => {
  onEachEngine(engine => {
    it('agrees with the lists by each trait, from counters and by counting, after every kind of change', async () => {
      const clock = testClock(start);
      const database = await engine.open({ clock });
      const ids: number[] = [];
      for (let n = 0; n < 48; n++) ids.push(await add(database, petNumber(n)));
      for (let n = 0; n < 12; n++) await add(database, petNumber(n), 2 + (n % 2));
      await assertAgrees(database, start);

      await database.write(async tx => {
        await updatePet(tx, owner, ids[0]!, { sex: null, goodWith: { dogs: 'unknown' }, status: 'sold' }, 'open');
        await updatePet(tx, owner, ids[1]!, { categoryId: 2, age: 'senior' }, 'open');
        await updatePet(tx, owner, ids[2]!, { age: null, birthDate: '2026-11-01' }, 'open');
        await deletePet(tx, owner, ids[3]!);
        await movePets(tx, { from: 3, to: 1, most: 500, accountId: 1 });
      });
      await assertAgrees(database, start);
      // Ages derive from dates of birth.
      await assertAgrees(database, start + 200 * DAY_MS);
      await assertAgrees(database, start + 3000 * DAY_MS);
    });

    it('counts animals of expired holds as available', async () => {
      const clock = testClock(start);
      const database = await engine.open({ clock });
      const petIds = [await add(database, petNumber(0)), await add(database, { ...petNumber(3), status: 'available' })];
      await add(database, petNumber(6));
      await database.write(tx =>
        createHold(tx, owner, { petIds, expiresAt: new Date(start + 60_000).toISOString() }, 100),
      );
      await assertAgrees(database, start);
      await assertAgrees(database, start + 120_000);
    });

    it('counts within the first 20,000 rows, and says so', async () => {
      const database = await engine.open();
      await add(database, { name: 'Bo', categoryId: 1, sex: 'male' });
      await database.write(async tx => {
        for (let doubled = 0; doubled < 15; doubled++) await tx.run(doublePets, {});
      });
      const { exact, facets } = await facetsOf(database, { traits: { sex: ['male'] } }, start);
      assert.deepEqual([exact, facets['sex']], [false, { male: 20_000 }]);
      const none = await facetsOf(database, { words: ['none'] }, start);
      assert.deepEqual([none.exact, none.facets['sex']], [true, {}]);
    });
  });
});

function petNumber(n: number): NewPet {
  const pet: NewPet = {
    name: n % 2 === 0 ? 'Bo' : 'Ida',
    categoryId: 1 + (n % 3),
    status: statuses[n % 4 === 3 ? 1 : n % 2]!,
  };
  if (n % 5 === 4) return pet;
  return {
    ...pet,
    sex: (['male', 'female', 'unknown'] as const)[n % 3]!,
    size: n % 4 === 0 ? 'small' : 'large',
    goodWith: { dogs: n % 2 === 0 ? 'yes' : 'no', farmAnimals: 'unknown' },
    traits: { houseTrained: 'yes' },
    ...(n % 3 === 0 ? { age: 'baby' } : { birthDate: formatDate(start - n * 97 * DAY_MS) }),
  };
}

async function add(database: Database, pet: NewPet, accountId = 1): Promise<number> {
  return database.write(async tx => (await createPet(tx, accountId, pet, 'open')).id);
}

/** Asserts for some filters that the numbers equal those of the lists with one more trait. */
async function assertAgrees(database: Database, now: number): Promise<void> {
  const filters: Omit<PetFilter, 'sort'>[] = [
    {},
    { categoryId: 1 },
    { status: ['available'] },
    { status: ['available', 'sold'], categoryId: 2 },
    { status: ['pending'], categoryId: 1 },
    { words: ['bo'] },
    { words: ['bo'], status: ['available'], categoryId: 1 },
    { traits: { size: ['large'] } },
    { ownerId: 1, status: ['available'] },
    { ownerIds: [1, 3] },
    { ownerIds: [] },
  ];
  for (const filter of filters) {
    const { exact, facets } = await facetsOf(database, filter, now);
    assert.equal(exact, true);
    for (const [trait, value] of [
      ...['male', 'female', 'unknown'].map(sex => ['sex', sex] as const),
      ...['baby', 'young', 'adult', 'senior'].map(age => ['age', age] as const),
      ...['yes', 'no', 'unknown'].map(answer => ['goodWithDogs', answer] as const),
      ...['yes', 'unknown'].map(answer => ['goodWithFarmAnimals', answer] as const),
      ...['small', 'large'].map(size => ['size', size] as const),
      ['houseTrained', 'yes'] as const,
    ]) {
      const traits = { ...filter.traits, [trait]: filter.traits?.[trait]?.filter(one => one === value) ?? [value] };
      const { rows } = await listPets(database, { ...filter, traits, sort: 'id' }, { limit: 100 }, now);
      assert.equal(facets[trait]![value] ?? 0, rows.length, JSON.stringify({ ...filter, trait, value, now }));
    }
  }
}

async function facetsOf(database: Database, filter: Omit<PetFilter, 'sort'>, now: number): Promise<FacetCounts> {
  return countFacets(database, filter, await categoriesOf(database, filter), {}, now);
}

const columns = ['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at', 'sex'] as const;
const doublePets = query(db =>
  db.insertInto('pets').columns(columns).expression(db.selectFrom('pets').select(columns)),
);
