import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { createPet } from '../pets/pets.ts';
import { correctedSearch, hasTime } from './did-you-mean.ts';

describe('correctedSearch', () => {
  onEachEngine(engine => {
    it('corrects words that no animal has to the nearest word in a public field of an animal', async () => {
      const database = await engine.open();
      await database.write(async tx => {
        await createPet(
          tx,
          1,
          {
            name: 'Señor Whiskers',
            categoryId: 2,
            breeds: { primary: 'Golden Retriever' },
            tags: ['affectionate'],
            tattoo: 'Xylophone',
            intake: { date: '2026-01-01', kind: 'stray', from: 'Quarantine' },
            extra: { Shelf: 'Zeppelin' },
          },
          'open',
        );
      });
      const expected: Readonly<Record<string, string | undefined>> = {
        'Golden Retreiver': 'golden retriever',
        'goldn retreever': 'golden retriever',
        'Whiskrs cat': 'whiskers cat',
        affectionat: undefined,
        afectionate: 'affectionate',
        rabit: 'rabbit',
        kiten: 'kitten',
        'golden pupy': 'golden puppy',
        Xylophon: undefined,
        quarentine: undefined,
        zepelin: undefined,
        'golden cat': undefined,
        'aaaa bbbb cccc': undefined,
        dgo: undefined,
        '🐈 12345': undefined,
      };
      for (const [text, corrected] of Object.entries(expected)) {
        assert.equal(await correctedSearch(database, text, Number.POSITIVE_INFINITY), corrected, text);
      }
      // Without time, it uses only the names of categories and the words with a meaning.
      assert.equal(await correctedSearch(database, 'whiskrs', 0), undefined);
      assert.equal(await correctedSearch(database, 'kiten', 0), 'kitten');
    });
  });
});

describe('hasTime', () => {
  it('is false while lists wait for their turns, and while a turn of the event loop is long', async () => {
    assert.equal(await hasTime({ scans: { size: 1 } }), false);
    const late = hasTime({ scans: { size: 0 } });
    const start = performance.now();
    while (performance.now() - start < 30);
    assert.equal(await late, false);
  });
});
