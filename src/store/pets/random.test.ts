import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { anyone } from '../../model/pet.ts';
import type { Database } from '../../model/schema.ts';
import type { PetFilter } from './filter.ts';
import { createPet } from './pets.ts';
import { listRandomPets } from './random.ts';

describe('listRandomPets', () => {
  onEachEngine(engine => {
    it('shows each pet once, in the order of ids from some pet on, whatever the filter', async () => {
      const database = await engine.open();
      await database.write(async tx => {
        for (let n = 0; n < 40; n++) {
          const status = n % 3 === 0 ? 'sold' : 'available';
          await createPet(tx, 1, { name: n % 2 === 0 ? 'Bo' : 'Ida', categoryId: 1 + (n % 2), status }, 'open');
        }
      });
      const filters: Omit<PetFilter, 'sort'>[] = [
        {},
        { status: ['available'] },
        { categoryId: 2 },
        { categoryId: 1, status: ['sold'] },
        { words: ['bo'] },
        { words: ['bo'], status: ['available'] },
        { ownerId: 1 },
        { id: [3, 5, 7, 30] },
      ];
      const matches = (id: number, { status, categoryId, words, id: ids }: Omit<PetFilter, 'sort'>) =>
        (status === undefined || status.includes((id - 1) % 3 === 0 ? 'sold' : 'available')) &&
        (categoryId === undefined || (id - 1) % 2 === categoryId - 1) &&
        (words === undefined || (id - 1) % 2 === 0) &&
        (ids === undefined || ids.includes(id));
      const starts = new Set<number>();
      for (const filter of filters) {
        const expected = Array.from({ length: 40 }, (_, n) => n + 1).filter(id => matches(id, filter));
        for (let round = 0; round < 12; round++) {
          const pages = await walk(database, filter, 7);
          const ids = pages.flat();
          starts.add(ids[0]!);
          const turn = expected.indexOf(ids[0]!);
          assert.deepEqual(ids, [...expected.slice(turn), ...expected.slice(0, turn)], JSON.stringify(filter));
          assert.ok(pages[0]!.length === Math.min(7, expected.length), 'the first page is full');
        }
      }
      assert.ok(starts.size > 5, `${starts.size} starts`);
    });

    it('is empty in an empty store, and rejects cursors of other lists', async () => {
      const database = await engine.open();
      assert.deepEqual(await walk(database, {}, 7), [[]]);
      for (const cursor of ['x', 'WzEsIngiLDEsMCwiIl0']) {
        const page = listRandomPets(database, {}, { limit: 7, cursor }, 0, 'plain', anyone);
        await assert.rejects(page, { code: 'invalid_parameter' });
      }
    });
  });
});

/** Returns the ids of each page. */
async function walk(database: Database, filter: Omit<PetFilter, 'sort'>, limit: number): Promise<number[][]> {
  const pages: number[][] = [];
  let cursor: string | undefined;
  do {
    const page = await listRandomPets(database, filter, { limit, cursor }, 0, 'plain', anyone);
    pages.push(page.rows.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  return pages;
}
