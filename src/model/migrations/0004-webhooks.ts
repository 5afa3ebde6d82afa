import type { Migration } from '../../lib/storage/migration.ts';

/** Adds webhooks with their secrets, deliveries and delivery attempts. */
export const webhooks: Migration = {
  name: '0004-webhooks-go-out',
  up: ({ id, int, text, end }) => [
    `create table webhooks (
       id ${id}, account_id ${int} not null, url ${text} not null, description ${text}, types ${text},
       category_ids ${text}, status ${text} not null check (status in ('inactive', 'active', 'disabled')),
       disabled_reason ${text} check (disabled_reason in ('gone', 'failing', 'operator')),
       behind_place ${int} not null default 0, failing_since ${int}, due_at ${int}, deleted_at ${int},
       version ${int} not null default 1, created_at ${int} not null, updated_at ${int} not null,
       check ((status = 'disabled') = (disabled_reason is not null))
     ) ${end}`,
    'create index webhooks_by_account on webhooks (account_id, id)',
    `create index webhooks_active on webhooks (id) where status = 'active'`,
    `create index webhooks_due on webhooks (due_at) where status = 'active' and failing_since is null and due_at is not null`,
    `create index webhooks_failing_due on webhooks (due_at)
       where status = 'active' and failing_since is not null and due_at is not null`,

    'create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null',

    `create table webhook_secrets (
       id ${id}, webhook_id ${int} not null references webhooks (id), secret ${text} not null,
       created_at ${int} not null, expires_at ${int}
     ) ${end}`,
    'create index webhook_secrets_by_webhook on webhook_secrets (webhook_id, id)',
    'create index webhook_secrets_ended on webhook_secrets (expires_at) where expires_at is not null',

    `create table deliveries (
       id ${id}, webhook_id ${int} not null references webhooks (id), place ${int}, type ${text} not null,
       lane ${text} not null, status ${text} not null check (status in ('pending', 'delivered', 'failed')),
       due_at ${int}, leased ${int} not null default 0, takes ${int} not null default 0,
       failures ${int} not null default 0, created_at ${int} not null, updated_at ${int} not null,
       check (status = 'pending' or (due_at is null and leased = 0))
     ) ${end}`,
    'create index deliveries_by_webhook on deliveries (webhook_id, id)',
    'create index deliveries_by_status on deliveries (webhook_id, status, id)',
    'create index deliveries_by_place on deliveries (webhook_id, place)',
    'create index deliveries_due on deliveries (webhook_id, due_at, id) where due_at is not null',
    `create index deliveries_in_lane on deliveries (webhook_id, lane, id) where status = 'pending'`,
    `create index deliveries_done on deliveries (updated_at) where status <> 'pending'`,
    'create index deliveries_leased on deliveries (webhook_id, due_at) where leased = 1',

    `create table delivery_attempts (
       delivery_id ${int} not null, number ${int} not null, at ${int} not null, duration_ms ${int} not null,
       status ${int}, fault ${text}, answer ${text}, primary key (delivery_id, number),
       check ((status is null) <> (fault is null))
     ) ${end}`,

    `create table redeliveries (
       id ${id}, webhook_id ${int} not null references webhooks (id), place ${int} not null, up_to ${int} not null,
       since ${int} not null, created_at ${int} not null
     ) ${end}`,
    `insert into facts (name, value) values ('dispatched', '0')`,
  ],
};
