import type { Migration } from '../../lib/storage/migration.ts';

/** Adds messages and the attempts to mail them. */
export const messages: Migration = {
  name: '0003-messages-arrive',
  up: ({ id, int, text, end }) => [
    `create table messages (
       id ${id}, account_id ${int}, to_account_id ${int}, pet_id ${int}, reply_to ${text}, text ${text} not null,
       status ${text} not null check (status in ('queued', 'delivered', 'failed')),
       arrived_at ${int}, due_at ${int}, leased ${int} not null default 0, takes ${int} not null default 0,
       version ${int} not null default 1, created_at ${int} not null, updated_at ${int} not null,
       check ((status = 'queued') = (arrived_at is null or due_at is not null))
     ) ${end}`,
    'create index messages_by_sender on messages (account_id, id)',
    'create index messages_by_recipient on messages (to_account_id, id) where arrived_at is not null',
    'create index messages_to_arrive on messages (id) where arrived_at is null',
    'create index messages_to_mail on messages (due_at) where due_at is not null',
    'create index messages_leased on messages (id) where leased = 1',
    `create table message_attempts (
       message_id ${int} not null references messages (id), number ${int} not null, at ${int} not null,
       outcome ${text} not null check (outcome in ('delivered', 'failed')), reason ${text},
       primary key (message_id, number)
     ) ${end}`,
    'create index accounts_of_admins on accounts (id) where admin = 1',
  ],
};
