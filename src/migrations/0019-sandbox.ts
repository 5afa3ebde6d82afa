import type { Migration } from '../lib/storage/migration.ts';

/** Marks the accounts of the sandbox. */
export const sandbox: Migration = {
  name: '0019-sandbox',
  up: ({ int }) => [
    `alter table accounts add column sandbox ${int}`,
    'create index accounts_in_sandbox on accounts (id) where sandbox = 1',
  ],
};
