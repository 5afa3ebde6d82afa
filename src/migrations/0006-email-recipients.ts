import type { Migration } from '../lib/storage/migration.ts';

/** A message that a mail server took for some of those it is for is mailed on to the others alone. */
export const mailComesToAll: Migration = {
  name: '0006-mail-comes-to-all',
  up: ({ text }) => [`alter table messages add column mail_left ${text}`],
};
