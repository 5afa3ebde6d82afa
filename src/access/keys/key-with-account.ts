import type { Kysely } from 'kysely';
import { type Params, query, type Reader, selectJsonTexts, type Tables } from '../../model/schema.ts';

/** Returns the key with this id and the plan of its account, in one query; `undefined` if it does not exist. */
export function findKeyWithAccount(reader: Reader, id: string) {
  return reader.first(keyWithAccountById, { id });
}

/** Returns the keys with these ids, like `findKeyWithAccount`. */
export function findKeysWithAccount(reader: Reader, ids: readonly string[]) {
  return reader.all(keysWithAccountById, { ids: JSON.stringify(ids) });
}

/** A key with the plan of its account, as stored: all data that authentication needs (see `Tables`). */
export type KeyWithAccount = NonNullable<Awaited<ReturnType<typeof findKeyWithAccount>>>;

const selectWithAccount = (db: Kysely<Tables>) =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.id', 'keys.account_id')
    .select([
      'keys.id',
      'keys.account_id',
      'keys.deployment',
      'keys.hash',
      'keys.scopes',
      'keys.expires_at',
      'keys.revoked_at',
      'keys.replaced_by',
      'keys.networks',
      'keys.per_minute as key_per_minute',
      'keys.per_day as key_per_day',
      'accounts.admin',
      'accounts.plan',
      'accounts.per_minute',
      'accounts.per_day',
      'accounts.suspended_at',
      'accounts.sandbox',
    ]);

const keyWithAccountById = query((db, p: Params<{ id: string }>) => selectWithAccount(db).where('keys.id', '=', p.id));

const keysWithAccountById = query((db, p: Params<{ ids: string }>, engine) =>
  selectWithAccount(db).where('keys.id', 'in', selectJsonTexts(p.ids, engine)),
);
