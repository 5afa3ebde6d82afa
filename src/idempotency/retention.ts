import { type Params, query, type Transaction } from '../schema.ts';

/** How long a response can be replayed: 24 hours, in milliseconds. */
export const RETENTION_MS = 24 * 60 * 60 * 1000;

/** Deletes expired responses, `limit` at most, and returns how many. */
export async function deleteExpiredResponses(tx: Transaction, limit: number): Promise<number> {
  return tx.run(deleteResponses, { expiredAt: tx.now - RETENTION_MS, limit });
}

const deleteResponses = query((db, p: Params<{ expiredAt: number; limit: number }>, engine) =>
  db.deleteFrom('idempotency').where(eb =>
    eb(
      eb.refTuple('account_id', 'key'),
      'in',
      eb
        .selectFrom('idempotency')
        .select(['account_id', 'key'])
        .where('created_at', '<=', p.expiredAt)
        .orderBy('created_at')
        .limit(p.limit)
        .$if(engine === 'postgres', expired => expired.forUpdate().skipLocked())
        .$asTuple('account_id', 'key'),
    ),
  ),
);
