import { UserError } from '../lib/user-error.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';

/**
 * Throws if this account is the only active admin. Locks the admins until the transaction ends, so that two of them cannot
 * leave at the same time: call it before the transaction locks an account.
 * @throws {UserError} with a sentence that says what to do first
 */
export async function requireOtherAdmin(tx: Transaction, id: number): Promise<void> {
  const admins = await tx.all(activeAdmins, {});
  if (admins.some(admin => admin.id !== id) || !admins.some(admin => admin.id === id)) return;
  throw new UserError(`Account ${id} is the only active admin: make another account an admin first.`);
}

/** Follows an index of the admins, and locks them in the order of their ids. */
const activeAdmins = query((db, _: Params<Record<never, never>>, engine) =>
  db
    .selectFrom('accounts')
    .select('id')
    .where('admin', '=', sql.lit(1))
    .where('suspended_at', 'is', null)
    .orderBy('id')
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);
