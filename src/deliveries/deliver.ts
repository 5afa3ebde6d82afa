import type { Actor } from '../events/event.ts';
import { eventsAt } from '../events/ordering.ts';
import { type OwnedEvent, withOwners } from '../events/owners.ts';
import { knows, publicEvent } from '../events/public/visibility.ts';
import { type OutgoingClient, TIMEOUT_MS } from '../lib/http/client/client.ts';
import type { Outcome } from '../lib/http/client/outcome.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { paced } from '../lib/jobs/pacing.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { signed } from '../lib/signature.ts';
import { type Database, type NextDue, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { aliveSecrets } from '../webhooks/secrets.ts';
import { adminsOf } from '../webhooks/subscriptions.ts';
import { sealedFor } from '../webhooks/webhook-rows.ts';
import { dueNotBefore, type Result, type SwitchedOff, settler } from './record-result.ts';

/** What sends deliveries. */
export interface Means {
  readonly database: Database;
  /** Where accounts are kept. */
  readonly registry: Reader;
  readonly outgoing: OutgoingClient;
  readonly secrets: SecretBox;
  /** How long to wait after each attempt that failed, in milliseconds. */
  readonly scheduleMs: readonly number[];
  /** Tells the owner of a webhook that it was switched off, in the transaction in which it is. */
  tellOwner(tx: Transaction, webhook: SwitchedOff): Promise<void>;
  /** Told that more can be taken in hand, although nothing has ended. */
  moreRoom?(): void;
  now(): number;
}

/** A delivery that was taken in hand. */
export interface Job {
  readonly id: number;
  readonly webhookId: number;
  readonly lane: string;
  readonly type: string;
  readonly takes: number;
  readonly failures: number;
  readonly url: string;
  /** What it is signed with, as it is stored. */
  readonly sealed: readonly string[];
  readonly actor: Actor;
  /** Whether its receiver failed last, or let wait. */
  readonly slow: boolean;
  /** `undefined` where the log does not have it any more. */
  readonly event: OwnedEvent | undefined;
}

/**
 * Takes deliveries in hand that are due, and sends them.
 *
 * A delivery is in one hand at a time, for 35 seconds at most. A webhook that failed last gets one attempt at a time, one
 * that let wait for a second last gets four. Such webhooks have room of their own, into which an attempt goes once it has
 * lasted a second: who is away or slow holds up others for no longer.
 */
export function delivering(means: Means): Work<Job> {
  const { database, registry, outgoing, secrets, now } = means;
  const settle = settler(means);
  const pace = paced(LEAST_AT_ONCE, QUICK_AT_ONCE);
  /** The webhooks whose last answer took a second or more, or still does. */
  const slow = new Set<number>();
  let quickInHand = 0;
  let slowInHand = 0;

  return {
    name: 'deliveries',
    atOnce: DELIVERIES_AT_ONCE,

    /** Embedded, one process serves a database: what another one had in hand is free. */
    async begin() {
      if (database.engine !== 'sqlite') return;
      await database.write(async tx => {
        await tx.run(lookAtThoseInHand, { now: tx.now });
        await tx.run(releaseAll, { now: tx.now });
      });
    },

    async take(atMost) {
      const most = Math.min(atMost, await pace(), QUICK_AT_ONCE - quickInHand);
      if (most <= 0) return { rows: 0, jobs: [] };
      const taken = await database.write(async tx => {
        let room = Math.min(most, SLOW_AT_ONCE - slowInHand);
        const quick = await tx.all(dueWebhooks, { now: tx.now, most: Math.min(most, WEBHOOKS_AT_ONCE) });
        // A quarter is for them, before all others: who always has something would leave none.
        const mostFailing = Math.min(room, Math.ceil(most / 4), WEBHOOKS_AT_ONCE);
        const failing = room > 0 ? await tx.all(dueFailingWebhooks, { now: tx.now, most: mostFailing }) : [];
        const webhooks = [...failing, ...quick];
        const found = [];
        let left = most;
        for (const [index, webhook] of webhooks.entries()) {
          if (left === 0) break;
          const { id, failingSince } = webhook;
          const waits = failingSince !== null || slow.has(id);
          if (waits && room <= 0) {
            await tx.run(lookLater, { id, until: tx.now + SLOW_MS });
            continue;
          }
          const fair = Math.ceil(Math.min(left, waits ? room : left) / (webhooks.length - index));
          const inHand = (await tx.first(countInHand, { id, now: tx.now }))!.deliveries;
          const free = (failingSince !== null ? 1 : waits ? OF_ONE_SLOW_AT_ONCE : OF_ONE_AT_ONCE) - inHand;
          const share = Math.min(fair, free);
          const deliveries =
            share > 0 ? await tx.all(takeDue, { id, now: tx.now, until: tx.now + LEASE_MS, most: share }) : [];
          left -= deliveries.length;
          if (waits) room -= deliveries.length;
          // Where enough are in hand it is looked at again when one of them is done, or given up.
          const full = share === free && deliveries.length >= share;
          await tx.run(full ? lookAfterOneInHand : lookAtNextDue, { id, now: tx.now });
          const keys = deliveries.length === 0 ? [] : await tx.all(aliveSecrets, { webhookId: id, now: tx.now });
          found.push({ webhook, deliveries, keys });
        }
        return { found, rows: webhooks.length, more: Math.max(quick.length, failing.length) === WEBHOOKS_AT_ONCE };
      });
      if (taken.more) means.moreRoom?.();
      return { rows: taken.rows, jobs: await jobsOf(taken.found) };
    },

    async work(job) {
      let quick = !job.slow;
      if (quick) quickInHand++;
      else slowInHand++;
      const timer = setTimeout(() => {
        slow.add(job.webhookId);
        if (!quick) return;
        quick = false;
        quickInHand--;
        slowInHand++;
        means.moreRoom?.();
      }, SLOW_MS);
      const begin = performance.now();
      try {
        const result = await send(job);
        clearTimeout(timer);
        if (performance.now() - begin < SLOW_MS) slow.delete(job.webhookId);
        await settle(result);
      } finally {
        clearTimeout(timer);
        if (quick) quickInHand--;
        else slowInHand--;
      }
    },
  };

  async function jobsOf(found: readonly Found[]): Promise<Job[]> {
    const places = found.flatMap(({ deliveries }) => deliveries.map(({ place }) => place));
    if (places.length === 0) return [];
    const events = await withOwners(database, await eventsAt(database, [...new Set(places)]));
    const byPlace = new Map(events.map(event => [event.place, event]));
    const admins = await adminsOf(
      registry,
      found.map(({ webhook }) => webhook.accountId),
    );
    const jobs = [];
    for (const { webhook, deliveries, keys } of found) {
      if (deliveries.length === 0) continue;
      const { id, url, accountId, failingSince } = webhook;
      const actor = { accountId, admin: admins.has(accountId) };
      const sealed = keys.map(({ secret }) => secret);
      for (const { place, ...delivery } of deliveries) {
        const event = byPlace.get(place);
        jobs.push({
          ...delivery,
          webhookId: id,
          url,
          sealed,
          actor,
          event,
          slow: failingSince !== null || slow.has(id),
        });
      }
    }
    return jobs;
  }

  async function send({ id, webhookId, lane, takes, failures, url, sealed, actor, event }: Job): Promise<Result> {
    const at = Math.floor(now());
    const common = { id, webhookId, lane, url, takes, failures, at };
    if (event === undefined) return { ...common, outcome: undefined };
    const told = publicEvent(event, knows(actor, event));
    const body = bodyOf(told);
    const opened = sealed.map(secret => secrets.open(secret, sealedFor(webhookId)));
    return { ...common, outcome: await post(outgoing, url, told.id, body, opened) };
  }
}

/** What is sent of an event: as `GET /events` tells it, with its time under the name that Standard Webhooks has for it. */
export function bodyOf({ type, time, ...event }: { readonly type: string; readonly time: string }): string {
  return JSON.stringify({ type, timestamp: time, time, ...event });
}

/** Sends one signed delivery, with the time that receivers compare with theirs. */
export function post(
  outgoing: OutgoingClient,
  url: string,
  id: string,
  body: string,
  secrets: readonly Buffer[],
): Promise<Outcome> {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Petstore-Webhooks/1',
    ...signed(id, outgoing.now(), body, secrets),
  };
  return outgoing.post({ url, headers, body });
}

/** How many deliveries are in hand at the same time. */
const DELIVERIES_AT_ONCE = 1024;
/** How many of them are not slow yet: more are not begun. */
const QUICK_AT_ONCE = 256;
/** With so many slow ones none is begun to a receiver that failed last or let wait. */
const SLOW_AT_ONCE = 256;
/** How many webhooks of each kind are looked at in one transaction, each in four statements: it has to end in time. */
const WEBHOOKS_AT_ONCE = 50;
/** Who lets wait for so long is slow, in milliseconds. */
const SLOW_MS = 1000;
/** How many are begun at once at least where the thread has much else to do: requests come first. */
const LEAST_AT_ONCE = 4;
/** How many deliveries to one receiver, and to one that let wait. */
const OF_ONE_AT_ONCE = 16;
const OF_ONE_SLOW_AT_ONCE = 4;
/** How long a delivery is in one hand: an attempt waits for a connection, takes as long, and is noted. */
const LEASE_MS = 2 * TIMEOUT_MS + 5000;

interface Found {
  readonly webhook: {
    readonly id: number;
    readonly url: string;
    readonly accountId: number;
    readonly failingSince: number | null;
  };
  readonly deliveries: readonly (Pick<Job, 'id' | 'lane' | 'type' | 'takes' | 'failures'> & {
    readonly place: number;
  })[];
  readonly keys: readonly { readonly secret: string }[];
}

/** When the next delivery is due, to receivers that took the last one. */
export const nextToDeliver: NextDue = nextOf(false);

/** The same of those that failed. */
export const nextToTryAgain: NextDue = nextOf(true);

function nextOf(failing: boolean): NextDue {
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
  query((db, p: Params<{ now: number; most: number }>, engine) => {
    const webhooks = db
      .selectFrom('webhooks')
      .select(['id', 'url', 'account_id as accountId', 'failing_since as failingSince'])
      .where('status', '=', sql.lit('active'))
      .where('failing_since', failing ? 'is not' : 'is', null)
      .where('due_at', '<=', p.now)
      .orderBy('due_at')
      .limit(p.most);
    return engine === 'postgres' ? webhooks.forUpdate().skipLocked() : webhooks;
  });

const dueWebhooks = webhooksDue(false);
const dueFailingWebhooks = webhooksDue(true);

const countInHand = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('deliveries'))
    .where('webhook_id', '=', p.id)
    .where('leased', '=', sql.lit(1))
    .where('due_at', '>', p.now),
);

const takeDue = query((db, p: Params<{ id: number; now: number; until: number; most: number }>) =>
  db
    .updateTable('deliveries')
    .set(eb => ({ due_at: p.until, leased: 1, takes: eb('takes', '+', 1) }))
    .where('id', 'in', eb =>
      eb
        .selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', p.id)
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .orderBy('id')
        .limit(p.most),
    )
    .returning(['id', 'place', 'type', 'lane', 'takes', 'failures'])
    .$narrowType<{ place: number }>(),
);

/** Behind all others that are due: they take turns. */
const lookAtNextDue = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('webhooks')
    .set(({ selectFrom }) => ({
      due_at: selectFrom('deliveries')
        .select(dueNotBefore(p.now))
        .where('webhook_id', '=', p.id)
        .where('due_at', 'is not', null)
        .orderBy('deliveries.due_at')
        .limit(1),
    }))
    .where('id', '=', p.id),
);

/** There is no room for it now. */
const lookLater = query((db, p: Params<{ id: number; until: number }>) =>
  db.updateTable('webhooks').set({ due_at: p.until }).where('id', '=', p.id),
);

const lookAfterOneInHand = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('webhooks')
    .set(({ selectFrom }) => ({
      due_at: selectFrom('deliveries')
        .select('due_at')
        .where('webhook_id', '=', p.id)
        .where('leased', '=', sql.lit(1))
        .where('due_at', '>', p.now)
        .orderBy('due_at')
        .limit(1),
    }))
    .where('id', '=', p.id),
);

const lookAtThoseInHand = query((db, p: Params<{ now: number }>) =>
  db
    .updateTable('webhooks')
    .set({ due_at: p.now })
    .where('id', 'in', eb => eb.selectFrom('deliveries').select('webhook_id').where('leased', '=', sql.lit(1))),
);

const releaseAll = query((db, p: Params<{ now: number }>) =>
  db.updateTable('deliveries').set({ due_at: p.now, leased: 0 }).where('leased', '=', sql.lit(1)),
);
