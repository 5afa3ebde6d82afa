import { recordAll } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import { Episodes } from '../lib/episodes.ts';
import { type Work, type Worker, workOff } from '../lib/jobs/work-off.ts';
import type { Log } from '../lib/log.ts';
import { type Database, type MessageStatus, type Params, query } from '../schema.ts';
import type { Mailer } from './mail.ts';
import { mailing } from './mailing.ts';
import { loggedColumns, messageEvent } from './message-log.ts';

/** Who delivers the messages of a deployment. */
export interface Delivery {
  /** Looks at once: one more waits. */
  nudge(): void;
  /** Takes nothing new in hand, and waits for the mails that are on their way, five seconds at most. */
  close(): Promise<void>;
}

/** What delivers needs. */
interface Means {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Where mail goes out; without it messages come into inboxes only. */
  readonly mailer?: Mailer | undefined;
}

/**
 * Delivers what waits, from now on: first into the inbox, then by e-mail where mail goes out.
 *
 * Several processes may do so on one database: each message is in one hand at a time. What a process had in hand that was
 * killed is done by the next one; mailed twice is only what it had sent and not noted. What goes wrong is logged once an
 * episode. A mail server that is slow or away holds up nothing but mail.
 */
export function deliverMessages(means: Means): Delivery {
  const { clock, log, mailer } = means;
  const episodes = new Episodes();
  const failed = (error: unknown) => {
    if (!episodes.begins('storage')) return;
    log.warn({ err: error }, 'Messages cannot be delivered for now; they wait.');
  };
  const stopping = new AbortController();
  const common = { clock, failed };
  const mail =
    mailer &&
    workOff(mailing({ ...means, mailer }, episodes, stopping.signal), {
      ...common,
      atOnce: MAILS_AT_ONCE,
      lookMs: 2000,
    });
  const inbox = workOff(arriving(means, mail), { ...common, atOnce: 1, lookMs: 5000 });

  return {
    nudge: () => inbox.nudge(),
    async close() {
      stopping.abort();
      await Promise.all([inbox.close(PATIENCE_MS), mail?.close(PATIENCE_MS)]);
    },
  };
}

/** Into the inbox: it is done with being taken. */
function arriving({ database, mailer }: Means, mail: Worker | undefined): Work<never> {
  return {
    async dueAt() {
      return (await database.first(anyToArrive, {})) && 0;
    },
    async take() {
      const rows = await database.write(async tx => {
        const arrived = await tx.all(arrive, {
          now: tx.now,
          dueAt: mailer === undefined ? null : tx.now,
          status: mailer === undefined ? 'delivered' : 'queued',
        });
        if (mailer === undefined) {
          await recordAll(
            tx,
            arrived.map(message => messageEvent(message, 'delivered')),
          );
        }
        return arrived.length;
      });
      if (rows > 0) mail?.nudge();
      return { rows, jobs: [] };
    },
    async work() {},
  };
}

const MAILS_AT_ONCE = 8;
const ARRIVING_AT_ONCE = 100;
const PATIENCE_MS = 5000;

const anyToArrive = query(db => db.selectFrom('messages').select('id').where('arrived_at', 'is', null).limit(1));

const arrive = query((db, p: Params<{ now: number; dueAt: number | null; status: MessageStatus }>, engine) =>
  db
    .updateTable('messages')
    .set(eb => ({
      arrived_at: p.now,
      due_at: p.dueAt,
      status: p.status,
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', 'in', eb =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('arrived_at', 'is', null)
        .orderBy('id')
        .limit(ARRIVING_AT_ONCE)
        .$if(engine === 'postgres', some => some.forUpdate().skipLocked()),
    )
    .returning(loggedColumns),
);
