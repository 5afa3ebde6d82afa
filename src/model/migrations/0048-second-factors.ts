import type { Migration } from '../../lib/storage/migration.ts';

/**
 * Adds the second factors of people, and the sign-ins that wait for one. Sign-ins have a table of their own, so that
 * nodes of the previous release never accept one as a session.
 */
export const secondFactors: Migration = {
  name: '0048-second-factors',
  up: ({ id, int, text, end }) => [
    `create table authenticator_apps (
       person_id ${int} primary key, secret ${text}, created_at ${int} not null, confirmed_at ${int},
       last_step ${int} not null, last_used_at ${int}
     ) ${end}`,
    `create table recovery_codes (
       person_id ${int} not null, hash ${text} not null, created_at ${int} not null, primary key (person_id, hash)
     ) ${end}`,
    `create table passkeys (
       id ${id}, person_id ${int} not null, credential_id ${text} not null, public_key ${text} not null,
       algorithm ${int} not null, sign_count ${int} not null, backed_up ${int} not null, name ${text} not null,
       created_at ${int} not null, last_used_at ${int}, last_challenge_at ${int} not null
     ) ${end}`,
    'create unique index passkeys_by_credential on passkeys (credential_id)',
    'create index passkeys_by_person on passkeys (person_id)',
    `create table sign_ins (
       id ${id}, person_id ${int} not null, account_id ${int}, hash ${text} not null, expires_at ${int} not null
     ) ${end}`,
    'create unique index sign_ins_by_hash on sign_ins (hash)',
    'create index sign_ins_by_person on sign_ins (person_id)',
    'create index sign_ins_by_expiry on sign_ins (expires_at)',
    `alter table sessions add column confirmed_at ${int}`,
    `alter table accounts add column second_factor_required ${int}`,
  ],
};
