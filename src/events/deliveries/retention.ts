import { type Params, query, selectJsonNumbers, sql, type Transaction } from '../../model/schema.ts';
import { deleteSecrets } from '../webhooks/secrets.ts';

/**
 * Purges deleted webhooks: first their deliveries with all attempts, then the webhook.
 * @param limit the maximum number of rows, not counting further attempts of the same deliveries
 * @returns the number of deleted rows; 0 if none is left
 */
export async function purgeDeletedWebhooks(tx: Transaction, limit: number): Promise<number> {
  const webhook = await tx.first(deletedWebhook, { before: tx.now - IN_PROGRESS_MS });
  if (webhook === undefined) return 0;
  const { id } = webhook;
  const deliveries = await tx.all(deliveriesTo, { id, limit: deliveriesPer(limit) });
  if (deliveries.length > 0) return deleteDeliveries(tx, deliveries);
  const redeliveries = await tx.run(deleteRedeliveries, { id });
  await tx.run(deleteSecrets, { webhookId: id });
  return redeliveries + (await tx.run(deleteWebhook, { id }));
}

/**
 * Deletes deliveries, with all attempts, that were finished longer ago than events are retained.
 * @param retentionMs how long events are retained, in milliseconds
 * @param limit the maximum number of rows, not counting further attempts of the same deliveries
 * @returns the number of deleted rows; 0 if none is left
 */
export async function deleteOldDeliveries(tx: Transaction, retentionMs: number, limit: number): Promise<number> {
  const deliveries = await tx.all(finishedDeliveries, { before: tx.now - retentionMs, limit: deliveriesPer(limit) });
  return deliveries.length === 0 ? 0 : deleteDeliveries(tx, deliveries);
}

/**
 * Deletes pending deliveries, with all attempts, to webhooks that have been inactive or disabled for longer than events
 * are retained; then their redeliveries and waiting events.
 * @param retentionMs how long events are retained, in milliseconds
 * @param limit the maximum number of rows, not counting further attempts of the same deliveries
 * @returns the number of deleted rows; 0 if none is left
 */
export async function deleteUnusedDeliveries(tx: Transaction, retentionMs: number, limit: number): Promise<number> {
  const webhook = await tx.first(unusedWebhook, { before: tx.now - retentionMs });
  if (webhook === undefined) return 0;
  const { id } = webhook;
  const most = deliveriesPer(limit);
  const deliveries = await tx.all(pendingDeliveriesTo, { id, limit: most });
  const deleted = await deleteDeliveries(tx, deliveries);
  if (deliveries.length === most) {
    await tx.run(subtractPending, { id, deleted: most });
    return deleted;
  }
  const redeliveries = await tx.run(deleteRedeliveries, { id });
  return deleted + redeliveries + (await tx.run(resetPending, { id }));
}

/** How long after the deletion of a webhook its deliveries may still be in progress. */
const IN_PROGRESS_MS = 10 * 60 * 1000;

/**
 * Returns how many deliveries to delete so that about this many rows are deleted: a delivery usually has a few
 * attempts.
 */
function deliveriesPer(rows: number): number {
  return Math.ceil(rows / 4);
}

async function deleteDeliveries(tx: Transaction, deliveries: readonly { readonly id: number }[]): Promise<number> {
  const ids = JSON.stringify(deliveries.map(({ id }) => id));
  return (await tx.run(deleteAttemptRows, { ids })) + (await tx.run(deleteDeliveryRows, { ids }));
}

const deletedWebhook = query((db, p: Params<{ before: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select('id')
    .where('deleted_at', 'is not', null)
    .where('deleted_at', '<=', p.before)
    .orderBy('deleted_at')
    .limit(1)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deliveriesTo = query((db, p: Params<{ id: number; limit: number }>) =>
  db.selectFrom('deliveries').select('id').where('webhook_id', '=', p.id).orderBy('id').limit(p.limit),
);

const unusedWebhook = query((db, p: Params<{ before: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select('id')
    .where('status', '<>', sql.lit('active'))
    .where(eb => eb.or([eb('pending', '>', sql.lit(0)), eb('waits_up_to', 'is not', null)]))
    .where('updated_at', '<', p.before)
    .orderBy('updated_at')
    .limit(1)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const pendingDeliveriesTo = query((db, p: Params<{ id: number; limit: number }>) =>
  db
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', p.id)
    .where('status', '=', sql.lit('pending'))
    .orderBy('id')
    .limit(p.limit),
);

const subtractPending = query((db, p: Params<{ id: number; deleted: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({ pending: eb('pending', '-', p.deleted) }))
    .where('id', '=', p.id),
);

const resetPending = query((db, p: Params<{ id: number }>) =>
  db.updateTable('webhooks').set({ pending: 0, waits_up_to: null, due_at: null }).where('id', '=', p.id),
);

const finishedDeliveries = query((db, p: Params<{ before: number; limit: number }>, engine) =>
  db
    .selectFrom('deliveries')
    .select('id')
    .where('status', '<>', sql.lit('pending'))
    .where('updated_at', '<', p.before)
    .orderBy('updated_at')
    .limit(p.limit)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deleteAttemptRows = query((db, p: Params<{ ids: string }>, engine) =>
  db.deleteFrom('delivery_attempts').where('delivery_id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteDeliveryRows = query((db, p: Params<{ ids: string }>, engine) =>
  db.deleteFrom('deliveries').where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteRedeliveries = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('redeliveries').where('webhook_id', '=', p.id),
);

const deleteWebhook = query((db, p: Params<{ id: number }>) => db.deleteFrom('webhooks').where('id', '=', p.id));
