import { problem } from '../errors.ts';
import { idAt, placeIn } from '../events/public/public-event.ts';
import { type Page, pageById } from '../lib/http/pagination/page-by-id.ts';
import { formatTime } from '../lib/time.ts';
import { type Params, type Query, query, type Reader, selectJsonNumbers, type Tables } from '../schema.ts';
import type { Delivery, DeliveryStatus } from '../webhooks/webhook.ts';

/** Which deliveries a list has. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  /** Only those of this event. */
  readonly eventId?: string | undefined;
}

/** A delivery with all there is to say about it. Times are milliseconds since the Unix epoch. */
export interface DeliveryRow extends DeliveryColumns {
  /** Oldest first. */
  readonly attempts: readonly AttemptRow[];
}

/** A delivery without its attempts. */
export interface DeliveryColumns {
  readonly id: number;
  /** The place of the event; null for a test. */
  readonly place: number | null;
  readonly type: string;
  readonly status: DeliveryStatus;
  readonly dueAt: number | null;
  readonly leased: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An attempt as it is stored; a list has it without what was answered. */
export type AttemptRow = Omit<Tables['delivery_attempts'], 'delivery_id' | 'answer'> & {
  readonly answer?: string | null;
};

/**
 * One page of the deliveries to a webhook, the newest first: who looks wants to know what happened lately.
 * @param limit how many deliveries at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function listDeliveries(
  reader: Reader,
  webhookId: number,
  { status, eventId }: DeliveryFilter,
  limit: number,
  cursorText: string | undefined,
): Promise<Page<DeliveryRow>> {
  const list = ['deliveries', webhookId, status ?? '', eventId ?? ''];
  const place = eventId === undefined ? undefined : placeIn(eventId);
  // Pages go by rising numbers: these rise as the ids fall.
  const mirrored = (id: number) => Number.MAX_SAFE_INTEGER - id;
  const page = await pageById(list, limit, cursorText, async ({ backward, id }) => {
    const found = pageQuery(backward, status !== undefined, place !== undefined);
    const values = { webhookId, status: status!, place: place!, from: mirrored(id), rows: limit + 1 };
    const rows = await reader.all(found, values);
    return { rows: rows.map(row => ({ id: mirrored(row.id), row })), edge: undefined };
  });
  const ids = JSON.stringify(page.rows.map(({ row }) => row.id));
  const attempts = Map.groupBy(await reader.all(attemptsOfAll, { ids }), ({ deliveryId }) => deliveryId);
  return { ...page, rows: page.rows.map(({ row }) => ({ ...row, attempts: attempts.get(row.id) ?? [] })) };
}

/**
 * A delivery to a webhook, its attempts with what was answered.
 * @throws {Problem} `delivery_not_found`
 */
export async function getDelivery(reader: Reader, webhookId: number, id: number): Promise<DeliveryRow> {
  const delivery = await reader.first(deliveryById, { webhookId, id });
  if (delivery === undefined)
    throw problem('delivery_not_found', `There is no delivery ${id} to webhook ${webhookId}.`);
  return { ...delivery, attempts: await reader.all(attemptsOf, { id }) };
}

/** A delivery as it is answered. */
export function deliveryOf({ id, place, type, status, dueAt, leased, ...rest }: DeliveryRow): Delivery {
  return {
    id,
    ...(place !== null && { eventId: idAt(place) }),
    type,
    status,
    createdAt: formatTime(rest.createdAt),
    updatedAt: formatTime(rest.updatedAt),
    ...(dueAt !== null && leased === 0 && { nextAttemptAt: formatTime(dueAt) }),
    attempts: rest.attempts.map(attemptOf),
  };
}

function attemptOf({ number, at, duration_ms, status, fault, answer }: AttemptRow): Delivery['attempts'][number] {
  return {
    number,
    at: formatTime(at),
    durationMs: duration_ms,
    ...(status !== null && { status }),
    ...(fault !== null && { fault }),
    ...(typeof answer === 'string' && answer !== '' && { answer }),
  };
}

const columns = [
  'id',
  'place',
  'type',
  'status',
  'due_at as dueAt',
  'leased',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

type Values = { webhookId: number; status: DeliveryStatus; place: number; from: number; rows: number };

const pageQueries = new Map<string, Query<Values, DeliveryColumns>>();

/** Each follows an index from its place on; of one event there are a few. */
function pageQuery(backward: boolean, byStatus: boolean, byPlace: boolean): Query<Values, DeliveryColumns> {
  const shape = [backward, byStatus, byPlace].join();
  let found = pageQueries.get(shape);
  if (found === undefined) {
    found = query((db, p: Params<Values>) => {
      let rows = db
        .selectFrom('deliveries')
        .select(columns)
        .where('webhook_id', '=', p.webhookId)
        .where('id', backward ? '>' : '<', p.from);
      if (byStatus) rows = rows.where('status', '=', p.status);
      if (byPlace) rows = rows.where('place', '=', p.place);
      return rows.orderBy('id', backward ? 'asc' : 'desc').limit(p.rows);
    });
    pageQueries.set(shape, found);
  }
  return found;
}

const deliveryById = query((db, p: Params<{ webhookId: number; id: number }>) =>
  db.selectFrom('deliveries').select(columns).where('id', '=', p.id).where('webhook_id', '=', p.webhookId),
);

const attemptsOf = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('delivery_attempts')
    .select(['number', 'at', 'duration_ms', 'status', 'fault', 'answer'])
    .where('delivery_id', '=', p.id)
    .orderBy('number'),
);

const attemptsOfAll = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('delivery_attempts')
    .select(['delivery_id as deliveryId', 'number', 'at', 'duration_ms', 'status', 'fault'])
    .where('delivery_id', 'in', selectJsonNumbers(p.ids, engine))
    .orderBy('delivery_id')
    .orderBy('number'),
);
