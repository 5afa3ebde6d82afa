import { findPerson, listMemberships } from '../../access/accounts/people.ts';
import { listKeys } from '../../access/keys/keys.ts';
import { countedAddress } from '../../access/limits/address.ts';
import { knownBrowserOf } from '../../access/sessions/known-browser.ts';
import { findLink, type Link, linkPath } from '../../access/sessions/links.ts';
import { findPassword, PASSWORD_LENGTH_MIN, passwordError } from '../../access/sessions/passwords.ts';
import { confirmByLink, resetPassword, signInByLink } from '../../access/sessions/recovery.ts';
import { isSecret } from '../../access/sessions/session.ts';
import { verifyCredentials } from '../../access/sessions/sign-in.ts';
import { startSignIn } from '../../access/sessions/sign-ins.ts';
import { revokeKeysAndDependents } from '../../events/webhooks/account-changes.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import type { Membership, Person } from '../../model/person.ts';
import { choices, form, passwordField } from '../forms.ts';
import { homeOf } from '../menu.ts';
import { publicForm, type View, type Visit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';
import { accountDatabases, nowOf } from '../site.ts';
import {
  browserOf,
  cookieNotice,
  knownCookie,
  linkOrigin,
  newPasswordField,
  operatorHelp,
  signedInResult,
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

/** A valid link, with its secret and its person. */
interface Opened {
  readonly secret: string;
  readonly link: Link;
  readonly person: Person;
  /** The person's accounts. */
  readonly memberships: readonly Membership[];
  readonly hasPassword: boolean;
}

async function open({ site, parameters }: Visit): Promise<Opened | undefined> {
  const { secret = '' } = parameters;
  const link = isSecret(secret) ? await findLink(site.accounts, secret, nowOf(site)) : undefined;
  if (link === undefined) return undefined;
  const person = await findPerson(site.accounts, link.personId);
  const memberships = person === undefined ? [] : await listMemberships(site.accounts, person.id);
  if (person === undefined || memberships.length === 0) return undefined;
  const hasPassword = (await findPassword(site.accounts, person.id)) !== undefined;
  return { secret, link, person, memberships, hasPassword };
}

const views = { confirm: confirmView, reset: resetView, sign_in: signInView };
const actions = { confirm, reset, sign_in: openAccount };

/**
 * Reports whether the link requires the password: the recipient may not be the person who signed up with the address.
 */
function needsPassword({ signedIn }: Visit, { person, hasPassword }: Opened): boolean {
  return hasPassword && signedIn?.person.id !== person.id;
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
  const { secret, person } = opened;
  const needed = needsPassword(visit, opened);
  if (needed) {
    const credentials = { email: person.email, password: form.get('password') ?? '' };
    const deps = { database: site.accounts, passwords: site.passwords };
    const verified = await verifyCredentials(deps, credentials, browserOf(visit));
    if (verified === undefined) return confirmView(visit, opened, 'The password is wrong.');
  }
  const { emailUrl } = signInDeps(visit);
  const result = await confirmByLink(site.accounts, secret, linkOrigin(visit, opened), emailUrl);
  site.emailQueued();
  if (result !== 'done') return result === 'taken' ? takenView() : endedView(visit);
  if (!needed) return { location: signedIn === undefined ? '/sign-in?done=confirmed' : '/account?done=confirmed' };
  const started = await site.accounts.write(tx => startSignIn(tx, person.id, browserOf(visit)));
  return signedInResult(visit, started, `${HOME_PATH}?done=confirmed`);
}

async function resetView(visit: Visit, opened: Opened, error?: string): Promise<View> {
  const { secret, person } = opened;
  const keys = await activeKeys(visit, opened);
  const label = 'Revoke all API keys as well';
  const hint = 'If someone else may have used the account. Programs with these keys stop working.';
  return {
    title: 'Choose a new password',
    errors: { password: error },
    body: html`<p>For <strong>${person.email}</strong>. All browsers that are signed in with it are signed out.</p>
${form(visit, { action: linkPath(secret), submit: 'Change the password' }, [
  newPasswordField({ error }),
  keys.length > 0 &&
    choices('checkbox', {
      name: 'revoke',
      label: 'API keys',
      choices: [{ value: 'keys', label, hint, checked: person.emailConfirmedAt === undefined }],
    }),
])}
${cookieNotice(visit)}`,
  };
}

async function reset(visit: Visit, opened: Opened) {
  const { site, form, request } = visit;
  const { secret, person } = opened;
  const password = form.get('password') ?? '';
  const error = passwordError(password, person.email);
  if (error !== undefined) return resetView(visit, opened, error);
  const hash = await site.passwords.hash(password, countedAddress(request.address));
  const origin = linkOrigin(visit, opened);
  if ((await resetPassword(site.accounts, secret, hash, origin)) !== 'done') return endedView(visit);
  if (form.get('revoke') === 'keys') {
    for (const { id } of ownAccounts(opened)) await revokeKeysAndDependents(accountDatabases(site), id, origin);
  }
  return { location: '/sign-in?done=password', cookies: [knownCookie(visit, knownBrowserOf(hash))] };
}

/** Returns the accounts that the person owns. */
function ownAccounts({ memberships }: Opened) {
  return memberships.filter(({ role }) => role === 'owner').map(({ account }) => account);
}

async function activeKeys({ site }: Visit, opened: Opened) {
  const keys = await Promise.all(ownAccounts(opened).map(({ id }) => listKeys(site.accounts, id)));
  return keys.flat().filter(({ revokedAt }) => revokedAt === null);
}

function signInView(visit: Visit, { secret, person, memberships, link, hasPassword }: Opened, error?: string): View {
  const label = hasPassword ? 'New password' : 'Choose a password';
  return {
    title: 'Open your account',
    errors: { password: error },
    body: html`<p>This link signs you in to <strong>${memberships[0]!.account.name}</strong> (${person.email}). It works once, until ${timeHtml(link.expiresAt)}.</p>
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
  const { secret, person } = opened;
  const password = form.get('password') ?? '';
  const error = password === '' ? undefined : passwordError(password, person.email);
  if (error !== undefined) return signInView(visit, opened, error);
  const hash = password === '' ? undefined : await site.passwords.hash(password, countedAddress(request.address));
  const origin = linkOrigin(visit, opened);
  const started = await signInByLink(site.accounts, secret, hash, browserOf(visit), origin);
  if (started === undefined) return endedView(visit);
  const known = hash === undefined ? [] : [knownCookie(visit, knownBrowserOf(hash))];
  return signedInResult(visit, started, homeOf(opened.memberships[0]!.account), known);
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
    body: html`<p>Someone else has this e-mail address by now. You keep the address that you had.</p>
<p><a href="/account">Your account</a></p>`,
  };
}
