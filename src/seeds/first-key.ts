import type { IssuedKey } from '../keys/key.ts';
import { createKey } from '../keys/keys.ts';
import { type Database, query } from '../schema.ts';

/**
 * createFirstKey creates a staging key for an account, once in the life of the accounts database. Returns the key with
 * its token, or `undefined` if the first key was created before.
 */
export function createFirstKey(accountsDatabase: Database, accountId: number): Promise<IssuedKey | undefined> {
  return accountsDatabase.write(async tx => {
    const isFirst = (await tx.run(recordFirstKey, {})) === 1;
    return isFirst ? createKey(tx, { accountId, deployment: 'staging' }) : undefined;
  });
}

const recordFirstKey = query(db =>
  db
    .insertInto('facts')
    .values({ name: 'first-key', value: 'given' })
    .onConflict(conflict => conflict.column('name').doNothing()),
);
