import { amongNumbers, type Params, query, type Reader } from '../../model/schema.ts';

/**
 * Returns the people who caused events on pages of their account, by the id of the event. Events that other accounts,
 * keys or commands caused are missing.
 */
export async function personsBehind(
  reader: Reader,
  accountId: number,
  eventIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (eventIds.length === 0) return new Map();
  const rows = await reader.all(originsOf, { accountId, ids: JSON.stringify(eventIds) });
  return new Map(
    rows.flatMap(({ id, origin }) => {
      const { personId } = JSON.parse(origin!) as { personId?: number };
      return personId === undefined ? [] : [[id, personId] as const];
    }),
  );
}

const originsOf = query((db, p: Params<{ accountId: number; ids: string }>, engine) =>
  db
    .selectFrom('events')
    .select(['id', 'origin'])
    .where(eb => amongNumbers(eb.ref('id'), p.ids, engine))
    .where('audit_account_id', '=', p.accountId)
    .where('origin', 'is not', null),
);
