import type { Migration } from '../../lib/storage/migration.ts';

const letters: readonly (readonly [string, string])[] = [
  ['ß', 'ss'],
  ['ς', 'σ'],
  ['ı', 'i'],
  ['ø', 'o'],
  ['ł', 'l'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['æ', 'ae'],
  ['œ', 'oe'],
];

/** Folds the letters of searched words and names that are not a letter with a mark: see `foldedText`. */
export const foldedLetters: Migration = {
  name: '0035-folded-letters',
  work: { title: 'folds the letters of words', table: 'pet_words', rowUs: { sqlite: 0.4, postgres: 0.4 } },
  up() {
    const folded = (column: string, length: number) => {
      const replaced = letters.reduce((text, [letter, plain]) => `replace(${text}, '${letter}', '${plain}')`, column);
      return `substr(${replaced}, 1, ${length})`;
    };
    const hasLetter = (column: string) => letters.map(([letter]) => `${column} like '%${letter}%'`).join(' or ');
    return [
      `insert into pet_words (word, pet_id)
         select ${folded('word', 40)}, pet_id from pet_words where ${hasLetter('word')}
         on conflict do nothing`,
      `delete from pet_words where ${hasLetter('word')}`,
      `update organizations set name_key = ${folded('name_key', 100)} where ${hasLetter('name_key')}`,
    ];
  },
};
