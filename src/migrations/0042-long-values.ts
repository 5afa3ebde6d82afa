import type { Migration } from '../lib/storage/migration.ts';

/** Lets events leave out long values that are stored elsewhere; see `events/long-values.ts`. */
export const longValues: Migration = {
  name: '0042-long-values',
  up: ({ int, text, end }) => [
    `create table replaced_values (
      pet_id ${int} not null,
      member ${text} not null,
      event_id ${int} not null,
      primary key (pet_id, member, event_id)
    ) ${end}`,
    `alter table nodes add column migration ${text}`,
  ],
};
