import type { Migration } from '../lib/storage/migration.ts';

/** Adds the suspension and deletion of accounts, and the networks of keys. */
export const accountLifecycle: Migration = {
  name: '0013-account-lifecycle',
  up: ({ int, text }) => [
    `alter table accounts add column suspended_at ${int}`,
    `alter table accounts add column delete_at ${int}`,
    `alter table accounts add column deleted_at ${int}`,
    'create index accounts_to_delete on accounts (delete_at) where delete_at is not null',
    `alter table keys add column networks ${text}`,
  ],
};
