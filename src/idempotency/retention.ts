import { type Params, query, type Transaction } from '../schema.ts';

/** How long an answer comes again. */
export const RETENTION_MS = 24 * 60 * 60 * 1000;

/** Deletes some of the answers that are too old to come again; how many. */
export async function deleteExpiredResponses(tx: Transaction, most: number): Promise<number> {
  return tx.run(forget, { tooOld: tx.now - RETENTION_MS, most });
}

const forget = query((db, p: Params<{ tooOld: number; most: number }>, engine) =>
  db.deleteFrom('idempotency').where(eb =>
    eb(
      eb.refTuple('account_id', 'key'),
      'in',
      eb
        .selectFrom('idempotency')
        .select(['account_id', 'key'])
        .where('created_at', '<=', p.tooOld)
        .orderBy('created_at')
        .limit(p.most)
        .$if(engine === 'postgres', old => old.forUpdate().skipLocked())
        .$asTuple('account_id', 'key'),
    ),
  ),
);
