import type { Migration } from '../lib/storage/migration.ts';

/** Adds the round robin of deliveries between the accounts that caused their events. */
export const deliveryTurns: Migration = {
  name: '0037-delivery-turns',
  work: { title: 'adds the turns of deliveries', table: 'deliveries', rowUs: { sqlite: 1.5, postgres: 0.3 } },
  up: ({ int }) => [
    ...['cause_id', 'turn', 'ahead'].map(column => `alter table deliveries add column ${column} ${int}`),
    'create index deliveries_by_turn on deliveries (webhook_id, turn, due_at) where due_at is not null',
    `create index deliveries_by_cause on deliveries (webhook_id, cause_id, turn)
       where status = 'pending' and turn is not null`,
    'create index deliveries_ahead on deliveries (webhook_id, place) where ahead = 1',
    `insert into facts (name, value) values ('dispatched-ahead', '0')`,
  ],
};
