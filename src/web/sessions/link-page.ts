import { getAccount } from '../../access/accounts/accounts.ts';
import { listKeys } from '../../access/keys/keys.ts';
import { addressSubject } from '../../access/sessions/attempts.ts';
import { knownBrowserOf } from '../../access/sessions/known-browser.ts';
import { findLink, type Link, linkPath } from '../../access/sessions/links.ts';
import { findPassword, PASSWORD_LENGTH_MIN, passwordError } from '../../access/sessions/passwords.ts';
import { confirmByLink, resetPassword, signInByLink } from '../../access/sessions/recovery.ts';
import { startSession } from '../../access/sessions/sessions.ts';
import { verifyCredentials } from '../../access/sessions/sign-in.ts';
import { revokeKeysAndDependents } from '../../events/webhooks/account-changes.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import type { Account } from '../../model/account.ts';
import { choices, form, passwordField } from '../forms.ts';
import { publicForm, type View, type Visit } from '../page.ts';
import { accountDatabases, nowOf } from '../site.ts';
import {
  browserOf,
  cookieNotice,
  knownCookie,
  linkOrigin,
  newPasswordField,
  operatorHelp,
  sessionCookie,
  signInDeps,
} from './visits.ts';

/**
 * The page that a link opens. Opening it changes nothing, because mail scanners open links; its button consumes the
 * link.
 */
export const linkPage = publicForm({
  path: '/links/{secret}',
  showsSecret: true,
  title: 'Open your account',
  on: 'portal',
  async show(visit) {
    const opened = await open(visit);
    return opened === undefined ? endedView(visit) : views[opened.link.purpose](visit, opened);
  },
  async submit(visit) {
    const opened = await open(visit);
    return opened === undefined ? endedView(visit) : actions[opened.link.purpose](visit, opened);
  },
});

/** A valid link, with its secret and its account. */
interface Opened {
  readonly secret: string;
  readonly link: Link;
  readonly account: Account;
  readonly hasPassword: boolean;
}

async function open({ site, parameters }: Visit): Promise<Opened | undefined> {
  const { secret = '' } = parameters;
  const link = /^[\w-]{43}$/.test(secret) ? await findLink(site.accounts, secret, nowOf(site)) : undefined;
  if (link === undefined) return undefined;
  const account = await getAccount(site.accounts, link.accountId);
  if (account.deletedAt !== undefined) return undefined;
  const hasPassword = (await findPassword(site.accounts, account.id)) !== undefined;
  return { secret, link, account, hasPassword };
}

const views = { confirm: confirmView, reset: resetView, sign_in: signInView };
const actions = { confirm, reset, sign_in: openAccount };

/**
 * Reports whether the link requires the password: the recipient may not be the person who signed up with the address.
 */
function needsPassword({ signedIn }: Visit, { account, hasPassword }: Opened): boolean {
  return hasPassword && signedIn?.account.id !== account.id;
}

function confirmView(visit: Visit, opened: Opened, error?: string): View {
  const { secret, link } = opened;
  const needed = needsPassword(visit, opened);
  return {
    title: 'Confirm your e-mail address',
    errors: { password: error },
    body: html`<p>Is <strong>${link.email}</strong> your address?${
      needed && html` Enter the password that you chose for the account.`
    }</p>
${form(
  visit,
  { action: linkPath(secret), submit: needed ? 'Confirm and sign in' : 'Confirm the address' },
  needed && passwordField({ name: 'password', label: 'Password', error, autocomplete: 'current-password' }),
)}
${cookieNotice(visit)}
${needed && html`<p>You did not choose one? Then someone else used your address. Close this page, and nothing happens.</p>`}`,
  };
}

async function confirm(visit: Visit, opened: Opened) {
  const { site, form, signedIn } = visit;
  const { secret, account } = opened;
  const needed = needsPassword(visit, opened);
  if (needed) {
    const credentials = { email: account.email, password: form.get('password') ?? '' };
    const deps = { database: site.accounts, passwords: site.passwords };
    const verified = await verifyCredentials(deps, credentials, browserOf(visit));
    if (verified === undefined) return confirmView(visit, opened, 'The password is wrong.');
  }
  const { emailUrl } = signInDeps(visit);
  const result = await confirmByLink(site.accounts, secret, linkOrigin(visit, account.id), emailUrl);
  site.emailQueued();
  if (result !== 'done') return result === 'taken' ? takenView() : endedView(visit);
  if (!needed) return { location: signedIn === undefined ? '/sign-in?done=confirmed' : '/account?done=confirmed' };
  const started = await site.accounts.write(tx => startSession(tx, account.id, browserOf(visit)));
  return { location: '/account?done=confirmed', cookies: [sessionCookie(visit, started.secret)] };
}

async function resetView(visit: Visit, { secret, account }: Opened, error?: string): Promise<View> {
  const keys = (await listKeys(visit.site.accounts, account.id)).filter(({ revokedAt }) => revokedAt === null);
  const label = 'Revoke all API keys as well';
  const hint = 'If someone else may have used the account. Programs with these keys stop working.';
  return {
    title: 'Choose a new password',
    errors: { password: error },
    body: html`<p>For the account <strong>${account.email}</strong>. All browsers that are signed in to it are signed out.</p>
${form(visit, { action: linkPath(secret), submit: 'Change the password' }, [
  newPasswordField({ error }),
  keys.length > 0 &&
    choices('checkbox', {
      name: 'revoke',
      label: 'API keys',
      choices: [{ value: 'keys', label, hint, checked: account.emailConfirmedAt === undefined }],
    }),
])}
${cookieNotice(visit)}`,
  };
}

async function reset(visit: Visit, opened: Opened) {
  const { site, form, request } = visit;
  const { secret, account } = opened;
  const password = form.get('password') ?? '';
  const error = passwordError(password, account.email);
  if (error !== undefined) return resetView(visit, opened, error);
  const hash = await site.passwords.hash(password, addressSubject(request.address));
  const origin = linkOrigin(visit, account.id);
  if ((await resetPassword(site.accounts, secret, hash, origin)) !== 'done') return endedView(visit);
  if (form.get('revoke') === 'keys') await revokeKeysAndDependents(accountDatabases(site), account.id, origin);
  return { location: '/sign-in?done=password', cookies: [knownCookie(visit, knownBrowserOf(hash))] };
}

function signInView(visit: Visit, { secret, account, link, hasPassword }: Opened, error?: string): View {
  const label = hasPassword ? 'New password' : 'Choose a password';
  return {
    title: 'Open your account',
    errors: { password: error },
    body: html`<p>This link signs you in to <strong>${account.name}</strong> (${account.email}). It works once, until ${timeHtml(link.expiresAt)}.</p>
${form(visit, { action: linkPath(secret), submit: 'Sign in' }, [
  newPasswordField({
    label,
    error,
    optional: true,
    hint: hasPassword
      ? `At least ${PASSWORD_LENGTH_MIN} characters. Leave the field empty to keep your current password.`
      : `At least ${PASSWORD_LENGTH_MIN} characters. With a password, you can sign in without a link.`,
  }),
])}
${cookieNotice(visit)}`,
  };
}

async function openAccount(visit: Visit, opened: Opened) {
  const { site, form, request } = visit;
  const { secret, account } = opened;
  const password = form.get('password') ?? '';
  const error = password === '' ? undefined : passwordError(password, account.email);
  if (error !== undefined) return signInView(visit, opened, error);
  const hash = password === '' ? undefined : await site.passwords.hash(password, addressSubject(request.address));
  const origin = linkOrigin(visit, account.id);
  const session = await signInByLink(site.accounts, secret, hash, browserOf(visit), origin);
  if (session === undefined) return endedView(visit);
  const known = hash === undefined ? [] : [knownCookie(visit, knownBrowserOf(hash))];
  return { location: '/account', cookies: [sessionCookie(visit, session), ...known] };
}

function endedView({ site }: Visit): View {
  return {
    title: 'This link no longer works',
    status: 410,
    body: html`<p>Links work once, and only for a while.</p>
${
  site.emailSender === undefined
    ? operatorHelp()
    : html`<p><a href="/forgot-password">Get a link for a new password</a></p>`
}
<p><a href="/sign-in">Sign in</a></p>`,
  };
}

function takenView(): View {
  return {
    title: 'This address cannot be used',
    status: 409,
    body: html`<p>Another account has this e-mail address by now. Your account keeps the address that it had.</p>
<p><a href="/account">Your account</a></p>`,
  };
}
