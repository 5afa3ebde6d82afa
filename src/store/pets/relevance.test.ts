import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { scanBudget } from '../../lib/http/pagination/paginate.ts';
import { wordsIn } from '../../lib/text.ts';
import { anyone, type NewPet } from '../../model/pet.ts';
import type { Database } from '../../model/schema.ts';
import type { PetFilter } from './filter.ts';
import { createPet, deletePet, updatePet } from './pets.ts';
import { listRelevantPets } from './relevance.ts';

const owner = { accountId: 1, admin: false };

describe('listRelevantPets', () => {
  onEachEngine(engine => {
    it('lists names before breeds, breeds before colors, tags last, and the newest first of equal ones', async () => {
      const database = await engine.open();
      const pets: readonly NewPet[] = [
        { name: 'Ida', categoryId: 1, tags: ['golden'] },
        { name: 'Golden', categoryId: 1 },
        { name: 'Goldenrod', categoryId: 2 },
        { name: 'Bo', categoryId: 1, breeds: { primary: 'Golden Retriever' } },
        { name: 'Rex', categoryId: 1, breeds: { primary: 'Goldendoodle' } },
        { name: 'Sam', categoryId: 1, colors: { primary: 'Golden' } },
        { name: 'Max', categoryId: 1, breeds: { primary: 'Golden Retriever' } },
        { name: 'Lu', categoryId: 1, tags: ['goldenish'] },
      ];
      await addAll(database, pets);
      assert.deepEqual(await namesOf(database, 'golden'), [
        'Golden',
        'Max',
        'Bo',
        'Goldenrod',
        'Rex',
        'Sam',
        'Ida',
        'Lu',
      ]);
      assert.deepEqual(await namesOf(database, 'golden retriever'), ['Max', 'Bo']);
      // A whole word of the category ranks before a name that begins with it.
      await addAll(database, [{ name: 'Catalina', categoryId: 1 }]);
      assert.deepEqual(await namesOf(database, 'cat'), ['Goldenrod', 'Catalina']);
      assert.deepEqual(await namesOf(database, '?'), []);
    });

    it('prefers the first meaning of a word', async () => {
      const database = await engine.open();
      await addAll(database, [
        { name: 'Baby', categoryId: 1, age: 'baby' },
        { name: 'Young', categoryId: 1, age: 'young' },
        { name: 'Old', categoryId: 1, age: 'senior' },
      ]);
      assert.deepEqual(await namesOf(database, 'puppies'), ['Baby', 'Young']);
    });

    it('shows each pet once, on pages of every size and however few rows a page may read', async () => {
      const database = await engine.open();
      const names = ['Bo', 'Bob', 'Ida', 'Bobby Bo'];
      const pets = Array.from({ length: 60 }, (_, n) => {
        const tags = n % 5 === 0 ? ['bob'] : [`t${n}`];
        return { name: names[n % 4]!, categoryId: 1 + (n % 2), tags, ...(n % 3 === 0 && { status: 'sold' as const }) };
      });
      await addAll(database, pets);
      for (const filter of [{}, { status: ['available'] }, { categoryId: 2 }] as const) {
        const [all] = await pagesOf(database, { ...filter, words: ['bob'] }, 100);
        const matching = pets.filter(
          ({ name, tags, status, categoryId }) =>
            (name.startsWith('Bob') || tags[0] === 'bob') &&
            (!('status' in filter) || status === undefined) &&
            (!('categoryId' in filter) || categoryId === 2),
        );
        assert.equal(all!.length, matching.length);
        for (const limit of [1, 7]) {
          assert.deepEqual((await pagesOf(database, { ...filter, words: ['bob'] }, limit)).flat(), all);
          for (const rows of [1, 10, 25]) {
            const found = (await pagesOf(database, { ...filter, words: ['bob'] }, limit, rows)).flat();
            assert.deepEqual(found.toSorted(byId), all!.toSorted(byId), `${limit} by ${rows}`);
          }
        }
      }
    });

    it('ranks the newest pets that a page may read before the older ones', async () => {
      const database = await engine.open();
      const ids = await addAll(
        database,
        Array.from({ length: 6 }, (_, n) => ({ name: n % 2 === 0 ? 'Bob' : 'Bobby', categoryId: 1 })),
      );
      const [a, b, c, d, e, f] = ids as [number, number, number, number, number, number];
      // Each page may read two rows of each word.
      assert.deepEqual(await pagesOf(database, { words: ['bob'] }, 9, 4), [[e, f, d], [c, a, b], []]);
    });

    it('repeats no pet and skips none when others are added, deleted and changed meanwhile', async () => {
      const database = await engine.open();
      const ids = await addAll(
        database,
        Array.from({ length: 12 }, (_, n) => ({ name: n % 2 === 0 ? 'Bob' : 'Bobby', categoryId: 1 })),
      );
      const filter = { words: ['bob'] };
      const first = await listRelevantPets(database, filter, { limit: 3, budget: scanBudget(8) }, 0, 'plain', anyone);
      const idsAt = (...indexes: number[]) => indexes.map(index => ids[index]!);
      assert.deepEqual(
        first.rows.map(({ id }) => id),
        idsAt(10, 8, 6),
      );
      await addAll(database, [{ name: 'Bob', categoryId: 1 }]);
      await database.write(tx => deletePet(tx, owner, ids[11]!));
      await database.write(tx => deletePet(tx, owner, ids[9]!));
      await database.write(tx => updatePet(tx, owner, ids[1]!, { name: 'Ida' }, 'open'));
      const rest = await pagesOf(database, filter, 3, 8, first.next);
      assert.deepEqual(rest.flat(), idsAt(7, 5, 4, 2, 0, 3));
    });

    it('rejects cursors of other lists', async () => {
      const database = await engine.open();
      for (const cursor of ['x', 'WzEsIngiLDEsMCwiIl0']) {
        const page = listRelevantPets(database, { words: ['bo'] }, { limit: 7, cursor }, 0, 'plain', anyone);
        await assert.rejects(page, { code: 'invalid_parameter' });
      }
    });
  });
});

const byId = (one: number, other: number) => one - other;

async function namesOf(database: Database, q: string): Promise<string[]> {
  const page = await listRelevantPets(database, { words: wordsIn(q) }, { limit: 20 }, 0, 'plain', anyone);
  assert.equal(page.next, undefined);
  return page.rows.map(({ name }) => name);
}

/** @param rows the number of rows that each page may read */
async function pagesOf(
  database: Database,
  filter: Omit<PetFilter, 'sort' | 'words'> & { readonly words: readonly string[] },
  limit: number,
  rows = 20_000,
  from?: string,
): Promise<number[][]> {
  const pages: number[][] = [];
  let cursor = from;
  do {
    const page = { limit, cursor, budget: scanBudget(rows) };
    const found = await listRelevantPets(database, filter, page, 0, 'full', anyone);
    pages.push(found.rows.map(({ id }) => id));
    cursor = found.next;
  } while (cursor !== undefined);
  return pages;
}

function addAll(database: Database, pets: readonly NewPet[]): Promise<number[]> {
  return database.write(async tx => {
    const ids: number[] = [];
    for (const pet of pets) ids.push((await createPet(tx, 1, pet, 'open')).id);
    return ids;
  });
}
