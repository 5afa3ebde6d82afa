import type { Migration } from '../../lib/storage/migration.ts';

/** Numbers the messages from one account to one recipient, and counts the bytes that each account stores. */
export const messageBounds: Migration = {
  name: '0011-message-bounds',
  up: ({ int, end }) => [
    `alter table messages add column sequence ${int}`,
    `create unique index messages_by_sequence on messages (account_id, coalesce(to_account_id, 0), sequence)
       where sequence is not null`,
    `create index messages_done on messages (created_at) where status <> 'queued'`,
    `create table stored_bytes (account_id ${int} primary key, bytes ${int} not null) ${end}`,
    `insert into stored_bytes (account_id, bytes)
       select account_id, sum(bytes) from (
         select account_id, octet_length(text) + coalesce(octet_length(reply_to), 0) as bytes
           from messages where account_id is not null
         union all
         select account_id, octet_length(body) as bytes from idempotency
       ) as stored group by account_id`,
  ],
};
