import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { wordsIn } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { NewPet, PetPatch, PetStatus } from '../../model/pet.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { createCategory, updateCategory } from '../categories/categories.ts';
import type { PetFilter } from '../pets/filter.ts';
import { listPets } from '../pets/list.ts';
import { createPet, deletePet, updatePet } from '../pets/pets.ts';
import { traitChoices } from '../profile/traits.ts';
import type { SearchedReader } from './search.ts';
import { synonyms, termsOf } from './terms.ts';
import { fillWordBatch, storeProgress, wordIndexJob, wordIndexState } from './word-index.ts';

const owner = { accountId: 1, admin: false };
const NOW = Date.parse('2026-11-24T12:00:00Z');
const formatDate = (time: number) => new Date(time).toISOString().slice(0, 10);
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
          await walk(database, { words: wordsIn(q), sort: 'id' }),
          found.map(index => ids[index]),
          q,
        );
      }
    });

    it('finds pets by their categories, traits, plurals and synonyms, with every filter and sort', async () => {
      const database = await engine.open();
      const { id: hounds } = await database.write(tx => createCategory(tx, owner, { name: 'Hounds', parentId: 1 }));
      const born = (years: number) => formatDate(NOW - years * 365.25 * DAY_MS);
      const looks: readonly Omit<NewPet, 'name'>[] = [
        { categoryId: 1, age: 'young', sex: 'female', size: 'small', breeds: { primary: 'Labrador Retriever' } },
        { categoryId: hounds, birthDate: born(0.3), sex: 'male', goodWith: { children: 'yes', dogs: 'no' } },
        { categoryId: hounds, birthDate: born(10), traits: { houseTrained: 'yes' }, breeds: { mixed: true } },
        { categoryId: 2, birthDate: born(1), colors: { primary: 'Black' }, goodWith: { dogs: 'yes' } },
        { categoryId: 2, age: 'senior', pattern: 'Tuxedo', tags: ['dog friendly'], group: { id: 'p', kind: 'bonded' } },
        { categoryId: 3, sex: 'female', breeds: { primary: 'Dog-Eared Lop' }, coat: 'long' },
        { categoryId: 4, size: 'large', breeds: { primary: 'Guinea Pig' } },
      ];
      const names = ['Bo', 'Senior', 'Lab', 'Ida', 'Portland', 'Dogmar'];
      const pets: (NewPet & { readonly id: number })[] = [];
      for (let index = 0; index < 84; index++) {
        const pet = { ...looks[index % 7]!, name: names[index % 6]!, status: statuses[index % 3]! };
        const [id] = await addAll(database, [pet]);
        pets.push({ ...pet, id: id! });
      }
      const isDog = ({ categoryId, breeds, tags }: NewPet) =>
        categoryId === 1 || categoryId === hounds || breeds?.primary === 'Dog-Eared Lop' || tags !== undefined;
      const isYoungDog = (pet: NewPet) => pet.categoryId === 1 || (pet.categoryId === hounds && pet.sex === 'male');
      const expected: Readonly<Record<string, (pet: NewPet) => boolean>> = {
        dog: pet => isDog(pet) || pet.name === 'Dogmar',
        dogs: isDog,
        hound: ({ categoryId }) => categoryId === hounds,
        puppies: isYoungDog,
        kitten: ({ categoryId, colors }) => categoryId === 2 && colors !== undefined,
        'Cat black': ({ colors }) => colors !== undefined,
        female: ({ sex }) => sex === 'female',
        senior: pet => pet.age === 'senior' || pet.breeds?.mixed === true || pet.name === 'Senior',
        lab: ({ name, breeds }) => name === 'Lab' || breeds?.primary === 'Labrador Retriever',
        labradors: ({ breeds }) => breeds?.primary === 'Labrador Retriever',
        portland: ({ name }) => name === 'Portland',
        bunnies: ({ categoryId }) => categoryId === 3,
        'guinea pigs': ({ breeds }) => breeds?.primary === 'Guinea Pig',
        // One of its words belongs to a category: Small & Furry.
        'a small dog for adoption': ({ size, categoryId, name }) =>
          size === 'small' || (categoryId === 4 && name === 'Dogmar'),
        'good with kids': ({ goodWith }) => goodWith?.children === 'yes',
        'dog friendly': ({ goodWith, tags }) => goodWith?.dogs === 'yes' || tags !== undefined,
        'not good with dogs': ({ goodWith }) => goodWith?.dogs === 'no',
        'doesn’t get along with dogs': ({ goodWith }) => goodWith?.dogs === 'no',
        'bonded pair': ({ group }) => group !== undefined,
        'free kitten that I can adopt': ({ categoryId, colors }) => categoryId === 2 && colors !== undefined,
        'housebroken mutt': ({ traits }) => traits !== undefined,
        'mixed breed': ({ breeds }) => breeds?.mixed === true,
        tuxedo: ({ pattern }) => pattern !== undefined,
        'long hair rabbit': ({ coat }) => coat === 'long',
        pets: () => true,
        'puppy zzz': () => false,
      };
      const filters: readonly Partial<PetFilter>[] = [
        {},
        { status: ['available', 'sold'] },
        { categoryId: 1, includeDescendants: true },
        { traits: { sex: ['female'] } },
        { ownerId: 1 },
      ];
      const fits = (pet: NewPet, { status, categoryId, traits }: Partial<PetFilter>) =>
        (status === undefined || status.includes(pet.status!)) &&
        (categoryId === undefined || pet.categoryId === 1 || pet.categoryId === hounds) &&
        (traits === undefined || pet.sex === 'female');
      for (const [q, matches] of Object.entries(expected)) {
        for (const filter of filters) {
          const ids = pets.filter(pet => matches(pet) && fits(pet, filter)).map(({ id }) => id);
          for (const sort of ['id', '-id'] as const) {
            const found = await walk(database, { ...filter, words: wordsIn(q), sort }, 25);
            assert.deepEqual(found, sort === 'id' ? ids : ids.toReversed(), JSON.stringify({ q, ...filter, sort }));
          }
          const byName = await walk(database, { ...filter, words: wordsIn(q), sort: 'name' }, 25);
          assert.deepEqual(
            byName.toSorted((one, other) => one - other),
            ids,
            `${q} by name`,
          );
        }
      }
    });

    it('finds pets by the present name of a category, and by those of all above it', async () => {
      const database = await engine.open();
      const create = (name: string, parentId: number) =>
        database.write(async tx => (await createCategory(tx, owner, { name, parentId })).id);
      const hounds = await create('Hounds', 1);
      const beagles = await create('Beagles', hounds);
      const [id] = await addAll(database, [{ name: 'Bo', categoryId: beagles }]);
      const find = (q: string) => walk(database, { words: wordsIn(q), sort: 'id' });
      assert.deepEqual([await find('beagle'), await find('hound dog'), await find('cat')], [[id], [id], []]);
      await database.write(tx => updateCategory(tx, owner, hounds, { name: 'Sight dogs', parentId: 2 }));
      assert.deepEqual([await find('hound'), await find('sight cat')], [[], [id]]);
    });

    it('asks for the state of the index and the categories only after a change', async () => {
      const database = await engine.open();
      const [id] = await addAll(database, [{ name: 'Bo', categoryId: 1 }]);
      let queries = 0;
      const counted: SearchedReader = {
        engine: database.engine,
        all(...call) {
          queries++;
          return database.all(...call);
        },
        first(...call) {
          queries++;
          return database.first(...call);
        },
        dataVersion: table => database.dataVersion(table),
        topicVersion: topic => database.topicVersion(topic),
      };
      const find = (word: string) => listPets(counted, { words: [word], sort: 'id' }, { limit: 20 }, NOW);
      const queriesOf = async (word: string) => {
        const before = queries;
        const { rows } = await find(word);
        return [queries - before, rows.length];
      };
      await waitUntil(async () => database.engine === 'sqlite' || database.topicVersion('words') !== undefined);
      await find('bo');
      // One query for the words of the index, and one for the page.
      assert.deepEqual(
        [await queriesOf('bo'), await queriesOf('hound')],
        [
          [2, 1],
          [2, 0],
        ],
      );
      await database.write(async tx => {
        const { id: hounds } = await createCategory(tx, owner, { name: 'Hounds', parentId: 1 });
        await updatePet(tx, owner, id!, { categoryId: hounds }, 'open');
      });
      assert.deepEqual((await queriesOf('hound'))[1], 1);
      await database.write(tx => storeProgress(tx, 'filling 0'));
      await assert.rejects(find('bo'), { code: 'search_not_ready' });
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
            const words = wordsIn(q);
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
      const find = (q: string) => walk(database, { words: wordsIn(q), sort: 'id' });
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
      assert.equal((await walk(database, { words: wordsIn('w'.repeat(100)), sort: 'id' })).length, 1);
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
        await storeProgress(tx, 'filling 0');
      });
      await assert.rejects(walk(database, { words: ['bo'], sort: 'id' }), { code: 'search_not_ready', status: 503 });
      await fillWordBatch(database);
      // Changes during the job: of a pet whose words are indexed, and of a pet whose words are not indexed yet.
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
      await database.write(tx => storeProgress(tx, 'filling 0'));
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
      const find = (q: string) => walk(database, { words: wordsIn(q), sort: 'id' });
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

describe('termsOf', () => {
  const textsOf = (search: string) => termsOf(wordsIn(search)).map(([typed]) => typed!.words.map(({ text }) => text));

  it('ignores words that are a prefix of another one', () => {
    assert.deepEqual(textsOf('Bab ba LAB, bab'), [['bab'], ['lab']]);
    assert.deepEqual(textsOf('ba b bar'), [['bar']]);
  });

  it('uses the longest known phrase, and ignores words without meaning', () => {
    assert.deepEqual(textsOf('a dog that is good with kids'), [['dog'], ['good', 'with', 'kids']]);
    assert.deepEqual(textsOf('good with it'), [['good'], ['it']]);
    const good = (whom: string) => ['good', 'with', whom];
    assert.deepEqual(textsOf('good with cats, dogs and kids lab'), [good('cats'), good('dogs'), good('kids'), ['lab']]);
    assert.deepEqual(textsOf('good with kids dog'), [good('kids'), ['dog']]);
    assert.deepEqual(textsOf('good with kids and lab'), [good('kids'), ['lab']]);
    assert.deepEqual(textsOf('for the'), [['for'], ['the']]);
  });

  it('has synonyms whose conditions are values of traits', () => {
    const known = { ...traitChoices, breeds: ['mixed'], group: ['bonded'] } as Readonly<
      Record<string, readonly string[]>
    >;
    const conditions = Array.from(synonyms().meanings.values()).flatMap(meanings =>
      meanings.flatMap(one => one.conditions),
    );
    assert.ok(conditions.length > 100);
    for (const [name, value] of conditions) {
      assert.ok(name === 'pattern' || known[name]?.includes(value), `${name}=${value}`);
    }
  });
});

/** Returns the ids of all pages. */
async function walk(database: Database, filter: PetFilter, limit = 20): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await listPets(database, filter, { limit, cursor }, NOW);
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
