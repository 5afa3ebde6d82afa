import { problem } from '../errors.ts';
import { eventIdAt, positionOf } from '../events/public/public-event.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { formatTime } from '../lib/time.ts';
import type { KeysetParams, Params, Reader, Tables, Transaction } from '../schema.ts';
import { keysetPage, queriesByShape, query, selectJsonNumbers } from '../schema.ts';
import type { Delivery, DeliveryStatus } from './delivery.ts';

/** The filters of a list of deliveries. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly eventId?: string | undefined;
}

/** A delivery as stored, with its attempts, oldest first. Times are milliseconds since the Unix epoch. */
export interface DeliveryRow extends DeliveryColumns {
  readonly attempts: readonly AttemptRow[];
}

/** `position` is null for a test delivery; `claimed` is 1 while a process has claimed the delivery. */
type DeliveryColumns = NonNullable<(typeof deliveryById)['row']>;

/** An attempt as stored. Lists leave out `body`, the beginning of the response body. */
export interface AttemptRow {
  readonly number: number;
  readonly at: number;
  readonly durationMs: number;
  readonly status: number | null;
  readonly fault: string | null;
  readonly body?: string | null;
}

/**
 * Returns one page of the deliveries to a webhook, newest first.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function listDeliveries(
  reader: Reader,
  webhookId: number,
  { status, eventId }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<DeliveryRow>> {
  const shape = { byStatus: status !== undefined, byEvent: eventId !== undefined };
  const values = { webhookId, status: status!, position: eventId === undefined ? 0 : positionOf(eventId) };
  const { rows, ...links } = await paginate({
    list: ['deliveries', webhookId, status ?? '', eventId ?? ''],
    page,
    descending: true,
    cursorId: id => Number.MAX_SAFE_INTEGER - id,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
  });
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const attempts = Map.groupBy(await reader.all(attemptsOfAll, { ids }), ({ deliveryId }) => deliveryId);
  return { rows: rows.map(row => ({ ...row, attempts: attempts.get(row.id) ?? [] })), ...links };
}

/**
 * Returns a delivery to a webhook.
 * @throws {Problem} `delivery_not_found`
 */
export async function getDelivery(reader: Reader, webhookId: number, id: number): Promise<DeliveryRow> {
  const delivery = await reader.first(deliveryById, { webhookId, id });
  if (delivery === undefined) {
    throw problem('delivery_not_found', `There is no delivery ${id} to webhook ${webhookId}.`);
  }
  return { ...delivery, attempts: await reader.all(attemptsOf, { id }) };
}

/** Returns a delivery in the form of responses. */
export function deliveryOf({ id, position, type, status, dueAt, claimed, ...rest }: DeliveryRow): Delivery {
  return {
    id,
    ...(position !== null && { eventId: eventIdAt(position) }),
    type,
    status,
    createdAt: formatTime(rest.createdAt),
    updatedAt: formatTime(rest.updatedAt),
    ...(dueAt !== null && claimed === 0 && { nextAttemptAt: formatTime(dueAt) }),
    attempts: rest.attempts.map(attemptOf),
  };
}

function attemptOf({ number, at, durationMs, status, fault, body }: AttemptRow): Delivery['attempts'][number] {
  return {
    number,
    at: formatTime(at),
    durationMs,
    ...(status !== null && { status }),
    ...(fault !== null && { fault }),
    ...(typeof body === 'string' && body !== '' && { answer: body }),
  };
}

/** Inserts an attempt; ignores one that is stored already, because the outcome of the commit was unknown. */
export async function insertAttempt(tx: Transaction, deliveryId: number, attempt: Required<AttemptRow>): Promise<void> {
  await tx.run(insertAttemptRow, { deliveryId, ...attempt });
}

const columns = [
  'id',
  'place as position',
  'type',
  'status',
  'due_at as dueAt',
  'leased as claimed',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

const attemptColumns = ['number', 'at', 'duration_ms as durationMs', 'status', 'fault'] as const;

interface Shape {
  readonly byStatus: boolean;
  readonly byEvent: boolean;
  readonly descending: boolean;
}

type Values = KeysetParams & { webhookId: number; status: Tables['deliveries']['status']; position: number };

const pageQuery = queriesByShape(['byStatus', 'byEvent', 'descending'], ({ byStatus, byEvent, descending }: Shape) =>
  query((db, p: Params<Values>) => {
    const rows = db
      .selectFrom('deliveries')
      .select(columns)
      .where('webhook_id', '=', p.webhookId)
      .$if(byStatus, rows => rows.where('status', '=', p.status))
      .$if(byEvent, rows => rows.where('place', '=', p.position));
    return keysetPage(rows, 'id', descending, p);
  }),
);

const deliveryById = query((db, p: Params<{ webhookId: number; id: number }>) =>
  db.selectFrom('deliveries').select(columns).where('id', '=', p.id).where('webhook_id', '=', p.webhookId),
);

const attemptsOf = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('delivery_attempts')
    .select([...attemptColumns, 'answer as body'])
    .where('delivery_id', '=', p.id)
    .orderBy('number'),
);

const attemptsOfAll = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('delivery_attempts')
    .select(['delivery_id as deliveryId', ...attemptColumns])
    .where('delivery_id', 'in', selectJsonNumbers(p.ids, engine))
    .orderBy('delivery_id')
    .orderBy('number'),
);

const insertAttemptRow = query((db, p: Params<{ deliveryId: number } & Required<AttemptRow>>) =>
  db
    .insertInto('delivery_attempts')
    .values({
      delivery_id: p.deliveryId,
      number: p.number,
      at: p.at,
      duration_ms: p.durationMs,
      status: p.status,
      fault: p.fault,
      answer: p.body,
    })
    .onConflict(conflict => conflict.columns(['delivery_id', 'number']).doNothing()),
);
