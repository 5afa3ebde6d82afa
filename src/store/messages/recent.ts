import { type Params, query, type Reader } from '../../model/schema.ts';

/**
 * Returns the number of messages to an account that have arrived since a time, among the newest `max`. Reads that many
 * entries of an index.
 */
export async function countRecentMessages(
  reader: Reader,
  accountId: number,
  since: number,
  max: number,
): Promise<number> {
  return (await reader.first(recent, { accountId, since, max }))!.count;
}

const recent = query((db, p: Params<{ accountId: number; since: number; max: number }>) => {
  const newest = db
    .selectFrom('messages')
    .select('arrived_at')
    .where('to_account_id', '=', p.accountId)
    .where('arrived_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(p.max);
  return db
    .selectFrom(newest.as('newest'))
    .where('arrived_at', '>=', p.since)
    .select(({ fn }) => fn.countAll<number>().as('count'));
});
