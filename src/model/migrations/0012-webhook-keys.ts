import type { Dialect, Migration } from '../../lib/storage/migration.ts';

/**
 * Adds to each webhook the key that made it, and its scopes; to each key the one that replaced it. Allows further reasons
 * for disabling a webhook. Keys that could manage webhooks keep being able to read them.
 */
export const webhookKeys: Migration = {
  name: '0012-webhook-keys',
  up: dialect => [
    ...(dialect.engine === 'sqlite' ? recreateWebhooks(dialect) : alterWebhooks(dialect)),
    `create index webhooks_by_key on webhooks (key_id) where key_id is not null`,
    `alter table keys add column replaced_by ${dialect.text}`,
    `update keys set scopes = replace(scopes, 'webhooks:write', 'webhooks:read webhooks:write')`,
  ],
};

function alterWebhooks({ text }: Dialect): string[] {
  return [
    'alter table webhooks drop constraint webhooks_disabled_reason_check',
    `alter table webhooks add column key_id ${text}`,
    `alter table webhooks add column scopes ${text} not null default '*'`,
  ];
}

/** SQLite cannot drop a constraint. The ids of deleted webhooks are still not reused. */
function recreateWebhooks({ id, int, text, end }: Dialect): string[] {
  const columns = `id, account_id, url, description, types, category_ids, status, disabled_reason, behind_place, failing_since,
    due_at, deleted_at, version, created_at, updated_at, pending, waits_up_to`;
  return [
    'pragma defer_foreign_keys = on',
    `create table webhooks_before as select ${columns} from webhooks`,
    `create table webhook_ids as select seq from sqlite_sequence where name = 'webhooks'`,
    'drop table webhooks',
    `create table webhooks (
       id ${id}, account_id ${int} not null, url ${text} not null, description ${text}, types ${text},
       category_ids ${text}, status ${text} not null check (status in ('inactive', 'active', 'disabled')),
       disabled_reason ${text}, behind_place ${int} not null default 0, failing_since ${int}, due_at ${int},
       deleted_at ${int}, version ${int} not null default 1, created_at ${int} not null, updated_at ${int} not null,
       pending ${int} not null default 0, waits_up_to ${int}, key_id ${text}, scopes ${text} not null default '*',
       check ((status = 'disabled') = (disabled_reason is not null))
     ) ${end}`,
    `insert into webhooks (${columns}) select ${columns} from webhooks_before`,
    `delete from sqlite_sequence where name = 'webhooks'`,
    `insert into sqlite_sequence (name, seq) select 'webhooks', seq from webhook_ids`,
    'drop table webhooks_before',
    'drop table webhook_ids',
    'create index webhooks_by_account on webhooks (account_id, id)',
    `create index webhooks_active on webhooks (id) where status = 'active'`,
    `create index webhooks_due on webhooks (due_at) where status = 'active' and failing_since is null and due_at is not null`,
    `create index webhooks_failing_due on webhooks (due_at)
       where status = 'active' and failing_since is not null and due_at is not null`,
    'create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null',
    `create index webhooks_waiting on webhooks (id) where status = 'active' and waits_up_to is not null`,
    `create index webhooks_unused on webhooks (updated_at)
       where status <> 'active' and (pending > 0 or waits_up_to is not null)`,
  ];
}
