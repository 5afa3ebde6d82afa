import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the tree of categories, versions and prices of pets, holds, orders, events and idempotency keys. */
export const holdsAndOrders: Migration = {
  name: '0002-the-store-opens',
  work: { title: 'records the creation of each pet', table: 'pets', rowUs: { sqlite: 4, postgres: 5.5 } },
  up: ({ engine, id, int, text, end }) => [
    `alter table categories add column slug ${text} not null default ''`,
    `alter table categories add column parent_id ${int} references categories (id)`,
    `alter table categories add column account_id ${int}`,
    `alter table categories add column version ${int} not null default 1`,
    `alter table categories add column updated_at ${int} not null default 0`,
    `update categories set updated_at = created_at, slug = case id
       when 1 then 'dog' when 2 then 'cat' when 3 then 'rabbit' when 4 then 'small-furry' when 5 then 'horse'
       when 6 then 'bird' when 7 then 'scales-fins-other' when 8 then 'barnyard' else 'category-' || id end`,
    'create unique index categories_by_slug on categories (slug)',
    'create index categories_by_parent on categories (parent_id, id)',

    `alter table pets add column version ${int} not null default 1`,
    `alter table pets add column status_reason ${text}`,
    `alter table pets add column price_amount ${int}`,
    `alter table pets add column price_currency ${text}`,
    `alter table pets add column reserved_until ${int}`,
    'create index pets_by_end on pets (reserved_until) where reserved_until is not null',

    `create table holds (
       id ${id}, account_id ${int} not null, note ${text}, expires_at ${int} not null,
       ended_at ${int}, outcome ${text} check (outcome in ('released', 'used', 'expired')),
       version ${int} not null default 1, created_at ${int} not null, updated_at ${int} not null,
       check ((ended_at is null) = (outcome is null))
     ) ${end}`,
    'create index holds_by_account on holds (account_id, id)',
    'create index holds_by_end on holds (expires_at) where ended_at is null',
    'create index holds_not_ended on holds (account_id, id) where ended_at is null',

    `create table orders (
       id ${id}, pet_id ${int} not null, account_id ${int} not null, owner_id ${int} not null, hold_id ${int},
       status ${text} not null
         check (status in ('placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired')),
       quantity ${int} not null, ship_date ${int}, note ${text}, price_amount ${int}, price_currency ${text},
       expires_at ${int}, version ${int} not null default 1, created_at ${int} not null, updated_at ${int} not null
     ) ${end}`,
    'create index orders_by_account on orders (account_id, id)',
    'create index orders_by_owner on orders (owner_id, id)',
    'create index orders_by_pet on orders (pet_id, id)',
    'create index orders_by_status on orders (status, id)',
    'create index orders_by_status_and_account on orders (status, account_id, id)',
    'create index orders_by_status_and_owner on orders (status, owner_id, id)',
    `create index orders_by_end on orders (status, expires_at) where status = 'placed'`,

    // The unique index allows one active hold or order for each pet.
    `create table reservations (
       id ${id}, pet_id ${int} not null, owner_id ${int} not null, hold_id ${int} references holds (id),
       order_id ${int} references orders (id), until ${int}, active ${int} not null,
       check ((hold_id is null) <> (order_id is null))
     ) ${end}`,
    'create unique index reservations_in_force on reservations (pet_id) where active = 1',
    'create index reservations_by_hold on reservations (hold_id, pet_id) where hold_id is not null',
    'create index reservations_by_pet on reservations (pet_id, hold_id) where hold_id is not null',
    'create index reservations_by_order on reservations (order_id) where order_id is not null',
    'create index reservations_by_owner on reservations (owner_id, hold_id) where hold_id is not null',

    `create table events (
       id ${id}, at ${int} not null, kind ${text} not null, action ${text} not null, subject_id ${int} not null,
       account_id ${int}, data ${text} not null${engine === 'postgres' ? `, seq ${int} unique` : ''}
     ) ${end}`,
    'create index events_by_subject on events (kind, subject_id, id)',
    'create index events_by_time on events (at)',
    ...(engine === 'postgres' ? ['create index events_without_order on events (id) where seq is null'] : []),
    engine === 'postgres'
      ? `insert into events (at, kind, action, subject_id, account_id, data, seq)
         select created_at, 'pet', 'created', id, account_id,
           json_build_object('pet', json_build_object('name', name, 'categoryId', category_id, 'status', status))::text,
           row_number() over (order by id)
         from pets order by id`
      : `insert into events (at, kind, action, subject_id, account_id, data)
         select created_at, 'pet', 'created', id, account_id,
           json_object('pet', json_object('name', name, 'categoryId', category_id, 'status', status))
         from pets order by id`,

    `create table idempotency (
       account_id ${int} not null, key ${text} not null, fingerprint ${text} not null, status ${int},
       body ${text} not null, location ${text}, etag ${text}, created_at ${int} not null, primary key (account_id, key)
     ) ${end}`,
    'create index idempotency_by_time on idempotency (created_at)',
  ],
};
