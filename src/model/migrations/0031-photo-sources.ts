import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the URLs that photos are fetched from or came from, and the numbers of photos of imports. */
export const photoSources: Migration = {
  name: '0031-photo-sources',
  up: ({ id, int, text, end }) => [
    ...['photos_wanted', 'photos_fetched', 'photos_failed'].map(
      column => `alter table imports add column ${column} ${int} not null default 0`,
    ),
    `create table photo_sources (
       id ${id}, pet_id ${int} not null references pets (id) on delete cascade, url ${text} not null,
       import_id ${int} not null, line ${int} not null, column_name ${text} not null, position ${int} not null,
       host ${text} not null, hash ${text}, attempts ${int} not null, due_at ${int}
     ) ${end}`,
    'create unique index photo_sources_by_pet on photo_sources (pet_id, url)',
    'create index photo_sources_due on photo_sources (due_at) where due_at is not null',
    'create index photo_sources_by_import on photo_sources (import_id, due_at) where due_at is not null',
  ],
};
