import type { IssuedKey } from '../keys/key.ts';
import { createKey } from '../keys/keys.ts';
import { type Database, query } from '../schema.ts';

/**
 * A key for staging, of this account, the first time that it is asked for; `undefined` ever after. The token is in it
 * this once.
 */
export function giveFirstKey(registry: Database, accountId: number): Promise<IssuedKey | undefined> {
  return registry.write(async tx => {
    const first = (await tx.run(noteFirstKey, {})) === 1;
    return first ? createKey(tx, { accountId, deployment: 'staging' }) : undefined;
  });
}

const noteFirstKey = query(db =>
  db
    .insertInto('facts')
    .values({ name: 'first-key', value: 'given' })
    .onConflict(conflict => conflict.column('name').doNothing()),
);
