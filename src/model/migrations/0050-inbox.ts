import type { Migration } from '../../lib/storage/migration.ts';

/**
 * Adds what the recipient of messages stores about them: what it has read and put away, notes, replies by e-mail, and
 * blocked senders. Messages that arrived before count as read.
 */
export const inbox: Migration = {
  name: '0050-inbox',
  work: { title: 'indexes the messages of inboxes', table: 'messages', rowUs: { sqlite: 9, postgres: 4.4 } },
  up: ({ id, int, text, end }) => [
    `alter table messages add column unread ${int}`,
    `alter table messages add column folder ${text}`,
    `alter table messages add column assigned_to ${int}`,
    'create index messages_open on messages (to_account_id, id) where arrived_at is not null and folder is null',
    'create index messages_unread on messages (to_account_id, id) where unread is not null and folder is null',
    'create index messages_by_folder on messages (to_account_id, folder, id) where folder is not null',
    'create index messages_by_pet on messages (to_account_id, pet_id, folder, id) where pet_id is not null',
    `create table message_notes (
       id ${id}, message_id ${int} not null references messages (id) on delete cascade, account_id ${int} not null,
       person_id ${int}, text ${text} not null, created_at ${int} not null
     ) ${end}`,
    'create index message_notes_by_message on message_notes (message_id, id)',
    'create index message_notes_by_account on message_notes (account_id, id)',
    `create table message_replies (
       id ${id}, message_id ${int} not null references messages (id) on delete cascade, account_id ${int} not null,
       person_id ${int}, email ${text} not null, url ${text} not null, text ${text} not null, created_at ${int} not null,
       due_at ${int}, failures ${int} not null default 0, sent_at ${int}
     ) ${end}`,
    'create index message_replies_by_message on message_replies (message_id, id)',
    'create index message_replies_by_account on message_replies (account_id, created_at)',
    'create index message_replies_due on message_replies (due_at) where due_at is not null',
    `create table blocked_senders (
       id ${id}, account_id ${int} not null, sender ${text} not null, created_at ${int} not null,
       last_at ${int} not null
     ) ${end}`,
    'create unique index blocked_senders_by_sender on blocked_senders (account_id, sender)',
    'create index blocked_senders_by_use on blocked_senders (account_id, last_at)',
    'create index blocked_senders_by_time on blocked_senders (last_at)',
    `create table mail_stops (
       id ${id}, hash ${text} not null, recipient ${text} not null, created_at ${int} not null, stopped_at ${int}
     ) ${end}`,
    'create unique index mail_stops_by_hash on mail_stops (hash)',
    'create index mail_stops_by_recipient on mail_stops (recipient) where stopped_at is not null',
    'create index mail_stops_unused on mail_stops (created_at) where stopped_at is null',
  ],
};
