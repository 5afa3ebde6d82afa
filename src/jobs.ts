import { nextFailingDelivery, nextHealthyDelivery } from './deliveries/claim.ts';
import { type DeliveryDeps, deliveryJob } from './deliveries/deliver.ts';
import { sendDisabledMessage } from './deliveries/disabled-message.ts';
import { dispatchJob, nextDispatch } from './deliveries/dispatch.ts';
import { holdExpiryJob, nextHoldExpiry } from './holds/expiry.ts';
import type { Clock } from './lib/clock.ts';
import { type Work, type Worker, workOff } from './lib/jobs/job-loop.ts';
import type { Log } from './lib/log.ts';
import { LogThrottle } from './lib/log-throttle.ts';
import { StorageError } from './lib/storage/database.ts';
import { emailDelivery, nextEmailDelivery } from './messages/email-delivery.ts';
import type { EmailSender } from './messages/email-sender.ts';
import { inboxDelivery, nextInboxDelivery } from './messages/inbox-delivery.ts';
import { nextOrderExpiry, orderExpiryJob } from './orders/expiry.ts';
import { nextReservationExpiry, reservationExpiryJob } from './pets/expiry.ts';
import { type Forget, forgetting, nextToForget } from './retention.ts';
import { type Database, type NextDue, type Params, query } from './schema.ts';

/** What the work of a deployment needs. */
export interface Means {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Sends messages by e-mail; without it, messages are only delivered to inboxes. */
  readonly emailSender?: EmailSender | undefined;
  /** What webhooks are sent with; without it nothing is delivered to any. */
  readonly webhooks?: Pick<DeliveryDeps, 'accounts' | 'outgoing' | 'encryptor' | 'scheduleMs'> | undefined;
  /** For how long events are told, in milliseconds; what came of their deliveries is kept as long, or for good. */
  readonly eventsKeptMs?: number;
  /** What is forgotten, instead of everything that is. */
  readonly forgotten?: readonly Forget[];
}

/** One kind of work, and the queries that say when the next of it is due. */
interface Waiting {
  readonly work: Work<unknown>;
  readonly due: readonly NextDue[];
}

/**
 * Everything that waits as rows in a database.
 * @param nudge tells that there is more of a kind
 */
function kindsOf(means: Means, nudge: (name: string) => void): readonly Waiting[] {
  const { database, clock, log, emailSender, webhooks } = means;
  const emailQueued = emailSender && (() => nudge('mail'));
  const onDisabled: DeliveryDeps['onDisabled'] = async (tx, webhook) => {
    await sendDisabledMessage(tx, webhook);
    nudge('messages');
  };
  const toDeliver = () => nudge('deliveries');
  const toDispatch = () => nudge('events');
  return [
    { work: reservationExpiryJob(means), due: [nextReservationExpiry] },
    { work: holdExpiryJob(means), due: [nextHoldExpiry] },
    { work: orderExpiryJob(means), due: [nextOrderExpiry] },
    { work: inboxDelivery({ database, emailQueued }), due: [nextInboxDelivery] },
    ...(emailSender ? [{ work: emailDelivery({ database, log, sender: emailSender }), due: [nextEmailDelivery] }] : []),
    ...(webhooks
      ? [
          {
            work: dispatchJob({ ...webhooks, database, onDeliveries: toDeliver, onEvents: toDispatch }),
            due: [nextDispatch],
          },
          {
            work: deliveryJob({ ...webhooks, database, onDisabled, onFreeSlot: toDeliver, now: () => clock.now() }),
            due: [nextHealthyDelivery, nextFailingDelivery],
          },
        ]
      : []),
    { work: forgetting(means), due: [nextToForget] },
  ];
}

/**
 * Does what waits in a deployment's database, from now on: ends what has run out at the instant at which it does, delivers
 * messages and events, forgets what nobody needs any more. One loop, which asks one query a second while there is nothing to do.
 *
 * Several processes may do so on one database, and nothing is done twice. What goes wrong is tried again every second, and
 * logged once an episode. A mail server that is slow or away holds up
 * nothing but mail; a receiver of events nothing but what it is sent.
 */
export function workThatWaits(means: Means): Worker {
  const { database, clock, log } = means;
  const kinds = kindsOf(means, name => worker.nudge(name));
  const dueAts = dueAtsOf(kinds);
  const episodes = new LogThrottle();
  const worker = workOff(
    kinds.map(({ work }) => work),
    {
      clock,
      lookMs: 1000,
      async dueAt() {
        const row = (await database.first(dueAts, {}))!;
        return Object.fromEntries(
          kinds.map(({ work: { name }, due }) => [name, earliest(due.map((_, i) => row[`${name}${i}`]!))]),
        );
      },
      failed(error, name = 'look') {
        const storage = error instanceof StorageError;
        if (!episodes.shouldLog(storage ? 'storage' : name)) return;
        log.warn(
          { err: error, work: name },
          storage
            ? 'Work that waits cannot be done for now; it is tried again every second.'
            : 'A piece of work that waits has failed; it is tried again. Others of its kind that fail are not logged.',
        );
      },
    },
  );
  return worker;
}

/** The first of them, of those that there are. */
function earliest(times: readonly (number | null)[]): number | null {
  const some = times.filter(time => time !== null);
  return some.length === 0 ? null : Math.min(...some);
}

/** When the next of each kind is due, in one query. */
function dueAtsOf(kinds: readonly Waiting[]) {
  return query<Record<never, never>, Record<string, number | null>>(
    (db, _: Params<Record<never, never>>, engine) =>
      db.selectNoFrom(
        kinds.flatMap(({ work: { name }, due }) => due.map((next, index) => next(db, engine).as(`${name}${index}`))),
      ) as never,
  );
}
