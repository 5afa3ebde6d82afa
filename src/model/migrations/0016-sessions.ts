import type { Migration } from '../../lib/storage/migration.ts';

/** Adds what people need to use the pages: passwords, sessions, links by e-mail, and names of keys. */
export const sessions: Migration = {
  name: '0016-sessions',
  up: ({ id, int, text, end }) => [
    `alter table accounts add column email_confirmed_at ${int}`,
    `alter table keys add column name ${text}`,
    `create table passwords (account_id ${int} primary key, hash ${text} not null, changed_at ${int} not null) ${end}`,

    `create table sessions (
       id ${id}, account_id ${int} not null, hash ${text} not null, created_at ${int} not null, last_seen_at ${int} not null,
       expires_at ${int} not null, address ${text} not null, user_agent ${text} not null
     ) ${end}`,
    'create unique index sessions_by_hash on sessions (hash)',
    'create index sessions_by_account on sessions (account_id, id)',
    'create index sessions_by_expiry on sessions (expires_at)',

    `create table links (
       id ${id}, account_id ${int} not null, purpose ${text} not null, hash ${text} not null, email ${text} not null,
       created_at ${int} not null, expires_at ${int} not null
     ) ${end}`,
    'create unique index links_by_hash on links (hash)',
    'create index links_by_account on links (account_id)',
    'create index links_by_expiry on links (expires_at)',

    `create table attempts (subject ${text} primary key, since ${int} not null, count ${int} not null) ${end}`,
    'create index attempts_by_time on attempts (since)',
  ],
};
