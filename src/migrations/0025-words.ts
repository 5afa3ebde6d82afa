import type { Migration } from '../lib/storage/migration.ts';

/** Adds the index of the words of pets. A job adds the words of existing pets; see `pets/word-index.ts`. */
export const words: Migration = {
  name: '0025-words',
  up: ({ engine, int, text }) => [
    `create table pet_words (word ${text} not null, pet_id ${int} not null, primary key (word, pet_id))
     ${engine === 'sqlite' ? 'without rowid, strict' : ''}`,
    `insert into facts (name, value)
       select 'words', case when exists (select 1 from pets) then 'filling 0' else 'complete' end`,
    `insert into facts (name, value) values ('words_of_descriptions', 'off')`,
  ],
};
