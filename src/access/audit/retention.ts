import { lockedFact, storeFact } from '../../model/facts.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/**
 * Erases the origins of changes that are older than `keptMs`: the key, request id and address, or the command. The
 * events themselves stay. Processes events in the order of their ids, and stores its progress.
 * @param limit the maximum number of events
 * @returns the number of processed events; 0 if none is old enough
 */
export async function eraseOrigins(tx: Transaction, keptMs: number, limit: number): Promise<number> {
  const after = Number((await tx.first(lockedFact, { name: FACT }))?.value ?? 0);
  const events = await tx.all(eventsAfter, { after, limit });
  const firstKept = events.findIndex(({ at }) => at > tx.now - keptMs);
  const old = firstKept < 0 ? events : events.slice(0, firstKept);
  const last = old.at(-1);
  if (last === undefined) return 0;
  await tx.run(eraseBetween, { after, upTo: last.id });
  await tx.run(storeFact, { name: FACT, value: String(last.id) });
  return old.length;
}

/**
 * Converts the stored progress from an id of PostgreSQL to a position in the log. Events whose order differs are
 * processed again.
 */
export async function convertErasure(tx: Reader & Pick<Transaction, 'run'>): Promise<void> {
  const erased = await tx.first(positionErased, {});
  if (erased !== undefined) await tx.run(storeFact, { name: FACT, value: String(erased.position ?? 0) });
}

/** The name of the fact that stores the id of the last event whose origin was erased. */
const FACT = 'origins-erased';

const eventsAfter = query((db, p: Params<{ after: number; limit: number }>) =>
  db.selectFrom('events').select(['id', 'at']).where('id', '>', p.after).orderBy('id').limit(p.limit),
);

const eraseBetween = query((db, p: Params<{ after: number; upTo: number }>) =>
  db
    .updateTable('events')
    .set({ origin: null, audit_account_id: null })
    .where('id', '>', p.after)
    .where('id', '<=', p.upTo)
    .where('origin', 'is not', null),
);

const positionErased = query(db =>
  db
    .selectFrom('facts')
    .where('name', '=', FACT)
    .select(
      sql<number | null>`coalesce(
        (select min(seq) - 1 from events where id > value::bigint), (select max(seq) from events)
      )`.as('position'),
    ),
);
