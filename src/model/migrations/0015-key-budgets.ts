import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the budgets of keys, and counts the days of accounts and of keys by one name, as `minute_counts` does. */
export const keyBudgets: Migration = {
  name: '0015-key-budgets',
  up: ({ int, text, end }) => [
    `alter table keys add column per_minute ${int}`,
    `alter table keys add column per_day ${int}`,
    'alter table day_counts rename to account_day_counts',
    'drop index day_counts_by_day',
    `create table day_counts (
       subject ${text} not null, day ${int} not null, node ${text} not null, reserved ${int} not null,
       primary key (subject, day, node)
     ) ${end}`,
    `insert into day_counts (subject, day, node, reserved)
       select 'account ' || deployment || ' ' || account_id, day, node, reserved from account_day_counts`,
    'drop table account_day_counts',
    'create index day_counts_by_day on day_counts (day)',
  ],
};
