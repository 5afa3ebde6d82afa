import { type Params, query, sql, type Transaction } from '../../model/schema.ts';

/**
 * Serializes transactions that count an account's resources of one kind, so that together they cannot exceed its bound.
 * Later statements of the transaction wait for the lock, which is held until the transaction ends. SQLite needs no lock,
 * because it runs one write at a time.
 */
export async function lockBound(
  tx: Transaction,
  kind: 'categories' | 'pets' | 'holds' | 'messages' | 'webhooks' | 'sandbox' | 'sandbox writes' | 'classic sandboxes',
  accountId: number,
): Promise<void> {
  tx.claim?.(`${kind} ${accountId}`);
  if (tx.engine === 'postgres') await tx.queue(advisoryLock, { kind: `petstore ${kind}`, account: String(accountId) });
}

const advisoryLock = query((db, p: Params<{ kind: string; account: string }>) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext(${p.kind}), hashtext(${p.account}))`.as('locked')),
);
