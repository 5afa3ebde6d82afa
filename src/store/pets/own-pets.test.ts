import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import type { NewPet, PetStatus } from '../../model/pet.ts';
import { type Database, type Params, query, sql } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import { findOwnPets, listOwnPets, type OwnFilter, type OwnSort, petsAmong } from './own-pets.ts';
import { createPet } from './pets.ts';

const OWNER = 1;

describe('the list of own pets', () => {
  onEachEngine(engine => {
    it('finds pets by their owner, texts, labels, status, category and what they lack', async () => {
      const database = await engine.open();
      const now = Date.now();
      const ids = await addAll(database, [
        { name: 'Brünø', categoryId: 1, externalId: 'D-2026/041', tags: ['Calm', 'a"b'], description: 'x' },
        { name: 'fred', categoryId: 2, microchips: ['985112003456789'], status: 'sold' },
        { name: 'Alfredo', categoryId: 2, group: { id: 'Calm', kind: 'litter' }, status: 'pending' },
        { name: '100%_', categoryId: 3 },
        { name: 'שלום', categoryId: 3 },
      ]);
      await addAll(database, [{ name: 'fred', categoryId: 2, tags: ['calm'], externalId: '041' }], 2);
      await database.write(tx => tx.run(addPhoto, { id: ids[0]! }));
      const found = async (filter: Omit<OwnFilter, 'ownerId'>) => {
        const { rows, before } = await findOwnPets(database, { ownerId: OWNER, ...filter }, 'newest', now);
        assert.equal(before, undefined);
        return rows.map(({ id }) => ids.indexOf(id));
      };
      const [all, sold]: [PetStatus[], PetStatus[]] = [['available', 'pending', 'sold'], ['sold']];
      for (const [filter, expected] of [
        [{}, [4, 3, 2, 1, 0]],
        [{ text: 'BRUNO' }, [0]],
        [{ text: 'Fred' }, [2, 1]],
        [{ text: '041' }, [0]],
        [{ text: '456789' }, [1]],
        [{ text: '%' }, [3]],
        [{ text: 'שלו' }, [4]],
        [{ text: '[' }, []],
        [{ label: 'calm' }, [2, 0]],
        [{ label: 'cal' }, []],
        [{ label: 'a"b' }, [0]],
        [{ status: sold }, [1]],
        [{ status: all }, [4, 3, 2, 1, 0]],
        [{ status: [] }, []],
        [{ categoryIds: [1, 3] }, [4, 3, 0]],
        [{ categoryIds: [1, 3], text: 'r' }, [0]],
        [{ lacks: 'photo' }, [4, 3, 2, 1]],
        [{ lacks: 'description', status: ['pending'] }, [2]],
        [{ ids: [ids[0]!, ids[3]!, ids[4]! + 1] }, [3, 0]],
        [{ ids: [] }, []],
        [{ before: ids[2]! }, [1, 0]],
      ] as const) {
        assert.deepEqual(await found(filter), expected, JSON.stringify(filter));
      }
      assert.deepEqual([...(await petsAmong(database, OWNER, [ids[0]!, ids[4]! + 1, 999], now)).keys()], [ids[0]]);
      assert.equal((await petsAmong(database, OWNER, [], now)).size, 0);
    });

    it('counts an expired hold as released', async () => {
      const database = await engine.open();
      const [id] = await addAll(database, [{ name: 'Rex', categoryId: 1 }]);
      const { expiresAt } = await database.write(tx =>
        createHold(tx, { accountId: 2, admin: false }, { petId: id! }, 100),
      );
      const found = async (now: number, status: PetStatus) =>
        (await findOwnPets(database, { ownerId: OWNER, status: [status] }, 'newest', now)).rows.length;
      assert.deepEqual([await found(expiresAt - 1, 'available'), await found(expiresAt - 1, 'pending')], [0, 1]);
      assert.deepEqual([await found(expiresAt, 'available'), await found(expiresAt, 'pending')], [1, 0]);
    });

    it('pages forward and backward in each order', async () => {
      const database = await engine.open();
      const pets = Array.from({ length: 23 }, (_, index): NewPet => {
        const day = `2026-0${(index % 4) + 1}-11`;
        const name = ['b', 'Á', 'a', 'B', '🐈', 'z'][index % 6]!;
        return { name, categoryId: 1, ...(index % 3 > 0 && { intake: { date: day, kind: 'stray' } }) };
      });
      const ids = await addAll(database, pets);
      const now = Date.now();
      const added = new Date(now).toISOString().slice(0, 10);
      const keys: Record<OwnSort, (index: number) => string> = {
        newest: index => String(999 - index),
        name: index => pets[index]!.name.replace('Á', 'a').toLowerCase(),
        longest: index => pets[index]!.intake?.date ?? added,
      };
      for (const sort of ['newest', 'name', 'longest'] as const) {
        const key = keys[sort];
        const order = ids.map((_, index) => index);
        order.sort((one, other) => (key(one) === key(other) ? one - other : key(one) < key(other) ? -1 : 1));
        const expected = order.map(index => ids[index]);
        const read = (cursor?: string) => listOwnPets(database, { ownerId: OWNER }, sort, { limit: 5, cursor }, now);
        let page = await read();
        const forward = page.rows;
        while (page.next !== undefined) {
          page = await read(page.next);
          assert.equal(page.total, 23);
          forward.push(...page.rows);
        }
        assert.deepEqual(
          forward.map(({ id }) => id),
          expected,
          sort,
        );
        const backward = [...page.rows];
        while (page.previous !== undefined) {
          page = await read(page.previous);
          backward.unshift(...page.rows);
        }
        assert.deepEqual(
          backward.map(({ id }) => id),
          expected,
          `back: ${sort}`,
        );
        const { next } = await read();
        await assert.rejects(listOwnPets(database, { ownerId: 2 }, sort, { limit: 5, cursor: next }, now), {
          code: 'invalid_parameter',
        });
      }
    });

    it('searches the newest 20,000 pets of an account, then the older ones', async () => {
      const database = await engine.open();
      const [oldest] = await addAll(database, [{ name: 'Oldest', categoryId: 1 }]);
      await database.write(tx => tx.run(addMany, { rows: SCAN_LIMIT + 10 }));
      const filter = { ownerId: OWNER, text: 'oldest' };
      const first = await findOwnPets(database, filter, 'name', 0);
      assert.deepEqual(first.rows, []);
      assert.ok(first.before !== undefined);
      const second = await findOwnPets(database, { ...filter, before: first.before }, 'name', 0);
      assert.deepEqual([second.rows.map(({ id }) => id), second.before], [[oldest], undefined]);
      const all = await findOwnPets(database, { ownerId: OWNER }, 'newest', 0);
      assert.equal(all.rows.length, SCAN_LIMIT);
    });
  });
});

async function addAll(database: Database, pets: readonly NewPet[], accountId = OWNER): Promise<number[]> {
  const ids: number[] = [];
  for (const pet of pets) ids.push((await database.write(tx => createPet(tx, accountId, pet, 'open'))).id);
  return ids;
}

const addPhoto = query((db, p: Params<{ id: number }>) =>
  db.updateTable('pets').set({ photos: '[]' }).where('id', '=', p.id),
);

const addMany = query((db, p: Params<{ rows: number }>) =>
  db
    .insertInto('pets')
    .columns(['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at'])
    .expression(
      sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${p.rows})
          select 'n', 2, 'available', 1, 0, 0 from numbers`,
    ),
);
