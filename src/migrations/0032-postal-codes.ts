import type { Migration } from '../lib/storage/migration.ts';

/** Adds the postal codes that operators import. */
export const postalCodes: Migration = {
  name: '0032-postal-codes',
  up: ({ engine, int, text }) => [
    `create table postal_codes (
       country ${text} not null, code ${text} not null, latitude ${int} not null, longitude ${int} not null,
       places ${int} not null, import_number ${int} not null, primary key (country, code)
     ) ${engine === 'sqlite' ? 'without rowid, strict' : ''}`,
  ],
};
