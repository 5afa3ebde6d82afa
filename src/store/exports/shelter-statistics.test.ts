import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import type { NewPet } from '../../model/pet.ts';
import { createCategory } from '../categories/categories.ts';
import { createPet } from '../pets/pets.ts';
import { monthBefore, shelterStatistics } from './shelter-statistics.ts';

type Intake = NonNullable<NewPet['intake']>;
type Outcome = NonNullable<NewPet['outcome']>;

const came = (date: string, kind: NonNullable<Intake['kind']>) => ({ intake: { date, kind } });
const left = (date: string, kind: NonNullable<Outcome['kind']>) => ({ outcome: { date, kind } });
/** Returns the numbers that are not 0. */
const some = (counts: object) => Object.fromEntries(Object.entries(counts).filter(([, number]) => number !== 0));

onEachEngine(engine => {
  describe('shelterStatistics', () => {
    it('counts animals in care, intakes and outcomes of a month by species and age', async () => {
      const database = await engine.open();
      const kittens = await database.write(tx =>
        createCategory(tx, { accountId: 1, admin: true }, { name: 'Kittens', parentId: 2 }),
      );
      const add = (pet: Partial<NewPet>, accountId = 1) =>
        database.write(tx => createPet(tx, accountId, { name: 'x', categoryId: 1, ...pet }, 'open'));
      const adult = { birthDate: '2020-01-01' };
      await add({ ...adult, ...came('2026-09-30', 'stray') });
      await add({ ...adult, ...came('2026-09-01', 'seized'), ...left('2026-10-01', 'adoption') });
      await add({ ...adult, ...came('2026-10-31', 'returned'), ...left('2026-11-01', 'adoption') });
      await add({ ...came('2026-10-02', 'owner_surrender'), ...left('2026-10-02', 'died_in_care') });
      await add({ ...came('2026-01-01', 'stray'), ...left('2026-09-30', 'adoption') });
      await add(came('2026-11-01', 'stray'));
      await add({});
      await add(came('2026-10-05', 'stray'), 2);
      await add({ categoryId: kittens.id, birthDate: '2026-05-05', ...came('2026-10-05', 'born_in_care') });
      await add({ categoryId: kittens.id, birthDate: '2026-05-04', ...came('2026-10-05', 'transfer_in') });
      await add({ categoryId: 9000, ...left('2026-10-31', 'transfer_out') });

      const { species, ...month } = await shelterStatistics(database, 1, '2026-10');
      assert.deepEqual(month, { month: '2026-10', beginDate: '2026-10-01', endDate: '2026-10-31' });
      const shown = species.map(one => [
        one.species,
        Object.values(one.animalCounts),
        one.ages.map(({ age, ...movements }) => [age, ...Object.values(movements).map(some)]),
      ]);
      assert.deepEqual(shown, [
        [
          'canine',
          [2, 2],
          [
            ['upToFiveMonths', {}, {}, {}],
            ['adult', { relinquishedByOwner: 1 }, { adoption: 1 }, {}],
            ['ageUnknown', { relinquishedByOwner: 1 }, {}, { diedInCare: 1 }],
          ],
        ],
        [
          'feline',
          [0, 2],
          [
            ['upToFiveMonths', { otherIntakes: 1 }, {}, {}],
            ['adult', { transferredInFromAgency: 1 }, {}, {}],
            ['ageUnknown', {}, {}, {}],
          ],
        ],
        [
          'other',
          [0, 0],
          [
            ['upToFiveMonths', {}, {}, {}],
            ['adult', {}, {}, {}],
            ['ageUnknown', {}, { transferredToAgency: 1 }, {}],
          ],
        ],
      ]);
      assert.deepEqual((await shelterStatistics(database, 3, '2026-10')).species, []);
    });

    it('reads all animals of an account', async () => {
      const database = await engine.open();
      await database.write(async tx => {
        for (let index = 0; index < 1001; index++)
          await createPet(tx, 1, { name: 'x', categoryId: 3, ...came('2026-10-05', 'stray') }, 'open');
      });
      const { species } = await shelterStatistics(database, 1, '2026-10');
      assert.deepEqual(species[0]!.animalCounts, { beginning: 0, ending: 1001 });
    });
  });

  it('monthBefore returns the last month that is over', () => {
    assert.equal(monthBefore(Date.parse('2026-11-30T23:59:59Z')), '2026-10');
    assert.equal(monthBefore(Date.parse('2027-01-01T00:00:00Z')), '2026-12');
  });
});
