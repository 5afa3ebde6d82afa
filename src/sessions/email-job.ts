import { findAccountByEmail, getAccount } from '../accounts/accounts.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../lib/jobs/retry-schedule.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { parseDuration } from '../lib/time.ts';
import type { EmailFailure, EmailSender } from '../messages/email-sender.ts';
import { type Database, type NextDue, type Params, query, type Transaction } from '../schema.ts';
import { createLink, type LinkPurpose, linkPath } from './links.ts';

type ClaimedEmail = NonNullable<(typeof claim)['row']>;

/** The subject and the text of an e-mail. */
interface Letter {
  readonly subject: string;
  readonly text: string;
}

/**
 * Creates the job that sends e-mail about accounts. Each attempt makes a link of its own, so that the secret of a link is
 * in its e-mail alone. One process at a time has the lease on an e-mail; after a crash another one sends it.
 */
export function accountEmails({
  database,
  sender,
  log,
}: {
  readonly database: Database;
  readonly sender: EmailSender;
  readonly log: Log;
}): JobType<ClaimedEmail, 'account_emails'> {
  const throttle = new LogThrottle();
  return {
    name: 'account_emails',
    concurrency: 4,

    async init() {
      // SQLite serves one process: leases left in the file belong to a process that has ended.
      if (database.engine === 'sqlite') await database.write(tx => tx.run(endLeases, { now: tx.now }));
    },

    async claim(most) {
      const jobs = await database.write(tx => tx.all(claim, { now: tx.now, until: tx.now + LEASE_MS, most }));
      return { rows: jobs.length, jobs };
    },

    async run(email) {
      const letter = await database.write(tx => letterOf(tx, email));
      const failure = letter && (await sender.send(mailOf(email, letter)));
      if (failure !== undefined && throttle.shouldLog(failure.reason)) {
        log.warn({ email: email.id, reason: failure.reason, detail: failure.detail }, SENDING_FAILED);
      }
      await database.write(tx => recordResult(tx, email, failure));
    },
  };
}

/** When the next e-mail about an account is due. */
export const nextAccountEmail: NextDue = db =>
  db.selectFrom('account_emails').select('due_at as dueAt').orderBy('due_at').limit(1);

const SENDING_FAILED = 'An e-mail about an account could not be sent. Equal failures that follow are not logged.';
/** The delays after each temporary failure. */
const RETRY_SCHEDULE_MS = ['5s', '1m', '5m', '30m', '2h', '8h'].map(delay => parseDuration(delay)!);
/** Longer than an attempt to send takes. */
const LEASE_MS = 150_000;

function mailOf({ id, email, createdAt }: ClaimedEmail, letter: Letter) {
  return { id: `account-${id}.${createdAt}`, to: [email], replyTo: null, at: createdAt, ...letter };
}

async function recordResult(tx: Transaction, { id, failures }: ClaimedEmail, failure: EmailFailure | undefined) {
  const waitMs = failure?.final === false ? scheduledDelay(RETRY_SCHEDULE_MS, failures + 1) : undefined;
  if (waitMs === undefined) await tx.run(deleteEmail, { id });
  else await tx.run(retryLater, { id, dueAt: tx.now + waitMs, failures: failures + 1 });
}

/** Returns what to send, with a new link; `undefined` if there is nothing to say any more, or no such account. */
async function letterOf(tx: Transaction, claimed: ClaimedEmail): Promise<Letter | undefined> {
  const { kind, accountId, email, url } = claimed;
  const holder = await findAccountByEmail(tx, email);
  const account = accountId === null ? holder : await getAccount(tx, accountId);
  if (account === undefined || account.deletedAt !== undefined) return undefined;
  const link = async (purpose: LinkPurpose) => {
    const { secret } = await createLink(tx, { accountId: account.id, purpose, email });
    return url + linkPath(secret);
  };
  switch (kind) {
    case 'confirm':
      if (holder !== undefined && holder.id !== account.id) return existsLetter(url);
      return holder?.emailConfirmedAt === undefined ? confirmLetter(await link('confirm')) : undefined;
    case 'reset':
      return resetLetter(await link('reset'));
    case 'account_exists':
      return existsLetter(url);
    case 'email_changed':
      return changedLetter('e-mail address', url);
    case 'password_changed':
      return changedLetter('password', url);
  }
}

const IGNORE = 'If that was not you, ignore this e-mail: nothing changes.';

// A letter never contains what the person typed who asked for it: the recipient may be another one.
function confirmLetter(link: string): Letter {
  return {
    subject: 'Confirm your e-mail address',
    text: `Open this link to confirm your address for your Pet Store account. It works once, for seven days:

${link}

${IGNORE}
`,
  };
}

function resetLetter(link: string): Letter {
  return {
    subject: 'Choose a new password',
    text: `Someone asked for a new password for your Pet Store account. Open this link to choose one. It works once, for an hour:

${link}

${IGNORE}
`,
  };
}

function existsLetter(url: string): Letter {
  return {
    subject: 'You have a Pet Store account already',
    text: `Someone tried to use this address for a Pet Store account, but you have one already. Sign in:

${url}/sign-in

If you have forgotten your password, or never confirmed your address, choose a new password:

${url}/forgot-password

${IGNORE}
`,
  };
}

function changedLetter(what: string, url: string): Letter {
  return {
    subject: `The ${what} of your account was changed`,
    text: `The ${what} of your Pet Store account was changed.

If that was not you, choose a new password at ${url}/forgot-password, or write to the operator of the store.
`,
  };
}

const claim = query((db, p: Params<{ now: number; until: number; most: number }>, engine) =>
  db
    .updateTable('account_emails')
    .set({ due_at: p.until })
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('account_emails')
        .select('id')
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .limit(p.most)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returning(['id', 'kind', 'account_id as accountId', 'email', 'url', 'created_at as createdAt', 'failures']),
);

const endLeases = query((db, p: Params<{ now: number }>) =>
  db.updateTable('account_emails').set({ due_at: p.now }).where('due_at', '>', p.now),
);

const deleteEmail = query((db, p: Params<{ id: number }>) => db.deleteFrom('account_emails').where('id', '=', p.id));

const retryLater = query((db, p: Params<{ id: number; dueAt: number; failures: number }>) =>
  db.updateTable('account_emails').set({ due_at: p.dueAt, failures: p.failures }).where('id', '=', p.id),
);
