import { eraseAccount } from '../../access/accounts/accounts.ts';
import { deleteMembers } from '../../access/people/members.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';

/**
 * Deletes accounts whose address was not confirmed in time; a retention rule. Keeps accounts with a key, an animal, a
 * session or a valid link. Unlike other deletions, it leaves no row of the account, so that sign-ups cannot fill the
 * database. The account's events stay without its name.
 */
export async function deleteUnconfirmedAccounts(tx: Transaction, limit: number): Promise<number> {
  const accounts = await tx.all(unconfirmed, { now: tx.now, limit: Math.min(limit, BATCH_SIZE) });
  for (const { id } of accounts) {
    await deleteMembers(tx, id);
    await eraseAccount(tx, id);
    await tx.run(deleteAccount, { id });
  }
  return accounts.length;
}

/** The number of accounts per transaction; each takes several statements. */
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
