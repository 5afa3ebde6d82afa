import type { Migration } from '../../lib/storage/migration.ts';

const builtInCategories = [
  'Dog',
  'Cat',
  'Rabbit',
  'Small & Furry',
  'Horse',
  'Bird',
  'Scales, Fins & Other',
  'Barnyard',
];

/** Creates the first schema, with the built-in categories. */
export const initialSchema: Migration = {
  name: '0001-the-house-stands',
  up: ({ id, int, text, end }) => [
    `create table categories (
       id ${int} primary key, name ${text} not null, placeholder ${int} not null, created_at ${int} not null
     ) ${end}`,
    `insert into categories (id, name, placeholder, created_at) values
       ${builtInCategories.map((name, index) => `(${index + 1}, '${name}', 0, 0)`).join(', ')}`,

    `create table pets (
       id ${id}, name ${text} not null, category_id ${int} not null references categories (id),
       status ${text} not null check (status in ('available', 'pending', 'sold')),
       account_id ${int} not null, created_at ${int} not null, updated_at ${int} not null
     ) ${end}`,
    'create index pets_by_status on pets (status, id)',
    'create index pets_by_category on pets (category_id, id)',
    'create index pets_by_name on pets (name, id, category_id, status)',
    `create table pet_counts (
       kind ${text} not null, key ${text} not null, slot ${int} not null, pets ${int} not null,
       primary key (kind, key, slot)
     ) ${end}`,

    `create table accounts (
       id ${id}, email ${text} not null unique, name ${text} not null,
       plan ${text} not null check (plan in ('free', 'pro', 'business', 'enterprise')),
       per_minute ${int}, per_day ${int}, admin ${int} not null, created_at ${int} not null,
       check ((plan = 'enterprise') = (per_minute is not null)), check ((per_minute is null) = (per_day is null))
     ) ${end}`,
    `create table keys (
       id ${text} primary key, account_id ${int} not null references accounts (id),
       deployment ${text} not null check (deployment in ('production', 'staging')),
       hash ${text} not null, scopes ${text} not null, created_at ${int} not null,
       expires_at ${int}, revoked_at ${int}, last_used_at ${int}
     ) ${end}`,
    'create index keys_by_account on keys (account_id, id)',
    `create table bans (
       key_id ${text} primary key references keys (id), step ${int} not null, banned_at ${int} not null,
       until ${int} not null, lifted_at ${int}
     ) ${end}`,
    `create table day_counts (
       account_id ${int} not null, deployment ${text} not null, day ${int} not null, node ${text} not null,
       reserved ${int} not null, primary key (account_id, deployment, day, node)
     ) ${end}`,
    `create table minute_counts (
       subject ${text} not null, second ${int} not null, requests ${int} not null, primary key (subject, second)
     ) ${end}`,
    `create table nodes (id ${text} primary key, started_at ${int} not null, seen_at ${int} not null) ${end}`,
    `create table facts (name ${text} primary key, value ${text} not null) ${end}`,
    `create table announcements (topic ${text} primary key, version ${int} not null) ${end}`,
  ],
};
