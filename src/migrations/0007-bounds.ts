import type { Migration } from '../lib/storage/migration.ts';

/** Adds the number of open orders of each account. */
export const bounds: Migration = {
  name: '0007-bounds',
  up: ({ int, end }) => [
    `create table order_counts (account_id ${int} primary key, open ${int} not null) ${end}`,
    `insert into order_counts (account_id, open)
       select account_id, count(*) from orders where status in ('placed', 'approved') group by account_id`,
  ],
};
