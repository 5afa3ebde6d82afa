import type { OwnedEvent } from '../events/owners.ts';
import { type Params, query, selectJsonTexts, sql, type Transaction } from '../schema.ts';
import { webhookColumns } from '../webhooks/webhook.ts';
import { backoffUntil } from './due-time.ts';

export interface NewDelivery {
  /** The position of the event in the log. */
  readonly position: number;
  readonly type: string;
  readonly orderingKey: string;
}

export function newDelivery(event: OwnedEvent): NewDelivery {
  return { position: event.position, type: `${event.kind}.${event.action}`, orderingKey: orderingKeyOf(event) };
}

/** Returns the key within which deliveries keep the order of events: a pet with its orders, or any other subject. */
function orderingKeyOf({ kind, subjectId, data }: Pick<OwnedEvent, 'kind' | 'subjectId' | 'data'>): string {
  const { petId } = (kind === 'order' ? data[kind] : {}) as { petId?: number };
  return petId === undefined ? `${kind} ${subjectId}` : `pet ${petId}`;
}

/**
 * Locks an active webhook and inserts deliveries to it. The lock keeps results from being recorded meanwhile: otherwise a
 * new delivery could wait for one that is just being finished, and never become due.
 * @param version the version of the webhook for which the deliveries were selected
 * @returns false, and inserts nothing, if the webhook is not active or has another version
 */
export async function insertDeliveries(
  tx: Transaction,
  webhookId: number,
  deliveries: readonly NewDelivery[],
  version?: number,
): Promise<boolean> {
  const webhook = await tx.first(lockedActiveWebhook, { id: webhookId });
  if (webhook === undefined || (version !== undefined && webhook.version !== version)) return false;
  await insertDeliveriesTo(tx, webhook, deliveries);
  return true;
}

/**
 * Inserts deliveries to a locked webhook, in this order. A delivery is due now if it is the first with its ordering key;
 * otherwise it waits until the one before is finished.
 */
export async function insertDeliveriesTo(
  tx: Transaction,
  { id: webhookId, failingSince }: { readonly id: number; readonly failingSince: number | null },
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const keys = JSON.stringify([...new Set(deliveries.map(({ orderingKey }) => orderingKey))]);
  const pending = new Set((await tx.all(pendingKeys, { webhookId, keys })).map(({ key }) => key));
  const rows = deliveries.map(({ position, type, orderingKey }) => {
    const first = !pending.has(orderingKey);
    pending.add(orderingKey);
    return { position, type, orderingKey, dueAt: first ? tx.now : null };
  });
  await tx.run(insertRows, { webhookId, rows: JSON.stringify(rows), now: tx.now });
  const dueAt = rows.some(row => row.dueAt !== null) ? backoffUntil(tx.now, failingSince) : null;
  await tx.run(addPending, { id: webhookId, added: rows.length, dueAt });
}

const lockedActiveWebhook = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.stored())
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

/** Which of these ordering keys have pending deliveries; one index lookup each. */
const pendingKeys = query((db, p: Params<{ webhookId: number; keys: string }>, engine) =>
  db
    .selectFrom(selectJsonTexts(p.keys, engine).$castTo<{ value: string }>().as('keys'))
    .select('keys.value as key')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('deliveries')
          .select('id')
          .where('webhook_id', '=', p.webhookId)
          .whereRef('deliveries.lane', '=', 'keys.value')
          .where('status', '=', sql.lit('pending')),
      ),
    ),
);

/** Counts new deliveries, and makes the webhook due at `dueAt`, unless that is null or it is due earlier. */
const addPending = query((db, p: Params<{ id: number; added: number; dueAt: number | null }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({
      pending: eb('pending', '+', p.added),
      due_at: sql<number>`case when due_at is null or due_at > ${p.dueAt} then ${p.dueAt} else due_at end`,
    }))
    .where('id', '=', p.id),
);

/** Inserts the elements of a JSON array, in its order. */
const insertRows = query((db, p: Params<{ webhookId: number; rows: string; now: number }>, engine) =>
  db
    .insertInto('deliveries')
    .columns(['webhook_id', 'place', 'type', 'lane', 'status', 'due_at', 'created_at', 'updated_at'])
    .expression(
      engine === 'postgres'
        ? sql`select ${p.webhookId}::bigint, (value->>'position')::bigint, value->>'type', value->>'orderingKey', 'pending',
            (value->>'dueAt')::bigint, ${p.now}::bigint, ${p.now}::bigint
            from json_array_elements(${p.rows}::json) with ordinality as rows(value, number) order by number`
        : sql`select ${p.webhookId}, value->>'position', value->>'type', value->>'orderingKey', 'pending', value->>'dueAt',
            ${p.now}, ${p.now} from json_each(${p.rows}) order by key`,
    ),
);
