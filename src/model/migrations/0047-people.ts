import type { Migration } from '../../lib/storage/migration.ts';

/** The fact that nodes of the previous release may have changed the accounts of founders; see `carryOverFounders`. */
export const FOUNDERS_FACT = 'founders-to-carry-over';

/**
 * Separates people from accounts. The owner of an existing account gets its id, so that the rows of passwords, sessions,
 * links and e-mails, whose `account_id` is now the id of a person, stay valid, also for nodes of the previous release.
 */
export const people: Migration = {
  name: '0047-people',
  up: ({ engine, id, int, text, end }) => [
    `create table people (
       id ${int} primary key, email ${text} not null, name ${text} not null, created_at ${int} not null,
       email_confirmed_at ${int}
     ) ${end}`,
    'create unique index people_by_email on people (email)',
    `create table members (
       account_id ${int} not null, person_id ${int} not null, role ${text} not null, joined_at ${int} not null,
       left_at ${int}, primary key (account_id, person_id)
     ) ${end}`,
    'create index members_by_person on members (person_id)',
    `create table invitations (
       id ${id}, account_id ${int} not null, email ${text} not null, role ${text} not null, hash ${text},
       mailed ${int} not null, invited_by ${int} not null, created_at ${int} not null, expires_at ${int} not null
     ) ${end}`,
    'create unique index invitations_by_hash on invitations (hash)',
    'create unique index invitations_by_address on invitations (account_id, email)',
    'create index invitations_by_expiry on invitations (expires_at)',
    `alter table sessions add column current_account_id ${int}`,
    `alter table keys add column person_id ${int}`,
    `insert into people (id, email, name, created_at, email_confirmed_at)
     select id, email, name, created_at, email_confirmed_at from accounts where deleted_at is null and sandbox is null`,
    `insert into members (account_id, person_id, role, joined_at)
     select id, id, 'owner', created_at from accounts where deleted_at is null and sandbox is null`,
    // No other process serves an SQLite database meanwhile.
    ...(engine === 'postgres'
      ? [`insert into facts (name, value) select '${FOUNDERS_FACT}', '' where exists (select 1 from accounts)`]
      : []),
  ],
};
