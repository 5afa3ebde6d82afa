import type { Migration } from '../lib/storage/migration.ts';

/** Adds the queue of e-mail about accounts, and whether the owner of an account asked for its deletion. */
export const accountEmails: Migration = {
  name: '0020-account-emails',
  up: ({ id, int, text, end }) => [
    `alter table accounts add column deletion_by_owner ${int}`,
    `create table account_emails (
       id ${id}, kind ${text} not null, account_id ${int}, email ${text} not null, url ${text} not null,
       created_at ${int} not null, due_at ${int} not null, failures ${int} not null
     ) ${end}`,
    'create index account_emails_due on account_emails (due_at)',
    'create index account_emails_by_account on account_emails (account_id)',
    'create index account_emails_by_time on account_emails (created_at)',
  ],
};
