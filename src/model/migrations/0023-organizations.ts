import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the public profiles of accounts. */
export const organizations: Migration = {
  name: '0023-organizations',
  up: ({ int, text, end }) => [
    `create table organizations (
       id ${int} primary key, name ${text} not null, name_key ${text} not null,
       address_line1 ${text}, address_line2 ${text}, city ${text}, state ${text}, postal_code ${text}, country ${text},
       location ${text}, phone ${text}, email ${text}, website ${text},
       hours ${text}, mission ${text}, adoption ${text}, social_media ${text},
       created_at ${int} not null, updated_at ${int} not null, hidden ${int} not null default 0, version ${int} not null
     ) ${end}`,
    'create index organizations_by_name on organizations (name_key, id)',
    'create index organizations_hidden on organizations (id) where hidden = 1',
    `create index accounts_suspended on accounts (id)
       where suspended_at is not null and (deleted_at is null or delete_at is not null)`,
  ],
};
