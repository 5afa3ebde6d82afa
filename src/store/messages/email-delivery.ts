import { setTimeout as pause } from 'node:timers/promises';
import type { ExpressionBuilder } from 'kysely';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../../lib/jobs/retry-schedule.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { parseDuration } from '../../lib/time.ts';
import { record, traceOfCreation } from '../../model/log/log.ts';
import type { EmailFault, MessageStatus } from '../../model/message.ts';
import { messageIdOf } from '../../model/message.ts';
import { type Database, type NextDue, type Params, query, type Tables } from '../../model/schema.ts';
import { type EmailJobDeps, leasing } from './email-job.ts';
import type { EmailFailure } from './email-sender.ts';
import { messageEvent, recordedColumns } from './rows.ts';

/** A message that was claimed for sending by e-mail. */
type ClaimedMessage = NonNullable<(typeof claim)['row']>;
type Recipient = NonNullable<(typeof account)['row']>;

/**
 * Creates the job that sends messages in an inbox by e-mail.
 *
 * One process at a time has the lease on a message. After a crash another process continues; it sends an e-mail again
 * only if the result of the first attempt was not recorded. The same failure is logged only once.
 */
export function emailDelivery({ database, sender, log }: EmailJobDeps): JobType<ClaimedMessage, 'mail'> {
  const throttle = new LogThrottle();
  return {
    name: 'mail',
    concurrency: CONCURRENCY,
    ...leasing(database, { claim, endLeases }, LEASE_MS),

    async traceOf({ id }) {
      const created = await database.first(traceOfCreation, { kind: 'message', subjectId: id });
      return { traceparent: created?.traceparent ?? undefined, attributes: { 'petstore.message.id': messageIdOf(id) } };
    },

    async run(message, stopping) {
      const renewal = setInterval(() => void renewLease(message), LEASE_RENEWAL_MS).unref();
      try {
        const to = await recipientsOf(message);
        // Without a recipient there is no attempt, because the message is in the inbox. Spam is not sent, but its sender
        // sees the same attempt as for other messages.
        const isSent = to.length > 0 && message.folder !== 'spam';
        const failure = isSent ? await sender.send(emailOf(message, to)) : undefined;
        if (failure !== undefined && throttle.shouldLog(`mail ${failure.reason}`)) {
          const { reason, detail } = failure;
          log.warn({ message: messageIdOf(message.id), reason, detail }, SENDING_FAILED);
        }
        await recordResult(message, failure, to, stopping);
      } finally {
        clearInterval(renewal);
      }
    },
  };

  /** Renews a lease. If that fails, another process may claim the message and send it twice. */
  async function renewLease({ id, claims }: ClaimedMessage): Promise<void> {
    await database.write(tx => tx.run(extendLease, { id, claims, until: tx.now + LEASE_MS })).catch(() => undefined);
  }

  async function recipientsOf({ toAccountId, petId, deferredIds }: ClaimedMessage): Promise<readonly Recipient[]> {
    const recipients = toAccountId === null ? admins : petId === null ? account : accountUnlessDeclined;
    const all = await database.all(recipients, { id: toAccountId ?? 0 });
    if (deferredIds === null) return all;
    const deferred = new Set<number>(JSON.parse(deferredIds));
    return all.filter(({ id }) => deferred.has(id));
  }

  /** Records a result. Retries until it succeeds or the process stops, because the e-mail is already sent. */
  async function recordResult(
    message: ClaimedMessage,
    failure: EmailFailure | undefined,
    to: readonly Recipient[],
    stopping: AbortSignal,
  ): Promise<void> {
    for (;;) {
      try {
        return await writeResult(database, message, failure, to);
      } catch (error) {
        if (stopping.aborted) throw error;
        if (throttle.shouldLog('note')) log.warn({ err: error }, RECORD_FAILED);
        await pause(RECORD_AGAIN_MS);
      }
    }
  }
}

function emailOf(message: ClaimedMessage, to: readonly Recipient[]) {
  const { id, replyTo, text, createdAt } = message;
  const addresses = to.map(({ email }) => email);
  const subject = subjectOf(message);
  return { id: `${messageIdOf(id)}.${createdAt}`, to: addresses, replyTo, subject, text, at: createdAt };
}

/**
 * Returns the subject: the first line of a message from the store itself. The subject of other messages contains no
 * text of their senders.
 */
function subjectOf({ accountId, petId, text }: ClaimedMessage): string {
  if (petId !== null) return `A message about your animal ${petId}`;
  if (accountId !== null) return 'A message to the pet store';
  const [line = ''] = text.trim().split(/[\r\n]/, 1);
  return line.length <= SUBJECT_LENGTH_MAX ? line.replace(/\.$/, '') : 'A message from the pet store';
}

/** The maximum length in UTF-16 units, because mail programs truncate longer subjects. */
const SUBJECT_LENGTH_MAX = 150;

/**
 * Records the attempt, and either schedules the next attempt or sets the final status of the message, with an event.
 */
function writeResult(
  database: Database,
  message: ClaimedMessage,
  failure: EmailFailure | undefined,
  to: readonly Recipient[],
): Promise<void> {
  const { id, claims } = message;
  const reason = attemptFailure(failure);
  const outcome = reason === null ? 'delivered' : 'failed';
  return database.write(async tx => {
    const { now } = tx;
    if (to.length > 0) await tx.run(insertAttempt, { id, number: claims, at: now, outcome, reason });
    // Count failures, not claims: a claim by a process that crashed is not a failure.
    const { failures } = (await tx.first(countFailures, { id }))!;
    const waitMs = failure?.final === false ? scheduledDelay(RETRY_SCHEDULE_MS, failures) : undefined;
    const status = statusAfter(message, failure, waitMs);
    const updated = await tx.run(status === 'delivered' ? recordDelivered : recordNotDelivered, {
      ...{ id, claims, status, now },
      dueAt: waitMs === undefined ? null : now + waitMs,
      deferredIds: deferredIdsAfter(message, failure, to),
    });
    // Another process has the lease or has recorded a final result, so only the attempt is new.
    if (updated === 0) await tx.run(countChange, { id, now });
    else if (status !== 'queued') await record(tx, messageEvent(message, status));
  });
}

/**
 * Returns why an attempt failed; null if some recipients have the e-mail and no others can be reached by another
 * attempt.
 */
function attemptFailure(failure: EmailFailure | undefined): EmailFault | null {
  return failure === undefined || (failure.final && failure.deferred !== undefined) ? null : failure.reason;
}

/**
 * Returns the status after an attempt. A message is delivered if this attempt or an earlier one reached a recipient.
 */
function statusAfter(
  { deferredIds }: ClaimedMessage,
  failure: EmailFailure | undefined,
  waitMs: number | undefined,
): MessageStatus {
  if (waitMs !== undefined) return 'queued';
  return failure === undefined || failure.deferred !== undefined || deferredIds !== null ? 'delivered' : 'failed';
}

/** Returns the recipients that the next attempt sends to, as stored. */
function deferredIdsAfter(
  { deferredIds }: ClaimedMessage,
  failure: EmailFailure | undefined,
  to: readonly Recipient[],
) {
  const deferred = failure?.deferred;
  if (deferred === undefined) return deferredIds;
  return JSON.stringify(to.filter(({ email }) => deferred.includes(email)).map(({ id }) => id));
}

/** When the next message is due to be sent by e-mail. */
export const nextEmailDelivery: NextDue = db =>
  db
    .selectFrom('messages')
    .select('due_at as dueAt')
    .where('due_at', 'is not', null)
    .where(isFirstNotification)
    .orderBy('due_at')
    .limit(1);

/**
 * Selects messages from accounts and visitors, and for each recipient the first message from the store itself that was
 * not sent by e-mail yet: those are sent in order, one at a time.
 */
function isFirstNotification({ or, eb, not, exists, ref, selectFrom }: ExpressionBuilder<Tables, 'messages'>) {
  const earlier = selectFrom('messages as earlier')
    .select('earlier.id')
    .where('earlier.due_at', 'is not', null)
    .where('earlier.account_id', 'is', null)
    .where('earlier.pet_id', 'is', null)
    .where('earlier.to_account_id', '=', ref('messages.to_account_id'))
    .where('earlier.id', '<', ref('messages.id'));
  return or([eb('messages.account_id', 'is not', null), eb('messages.pet_id', 'is not', null), not(exists(earlier))]);
}

const SENDING_FAILED =
  'A message could not be sent by e-mail, or not to every recipient. Further failures of this kind are not logged.';
const RECORD_FAILED = 'The result of an e-mail cannot be recorded at present.';

/** The delays after each temporary failure: some 28 hours in all. */
const RETRY_SCHEDULE_MS = ['5s', '5m', '30m', '2h', '5h', '10h', '10h'].map(delay => parseDuration(delay)!);
const CONCURRENCY = 8;
const LEASE_MS = 20_000;
const LEASE_RENEWAL_MS = 6000;
const RECORD_AGAIN_MS = 1000;
/** The maximum number of recipients: every mail server accepts this many at once. */
const ADMINS_MAX = 100;

const claim = query((db, p: Params<{ now: number; until: number; most: number }>, engine) =>
  db
    .updateTable('messages')
    .set(({ eb }) => ({ due_at: p.until, leased: 1, takes: eb('takes', '+', 1) }))
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('messages')
        .select('id')
        .where('due_at', '<=', p.now)
        .where(isFirstNotification)
        .orderBy('due_at')
        .limit(p.most)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returning([...recordedColumns, 'reply_to as replyTo', 'text', 'takes as claims', 'mail_left as deferredIds']),
);

const extendLease = query((db, p: Params<{ id: number; claims: number; until: number }>) =>
  db
    .updateTable('messages')
    .set({ due_at: p.until })
    .where('id', '=', p.id)
    .where('takes', '=', p.claims)
    .where('leased', '=', 1),
);

const endLeases = query((db, p: Params<{ now: number }>) =>
  db.updateTable('messages').set({ due_at: p.now, leased: 0 }).where('leased', '=', 1),
);

const accountQuery = ({ mayDecline }: { readonly mayDecline: boolean }) =>
  query((db, p: Params<{ id: number }>) =>
    db
      .selectFrom('accounts')
      .select(['id', 'email'])
      .where('id', '=', p.id)
      .where('delete_at', 'is', null)
      .where('deleted_at', 'is', null)
      .$if(mayDecline, accounts =>
        accounts.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('members')
                .innerJoin('people', 'people.id', 'members.person_id')
                .select('person_id')
                .whereRef('members.account_id', '=', 'accounts.id')
                .whereRef('people.email', '=', 'accounts.email')
                .where('people.email_confirmed_at', 'is not', null)
                .where('left_at', 'is', null)
                .where('notices', 'in', ['daily', 'none']),
            ),
          ),
        ),
      ),
  );

const account = accountQuery({ mayDecline: false });
/** The account, unless the member with its address has chosen a daily e-mail about messages, or none. */
const accountUnlessDeclined = accountQuery({ mayDecline: true });

const admins = query((db, _: Params<{ id: number }>) =>
  db
    .selectFrom('accounts')
    .select(['id', 'email'])
    .where('admin', '=', 1)
    .where('suspended_at', 'is', null)
    .orderBy('id')
    .limit(ADMINS_MAX),
);

const insertAttempt = query(
  (db, p: Params<{ id: number; number: number; at: number; outcome: 'delivered' | 'failed'; reason: string | null }>) =>
    db
      .insertInto('message_attempts')
      .values({ message_id: p.id, number: p.number, at: p.at, outcome: p.outcome, reason: p.reason })
      // An earlier transaction may have committed although this process got an error.
      .onConflict(conflict => conflict.columns(['message_id', 'number']).doNothing()),
);

const countFailures = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('message_attempts')
    .select(({ fn }) => fn.countAll<number>().as('failures'))
    .where('message_id', '=', p.id)
    .where('outcome', '=', 'failed'),
);

type Result = Pick<ClaimedMessage, 'id' | 'status' | 'claims' | 'deferredIds'> & { dueAt: number | null; now: number };

const resultQuery = ({ leased }: { readonly leased: boolean }) =>
  query((db, p: Params<Result>) =>
    db
      .updateTable('messages')
      .set(({ eb }) => ({
        status: p.status,
        due_at: p.dueAt,
        mail_left: p.deferredIds,
        leased: 0,
        version: eb('version', '+', 1),
        updated_at: p.now,
      }))
      .where('id', '=', p.id)
      .where('status', '=', 'queued')
      .$if(leased, message => message.where('takes', '=', p.claims)),
  );

/** A sent message is delivered, even if another process now has the lease. */
const recordDelivered = resultQuery({ leased: false });
const recordNotDelivered = resultQuery({ leased: true });

const countChange = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('messages')
    .set(({ eb }) => ({ version: eb('version', '+', 1), updated_at: p.now }))
    .where('id', '=', p.id),
);
