import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/engines.ts';
import { storeFact } from '../facts.ts';
import type { Problem } from '../lib/http/problem.ts';
import { type Database, type Params, query } from '../schema.ts';
import type { PetFilter } from './filter.ts';
import { listPets } from './list.ts';
import type { NewPet, PetPatch, PetStatus } from './pet.ts';
import { createPet, deletePet, updatePet } from './pets.ts';
import { fillWordBatch, wordIndexJob, wordIndexState } from './word-index.ts';
import { beginningsIn } from './words.ts';

const owner = { accountId: 1, admin: false };
const statuses: readonly PetStatus[] = ['available', 'pending', 'sold'];

describe('listPets with words', () => {
  onEachEngine(engine => {
    it('finds pets by the beginnings of words of the name, breeds, colors and tags', async () => {
      const database = await engine.open();
      const ids = await addAll(database, [
        { name: 'Bella Señorita', categoryId: 1 },
        { name: 'Rex', categoryId: 1, breeds: { primary: 'Labrador Retriever', secondary: 'Poodle' } },
        { name: 'Bello', categoryId: 2, colors: { primary: 'Black', secondary: 'White', tertiary: 'Gold' } },
        { name: 'Ida', categoryId: 2, tags: ['calm', 'good with bells'], description: 'Marvelous.' },
        { name: 'Bjørn Straßenhund', categoryId: 2, tags: ['σασα'] },
      ]);
      const expected: Readonly<Record<string, readonly number[]>> = {
        bel: [0, 2, 3],
        BELLA: [0],
        senor: [0],
        sen\u0303: [0],
        lab: [1],
        'lab-poo!': [1],
        'bel bla': [2],
        'bel bell': [0, 2, 3],
        go: [2, 3],
        marv: [],
        ella: [],
        'bel zzz': [],
        '?! 🐈': [],
        bellaa: [],
        STRASSEN: [4],
        bjorn: [4],
        ΣΑΣ: [4],
      };
      for (const [q, found] of Object.entries(expected)) {
        assert.deepEqual(
          await walk(database, { words: beginningsIn(q), sort: 'id' }),
          found.map(index => ids[index]),
          q,
        );
      }
    });

    it('agrees with every other filter and sort, on every page', async () => {
      const database = await engine.open();
      const names = ['Bella', 'Ben', 'Bella Ben', 'Luna', 'luna bell'];
      const pets: (NewPet & { id: number; accountId: number })[] = [];
      for (let index = 0; index < 60; index++) {
        const name = names[index % 5]!;
        // More words begin with `x` than are merged.
        const tags = [`x${String.fromCodePoint(97 + (index % 26))}${index}`];
        const sex = index % 4 === 0 ? ('male' as const) : ('female' as const);
        const status = statuses[index % 3]!;
        const pet = { name, categoryId: 1 + (index % 2), status, tags, sex };
        const accountId = 1 + (index % 2);
        const [id] = await addAll(database, [pet], accountId);
        pets.push({ ...pet, id: id!, accountId });
      }
      const filters: Partial<PetFilter>[] = [
        {},
        { status: ['available'] },
        { categoryId: 2 },
        { status: ['sold', 'pending'], categoryId: 1 },
        { traits: { sex: ['male'] } },
        { ownerId: 2 },
        { id: pets.slice(10, 30).map(({ id }) => id) },
      ];
      for (const q of ['bel', 'b', 'bell lun', 'x', 'x b', 'xa bella', 'luna xb', 'zz', '?', 'a b c d e f g h i j x']) {
        for (const filter of filters) {
          for (const sort of ['id', '-id', 'name', '-name'] as const) {
            const words = beginningsIn(q);
            const expected = pets
              .filter(pet => {
                const has = `${pet.name} ${pet.tags![0]}`.toLowerCase().split(' ');
                return (
                  words.length > 0 &&
                  words.every(word => has.some(one => one.startsWith(word))) &&
                  (filter.status === undefined || filter.status.includes(pet.status!)) &&
                  (filter.categoryId === undefined || filter.categoryId === pet.categoryId) &&
                  (filter.traits === undefined || pet.sex === 'male') &&
                  (filter.ownerId === undefined || filter.ownerId === pet.accountId) &&
                  (filter.id === undefined || filter.id.includes(pet.id))
                );
              })
              .sort((a, b) => (sort.endsWith('name') && a.name !== b.name ? (a.name < b.name ? -1 : 1) : a.id - b.id))
              .map(({ id }) => id);
            if (sort.startsWith('-')) expected.reverse();
            const found = await walk(database, { ...filter, words, sort }, 7);
            assert.deepEqual(found, expected, JSON.stringify({ q, ...filter, sort }));
          }
        }
      }
    });

    it('returns the same pets backward, in both views', async () => {
      const database = await engine.open();
      const ids = await addAll(
        database,
        Array.from({ length: 12 }, (_, n) => ({ name: `Bo ${n} Bob`, categoryId: 1 })),
      );
      const filter: PetFilter = { words: ['bo'], sort: 'id', status: ['available'] };
      const first = await listPets(database, filter, { limit: 5 }, 0);
      const second = await listPets(database, filter, { limit: 5, cursor: first.next }, 0, 'full');
      assert.deepEqual(
        second.rows.map(({ id }) => id),
        ids.slice(5, 10),
      );
      const back = await listPets(database, filter, { limit: 5, cursor: second.previous }, 0);
      assert.deepEqual(back.rows, first.rows);
      assert.deepEqual(Object.keys(first.rows[0]!), ['id', 'name', 'categoryId', 'status']);
      const other = listPets(database, { ...filter, words: ['bob'] }, { limit: 5, cursor: first.next }, 0);
      await assert.rejects(other, { code: 'invalid_parameter' });
    });

    it('follows every change of a pet', async () => {
      const database = await engine.open();
      const [id] = await addAll(database, [{ name: 'Old Name', categoryId: 1, tags: ['name', 'gone'] }]);
      const change = (patch: PetPatch) => database.write(tx => updatePet(tx, owner, id!, patch, 'open'));
      const find = (q: string) => walk(database, { words: beginningsIn(q), sort: 'id' });
      await change({ name: 'New' });
      assert.deepEqual([await find('old'), await find('new'), await find('name')], [[], [id], [id]]);
      await change({ tags: null, breeds: { primary: 'Name' } });
      assert.deepEqual([await find('gone'), await find('name')], [[], [id]]);
      await database.write(async tx => {
        await updatePet(tx, owner, id!, { name: 'Twice' }, 'open');
        await updatePet(tx, owner, id!, { name: 'New' }, 'open');
      });
      assert.deepEqual([await find('twice'), await find('new')], [[], [id]]);
      await database.write(tx => deletePet(tx, owner, id!));
      assert.deepEqual(await database.all(everyWord, {}), []);
    });

    it('bounds the words of a pet, and the length of a word', async () => {
      const database = await engine.open();
      const name = `${'w'.repeat(100)} ${Array.from({ length: 60 }, (_, n) => `w${n}`).join(' ')}`;
      await addAll(database, [{ name, categoryId: 1 }]);
      const words = await database.all(everyWord, {});
      assert.equal(words.length, 40);
      assert.ok(words.every(({ word }) => word.length <= 40));
      assert.equal((await walk(database, { words: beginningsIn('w'.repeat(100)), sort: 'id' })).length, 1);
    });

    it('rejects searches until the words of earlier pets are there, which a job adds', async () => {
      const database = await engine.open();
      const ids = await addAll(
        database,
        Array.from({ length: 450 }, (_, n) => ({ name: `Bo ${n}`, categoryId: 1 })),
      );
      const before = await database.all(everyWord, {});
      await database.write(async tx => {
        await tx.run(deleteWords, {});
        await tx.run(storeFact, { name: 'words', value: 'filling 0' });
      });
      await assert.rejects(walk(database, { words: ['bo'], sort: 'id' }), { code: 'search_not_ready', status: 503 });
      await fillWordBatch(database);
      // Changes meanwhile: of a pet that has its words, and of one that does not have them yet.
      await database.write(tx => updatePet(tx, owner, ids[0]!, { name: 'Early' }, 'open'));
      await database.write(tx => updatePet(tx, owner, ids[449]!, { name: 'Bo Late' }, 'open'));
      await database.write(tx => deletePet(tx, owner, ids[1]!));
      while ((await fillWordBatch(database)) > 0);
      assert.equal((await wordIndexState(database)).usable, true);
      assert.deepEqual(await walk(database, { words: ['bo'], sort: 'id' }), ids.slice(2));
      assert.deepEqual(await walk(database, { words: ['late'], sort: 'id' }), [ids[449]]);
      const after = await database.all(everyWord, {});
      const changed = new Set([ids[0], ids[1], ids[449]]);
      const others = (rows: typeof after) => rows.filter(({ id }) => !changed.has(id));
      assert.deepEqual(others(after), others(before));
    });

    it('says in Retry-After when the words of earlier pets will be there', async () => {
      const database = await engine.open();
      await addAll(
        database,
        Array.from({ length: 1000 }, (_, n) => ({ name: `Bo ${n}`, categoryId: 1 })),
      );
      await database.write(tx => tx.run(storeFact, { name: 'words', value: 'filling 0' }));
      // Each batch of 200 pets takes four seconds.
      let now = 0;
      const { type } = wordIndexJob({ database, described: false, now: () => now });
      const runBatch = async () => {
        const { rows } = await type.claim(1);
        now += 4000;
        return rows;
      };
      await runBatch();
      await runBatch();
      let announced = 0;
      await assert.rejects(walk(database, { words: ['bo'], sort: 'id' }), ({ headers }: Problem) => {
        announced = Number(headers[1]);
        return headers[0] === 'Retry-After';
      });
      const at = now;
      while ((await runBatch()) > 0);
      const taken = (now - 4000 - at) / 1000;
      assert.ok(announced >= taken / 2 && announced <= taken * 2, `announced ${announced} s, took ${taken} s`);
      assert.equal((await walk(database, { words: ['bo'], sort: 'id' })).length, 1000);
    });

    it('finds words of descriptions while the setting is on', async () => {
      const database = await engine.open();
      const [first] = await addAll(database, [{ name: 'Ida', categoryId: 1, description: 'Loves Ida’s lakes' }]);
      const find = (q: string) => walk(database, { words: beginningsIn(q), sort: 'id' });
      const set = async (described: boolean) => {
        const { type } = wordIndexJob({ database, described, now: () => 0 });
        while ((await type.claim(1)).rows > 0);
      };
      assert.deepEqual(await find('lake'), []);
      await set(true);
      const [second] = await addAll(database, [{ name: 'Rex', categoryId: 1, description: 'lake lover' }]);
      assert.deepEqual(await find('lake'), [first, second]);
      assert.deepEqual(await find('lov lake'), [first, second]);
      await database.write(tx => updatePet(tx, owner, second!, { description: 'Ida' }, 'open'));
      assert.deepEqual(await find('ida'), [first, second]);
      await set(false);
      assert.deepEqual([await find('lake'), await find('ida')], [[], [first]]);
    });
  });
});

describe('beginningsIn', () => {
  it('leaves out words that begin another one', () => {
    assert.deepEqual(beginningsIn('Bab ba LAB, bab'), ['bab', 'lab']);
    assert.deepEqual(beginningsIn('ba b bar'), ['bar']);
  });
});

/** Returns the ids of all pages. */
async function walk(database: Database, filter: PetFilter, limit = 20): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await listPets(database, filter, { limit, cursor }, 0);
    ids.push(...page.rows.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

function addAll(database: Database, pets: readonly NewPet[], accountId = 1): Promise<number[]> {
  return database.write(async tx => {
    const ids: number[] = [];
    for (const pet of pets) ids.push((await createPet(tx, accountId, pet, 'open')).id);
    return ids;
  });
}

const everyWord = query(db =>
  db.selectFrom('pet_words').select(['word', 'pet_id as id']).orderBy('word').orderBy('pet_id'),
);

const deleteWords = query((db, _: Params<Record<never, never>>) => db.deleteFrom('pet_words'));
