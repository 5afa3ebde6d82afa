import { LINK_MS } from '../../access/sessions/links.ts';
import { findPassword } from '../../access/sessions/passwords.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { Account } from '../../model/account.ts';
import { everydayBounds } from '../bounds.ts';
import { doneNotice, fieldsOf, form, notice, type PasswordName, passwordField, passwordLabels } from '../forms.ts';
import type { AccountVisit, View } from '../page.ts';
import { badge, setting as section } from '../parts.ts';
import { newPasswordField, operatorHelp, usernameField } from '../sessions/visits.ts';

/** The errors of a submitted form, by the name of the field. */
type Errors = Readonly<Record<string, string | undefined>>;

/** Returns the page of the account, with the errors of the submitted form. */
export async function accountView(visit: AccountVisit, errors: Errors = {}): Promise<View> {
  const { site, account } = visit;
  const isOwner = visit.may('account');
  const hasPassword = (await findPassword(site.accounts, visit.signedIn.person.id)) !== undefined;
  const body =
    account.suspendedAt === undefined
      ? [
          isOwner && profile(visit, errors),
          ownName(visit, errors),
          email(visit, errors, hasPassword),
          password(visit, errors, hasPassword),
          isOwner && (await use(visit)),
        ]
      : [suspension(visit), isOwner && exportSection(visit)];
  return {
    title: 'Account',
    styles: ['account.css'],
    errors,
    body: html`${doneNotice(visit, done)}${body}`,
  };
}

const done = {
  confirmed: 'Your e-mail address is confirmed.',
  name: 'The name of the account is changed.',
  ownName: 'Your name is changed.',
  email: 'Your e-mail address is changed.',
  sent: `We sent a link to the address. Open it within ${durationIn('day', LINK_MS.confirm, 'words')} to confirm the address.`,
  password: 'Your password is changed. All other browsers are signed out.',
  resumed: 'The deletion is cancelled. Activate your webhooks again.',
};

function profile(visit: AccountVisit, errors: Errors): Html {
  const { id, name, createdAt } = visit.account;
  return section(
    'profile',
    'Profile',
    html`Account ${id}, since ${timeHtml(createdAt)}.`,
    form(visit, { action: '/account/name', submit: 'Change the name' }, [
      fieldsOf(visit, errors)('name', 'Name', {
        ...{ value: name, hint: 'Others see this name.', autocomplete: 'organization', maxLength: NAME_LENGTH_MAX },
      }),
    ]),
  );
}

function ownName(visit: AccountVisit, errors: Errors): Html {
  return section(
    'own-name',
    'Your name',
    'Your colleagues see it beside what you do.',
    form(visit, { action: '/account/own-name', submit: 'Change your name', secondary: true }, [
      fieldsOf(visit, errors)('ownName', 'Your name', {
        ...{ value: visit.signedIn.person.name, autocomplete: 'name', maxLength: NAME_LENGTH_MAX },
      }),
    ]),
  );
}

/** Returns the field for the current password, if the person has one. */
export function currentPassword(name: PasswordName, errors: Errors, hasPassword: boolean): Html | false {
  const error = errors[name];
  return hasPassword && passwordField({ name, label: passwordLabels[name], error, autocomplete: 'current-password' });
}

function email(visit: AccountVisit, errors: Errors, hasPassword: boolean): Html {
  const { site, signedIn } = visit;
  const { person } = signedIn;
  const isConfirmed = person.emailConfirmedAt !== undefined;
  const again = { action: '/account/email/confirm', submit: 'Send the link again', className: 'inline' };
  const confirm = site.emailSender === undefined ? operatorHelp() : form(visit, { ...again, secondary: true });
  return section(
    'address',
    'E-mail address',
    site.emailSender === undefined
      ? 'You sign in with it.'
      : 'You sign in with it. A new address counts once you open the link that we send to it.',
    html`<p>${person.email} ${isConfirmed ? badge('good', 'Confirmed') : badge('warn', 'Not confirmed')}</p>
${!isConfirmed && html`<div class="part">${confirm}</div>`}
${form(visit, { action: '/account/email', submit: 'Change the address', secondary: true }, [
  fieldsOf(visit, errors)('email', 'New e-mail address', { type: 'email', autocomplete: 'email' }),
  currentPassword('emailPassword', errors, hasPassword),
])}`,
  );
}

function password(visit: AccountVisit, errors: Errors, hasPassword: boolean): Html {
  return section(
    'new-password',
    'Password',
    'A new password signs out all other browsers.',
    html`${!hasPassword && html`<p>You have no password yet. Choose one, so that you can sign in without a link.</p>`}
${form(
  visit,
  { action: '/account/password', submit: hasPassword ? 'Change the password' : 'Set the password', secondary: true },
  [
    usernameField(visit.signedIn.person.email),
    currentPassword('current', errors, hasPassword),
    newPasswordField({ error: errors['password'] }),
  ],
)}`,
  );
}

async function use(visit: AccountVisit): Promise<Html> {
  const about = html`What you have, of what <a href="/account/plan">your plan</a> allows.`;
  return section('use', 'In use', about, await everydayBounds(visit));
}

/** Returns the button that exports the data of the account. */
export function exportSection(visit: AccountVisit): Html {
  return section(
    'data',
    'Export',
    'The data of your account on both deployments, in one JSON file, without the photos themselves.',
    form(visit, { action: '/account/export', submit: 'Export the data', className: 'inline' }),
  );
}

/** Explains that the account is suspended, and what the member can do. */
function suspension(visit: AccountVisit): Html {
  const { suspendedAt, deleteAt, deletionByOwner }: Account = visit.account;
  const isOwner = visit.may('account');
  const ask = html`<p>Ask the operator of the store why.${isOwner && ' You can still export your data.'}</p>`;
  if (deleteAt === undefined) {
    return notice(
      'alert',
      html`<p><strong>Your account is suspended</strong> since ${timeHtml(suspendedAt!)}. Its API keys are rejected and its webhooks are disabled.</p>
${ask}`,
    );
  }
  return notice(
    'alert',
    html`<p><strong>Your account will be deleted</strong> on ${timeHtml(deleteAt)}. Until then its API keys are rejected and its webhooks are disabled.</p>
${
  !deletionByOwner
    ? ask
    : isOwner
      ? form(visit, { action: '/account/delete/cancel', submit: 'Keep the account', className: 'inline' })
      : html`<p>An owner of the account requested this, and can cancel it.</p>`
}`,
  );
}
