import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import {
  type AttemptRow,
  attemptColumns,
  type Delivery,
  type DeliveryRow,
  deliveryColumns,
} from '../../model/delivery.ts';
import { problem } from '../../model/errors.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import { positionOf } from '../../model/public-event.ts';
import { type EventKind, type Params, query, type Reader, selectJsonNumbers } from '../../model/schema.ts';
import { allowsKind } from '../public/visibility.ts';

interface DeliveryFilter {
  readonly status?: Delivery['status'] | undefined;
  readonly eventId?: string | undefined;
}

/**
 * Returns one page of the deliveries to a webhook, newest first. Omits events that the scopes of the actor's key do not
 * allow: the page can be short or empty and still have a next page.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function listDeliveries(
  reader: Reader,
  actor: Actor,
  webhookId: number,
  { status, eventId }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<DeliveryRow>> {
  const position = eventId === undefined ? undefined : positionOf(eventId);
  const { rows: all, ...links } = await pageOf(
    reader,
    { webhookId, status, position },
    {
      list: ['deliveries', webhookId, status ?? '', eventId ?? ''],
      page,
      descending: true,
      cursorId: id => Number.MAX_SAFE_INTEGER - id,
    },
  );
  const rows = all.filter(row => isAllowed(actor, row));
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const attempts = Map.groupBy(await reader.all(attemptsOfAll, { ids }), ({ deliveryId }) => deliveryId);
  return { rows: rows.map(row => ({ ...row, attempts: attempts.get(row.id) ?? [] })), ...links };
}

/**
 * Returns a delivery to a webhook.
 * @throws {Problem} `delivery_not_found`, also if the scopes of the actor's key do not allow the event
 */
export async function getDelivery(reader: Reader, actor: Actor, webhookId: number, id: number): Promise<DeliveryRow> {
  const delivery = await reader.first(deliveryById, { webhookId, id });
  if (delivery === undefined || !isAllowed(actor, delivery)) {
    throw problem('delivery_not_found', `There is no delivery ${id} to webhook ${webhookId}.`);
  }
  return { ...delivery, attempts: await reader.all(attemptsOf, { id }) };
}

/** Reports whether the scopes of the actor's key allow the event of a delivery. */
function isAllowed(actor: Actor, { type }: Pick<DeliveryRow, 'type'>): boolean {
  return allowsKind(actor, type.slice(0, type.indexOf('.')) as EventKind);
}

const pageOf = declareList({
  table: 'deliveries',
  rows: db => db.selectFrom('deliveries').select(deliveryColumns.full()),
  filters: {
    webhookId: (rows, id: Expression<number>) => rows.where('webhook_id', '=', id),
    status: (rows, status: Expression<Delivery['status']>) => rows.where('status', '=', status),
    position: (rows, position: Expression<number>) => rows.where('place', '=', position),
  },
});

const deliveryById = query((db, p: Params<{ webhookId: number; id: number }>) =>
  db
    .selectFrom('deliveries')
    .select(deliveryColumns.full())
    .where('id', '=', p.id)
    .where('webhook_id', '=', p.webhookId),
);

const attemptsOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('delivery_attempts').select(attemptColumns.full()).where('delivery_id', '=', p.id).orderBy('number'),
);

const attemptsOfAll = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('delivery_attempts')
    .select(['delivery_id as deliveryId', ...attemptColumns.plain()])
    .where('delivery_id', 'in', selectJsonNumbers(p.ids, engine))
    .orderBy('delivery_id')
    .orderBy('number'),
);

/** Inserts an attempt; ignores an attempt that is already stored, because the outcome of its commit was unknown. */
export const insertAttempt = query((db, p: Params<Required<AttemptRow>>) =>
  db
    .insertInto('delivery_attempts')
    .values(attemptColumns.inserted(p))
    .onConflict(conflict => conflict.columns(['delivery_id', 'number']).doNothing()),
);
