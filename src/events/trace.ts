import { type EventKind, type Params, query, type Reader, sql } from '../schema.ts';

/** Selects the `traceparent` header of the request that caused an event; null if it had none. */
export function selectTraceparent(engine: Reader['engine']) {
  const origin = engine === 'sqlite' ? sql`origin` : sql`origin::json`;
  return sql<string | null>`${origin} ->> 'traceparent'`.as('traceparent');
}

/** Selects that of the first event of a resource. */
export const traceOfCreation = query((db, p: Params<{ kind: EventKind; subjectId: number }>, engine) =>
  db
    .selectFrom('events')
    .select(selectTraceparent(engine))
    .where('kind', '=', p.kind)
    .where('subject_id', '=', p.subjectId)
    .orderBy('id')
    .limit(1),
);
