import { setTimeout as pause } from 'node:timers/promises';
import { record } from '../events/log.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { retryAfter } from '../lib/jobs/retry-schedule.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { type Database, type MessageStatus, type NextDue, type Params, query } from '../schema.ts';
import type { Mailer, MailRefusal } from './mail.ts';
import { messageIdOf } from './message.ts';
import { type LoggedMessage, loggedColumns, messageEvent } from './message-log.ts';

/** A message that was taken to be mailed. */
export interface MessageToMail extends LoggedMessage {
  readonly replyTo: string | null;
  readonly text: string;
  readonly takes: number;
  /** The accounts to which it is still to be mailed, as a JSON array, where others have it; `null` before. */
  readonly mailLeft: string | null;
}

interface Recipient {
  readonly id: number;
  readonly email: string;
}

/**
 * The work of mailing the messages that are in an inbox and are to be mailed.
 *
 * Each message is in one hand at a time. What a process had in hand that was killed is done by the next one; mailed twice
 * is only what it had sent and not noted. What goes wrong is logged once an episode.
 */
export function mailing({
  database,
  mailer,
  log,
}: {
  readonly database: Database;
  readonly mailer: Mailer;
  readonly log: Log;
}): Work<MessageToMail> {
  const episodes = new LogThrottle();
  const inHand = new Set<number>();
  return {
    name: 'mail',
    atOnce: MAILS_AT_ONCE,

    async begin() {
      // Embedded, one process serves a database: whoever had taken something is gone.
      if (database.engine === 'sqlite') await database.write(tx => tx.run(releaseAll, { now: tx.now }));
    },

    async take(most) {
      const taken = await database.write(tx => tx.all(takeToMail, { now: tx.now, until: tx.now + LEASE_MS, most }));
      // What is in hand here for so long is being noted.
      return { rows: taken.length, jobs: taken.filter(({ id }) => !inHand.has(id)) };
    },

    async work(message, stopping) {
      inHand.add(message.id);
      const held = setInterval(() => void hold(message), HOLD_AGAIN_MS).unref();
      try {
        const to = await recipientsOf(message);
        const addresses = to.map(({ email }) => email);
        const refusal = to.length === 0 ? undefined : await send(message, addresses);
        if (refusal !== undefined && episodes.begins(`mail ${refusal.reason}`)) {
          log.warn(
            { message: messageIdOf(message.id), reason: refusal.reason, detail: refusal.detail },
            'A message could not be mailed, or not to everybody. Others that fail in the same way are not logged.',
          );
        }
        // Where nobody is there any more who could be written to, there was no attempt; it is in the inbox.
        await note(message, refusal, to, stopping);
      } finally {
        clearInterval(held);
        inHand.delete(message.id);
      }
    },
  };

  /** Keeps a message in hand for longer. Where that fails another process may take it, and it may be mailed twice. */
  async function hold({ id, takes }: MessageToMail): Promise<void> {
    await database.write(tx => tx.run(holdOn, { id, takes, until: tx.now + LEASE_MS })).catch(() => undefined);
  }

  async function recipientsOf({ toAccountId, mailLeft }: MessageToMail): Promise<readonly Recipient[]> {
    const addresses = toAccountId === null ? addressesOfAdmins : addressOfAccount;
    const all = await database.all(addresses, { id: toAccountId ?? 0 });
    if (mailLeft === null) return all;
    const left = new Set<number>(JSON.parse(mailLeft));
    return all.filter(({ id }) => left.has(id));
  }

  function send({ id, accountId, petId, replyTo, text, createdAt }: MessageToMail, to: readonly string[]) {
    const ofTheStore = accountId === null ? 'A message from the pet store' : 'A message to the pet store';
    const subject = petId === null ? ofTheStore : `A message about your animal ${petId}`;
    return mailer.send({ id: `${messageIdOf(id)}.${createdAt}`, to, replyTo, subject, text, at: createdAt });
  }

  /** It was sent or not, and that stays so: this is tried until it is written down. */
  async function note(
    message: MessageToMail,
    refusal: MailRefusal | undefined,
    to: readonly Recipient[],
    stopping: AbortSignal,
  ): Promise<void> {
    for (;;) {
      try {
        return await noteOnce(message, refusal, to);
      } catch (error) {
        if (stopping.aborted) throw error;
        if (episodes.begins('note')) log.warn({ err: error }, 'What came of a mail cannot be noted for now.');
        await pause(NOTE_AGAIN_MS);
      }
    }
  }

  function noteOnce(message: MessageToMail, refusal: MailRefusal | undefined, to: readonly Recipient[]): Promise<void> {
    const { id, takes, mailLeft } = message;
    return database.write(async tx => {
      const { now } = tx;
      const somebodyHasIt = refusal === undefined || refusal.left !== undefined;
      const failed = refusal !== undefined && !(refusal.final && somebodyHasIt);
      const attempt = { id, number: takes, at: now, outcome: failed ? 'failed' : 'delivered' } as const;
      if (to.length > 0) await tx.run(insertAttempt, { ...attempt, reason: failed ? refusal.reason : null });
      // Having been in the hand of a process that was killed is no failure.
      const { failures } = (await tx.first(countFailures, { id }))!;
      const wait = refusal && !refusal.final ? retryAfter(MAIL_SCHEDULE_MS, failures) : undefined;
      const status = wait !== undefined ? 'queued' : somebodyHasIt || mailLeft !== null ? 'delivered' : 'failed';
      const left = refusal?.left && to.filter(({ email }) => refusal.left!.includes(email)).map(one => one.id);
      const settled = await tx.run(status === 'delivered' ? settleSent : settleNotSent, {
        ...{ id, takes, status, now },
        dueAt: wait === undefined ? null : now + wait,
        mailLeft: left === undefined ? mailLeft : JSON.stringify(left),
      });
      // Somebody else has it in hand, or was done with it: there is one more attempt to show.
      if (settled === 0) await tx.run(countChange, { id, now });
      else if (status !== 'queued') await record(tx, messageEvent(message, status));
    });
  }
}

/** When the next message is to be mailed. */
export const nextToMail: NextDue = db =>
  db.selectFrom('messages').select('due_at as dueAt').where('due_at', 'is not', null).orderBy('due_at').limit(1);

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long to wait after each time that a mail server did not take a message: some 28 hours in all. */
const MAIL_SCHEDULE_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];

const MAILS_AT_ONCE = 8;

/** How long a message is in one hand, unless that hand says that it still is. */
const LEASE_MS = 20_000;
const HOLD_AGAIN_MS = 6000;
const NOTE_AGAIN_MS = 1000;

const takeToMail = query((db, p: Params<{ now: number; until: number; most: number }>, engine) =>
  db
    .updateTable('messages')
    .set(eb => ({ due_at: p.until, leased: 1, takes: eb('takes', '+', 1) }))
    .where('id', 'in', eb =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .limit(p.most)
        .$if(engine === 'postgres', some => some.forUpdate().skipLocked()),
    )
    .returning([...loggedColumns, 'reply_to as replyTo', 'text', 'takes', 'mail_left as mailLeft']),
);

const holdOn = query((db, p: Params<{ id: number; takes: number; until: number }>) =>
  db
    .updateTable('messages')
    .set({ due_at: p.until })
    .where('id', '=', p.id)
    .where('takes', '=', p.takes)
    .where('leased', '=', 1),
);

const releaseAll = query((db, p: Params<{ now: number }>) =>
  db.updateTable('messages').set({ due_at: p.now, leased: 0 }).where('leased', '=', 1),
);

const addressOfAccount = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('accounts').select(['id', 'email']).where('id', '=', p.id),
);

/** As many as every mail server takes at once. */
const addressesOfAdmins = query((db, _: Params<{ id: number }>) =>
  db.selectFrom('accounts').select(['id', 'email']).where('admin', '=', 1).orderBy('id').limit(100),
);

const insertAttempt = query(
  (db, p: Params<{ id: number; number: number; at: number; outcome: 'delivered' | 'failed'; reason: string | null }>) =>
    db
      .insertInto('message_attempts')
      .values({ message_id: p.id, number: p.number, at: p.at, outcome: p.outcome, reason: p.reason })
      // It may have been noted in a transaction of which nobody heard whether it was committed.
      .onConflict(conflict => conflict.columns(['message_id', 'number']).doNothing()),
);

const countFailures = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('message_attempts')
    .select(({ fn }) => fn.countAll<number>().as('failures'))
    .where('message_id', '=', p.id)
    .where('outcome', '=', 'failed'),
);

type Settling = {
  id: number;
  takes: number;
  status: MessageStatus;
  dueAt: number | null;
  mailLeft: string | null;
  now: number;
};

const settling = ({ inHand }: { readonly inHand: boolean }) =>
  query((db, p: Params<Settling>) =>
    db
      .updateTable('messages')
      .set(eb => ({
        status: p.status,
        due_at: p.dueAt,
        mail_left: p.mailLeft,
        leased: 0,
        version: eb('version', '+', 1),
        updated_at: p.now,
      }))
      .where('id', '=', p.id)
      .where('status', '=', 'queued')
      .$if(inHand, message => message.where('takes', '=', p.takes)),
  );

/** A message that is sent is sent, whoever has it in hand. */
const settleSent = settling({ inHand: false });
const settleNotSent = settling({ inHand: true });

const countChange = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('messages')
    .set(eb => ({ version: eb('version', '+', 1), updated_at: p.now }))
    .where('id', '=', p.id),
);
