import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import type { NewPet } from '../../model/pet.ts';
import { createPet } from '../pets/pets.ts';
import { readTypedSearch } from './typed-search.ts';

describe('readTypedSearch', () => {
  onEachEngine(engine => {
    it('extracts ages, traits and a place from the words', async () => {
      const database = await engine.open();
      const breeds = { primary: 'Golden Retriever', secondary: 'Labrador' };
      await database.write(tx => createPet(tx, 1, { name: 'Rex', categoryId: 1, breeds }, 'open'));
      const expected: Readonly<Record<string, readonly [q: string, traits: object, near?: string]>> = {
        'Señor Pancho': ['Señor Pancho', {}],
        'dogs under 2 years': ['dogs', { age: ['baby', 'young'] }],
        'cat under two years old': ['cat', { age: ['baby', 'young'] }],
        'younger than 6 months': ['', { age: ['baby'] }],
        'over 9 years': ['', { age: ['senior'] }],
        'dog, 1-3 years': ['dog', { age: ['young', 'adult'] }],
        'between 3 and 5 years': ['', { age: ['adult'] }],
        '8 week old puppy': ['puppy', { age: ['baby'] }],
        '2yo lab': ['lab', { age: ['adult'] }],
        'Max 2 Fast': ['Max 2 Fast', {}],
        'Dogs good with kids': ['Dogs', { goodWithChildren: ['yes'] }],
        'dog not good with cats': ['dog', { goodWithCats: ['no'] }],
        'dogs good with kids and cats': ['dogs and', { goodWithChildren: ['yes'], goodWithCats: ['yes'] }],
        'housebroken and good with cats': ['', { goodWithCats: ['yes'], houseTrained: ['yes'] }],
        'housebroken, good with cats': ['', { goodWithCats: ['yes'], houseTrained: ['yes'] }],
        'young or adult dog': ['or dog', { age: ['young', 'adult'] }],
        'big dog': ['dog', { size: ['large', 'xlarge'] }],
        'small & furry': ['small & furry', {}],
        'furry small pets': ['furry small pets', {}],
        'small dog': ['dog', { size: ['small'] }],
        puppy: ['puppy', {}],
        '62704': ['', {}, '62704'],
        'dogs near 62704': ['dogs', {}, '62704'],
        'cats K1A 0B1': ['cats', {}, 'K1A 0B1'],
        'US 62704': ['', {}, '62704'],
        '00000': ['00000', {}],
        Springfield: ['', {}, 'Springfield'],
        'senior cats in Portland, OR': ['cats', { age: ['senior'] }, 'Portland, OR'],
        'portland oregon rabbits': ['rabbits', {}, 'Portland, OR'],
        'dogs near St. Louis MO': ['dogs', {}, 'Saint Louis, MO'],
        'golden retriever new york': ['golden retriever', {}, 'New York'],
        'cats near me': ['cats near me', {}],
        '🐈 ?': ['🐈 ?', {}],
        '': ['', {}],
      };
      for (const [text, [q, traits, near]] of Object.entries(expected)) {
        const found = await readTypedSearch(database, text);
        assert.deepEqual({ q: found.q, traits: found.traits, near: found.near }, { q, traits, near }, text);
      }
    });

    it('removes words that no animal matches if others remain, and a breed as a whole', async () => {
      const database = await engine.open();
      const pets: readonly NewPet[] = [
        { name: 'Rex', categoryId: 1, breeds: { primary: 'German Shepherd' }, tags: ['playful'] },
        { name: 'Lou', categoryId: 3, breeds: { primary: 'French Lop' } },
      ];
      await database.write(async tx => {
        for (const pet of pets) await createPet(tx, 1, pet, 'open');
      });
      const expected: Readonly<Record<string, readonly [q: string, unmatched?: string]>> = {
        'playful chihuahua': ['playful', 'chihuahua'],
        'Chihuahua near 62704': ['', 'Chihuahua'],
        'looking for a chihuahua mix': ['looking for a mix', 'chihuahua'],
        'chihuahua wanted': ['chihuahua wanted'],
        'french bulldog': ['french bulldog'],
        'playful French Bulldogs': ['playful', 'French Bulldogs'],
        'french lop': ['french lop'],
        'Australian Shepherd': ['Shepherd', 'Australian'],
        'rex zzz shepherds': ['rex shepherds', 'zzz'],
        // A synonym without animals, and one with them.
        'playful yorkie': ['playful', 'yorkie'],
        'playful gsd': ['playful gsd'],
        'horse birds': ['horse birds'],
      };
      for (const [text, [q, unmatched = '']] of Object.entries(expected)) {
        const found = await readTypedSearch(database, text);
        assert.deepEqual([found.q, found.unmatched.join(' ')], [q, unmatched], text);
      }
      const { spelled } = await readTypedSearch(database, 'goldn shepherd near 62704');
      assert.equal(spelled, 'goldn shepherd');
    });

    it('leaves words that begin a word of an animal, or are the name of a category', async () => {
      const database = await engine.open();
      const names = ['Senior', 'Portland', 'Lab', 'Golden'];
      await database.write(async tx => {
        for (const name of names) await createPet(tx, 1, { name, categoryId: 1 } satisfies NewPet, 'open');
      });
      for (const text of ['Senior', 'Portland', 'portl', 'Lab', 'senior dog', 'Golden cat', 'dog']) {
        const { q, traits, near } = await readTypedSearch(database, text);
        assert.deepEqual({ q, traits, near }, { q: text, traits: {}, near: undefined }, text);
      }
      const near = async (text: string) => (await readTypedSearch(database, text)).near;
      assert.equal(await near('dogs in Portland'), 'Portland');
      assert.equal(await near('Portland, OR'), 'Portland, OR');
      assert.equal(await near('Springfield'), 'Springfield');
    });
  });
});
