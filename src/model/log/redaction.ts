import { type EventKind, type Params, query, type Transaction } from '../schema.ts';
import type { Event } from './event.ts';
import { eventsOf, eventsOfAll } from './log.ts';

/**
 * Replaces the data of some resources' events by the result of `redact`, to delete personal data. No other code changes
 * the event log.
 */
export async function redactEvents<Data extends object>(
  tx: Transaction,
  kind: EventKind,
  subjectIds: readonly number[],
  redact: (event: Event<Data>) => object,
): Promise<void> {
  for (const event of await eventsOfAll<Data>(tx, kind, subjectIds)) await redactEvent(tx, event, redact);
}

/**
 * The same for some events of one resource, at most `limit`, after the event with the id `after`.
 * @returns the id of the last of them; `undefined` if there is none
 */
export async function redactEventsAfter<Data extends object>(
  tx: Transaction,
  range: {
    readonly kind: EventKind;
    readonly subjectId: number;
    readonly after: number;
    readonly limit: number;
  },
  redact: (event: Event<Data>) => object,
): Promise<number | undefined> {
  const { kind, subjectId, after, limit } = range;
  const events = await eventsOf<Data>(tx, kind, subjectId, { fromId: after, rows: limit });
  for (const event of events) await redactEvent(tx, event, redact);
  return events.at(-1)?.id;
}

async function redactEvent<Data extends object>(
  tx: Transaction,
  event: Event<Data>,
  redact: (event: Event<Data>) => object,
): Promise<void> {
  const data = JSON.stringify(redact(event));
  if (data !== JSON.stringify(event.data)) await tx.run(replaceData, { id: event.id, data });
}

const replaceData = query((db, p: Params<{ id: number; data: string }>) =>
  db.updateTable('events').set({ data: p.data }).where('id', '=', p.id),
);
