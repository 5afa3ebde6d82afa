import type { Migration } from '../lib/storage/migration.ts';

/** Adds the recipients that a mail server has not accepted yet. */
export const emailRecipients: Migration = {
  name: '0006-mail-comes-to-all',
  up: ({ text }) => [`alter table messages add column mail_left ${text}`],
};
