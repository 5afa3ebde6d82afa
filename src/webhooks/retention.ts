import { type Params, query, selectJsonNumbers, sql, type Transaction } from '../schema.ts';

/**
 * Deletes secrets that have ended; how many.
 * @param most how many at most
 */
export async function forgetEndedSecrets(tx: Transaction, most: number): Promise<number> {
  return tx.run(deleteEndedSecrets, { now: tx.now, most });
}

/**
 * Deletes what is left of webhooks that were deleted: their deliveries with all attempts, in the end the webhook.
 * @param most how many rows at most, some more where deliveries had many attempts
 * @returns how many rows; 0 where nothing is left
 */
export async function forgetDeletedWebhooks(tx: Transaction, most: number): Promise<number> {
  const webhook = await tx.first(deletedWebhook, { before: tx.now - UNDER_WAY_MS });
  if (webhook === undefined) return 0;
  const { id } = webhook;
  const deliveries = await tx.all(deliveriesTo, { id, most: someOf(most) });
  if (deliveries.length > 0) return forgetDeliveries(tx, deliveries);
  const values = { id };
  let rows = 0;
  for (const remove of [deleteRedeliveries, deleteSecrets, deleteWebhook]) rows += await tx.run(remove, values);
  return rows;
}

/**
 * Deletes deliveries that were done with before events are told, with all attempts; those that wait stay, whoever they
 * wait for.
 * @param keptMs for how long events are told, in milliseconds
 * @param most how many rows at most, some more where deliveries had many attempts
 * @returns how many rows; 0 where nothing is left
 */
export async function forgetOldDeliveries(tx: Transaction, keptMs: number, most: number): Promise<number> {
  const deliveries = await tx.all(oldDeliveries, { before: tx.now - keptMs, most: someOf(most) });
  return deliveries.length === 0 ? 0 : forgetDeliveries(tx, deliveries);
}

/** What was under way when a webhook was deleted has ended by then, and was noted. */
const UNDER_WAY_MS = 10 * 60 * 1000;

/** Deliveries have attempts. */
function someOf(rows: number): number {
  return Math.ceil(rows / 4);
}

async function forgetDeliveries(tx: Transaction, deliveries: readonly { readonly id: number }[]): Promise<number> {
  const ids = JSON.stringify(deliveries.map(({ id }) => id));
  return (await tx.run(deleteAttempts, { ids })) + (await tx.run(deleteDeliveries, { ids }));
}

const deleteEndedSecrets = query((db, p: Params<{ now: number; most: number }>, engine) =>
  db.deleteFrom('webhook_secrets').where('id', 'in', eb =>
    eb
      .selectFrom('webhook_secrets')
      .select('id')
      .where('expires_at', 'is not', null)
      .where('expires_at', '<=', p.now)
      .orderBy('expires_at')
      .limit(p.most)
      .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
  ),
);

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

const deliveriesTo = query((db, p: Params<{ id: number; most: number }>) =>
  db.selectFrom('deliveries').select('id').where('webhook_id', '=', p.id).orderBy('id').limit(p.most),
);

const oldDeliveries = query((db, p: Params<{ before: number; most: number }>, engine) =>
  db
    .selectFrom('deliveries')
    .select('id')
    .where('status', '<>', sql.lit('pending'))
    .where('updated_at', '<', p.before)
    .orderBy('updated_at')
    .limit(p.most)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deleteAttempts = query((db, p: Params<{ ids: string }>, engine) =>
  db.deleteFrom('delivery_attempts').where('delivery_id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteDeliveries = query((db, p: Params<{ ids: string }>, engine) =>
  db.deleteFrom('deliveries').where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteRedeliveries = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('redeliveries').where('webhook_id', '=', p.id),
);

const deleteSecrets = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('webhook_secrets').where('webhook_id', '=', p.id),
);

const deleteWebhook = query((db, p: Params<{ id: number }>) => db.deleteFrom('webhooks').where('id', '=', p.id));
