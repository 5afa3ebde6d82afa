import type { Migration } from '../../lib/storage/migration.ts';

/**
 * Adds how each member learns of new messages, the queue of these e-mails, and the members in links that stop them.
 * Without a choice, nothing changes: messages go to the address of the account.
 */
export const messageNotices: Migration = {
  name: '0051-message-notices',
  up: ({ id, int, text, end }) => [
    `alter table members add column notices ${text}`,
    `create table message_notices (
       id ${id}, account_id ${int} not null, person_id ${int} not null, kind ${text} not null,
       message_id ${int} not null, collects ${int}, created_at ${int} not null, due_at ${int} not null,
       failures ${int} not null default 0
     ) ${end}`,
    'create index message_notices_due on message_notices (due_at)',
    'create unique index message_notices_by_member on message_notices (account_id, person_id, collects)',
    `alter table mail_stops add column account_id ${int}`,
    `alter table mail_stops add column person_id ${int}`,
  ],
};
