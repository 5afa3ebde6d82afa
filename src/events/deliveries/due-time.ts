import type { ExpressionBuilder } from 'kysely';
import { type Params, query, sql, type Tables } from '../../model/schema.ts';

// A webhook is due when its earliest delivery is due, or later during the backoff of its receiver. The index on the due
// time of webhooks finds work quickly even if many deliveries are pending.

/**
 * Selects the due time of the earliest delivery to a webhook, or `notBefore` if that is later; null if no delivery is
 * due.
 */
export function nextDueTime({ selectFrom }: ExpressionBuilder<Tables, 'webhooks'>, p: Params<DueParams>) {
  // The alias lets the order use the index on `due_at`.
  const dueTime = sql<number>`case when deliveries.due_at < ${p.notBefore} then ${p.notBefore} else deliveries.due_at end`;
  return selectFrom('deliveries')
    .select(dueTime.as('due_time'))
    .where('webhook_id', '=', p.id)
    .where('due_at', 'is not', null)
    .orderBy('deliveries.due_at')
    .limit(1);
}

type DueParams = { id: number; notBefore: number };

/** Makes a webhook due when its earliest delivery is due, but not before `notBefore`. */
export const dueWithNextDelivery = query((db, p: Params<DueParams>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({ due_at: nextDueTime(eb, p) }))
    .where('id', '=', p.id),
);

/** Makes a webhook due when the first lease of its deliveries after `notBefore` ends. */
export const dueWithNextLease = query((db, p: Params<DueParams>) =>
  db
    .updateTable('webhooks')
    .set(({ selectFrom }) => ({
      due_at: selectFrom('deliveries')
        .select('due_at')
        .where('webhook_id', '=', p.id)
        .where('leased', '=', sql.lit(1))
        .where('due_at', '>', p.notBefore)
        .orderBy('due_at')
        .limit(1),
    }))
    .where('id', '=', p.id),
);

/** Makes a webhook due at a later time, because it has no free slot. */
export const postponeWebhook = query((db, p: Params<{ id: number; until: number }>) =>
  db.updateTable('webhooks').set({ due_at: p.until }).where('id', '=', p.id),
);

/** Makes every webhook with claimed deliveries due now. */
export const dueWithClaims = query((db, p: Params<{ now: number }>) =>
  db
    .updateTable('webhooks')
    .set({ due_at: p.now })
    .where('id', 'in', eb => eb.selectFrom('deliveries').select('webhook_id').where('leased', '=', sql.lit(1))),
);

/** The backoff as a share of the time for which the receiver has failed. */
const BACKOFF_SHARE = 1 / 50;
const BACKOFF_MAX_MS = 2000;

/**
 * Returns the end of a receiver's backoff, before which it gets no deliveries: 2 % of the time for which it has failed,
 * at most 2 s.
 */
export function backoffUntil(now: number, failingSince: number | null): number {
  const failingMs = failingSince === null ? 0 : Math.max(0, now - failingSince);
  return now + Math.min(Math.round(failingMs * BACKOFF_SHARE), BACKOFF_MAX_MS);
}
