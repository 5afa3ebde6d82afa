import { alongIndex, type IndexRange } from '../../lib/storage/keyset.ts';
import { amongNumbers, type Params, query, type Reader, sql } from '../../model/schema.ts';

/** The number of deliveries that the success rate of a webhook counts: the newest ones, including tests. */
export const RECENT_DELIVERIES = 100;

/** The current state of the deliveries to a webhook. Times are milliseconds since the Unix epoch. */
export interface DeliveryHealth {
  readonly webhookId: number;
  /** The number of its newest `RECENT_DELIVERIES` deliveries that were delivered. */
  readonly delivered: number;
  /** The number of these that failed; the others are pending. */
  readonly failed: number;
  /** When the newest of all its delivered deliveries was delivered; null if there is none. */
  readonly lastDeliveredAt: number | null;
  readonly pending: number;
  /** When its next attempt is due; null if no delivery is pending. */
  readonly dueAt: number | null;
  /** 1 if events wait in the log because too many deliveries are pending. */
  readonly waits: number;
}

/** Returns the health of webhooks by their ids. Reads a limited number of deliveries, however many there are. */
export async function deliveryHealthOf(
  reader: Reader,
  webhookIds: readonly number[],
): Promise<ReadonlyMap<number, DeliveryHealth>> {
  const rows = await reader.all(healthOf, { ids: JSON.stringify(webhookIds) });
  return new Map(rows.map(row => [row.webhookId, row]));
}

const healthOf = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('webhooks')
    .select(eb => {
      // The bounds keep PostgreSQL from reading the deliveries of all webhooks, newest first, until it has enough.
      const newest = (range: Pick<IndexRange, 'prefix'>) =>
        alongIndex(engine, true, eb.selectFrom('deliveries'), {
          ...range,
          key: ['deliveries.id'],
          after: [sql.lit(Number.MAX_SAFE_INTEGER)],
          upTo: [sql.lit(1)],
        });
      const ofWebhook = ['deliveries.webhook_id', eb.ref('webhooks.id')] as const;
      const recent = newest({ prefix: [ofWebhook] })
        .select('deliveries.status')
        .limit(sql.lit(RECENT_DELIVERIES))
        .as('recent');
      const counted = (status: 'delivered' | 'failed') =>
        eb
          .selectFrom(recent)
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where('recent.status', '=', sql.lit(status));
      return [
        'webhooks.id as webhookId',
        counted('delivered').$asScalar().as('delivered'),
        counted('failed').$asScalar().as('failed'),
        newest({ prefix: [ofWebhook, ['deliveries.status', sql.lit('delivered')]] })
          .select('deliveries.updated_at')
          .limit(sql.lit(1))
          .as('lastDeliveredAt'),
        'webhooks.pending',
        'webhooks.due_at as dueAt',
        sql<number>`case when webhooks.waits_up_to is null then 0 else 1 end`.as('waits'),
      ];
    })
    .where(({ ref }) => amongNumbers(ref('webhooks.id'), p.ids, engine)),
);
