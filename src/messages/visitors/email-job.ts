import type { JobType } from '../../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../../lib/jobs/retry-schedule.ts';
import type { Log } from '../../lib/log.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { parseDuration } from '../../lib/time.ts';
import { type Database, type NextDue, type Params, query, type Transaction } from '../../schema.ts';
import { hashSecret, newSecret } from '../../sessions/session.ts';
import type { Email, EmailFailure, EmailSender } from '../email-sender.ts';

type ClaimedMessage = NonNullable<(typeof claim)['row']>;

/** What the job that mails the links needs. */
interface EmailJobDeps {
  readonly database: Database;
  readonly sender: EmailSender;
  readonly log: Log;
}

/** Returns the path of the page on which a visitor confirms a message. */
export function confirmPath(secret: string): string {
  return `/confirm-message/${secret}`;
}

/**
 * Creates the job that mails the links by which visitors confirm their messages. Each attempt makes a secret of its own,
 * so that it is in its e-mail alone. One process at a time has the lease on a message; after a crash another one
 * continues.
 */
export function visitorEmails({ database, sender, log }: EmailJobDeps): JobType<ClaimedMessage, 'visitor_emails'> {
  const throttle = new LogThrottle();
  return {
    name: 'visitor_emails',
    concurrency: 4,

    async init() {
      // SQLite serves one process: leases left in the file belong to a process that has ended.
      if (database.engine === 'sqlite') await database.write(tx => tx.run(endLeases, { now: tx.now }));
    },

    async claim(most) {
      const jobs = await database.write(tx => tx.all(claim, { now: tx.now, until: tx.now + LEASE_MS, most }));
      return { rows: jobs.length, jobs };
    },

    async run(message) {
      const secret = newSecret();
      const { id } = message;
      await database.write(tx => tx.run(storeHash, { id, hash: hashSecret(secret) }));
      const failure = await sender.send(emailOf(message, message.url + confirmPath(secret)));
      if (failure !== undefined && throttle.shouldLog(failure.reason)) {
        log.warn({ message: id, reason: failure.reason, detail: failure.detail }, SENDING_FAILED);
      }
      await database.write(tx => recordResult(tx, message, failure));
    },
  };
}

/** When the next link is due to be mailed. */
export const nextVisitorEmail: NextDue = db =>
  db
    .selectFrom('visitor_messages')
    .select('due_at as dueAt')
    .where('due_at', 'is not', null)
    .orderBy('due_at')
    .limit(1);

const SENDING_FAILED = 'A visitor’s link could not be mailed. Equal failures that follow are not logged.';
/** The delays after each temporary failure; the message expires before a further one. */
const RETRY_SCHEDULE_MS = ['5s', '1m', '5m', '30m', '2h', '8h'].map(delay => parseDuration(delay)!);
/** Longer than an attempt to send takes. */
const LEASE_MS = 150_000;

/** The e-mail contains nothing that its sender typed: whoever receives it may be another person. */
function emailOf({ id, petId, email, createdAt }: ClaimedMessage, link: string): Email {
  return {
    id: `visitor-${id}.${createdAt}`,
    to: [email],
    replyTo: null,
    subject: `Confirm your message about animal ${petId}`,
    text: `Someone wrote a message about animal ${petId} on the Pet Store, with this address for replies. Open this link and press
the button to send the message to the animal's owner. The link works for two days:

${link}

If that was not you, ignore this e-mail: the message is not sent.
`,
    at: createdAt,
  };
}

/** A message whose e-mail was rejected for good waits no longer: nobody can confirm it. */
async function recordResult(tx: Transaction, { id, failures }: ClaimedMessage, failure: EmailFailure | undefined) {
  const waitMs = failure?.final === false ? scheduledDelay(RETRY_SCHEDULE_MS, failures + 1) : undefined;
  if (failure !== undefined && waitMs === undefined) await tx.run(deleteMessage, { id });
  else if (waitMs === undefined) await tx.run(recordAttempt, { id, failures, dueAt: null });
  else await tx.run(recordAttempt, { id, failures: failures + 1, dueAt: tx.now + waitMs });
}

const claim = query((db, p: Params<{ now: number; until: number; most: number }>, engine) =>
  db
    .updateTable('visitor_messages')
    .set({ due_at: p.until })
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('visitor_messages')
        .select('id')
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .limit(p.most)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returning(['id', 'pet_id as petId', 'email', 'url', 'created_at as createdAt', 'failures']),
);

const endLeases = query((db, p: Params<{ now: number }>) =>
  db.updateTable('visitor_messages').set({ due_at: p.now }).where('due_at', '>', p.now),
);

const storeHash = query((db, p: Params<{ id: number; hash: string }>) =>
  db.updateTable('visitor_messages').set({ hash: p.hash }).where('id', '=', p.id),
);

const recordAttempt = query((db, p: Params<{ id: number; dueAt: number | null; failures: number }>) =>
  db.updateTable('visitor_messages').set({ due_at: p.dueAt, failures: p.failures }).where('id', '=', p.id),
);

const deleteMessage = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('visitor_messages').where('id', '=', p.id),
);
