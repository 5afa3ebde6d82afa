import { cookieNames, cookieOf, setCookie } from '../../access/sessions/cookies.ts';
import { PASSWORD_LENGTH_MIN } from '../../access/sessions/passwords.ts';
import type { Browser, SignInDeps } from '../../access/sessions/sign-in.ts';
import { SIGN_IN_MS, type Started } from '../../access/sessions/sign-ins.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { SessionOrigin } from '../../lib/origin.ts';
import { nameError } from '../../lib/text.ts';
import { userErrorOf } from '../../lib/user-error.ts';
import { checkChange } from '../../model/account.ts';
import type { Membership, Person } from '../../model/person.ts';
import { hidden, notice, type PasswordField, passwordField } from '../forms.ts';
import type { Redirect, Visit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';
import { COOKIES_NEED_HTTPS } from '../same-site.ts';

/** Returns the dependencies of signing in and up from a visit. */
export function signInDeps(visit: Visit): SignInDeps {
  const { accounts: database, passwords } = visit.site;
  return { database, passwords, emailUrl: emailUrlOf(visit) };
}

/** Returns the public URL for links in e-mails; `undefined` if the process sends none. */
export function emailUrlOf({ site, request }: Pick<Visit, 'site' | 'request'>): string | undefined {
  return site.emailSender && request.publicUrl;
}

export function browserOf({ request }: Visit): Browser {
  const known = cookieOf(request.header('cookie'), cookieNames(request.publicUrl).known);
  return { address: request.address, userAgent: request.header('user-agent') ?? '', known };
}

/** Returns the `Set-Cookie` header of a session that started. */
export function sessionCookie({ request }: Visit, secret: string): string {
  return setCookie(cookieNames(request.publicUrl).session, secret);
}

/** The page that asks for the second factor of a sign-in. */
export const SECOND_FACTOR_PATH = '/sign-in/second-factor';

/**
 * Returns the redirect of a person who has given the password or opened a link: to the page that asks for the second
 * factor, if the sign-in waits for one.
 * @param location where the person arrives afterwards
 */
export function signedInResult(
  visit: Visit,
  { waits, secret }: Started,
  location: string,
  cookies: readonly string[] = [],
): Redirect {
  if (!waits) return { location, cookies: [sessionCookie(visit, secret), ...cookies] };
  const { signIn } = cookieNames(visit.request.publicUrl);
  return {
    location: `${SECOND_FACTOR_PATH}?next=${encodeURIComponent(location)}`,
    cookies: [setCookie(signIn, secret, SIGN_IN_MS), ...cookies],
  };
}

/** Returns the path to open after signing in: only a path of this site. */
export function nextOf({ form, query }: Visit): string {
  const next = form.get('next') ?? query.get('next') ?? '';
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : HOME_PATH;
}

/** Returns the hidden field that keeps the path to open after signing in. */
export function nextField({ form, query }: Visit): Html | undefined {
  const next = form.get('next') ?? query.get('next');
  return next === null ? undefined : hidden('next', next);
}

/** Returns the `Set-Cookie` header that marks a browser as one in which a person has signed in. @param known from `knownBrowserOf` */
export function knownCookie({ request }: Visit, known: string): string {
  return setCookie(cookieNames(request.publicUrl).known, known);
}

/** Returns the origin of a change by a link to a person, without a session. */
export function linkOrigin(
  { request }: Visit,
  { person, memberships }: { readonly person: Person; readonly memberships: readonly Membership[] },
): SessionOrigin {
  const { requestId, address } = request;
  return { accountId: memberships[0]!.account.id, personId: person.id, requestId, address };
}

/** Explains why signing in does not work over plain HTTP. */
export function cookieNotice({ canSignIn }: Visit): Html | undefined {
  return canSignIn ? undefined : notice('alert', COOKIES_NEED_HTTPS);
}

/** Explains who can help if the store sends no e-mail. */
export function operatorHelp(): Html {
  return html`<p>This store sends no e-mail. Ask its operator for a link that signs you in, once. The operator finds you with
<code>petstore member list</code>, and creates the link with <code>petstore member link</code>.</p>`;
}

/** The error of a change that an earlier release, which some servers still run, would ignore. */
export const UPGRADING = 'The store is being upgraded at the moment. Try again in a few minutes.';

/** Returns the hidden field that tells password managers to which address a password belongs. */
export function usernameField(email: string): Html {
  return html`<input type="hidden" name="username" value="${email}" autocomplete="username">`;
}

/** Returns the field for a new password. */
export function newPasswordField(options: Partial<PasswordField> = {}): Html {
  return passwordField({
    ...{ name: 'password', label: 'New password', hint: `At least ${PASSWORD_LENGTH_MIN} characters.` },
    ...{ autocomplete: 'new-password', ...options },
  });
}

/** Returns the error of the name of a person, as a sentence; `undefined` if it is valid. */
export function personNameError(name: string): string | undefined {
  const error = nameError(name);
  return error && `Your name ${error}.`;
}

/** Returns the error of a name or an e-mail address, as a sentence; `undefined` if both are valid. */
export function changeError(change: Parameters<typeof checkChange>[0]): string | undefined {
  return userErrorOf(() => checkChange(change));
}
