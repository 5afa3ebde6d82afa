import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the photos of pets, and what each account stores of them. */
export const photos: Migration = {
  name: '0024-photos',
  work: { title: 'adds the photos of pets', table: 'pets', rowUs: { sqlite: 0.5, postgres: 0 } },
  up: ({ int, text, end }) => [
    `alter table pets add column photos ${text}`,
    `create table photos (
       hash ${text} primary key, type ${text} not null, bytes ${int} not null, width ${int} not null,
       height ${int} not null, refs ${int} not null, released_at ${int}
     ) ${end}`,
    'create index photos_released on photos (released_at) where refs = 0',
    `create table photo_bytes (account_id ${int} primary key, bytes ${int} not null) ${end}`,
  ],
};
