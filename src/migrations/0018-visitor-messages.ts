import type { Migration } from '../lib/storage/migration.ts';

/** Adds the messages of visitors that wait until their e-mail address is confirmed. */
export const visitorMessages: Migration = {
  name: '0018-visitor-messages',
  up: ({ id, int, text, end }) => [
    `create table visitor_messages (
       id ${id}, pet_id ${int} not null, name ${text} not null, email ${text} not null, text ${text} not null,
       url ${text} not null, hash ${text}, created_at ${int} not null, expires_at ${int} not null, due_at ${int},
       failures ${int} not null default 0
     ) ${end}`,
    'create unique index visitor_messages_by_hash on visitor_messages (hash)',
    'create index visitor_messages_due on visitor_messages (due_at) where due_at is not null',
    'create index visitor_messages_by_expiry on visitor_messages (expires_at)',
  ],
};
