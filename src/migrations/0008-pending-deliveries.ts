import type { Migration } from '../lib/storage/migration.ts';

/** Counts the pending deliveries of each webhook, and adds the end of the events that wait in the log. */
export const pendingDeliveries: Migration = {
  name: '0008-pending-deliveries',
  up: ({ int }) => [
    `alter table webhooks add column pending ${int} not null default 0`,
    `alter table webhooks add column waits_up_to ${int}`,
    `update webhooks set pending =
       (select count(*) from deliveries where webhook_id = webhooks.id and deliveries.status = 'pending')`,
    `create index webhooks_waiting on webhooks (id) where status = 'active' and waits_up_to is not null`,
    `create index webhooks_unused on webhooks (updated_at)
       where status <> 'active' and (pending > 0 or waits_up_to is not null)`,
    'create index redeliveries_by_webhook on redeliveries (webhook_id, id)',
  ],
};
