import { type Params, query, type Reader, sql } from '../../model/schema.ts';

/** Numbers of the open orders of an account's animals. */
export interface WaitingOrders {
  readonly toApprove: number;
  readonly toHandOver: number;
}

/**
 * Returns the numbers of orders that the owner of the animals has to approve and to hand over, each up to `max`. Reads
 * that many entries of an index.
 */
export async function countWaitingOrders(
  reader: Reader,
  ownerId: number,
  now: number,
  max: number,
): Promise<WaitingOrders> {
  return (await reader.first(waiting, { ownerId, now, max }))!;
}

const waiting = query((db, p: Params<{ ownerId: number; now: number; max: number }>) => {
  const count = (status: 'placed' | 'approved') => {
    const orders = db
      .selectFrom('orders')
      .select('id')
      .where('status', '=', sql.lit(status))
      .where('owner_id', '=', p.ownerId)
      // Expired orders may still be `placed`. The expression uses no index by expiry.
      .$if(status === 'placed', rows => rows.where(sql<boolean>`expires_at + 0 > ${p.now}`))
      .limit(p.max);
    return sql<number>`(${db.selectFrom(orders.as('found')).select(({ fn }) => fn.countAll<number>().as('count'))})`;
  };
  return db.selectNoFrom([count('placed').as('toApprove'), count('approved').as('toHandOver')]);
});
