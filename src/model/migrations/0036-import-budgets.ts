import type { Migration } from '../../lib/storage/migration.ts';

/** Adds what counts against the budgets of imports: the rows of each account and day, and the bytes of its events. */
export const importBudgets: Migration = {
  name: '0036-import-budgets',
  up: ({ int, end }) => [
    `create table imported_rows (
       account_id ${int} not null, day ${int} not null, rows ${int} not null, primary key (account_id, day)
     ) ${end}`,
    'create index imported_rows_by_day on imported_rows (day)',
    `create table event_bytes (
       account_id ${int} not null, day ${int} not null, slot ${int} not null, bytes ${int} not null,
       primary key (account_id, day, slot)
     ) ${end}`,
    'create index event_bytes_by_day on event_bytes (day)',
    `alter table imports add column charged_rows ${int} not null default 0`,
    `alter table imports add column charged_day ${int}`,
  ],
};
