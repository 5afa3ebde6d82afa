import { type EventKind, type Params, query, type Transaction } from '../schema.ts';
import type { Event } from './event.ts';
import { eventsOfAll } from './log.ts';

/**
 * Replaces the data of the events of some resources by what `redact` returns, to delete personal data. Nothing else
 * changes the event log.
 */
export async function redactEvents<Data extends object>(
  tx: Transaction,
  kind: EventKind,
  subjectIds: readonly number[],
  redact: (event: Event<Data>) => object,
): Promise<void> {
  for (const event of await eventsOfAll<Data>(tx, kind, subjectIds)) {
    const data = JSON.stringify(redact(event));
    if (data !== JSON.stringify(event.data)) await tx.run(replaceData, { id: event.id, data });
  }
}

const replaceData = query((db, p: Params<{ id: number; data: string }>) =>
  db.updateTable('events').set({ data: p.data }).where('id', '=', p.id),
);
