import type { Migration } from '../../lib/storage/migration.ts';

/** Adds imports: their rows until they are applied, the identifiers of these rows, and what is wrong with them. */
export const imports: Migration = {
  name: '0027-imports',
  up: ({ id, int, text, end }) => [
    `create table imports (
       id ${id}, account_id ${int} not null, plan ${text} not null, origin ${text} not null, mode ${text} not null,
       preset ${text} not null, format ${text} not null, dry_run ${int} not null, confirmed ${int}, currency ${text},
       columns ${text}, state ${text} not null, chunks ${int} not null, next_chunk ${int} not null, after_id ${int} not null,
       up_to_id ${int} not null, row_count ${int} not null, rows_read ${int} not null,
       created ${int} not null, updated ${int} not null, unchanged ${int} not null, failed ${int} not null,
       removed ${int} not null, warnings ${int} not null, removals ${int}, existing ${int}, code ${text}, message ${text},
       created_at ${int} not null, started_at ${int}, ended_at ${int}, due_at ${int}
     ) ${end}`,
    'create index imports_by_account on imports (account_id, id)',
    'create unique index imports_in_progress on imports (account_id) where ended_at is null',
    'create index imports_due on imports (due_at) where due_at is not null',
    'create index imports_ended on imports (ended_at) where ended_at is not null',
    `create table import_chunks (
       import_id ${int} not null, number ${int} not null, rows ${text} not null, primary key (import_id, number)
     ) ${end}`,
    `create table import_keys (
       import_id ${int} not null, key ${text} not null, line ${int} not null, primary key (import_id, key)
     ) ${end}`,
    `create table import_errors (
       import_id ${int} not null, number ${int} not null, error ${text} not null, primary key (import_id, number)
     ) ${end}`,
  ],
};
