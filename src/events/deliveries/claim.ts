import { type Authority, allowsActing, authoritiesOf, type Dependent } from '../../access/keys/authority.ts';
import type { ColumnValuesOf } from '../../lib/fields/field.ts';
import { deliveryColumns, type deliveryFields } from '../../model/delivery.ts';
import { withLongValues } from '../../model/log/long-values.ts';
import { eventsAt } from '../../model/log/ordering.ts';
import { type OwnedEvent, withOwners } from '../../model/log/owners.ts';
import { DELIVERY_TIMEOUT_MS } from '../../model/rules.ts';
import {
  type Database,
  type NextDue,
  type Params,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { disableUnauthorized } from '../webhooks/disable.ts';
import { activeSecrets } from '../webhooks/secrets.ts';
import { dueWithClaims, dueWithNextDelivery, dueWithNextLease, postponeWebhook } from './due-time.ts';
import { type DeliverySlots, SLOW_MS } from './slots.ts';

/** A delivery that this process has claimed: until the lease ends, no other process sends it. */
export interface ClaimedDelivery extends ColumnValuesOf<typeof deliveryFields> {
  readonly url: string;
  /** The signing secrets as stored. */
  readonly encryptedSecrets: readonly string[];
  readonly webhook: Dependent;
  readonly authority: Authority;
  /** Whether the receiver failed or was slow last time. */
  readonly slow: boolean;
  /** `undefined` if the event is no longer retained. */
  readonly event: OwnedEvent | undefined;
}

interface WebhookClaim {
  readonly webhook: DueWebhook;
  readonly slow: boolean;
  readonly deliveries: readonly NonNullable<(typeof claimDue)['row']>[];
  readonly secrets: readonly { readonly secret: string }[];
}

interface AllowedClaim extends WebhookClaim {
  readonly authority: Authority;
}

type DueWebhook = NonNullable<(typeof dueHealthyWebhooks)['row']>;

/** After this time, a webhook whose key is banned is examined again, because the ban may be lifted. */
const PAUSE_MS = 5000;
/** The lease of a delivery covers the wait for a connection, the attempt, and recording its result. */
const LEASE_MS = 2 * DELIVERY_TIMEOUT_MS + 5000;
/** The maximum number of healthy, and of failing, webhooks per transaction; each takes four statements. */
const WEBHOOKS_PER_CLAIM = 50;
/** The maximum number of deliveries in progress to one webhook, by the state of its receiver. */
const PER_WEBHOOK = { healthy: 16, slow: 4, failing: 1 };

/**
 * Claims up to `limit` due deliveries in one short transaction. Webhooks take turns: examining a webhook moves it
 * behind the others. Claims no delivery to a webhook that may not be sent events.
 * @returns the number of examined webhooks, and whether more of them may be due
 */
export async function claimDueDeliveries(
  database: Database,
  accounts: Reader,
  limit: number,
  slots: DeliverySlots,
  now: () => number,
): Promise<{ readonly deliveries: ClaimedDelivery[]; readonly webhooks: number; readonly more: boolean }> {
  const { claims, webhooks, more } = await database.write(async tx => {
    const healthy = await tx.all(dueHealthyWebhooks, { now: tx.now, limit: Math.min(limit, WEBHOOKS_PER_CLAIM) });
    // Failing webhooks come first, with a quarter of the slots; otherwise busy healthy webhooks would leave no slots
    // for them.
    const failingLimit = Math.min(slots.slowFree, Math.ceil(limit / 4), WEBHOOKS_PER_CLAIM);
    const failing = failingLimit > 0 ? await tx.all(dueFailingWebhooks, { now: tx.now, limit: failingLimit }) : [];
    return {
      claims: await claimFromEach(tx, [...failing, ...healthy], limit, slots),
      webhooks: failing.length + healthy.length,
      more: Math.max(healthy.length, failing.length) === WEBHOOKS_PER_CLAIM,
    };
  });
  const at = Math.floor(now());
  const authorities = await authoritiesOf(
    accounts,
    claims.map(({ webhook }) => webhook),
    at,
  );
  const allowed: AllowedClaim[] = [];
  for (const [index, claim] of claims.entries()) {
    const authority = authorities[index]!;
    if (allowsActing(authority, at)) allowed.push({ ...claim, authority });
    else await database.write(tx => withhold(tx, claim, authority));
  }
  return { deliveries: await loadDeliveries(database, allowed), webhooks, more };
}

/**
 * Returns the claimed deliveries of a webhook that may not be sent events. If that is permanent, disables the webhook;
 * otherwise the webhook is due again when the ban of its key ends, or soon, because the ban may be lifted.
 */
async function withhold(tx: Transaction, { webhook, deliveries }: WebhookClaim, authority: Authority): Promise<void> {
  const { ended, pausedUntil } = authority;
  if (ended !== undefined) await disableUnauthorized(tx, { ...webhook, keyId: authority.keyId }, ended);
  for (const { id, claims } of deliveries) await tx.run(returnClaim, { id, claims, now: tx.now });
  await tx.run(postponeWebhook, { id: webhook.id, until: Math.min(Math.max(pausedUntil, tx.now), tx.now + PAUSE_MS) });
}

/** Claims deliveries to each webhook up to its fair share of the free slots. */
async function claimFromEach(
  tx: Transaction,
  webhooks: readonly DueWebhook[],
  limit: number,
  slots: DeliverySlots,
): Promise<WebhookClaim[]> {
  const claims: WebhookClaim[] = [];
  let free = limit;
  let slowFree = Math.min(limit, slots.slowFree);
  for (const [index, webhook] of webhooks.entries()) {
    if (free === 0) break;
    const { id } = webhook;
    const slow = webhook.failingSince !== null || slots.slowWebhooks.has(id);
    if (slow && slowFree <= 0) {
      await tx.run(postponeWebhook, { id, until: tx.now + SLOW_MS });
      continue;
    }
    const fairShare = Math.ceil(Math.min(free, slow ? slowFree : free) / (webhooks.length - index));
    const claim = await claimFrom(tx, webhook, slow, fairShare);
    free -= claim.deliveries.length;
    if (slow) slowFree -= claim.deliveries.length;
    claims.push(claim);
  }
  return claims;
}

async function claimFrom(
  tx: Transaction,
  webhook: DueWebhook,
  slow: boolean,
  fairShare: number,
): Promise<WebhookClaim> {
  const { id, failingSince } = webhook;
  const { now } = tx;
  const { count: inProgress } = (await tx.first(countInProgress, { id, now }))!;
  const free = PER_WEBHOOK[failingSince !== null ? 'failing' : slow ? 'slow' : 'healthy'] - inProgress;
  const limit = Math.min(fairShare, free);
  const claim = { id, now, until: now + LEASE_MS, limit, retries: Math.ceil(limit / 2) };
  const deliveries = limit > 0 ? await tx.all(claimDue, claim) : [];
  // A webhook without free slots is due again when one of its deliveries in progress ends, or the lease of one.
  const full = limit === free && deliveries.length >= limit;
  await tx.run(full ? dueWithNextLease : dueWithNextDelivery, { id, notBefore: now });
  const secrets = deliveries.length === 0 ? [] : await tx.all(activeSecrets, { webhookId: id, now });
  return { webhook, slow, deliveries, secrets };
}

/** Reads the events of claimed deliveries. */
async function loadDeliveries(database: Database, claims: readonly AllowedClaim[]): Promise<ClaimedDelivery[]> {
  const positions = new Set(claims.flatMap(({ deliveries }) => deliveries.map(({ position }) => position)));
  if (positions.size === 0) return [];
  const events = await withOwners(database, await withLongValues(database, await eventsAt(database, [...positions])));
  const eventAt = new Map(events.map(event => [event.position, event]));
  return claims.flatMap(({ webhook, authority, slow, deliveries, secrets }) => {
    const encryptedSecrets = secrets.map(({ secret }) => secret);
    const shared = { url: webhook.url, webhook, authority, encryptedSecrets, slow };
    return deliveries.map(delivery => ({ ...delivery, ...shared, event: eventAt.get(delivery.position) }));
  });
}

/**
 * Releases every claim on the embedded engine, where one process serves a database: the claims are those of a process
 * that has ended.
 */
export async function releaseClaims(database: Database): Promise<void> {
  if (database.engine !== 'sqlite') return;
  await database.write(async tx => {
    await tx.run(dueWithClaims, { now: tx.now });
    await tx.run(releaseAll, { now: tx.now });
  });
}

export const nextHealthyDelivery: NextDue = nextDelivery(false);
export const nextFailingDelivery: NextDue = nextDelivery(true);

function nextDelivery(failing: boolean): NextDue {
  return db =>
    db
      .selectFrom('webhooks')
      .select('due_at as dueAt')
      .where('status', '=', sql.lit('active'))
      .where('failing_since', failing ? 'is not' : 'is', null)
      .where('due_at', 'is not', null)
      .orderBy('due_at')
      .limit(1);
}

const webhooksDue = (failing: boolean) =>
  query((db, p: Params<{ now: number; limit: number }>, engine) =>
    db
      .selectFrom('webhooks')
      .select(['id', 'url', 'account_id as accountId', 'key_id as keyId', 'scopes', 'failing_since as failingSince'])
      .where('status', '=', sql.lit('active'))
      .where('failing_since', failing ? 'is not' : 'is', null)
      .where('due_at', '<=', p.now)
      .orderBy('due_at')
      .limit(p.limit)
      .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
  );

const dueHealthyWebhooks = webhooksDue(false);
const dueFailingWebhooks = webhooksDue(true);

const countInProgress = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('webhook_id', '=', p.id)
    .where('leased', '=', sql.lit(1))
    .where('due_at', '>', p.now),
);

type Claim = { id: number; now: number; until: number; limit: number; retries: number };

/** Claims due retries, but so few that other deliveries get their turns. */
const claimDue = query((db, p: Params<Claim>) => {
  const due = db.selectFrom('deliveries').select('id').where('webhook_id', '=', p.id).where('due_at', '<=', p.now);
  const retries = due.where('turn', 'is', null).orderBy('due_at').orderBy('id').limit(p.retries);
  const others = due.where('turn', 'is not', null).orderBy('turn').orderBy('id').limit(p.limit);
  return db
    .updateTable('deliveries')
    .set(eb => ({ due_at: p.until, leased: 1, takes: eb('takes', '+', 1) }))
    .where(
      'id',
      'in',
      db
        .selectFrom(retries.as('retries'))
        .select('id')
        .unionAll(db.selectFrom(others.as('others')).select('id'))
        .limit(p.limit),
    )
    .returning(deliveryColumns.stored())
    .$narrowType<{ position: number }>();
});

/** Undoes a claim whose delivery was not attempted. */
const returnClaim = query((db, p: Params<{ id: number; claims: number; now: number }>) =>
  db
    .updateTable('deliveries')
    .set(eb => ({ due_at: p.now, leased: 0, takes: eb('takes', '-', 1) }))
    .where('id', '=', p.id)
    .where('leased', '=', sql.lit(1))
    .where('takes', '=', p.claims),
);

const releaseAll = query((db, p: Params<{ now: number }>) =>
  db.updateTable('deliveries').set({ due_at: p.now, leased: 0 }).where('leased', '=', sql.lit(1)),
);
