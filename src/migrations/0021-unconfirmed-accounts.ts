import type { Migration } from '../lib/storage/migration.ts';

/** Adds until when the address of an account must be confirmed. Accounts that exist need no confirmation. */
export const unconfirmedAccounts: Migration = {
  name: '0021-unconfirmed-accounts',
  up: ({ int }) => [
    `alter table accounts add column confirm_by ${int}`,
    'create index accounts_to_confirm on accounts (confirm_by) where confirm_by is not null',
  ],
};
