import { type Params, query, type Transaction } from '../../schema.ts';
import { deleteCredentials } from '../../sessions/credentials.ts';
import { eraseAccount } from '../accounts.ts';

/**
 * Deletes accounts whose address was not confirmed in time; a retention rule. It keeps an account that has a key, an animal
 * or a session, and one with a link that still works. Unlike other deletions it leaves no row, so that nobody fills the
 * database by signing up. Its events stay without its name.
 */
export async function deleteUnconfirmedAccounts(tx: Transaction, limit: number): Promise<number> {
  const accounts = await tx.all(unconfirmed, { now: tx.now, limit: Math.min(limit, BATCH_SIZE) });
  for (const { id } of accounts) {
    await deleteCredentials(tx, id);
    await eraseAccount(tx, id);
    await tx.run(deleteAccount, { id });
  }
  return accounts.length;
}

/** The accounts per transaction: each takes several statements. */
const BATCH_SIZE = 10;

const unconfirmed = query((db, p: Params<{ now: number; limit: number }>, engine) =>
  db
    .selectFrom('accounts')
    .select('id')
    .where('confirm_by', '<=', p.now)
    .where(({ and, not, exists, selectFrom }) =>
      and([
        not(exists(selectFrom('keys').select('keys.id').whereRef('keys.account_id', '=', 'accounts.id'))),
        not(exists(selectFrom('pets').select('pets.id').whereRef('pets.account_id', '=', 'accounts.id'))),
        not(exists(selectFrom('sessions').select('sessions.id').whereRef('sessions.account_id', '=', 'accounts.id'))),
        not(
          exists(
            selectFrom('links')
              .select('links.id')
              .whereRef('links.account_id', '=', 'accounts.id')
              .where('links.expires_at', '>', p.now),
          ),
        ),
      ]),
    )
    .orderBy('confirm_by')
    .limit(p.limit)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deleteAccount = query((db, p: Params<{ id: number }>) => db.deleteFrom('accounts').where('id', '=', p.id));
