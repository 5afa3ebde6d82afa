import type { Outcome } from '../../lib/http/client/outcome.ts';
import { scheduledDelay } from '../../lib/jobs/retry-schedule.ts';
import { DAY_MS } from '../../lib/time.ts';
import { FAILING_MAX_MS } from '../../model/rules.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { webhookColumns } from '../../model/webhook.ts';
import { disabledFor, storeVersion } from '../webhooks/webhooks.ts';
import type { ClaimedDelivery } from './claim.ts';
import { insertAttempt } from './deliveries.ts';
import { backoffUntil, nextDueTime } from './due-time.ts';
import { attemptRow, isSuccess } from './send.ts';

interface Result {
  readonly delivery: Pick<ClaimedDelivery, 'id' | 'webhookId' | 'orderingKey' | 'url' | 'claims' | 'failures'>;
  /** When the attempt began, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** `undefined` if no request was sent; see `sendDelivery`. */
  readonly outcome: Outcome | undefined;
}

export interface DisabledWebhook {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly reason: 'gone' | 'failing';
}

/** The options of the result recorder. */
export interface RecorderDeps {
  readonly database: Database;
  /** The retry schedule: the delay after each failed attempt, in milliseconds. */
  readonly scheduleMs: readonly number[];
  /** Called in the transaction that disables a webhook; called again if the transaction is retried. */
  onDisabled(tx: Transaction, webhook: DisabledWebhook): Promise<void>;
  /** Called after the commit of a transaction that disabled webhooks. */
  onDisabledCommitted?(): void;
}

const GONE = 410;
/** The longest delay that a receiver can ask for with `Retry-After`. */
const RETRY_AFTER_MAX_MS = DAY_MS;
/** The delay after an attempt that failed within the service. */
const OWN_FAILURE_DELAY_MS = 5000;
/** The maximum number of results per transaction; each takes five statements. */
const RESULTS_PER_TRANSACTION = 50;

/**
 * Returns a function that records results. Results that arrive together share a transaction.
 *
 * A success finishes the delivery, even if another process has claimed it again. A failure schedules the next attempt,
 * or finishes the delivery as `failed` at the end of the retry schedule; only the process with the latest claim may
 * record it. When a delivery is finished, the next one with its ordering key is due.
 *
 * A webhook is disabled if its receiver responds 410, or if every attempt has failed for five days. Results for a
 * replaced URL are ignored for this.
 */
export function createResultRecorder(deps: RecorderDeps): (result: Result) => Promise<void> {
  let queue: { result: Result; resolve(): void; reject(error: unknown): void }[] = [];
  let running = false;

  return result =>
    new Promise((resolve, reject) => {
      queue.push({ result, resolve, reject });
      if (!running) void run();
    });

  async function run() {
    running = true;
    // Results that arrive in this turn of the event loop are recorded together.
    await Promise.resolve();
    while (queue.length > 0) {
      const batch = queue.slice(0, RESULTS_PER_TRANSACTION);
      queue = queue.slice(RESULTS_PER_TRANSACTION);
      try {
        const results = batch.map(({ result }) => result);
        const disabled = await deps.database.write(tx => recordResults(tx, deps, results));
        if (disabled) deps.onDisabledCommitted?.();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }
}

/** Records results. Reports whether that disabled a webhook. */
async function recordResults(tx: Transaction, deps: RecorderDeps, results: readonly Result[]): Promise<boolean> {
  let disabled = false;
  const byWebhook = Map.groupBy(results, ({ delivery }) => delivery.webhookId);
  // Every transaction locks webhooks by id ascending, so there are no deadlocks.
  for (const [webhookId, batch] of [...byWebhook].sort(([one], [other]) => one - other)) {
    const webhook = await tx.first(lockedWebhook, { id: webhookId });
    // A webhook may have been purged in the meantime, for instance while this process was suspended.
    if (webhook !== undefined && (await recordForWebhook(tx, deps, webhook, batch))) disabled = true;
  }
  return disabled;
}

type LockedWebhook = NonNullable<(typeof lockedWebhook)['row']>;

/** Records results of one webhook. Reports whether that disabled it. */
async function recordForWebhook(
  tx: Transaction,
  { scheduleMs, onDisabled }: RecorderDeps,
  webhook: LockedWebhook,
  results: readonly Result[],
): Promise<boolean> {
  const { id, accountId, url } = webhook;
  let { failingSince } = webhook;
  let lastFailed = false;
  let finished = 0;
  let reason: DisabledWebhook['reason'] | undefined;
  for (const result of results) {
    const { delivery, outcome, at } = result;
    const current = delivery.url === url && outcome !== undefined && !isOwnFailure(outcome);
    const gone = current && 'status' in outcome && outcome.status === GONE;
    if (current) {
      lastFailed = !isSuccess(outcome);
      failingSince = lastFailed ? (failingSince ?? at) : null;
    }
    if (gone) reason = 'gone';
    finished += await recordOne(tx, scheduleMs, result, gone);
  }
  if (lastFailed && failingSince !== null && tx.now - failingSince >= FAILING_MAX_MS) reason ??= 'failing';
  await tx.run(updateWebhook, { id, finished, failingSince, notBefore: backoffUntil(tx.now, failingSince) });
  if (reason === undefined || webhook.status !== 'active' || webhook.deletedAt !== null) return false;
  await storeVersion(tx, webhook, { ...disabledFor(reason), failingSince }, 'disabled');
  await onDisabled(tx, { id, accountId, url, reason });
  return true;
}

/** Returns the number of deliveries that the result finishes: 0 or 1. */
async function recordOne(
  tx: Transaction,
  scheduleMs: readonly number[],
  { delivery, at, outcome }: Result,
  gone: boolean,
): Promise<number> {
  const { id, webhookId, orderingKey, claims, failures } = delivery;
  const { now } = tx;
  if (outcome !== undefined && isOwnFailure(outcome)) {
    await tx.run(releaseClaim, { id, claims, dueAt: now + OWN_FAILURE_DELAY_MS });
    return 0;
  }
  if (outcome !== undefined) await tx.run(insertAttempt, attemptRow(id, claims, at, outcome));
  const success = outcome !== undefined && isSuccess(outcome);
  const delayMs = outcome === undefined || gone ? undefined : retryDelay(scheduleMs, outcome, failures + 1);
  const status = delayMs === undefined ? 'failed' : 'pending';
  const dueAt = delayMs === undefined ? null : now + delayMs;
  const changed = success
    ? await tx.run(finishDelivered, { id, now })
    : await tx.run(recordFailure, { id, claims, status, dueAt, now });
  if (changed === 0 || !(success || status === 'failed')) return 0;
  await tx.run(makeNextDue, { webhookId, orderingKey, id, now });
  return 1;
}

/** Returns the delay until the next attempt, in milliseconds; `undefined` at the end of the retry schedule. */
function retryDelay(scheduleMs: readonly number[], outcome: Outcome, failures: number): number | undefined {
  const delayMs = scheduledDelay(scheduleMs, failures);
  const retryAfterMs = 'status' in outcome ? outcome.retryAfterMs : undefined;
  if (delayMs === undefined || retryAfterMs === undefined) return delayMs;
  return Math.max(delayMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
}

/** Reports whether the service itself could not send the request; this does not count as an attempt. */
function isOwnFailure(outcome: Outcome): boolean {
  return 'fault' in outcome && ['busy', 'aborted', 'failed', 'withdrawn'].includes(outcome.fault);
}

const lockedWebhook = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.stored())
    .where('id', '=', p.id)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const finishDelivered = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('deliveries')
    .set({ status: 'delivered', due_at: null, leased: 0, updated_at: p.now })
    .where('id', '=', p.id)
    .where('status', '=', 'pending'),
);

type Failure = { id: number; claims: number; status: 'failed' | 'pending'; dueAt: number | null; now: number };

const recordFailure = query((db, p: Params<Failure>) =>
  db
    .updateTable('deliveries')
    .set(eb => ({
      ...{ status: p.status, due_at: p.dueAt, leased: 0, updated_at: p.now },
      ...{ failures: eb('failures', '+', 1), turn: null },
    }))
    .where('id', '=', p.id)
    .where('status', '=', 'pending')
    .where('takes', '=', p.claims),
);

const releaseClaim = query((db, p: Params<{ id: number; claims: number; dueAt: number }>) =>
  db
    .updateTable('deliveries')
    .set({ due_at: p.dueAt, leased: 0 })
    .where('id', '=', p.id)
    .where('status', '=', 'pending')
    .where('takes', '=', p.claims),
);

/** Makes the delivery due that waits for a finished one with the same ordering key. */
const makeNextDue = query((db, p: Params<{ webhookId: number; orderingKey: string; id: number; now: number }>) =>
  db
    .updateTable('deliveries')
    .set({ due_at: p.now })
    .where('due_at', 'is', null)
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', p.webhookId)
        .where('lane', '=', p.orderingKey)
        .where('status', '=', sql.lit('pending'))
        .where('id', '>', p.id)
        .orderBy('id')
        .limit(1),
    ),
);

type Update = { id: number; finished: number; failingSince: number | null; notBefore: number };

const updateWebhook = query((db, p: Params<Update>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({
      pending: eb('pending', '-', p.finished),
      failing_since: p.failingSince,
      due_at: nextDueTime(eb, p),
    }))
    .where('id', '=', p.id),
);
