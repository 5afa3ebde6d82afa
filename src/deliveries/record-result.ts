import type { Expression } from 'kysely';
import type { Outcome } from '../lib/http/client/outcome.ts';
import { retryAfter } from '../lib/jobs/retry-schedule.ts';
import { type Database, type Params, query, sql, type Transaction } from '../schema.ts';

/** What came of an attempt to deliver. */
export interface Result {
  readonly id: number;
  readonly webhookId: number;
  readonly lane: string;
  /** Where it was sent to. */
  readonly url: string;
  readonly takes: number;
  /** How many attempts had failed before. */
  readonly failures: number;
  /** When it began, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** `undefined` where there was nothing to send any more. */
  readonly outcome: Outcome | undefined;
}

/** A webhook that the store switches off. */
export interface SwitchedOff {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly reason: 'gone' | 'failing';
}

/**
 * Notes what came of attempts: several that end at the same time in one transaction.
 *
 * With a success the delivery is done; so it is, failed, when the schedule has ended or the receiver is gone for good
 * (410). Then the next one of its lane may go. A webhook whose receiver is gone, or has taken nothing for five days, is
 * switched off, and its owner told; what a receiver says to which it does not lead any more does neither. Who took a
 * delivery in hand later alone says that it failed; that it was taken is noted whoever says it.
 * @param scheduleMs how long to wait after each failure
 * @param tellOwner told in the transaction
 */
export function settler({
  database,
  scheduleMs,
  tellOwner,
}: {
  readonly database: Database;
  readonly scheduleMs: readonly number[];
  tellOwner(tx: Transaction, webhook: SwitchedOff): Promise<void>;
}): (result: Result) => Promise<void> {
  let waiting: { result: Result; resolve(): void; reject(error: unknown): void }[] = [];
  let running = false;

  return result =>
    new Promise((resolve, reject) => {
      waiting.push({ result, resolve, reject });
      if (!running) void run();
    });

  async function run() {
    running = true;
    // What ends in this turn is noted together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const some = waiting.slice(0, TOGETHER_MAX);
      waiting = waiting.slice(TOGETHER_MAX);
      try {
        await database.write(tx =>
          settleAll(
            tx,
            Map.groupBy(some, ({ result }) => result.webhookId),
          ),
        );
        for (const { resolve } of some) resolve();
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    running = false;
  }

  /** Webhook by webhook, by rising id, as everybody locks them. */
  async function settleAll(tx: Transaction, results: ReadonlyMap<number, readonly { result: Result }[]>) {
    for (const [webhookId, some] of [...results].sort(([one], [other]) => one - other)) {
      const webhook = await tx.first(lockedWebhook, { id: webhookId });
      // It was deleted long ago, while this process stood still.
      if (webhook === undefined) continue;
      let { failingSince } = webhook;
      let failed = false;
      let off: SwitchedOff['reason'] | undefined;
      for (const { result } of some) {
        const { outcome } = result;
        const there = result.url === webhook.url;
        const gone = there && statusOf(outcome) === GONE;
        if (there && outcome !== undefined && !isOurs(outcome)) {
          failed = !isTaken(outcome);
          failingSince = failed ? (failingSince ?? result.at) : null;
        }
        if (gone) off = 'gone';
        await settleOne(tx, result, gone);
      }
      // What was no attempt does not end the patience either.
      if (failed && failingSince !== null && tx.now - failingSince >= PATIENCE_MS) off ??= 'failing';
      const notBefore = restsUntil(tx.now, failingSince);
      await tx.run(noteWebhook, { id: webhookId, failingSince, notBefore });
      if (off === undefined || webhook.status !== 'active' || webhook.deletedAt !== null) continue;
      await tx.run(switchOff, { id: webhookId, reason: off, now: tx.now });
      await tellOwner(tx, { id: webhookId, accountId: webhook.accountId, url: webhook.url, reason: off });
    }
  }

  async function settleOne(tx: Transaction, result: Result, gone: boolean) {
    const { id, webhookId, lane, takes, failures, at, outcome } = result;
    const { now } = tx;
    if (outcome !== undefined && isOurs(outcome)) {
      await tx.run(putBack, { id, takes, dueAt: now + OUR_WAIT_MS });
      return;
    }
    const taken = outcome !== undefined && isTaken(outcome);
    const wait = outcome === undefined || gone ? undefined : waitAfter(outcome, failures + 1);
    const status = taken ? 'delivered' : wait === undefined ? 'failed' : 'pending';
    const dueAt = status === 'pending' ? now + wait! : null;
    if (outcome !== undefined) {
      const { durationMs } = outcome;
      const answered = 'status' in outcome ? outcome : undefined;
      await tx.run(insertAttempt, {
        ...{ id, number: takes, at, durationMs: Math.round(durationMs) },
        status: answered?.status ?? null,
        fault: 'fault' in outcome ? outcome.fault : null,
        answer: answered?.body ?? null,
      });
    }
    const settled = taken
      ? await tx.run(settleTaken, { id, now })
      : await tx.run(settleFailed, { id, takes, status, dueAt, now });
    if (settled > 0 && status !== 'pending') await tx.run(freeNext, { webhookId, lane, id, now });
  }

  function waitAfter(outcome: Outcome, failures: number): number | undefined {
    const wait = retryAfter(scheduleMs, failures);
    const wished = 'status' in outcome ? outcome.retryAfterMs : undefined;
    return wait === undefined || wished === undefined ? wait : Math.max(wait, Math.min(wished, WISHED_MAX_MS));
  }
}

/**
 * Until when a receiver is left alone, whatever is due to it: a million deliveries are no reason to knock without pause
 * where nobody opens. The longer it has failed, the longer.
 */
export function restsUntil(now: number, failingSince: number | null): number {
  const failingMs = failingSince === null ? 0 : Math.max(0, now - failingSince);
  return now + Math.min(Math.round(failingMs * REST_SHARE), REST_MAX_MS);
}

/** Whether a receiver has taken what was sent. */
export function isTaken(outcome: Outcome): boolean {
  const status = statusOf(outcome);
  return status !== undefined && status >= 200 && status < 300;
}

function statusOf(outcome: Outcome | undefined): number | undefined {
  return outcome !== undefined && 'status' in outcome ? outcome.status : undefined;
}

/** Whether nothing was sent for reasons that are not the receiver's: that was no attempt. */
function isOurs(outcome: Outcome): boolean {
  return 'fault' in outcome && (outcome.fault === 'busy' || outcome.fault === 'aborted' || outcome.fault === 'failed');
}

const GONE = 410;
const DAY_MS = 86_400_000;
/** How long a webhook may fail before it is switched off. */
const PATIENCE_MS = 5 * DAY_MS;
/** The longest wait that a receiver may ask for. */
const WISHED_MAX_MS = DAY_MS;
/** A receiver rests for a fiftieth of the time for which it has failed, and no longer than two seconds. */
const REST_SHARE = 1 / 50;
const REST_MAX_MS = 2000;
/** How long to wait where nothing could be sent. */
const OUR_WAIT_MS = 5000;
/** How many are noted together, each in five statements: the transaction has to end in time. */
const TOGETHER_MAX = 50;

const lockedWebhook = query((db, p: Params<{ id: number }>, engine) => {
  const webhook = db
    .selectFrom('webhooks')
    .select(['account_id as accountId', 'url', 'status', 'failing_since as failingSince', 'deleted_at as deletedAt'])
    .where('id', '=', p.id);
  return engine === 'postgres' ? webhook.forUpdate() : webhook;
});

const insertAttempt = query(
  (
    db,
    p: Params<{
      id: number;
      number: number;
      at: number;
      durationMs: number;
      status: number | null;
      fault: string | null;
      answer: string | null;
    }>,
  ) =>
    db
      .insertInto('delivery_attempts')
      .values({
        delivery_id: p.id,
        number: p.number,
        at: p.at,
        duration_ms: p.durationMs,
        status: p.status,
        fault: p.fault,
        answer: p.answer,
      })
      // It may have been noted in a transaction of which nobody heard whether it was committed.
      .onConflict(conflict => conflict.columns(['delivery_id', 'number']).doNothing()),
);

const settleTaken = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('deliveries')
    .set({ status: 'delivered', due_at: null, leased: 0, updated_at: p.now })
    .where('id', '=', p.id)
    .where('status', '=', 'pending'),
);

const settleFailed = query(
  (db, p: Params<{ id: number; takes: number; status: 'failed' | 'pending'; dueAt: number | null; now: number }>) =>
    db
      .updateTable('deliveries')
      .set(eb => ({
        status: p.status,
        due_at: p.dueAt,
        leased: 0,
        failures: eb('failures', '+', 1),
        updated_at: p.now,
      }))
      .where('id', '=', p.id)
      .where('status', '=', 'pending')
      .where('takes', '=', p.takes),
);

const putBack = query((db, p: Params<{ id: number; takes: number; dueAt: number }>) =>
  db
    .updateTable('deliveries')
    .set({ due_at: p.dueAt, leased: 0 })
    .where('id', '=', p.id)
    .where('status', '=', 'pending')
    .where('takes', '=', p.takes),
);

const freeNext = query((db, p: Params<{ webhookId: number; lane: string; id: number; now: number }>) =>
  db
    .updateTable('deliveries')
    .set({ due_at: p.now })
    .where('due_at', 'is', null)
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', p.webhookId)
        .where('lane', '=', p.lane)
        .where('status', '=', sql.lit('pending'))
        .where('id', '>', p.id)
        .orderBy('id')
        .limit(1),
    ),
);

/** When a delivery is due, or a time where that is later; under a name of its own, so that `due_at` stays the column that an index has. */
export function dueNotBefore(now: Expression<number>) {
  return sql<number>`case when deliveries.due_at < ${now} then ${now} else deliveries.due_at end`.as('look_at');
}

/** Whether it is failing, and when to look at it: its deliveries have moved. */
const noteWebhook = query((db, p: Params<{ id: number; failingSince: number | null; notBefore: number }>) =>
  db
    .updateTable('webhooks')
    .set(({ selectFrom }) => ({
      failing_since: p.failingSince,
      due_at: selectFrom('deliveries')
        .select(dueNotBefore(p.notBefore))
        .where('webhook_id', '=', p.id)
        .where('due_at', 'is not', null)
        .orderBy('deliveries.due_at')
        .limit(1),
    }))
    .where('id', '=', p.id),
);

const switchOff = query((db, p: Params<{ id: number; reason: 'gone' | 'failing'; now: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({
      status: 'disabled',
      disabled_reason: p.reason,
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
);
