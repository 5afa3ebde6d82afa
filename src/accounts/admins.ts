import { UserError } from '../lib/user-error.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';

/**
 * Throws if no other admin than this account could sign in, and locks the admins until the transaction ends. Call it before
 * a change that ends the rights of an admin. The command line does not: it can make another admin at any time.
 * @throws {UserError} with a sentence that says what to do first
 */
export async function requireOtherAdmin(tx: Transaction, id: number): Promise<void> {
  const admins = await tx.all(activeAdmins, {});
  if (admins.some(admin => admin.id !== id) || !admins.some(admin => admin.id === id)) return;
  throw new UserError('This is the only active admin. Make another account an admin first.');
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
