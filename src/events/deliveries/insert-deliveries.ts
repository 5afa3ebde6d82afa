import type { OwnedEvent } from '../../model/log/owners.ts';
import {
  type Params,
  query,
  type Reader,
  selectJsonNumbers,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { webhookColumns } from '../../model/webhook.ts';
import { backoffUntil } from './due-time.ts';

export interface NewDelivery {
  /** The position of the event in the log. */
  readonly position: number;
  readonly type: string;
  readonly orderingKey: string;
  /** The account that caused the event; 0 for the operator and automatic changes. */
  readonly causeId: number;
}

export function newDelivery(event: OwnedEvent): NewDelivery {
  const { position, kind, action, accountId } = event;
  return { position, type: `${kind}.${action}`, orderingKey: orderingKeyOf(event), causeId: accountId ?? 0 };
}

/** Returns the key within which deliveries keep the order of events: a pet with its orders, or any other subject. */
function orderingKeyOf({ kind, subjectId, data }: Pick<OwnedEvent, 'kind' | 'subjectId' | 'data'>): string {
  const { petId } = (kind === 'order' ? data[kind] : {}) as { petId?: number };
  return petId === undefined ? `${kind} ${subjectId}` : `pet ${petId}`;
}

/**
 * Locks an active webhook and inserts deliveries to it. The lock prevents results from being recorded meanwhile.
 * Otherwise a new delivery could wait for a delivery that has just finished, and never become due.
 * @param version the version of the webhook for which the deliveries were selected
 * @returns false without inserting any if the webhook is not active or has another version
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
 * Inserts deliveries to a locked webhook, in this order. A delivery is due now if it is the first with its ordering
 * key; otherwise it waits until the previous one is finished. The accounts that caused the events take turns: each
 * pending delivery of an account has a later turn than its previous one.
 * @param ahead whether these events are dispatched ahead of earlier ones
 */
export async function insertDeliveriesTo(
  tx: Transaction,
  { id: webhookId, failingSince }: { readonly id: number; readonly failingSince: number | null },
  deliveries: readonly NewDelivery[],
  ahead = false,
): Promise<void> {
  const turns = await turnsOf(tx, webhookId, deliveries);
  const keys = JSON.stringify([...new Set(deliveries.map(({ orderingKey }) => orderingKey))]);
  const pending = new Set((await tx.all(pendingKeys, { webhookId, keys })).map(({ key }) => key));
  const rows = deliveries.map(({ orderingKey, causeId, ...delivery }) => {
    const first = !pending.has(orderingKey);
    pending.add(orderingKey);
    const turn = Math.max(turns.current, turns.last.get(causeId) ?? 0) + 1;
    turns.last.set(causeId, turn);
    return { ...delivery, orderingKey, causeId, turn, ahead: ahead ? 1 : null, dueAt: first ? tx.now : null };
  });
  await tx.run(insertRows, { webhookId, rows: JSON.stringify(rows), now: tx.now });
  const dueAt = rows.some(row => row.dueAt !== null) ? backoffUntil(tx.now, failingSince) : null;
  await tx.run(addPending, { id: webhookId, added: rows.length, dueAt });
}

/**
 * Returns the current turn of a webhook, and the last turn of its pending deliveries for each account that caused one
 * of these events.
 */
export async function turnsOf(
  reader: Reader,
  webhookId: number,
  deliveries: readonly NewDelivery[],
): Promise<{ readonly current: number; readonly last: Map<number, number> }> {
  const causes = JSON.stringify([...new Set(deliveries.map(({ causeId }) => causeId))]);
  const rows = await reader.all(turnsOfCauses, { webhookId, causes });
  const current = Math.max(0, ...rows.slice(0, 1).flatMap(({ claimed, next }) => [claimed ?? 0, (next ?? 1) - 1]));
  return { current, last: new Map(rows.map(({ causeId, last }) => [causeId, last ?? 0])) };
}

/** Returns the deliveries whose events were not dispatched ahead. */
export async function withoutAhead(
  reader: Reader,
  webhookId: number,
  deliveries: readonly NewDelivery[],
): Promise<readonly NewDelivery[]> {
  if (deliveries.length === 0) return deliveries;
  const range = { webhookId, from: deliveries[0]!.position, upTo: deliveries.at(-1)!.position };
  const ahead = new Set((await reader.all(positionsAhead, range)).map(({ position }) => position));
  return ahead.size === 0 ? deliveries : deliveries.filter(({ position }) => !ahead.has(position));
}

export const lockedActiveWebhook = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.stored())
    .where('id', '=', p.id)
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

/** The turn of the latest claim, the next turn, and the last turn of each account that caused events. */
const turnsOfCauses = query<
  { webhookId: number; causes: string },
  { causeId: number; claimed: number | null; next: number | null; last: number | null }
>((db, p, engine) => {
  const ofWebhook = db.selectFrom('deliveries').where('webhook_id', '=', p.webhookId);
  const pending = ofWebhook.where('status', '=', sql.lit('pending')).where('turn', 'is not', null);
  return db
    .selectFrom(sql<{ value: number }>`${selectJsonNumbers(p.causes, engine)}`.as('causes'))
    .select('causes.value as causeId')
    .select([
      ofWebhook
        .where('leased', '=', sql.lit(1))
        .select(({ fn }) => fn.max('turn').as('turn'))
        .as('claimed'),
      ofWebhook
        .where('due_at', 'is not', null)
        .where('turn', 'is not', null)
        .where('leased', '=', sql.lit(0))
        .select('turn')
        .orderBy('turn')
        .limit(1)
        .as('next'),
      pending
        .where('cause_id', '=', sql.ref<number>('causes.value'))
        .select('turn')
        .orderBy('turn', 'desc')
        .limit(1)
        .as('last'),
    ]);
});

const positionsAhead = query((db, p: Params<{ webhookId: number; from: number; upTo: number }>) =>
  db
    .selectFrom('deliveries')
    .select('place as position')
    .where('webhook_id', '=', p.webhookId)
    .where('place', '>=', p.from)
    .where('place', '<=', p.upTo)
    .where('ahead', '=', sql.lit(1))
    .$narrowType<{ position: number }>(),
);

/** The ordering keys among these that have pending deliveries; one index lookup each. */
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

/** Inserts the elements of a JSON array, in order. */
const insertRows = query((db, p: Params<{ webhookId: number; rows: string; now: number }>, engine) =>
  db
    .insertInto('deliveries')
    .columns([
      ...(['webhook_id', 'place', 'type', 'lane', 'status', 'due_at', 'created_at', 'updated_at'] as const),
      ...(['cause_id', 'turn', 'ahead'] as const),
    ])
    .expression(
      engine === 'postgres'
        ? sql`select ${p.webhookId}::bigint, (value->>'position')::bigint, value->>'type', value->>'orderingKey', 'pending',
            (value->>'dueAt')::bigint, ${p.now}::bigint, ${p.now}::bigint,
            (value->>'causeId')::bigint, (value->>'turn')::bigint, (value->>'ahead')::bigint
            from json_array_elements(${p.rows}::json) with ordinality as rows(value, number) order by number`
        : sql`select ${p.webhookId}, value->>'position', value->>'type', value->>'orderingKey', 'pending', value->>'dueAt',
            ${p.now}, ${p.now}, value->>'causeId', value->>'turn', value->>'ahead' from json_each(${p.rows}) order by key`,
    ),
);
