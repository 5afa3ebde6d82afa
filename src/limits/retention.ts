import { type Params, query, type Transaction } from '../schema.ts';
import { dayOf } from './day-counts.ts';

/** Deletes up to `most` counts of past days, and returns how many. Yesterday's stay, for nodes whose clock is behind. */
export async function deleteOldDayCounts(tx: Transaction, most: number): Promise<number> {
  return tx.run(deleteOld, { day: dayOf(tx.now) - 1, most });
}

const deleteOld = query((db, p: Params<{ day: number; most: number }>, engine) =>
  db.deleteFrom('day_counts').where(eb =>
    eb(
      eb.refTuple('account_id', 'deployment', 'day', 'node'),
      'in',
      eb
        .selectFrom('day_counts')
        .select(['account_id', 'deployment', 'day', 'node'])
        .where('day', '<', p.day)
        .orderBy('day')
        .limit(p.most)
        .$if(engine === 'postgres', old => old.forUpdate().skipLocked())
        .$asTuple('account_id', 'deployment', 'day', 'node'),
    ),
  ),
);
