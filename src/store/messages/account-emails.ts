import { findPerson, findPersonByEmail } from '../../access/accounts/people.ts';
import { attemptLimits } from '../../access/sessions/attempts.ts';
import { createLink, LINK_MS, type LinkPurpose, linkPath } from '../../access/sessions/links.ts';
import { spelled } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';
import { type EmailJobDeps, emailJob, emailQueue } from './email-job.ts';
import { isAboutMembers, type Letter, membersLetter } from './member-letters.ts';

/** Creates the job that sends e-mail about accounts. */
export function accountEmails(deps: EmailJobDeps) {
  return emailJob(deps, {
    name: 'account_emails',
    queue: accountEmailQueue,
    async compose(tx, email) {
      const letter = await letterOf(tx, email);
      return letter && emailOf(email, letter);
    },
    finish: (tx, { id }) => tx.run(deleteEmail, { id }),
  });
}

export const accountEmailQueue = emailQueue('account_emails', [
  'id',
  'kind',
  'account_id as accountId',
  'email',
  'url',
  'created_at as createdAt',
  'failures',
]);

type ClaimedEmail = NonNullable<(typeof accountEmailQueue.claim)['row']>;

function emailOf({ id, email, createdAt }: ClaimedEmail, letter: Letter) {
  return { id: `account-${id}.${createdAt}`, to: [email], replyTo: null, at: createdAt, ...letter };
}

/**
 * Returns the e-mail to send, with a new link; `undefined` if it is no longer needed, or its person or account does not
 * exist.
 */
async function letterOf(tx: Transaction, claimed: ClaimedEmail): Promise<Letter | undefined> {
  const { kind, accountId, email, url } = claimed;
  if (isAboutMembers(kind)) return membersLetter(tx, { ...claimed, kind, accountId: accountId! });
  const holder = await findPersonByEmail(tx, email);
  const person = accountId === null ? holder : await findPerson(tx, accountId);
  if (kind === 'account_exists') return existsLetter(url);
  if (person === undefined) return undefined;
  const link = async (purpose: LinkPurpose) => {
    const { secret } = await createLink(tx, { personId: person.id, purpose, email });
    return url + linkPath(secret);
  };
  switch (kind) {
    case 'confirm':
      if (holder !== undefined && holder.id !== person.id) return existsLetter(url);
      return holder?.emailConfirmedAt === undefined ? confirmLetter(await link('confirm')) : undefined;
    case 'reset':
      return resetLetter(await link('reset'));
    case 'email_changed':
      return changedLetter('e-mail address', url);
    case 'password_changed':
      return changedLetter('password', url);
    case 'factor_added':
      return factorLetter('added to', url);
    case 'factor_removed':
      return factorLetter('removed from', url);
    case 'factor_tried':
      return triedLetter(url);
  }
}

const IGNORE = 'If that was not you, ignore this e-mail: nothing changes.';

// An e-mail never contains text that its requester typed, because the recipient may be another person.
function confirmLetter(link: string): Letter {
  return {
    subject: 'Confirm your e-mail address',
    text: `Open this link to confirm your address for your Pet Store account. It works once, for ${durationIn('day', LINK_MS.confirm, 'words')}:

${link}

${IGNORE}
`,
  };
}

function resetLetter(link: string): Letter {
  return {
    subject: 'Choose a new password',
    text: `Someone asked for a new password for your Pet Store account. Open this link to choose one. It works once, for ${durationIn('hour', LINK_MS.reset, 'article')}:

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

function factorLetter(change: string, url: string): Letter {
  return {
    subject: `A second factor was ${change} your sign-in`,
    text: `An authenticator app or a passkey was ${change} your sign-in at Pet Store. See what you have:

${url}/security

If that was not you, choose a new password at ${url}/forgot-password, and write to the operator of the store.
`,
  };
}

function triedLetter(url: string): Letter {
  return {
    subject: 'Someone tried codes for your sign-in',
    text: `Someone gave your password at Pet Store, and then ${spelled(attemptLimits.secondFactor.max)} codes within an hour, so no code of your authenticator app works for a while. A recovery code and a passkey still do.

If that was not you, choose a new password:

${url}/forgot-password
`,
  };
}

const deleteEmail = query((db, p: Params<{ id: number }>) => db.deleteFrom('account_emails').where('id', '=', p.id));
