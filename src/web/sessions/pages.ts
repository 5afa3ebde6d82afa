import { countedAddress } from '../../access/limits/address.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { clearCookie, cookieNames } from '../../access/sessions/cookies.ts';
import { LINK_MS } from '../../access/sessions/links.ts';
import { passwordError } from '../../access/sessions/passwords.ts';
import { requestReset } from '../../access/sessions/recovery.ts';
import { endSession } from '../../access/sessions/sessions.ts';
import { signIn, signInByPasskey, signUp } from '../../access/sessions/sign-in.ts';
import { html } from '../../lib/html/html.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { Account } from '../../model/account.ts';
import { doneNotice, fieldsOf, form, notice, passwordField } from '../forms.ts';
import { accountPage, publicForm, type View, type Visit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';
import { PASSKEY_SCRIPT, signedByPasskey, signingForm } from './factor-forms.ts';
import {
  browserOf,
  changeError,
  cookieNotice,
  knownCookie,
  newPasswordField,
  nextField,
  nextOf,
  operatorHelp,
  sessionCookie,
  signedInResult,
  signInDeps,
} from './visits.ts';

const PASSKEY_PATH = '/sign-in/passkey';
/** The holder of challenges on the page that everyone sees. */
const ANYONE = 'visitor';

export const signInPage = publicForm({
  path: '/sign-in',
  title: 'Sign in',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: nextOf(visit) } : signInView(visit)),
  async submit(visit) {
    const email = visit.form.get('email')?.trim() ?? '';
    const password = visit.form.get('password') ?? '';
    const signedIn = await signIn(signInDeps(visit), { email, password }, browserOf(visit));
    if (signedIn === undefined) return signInView(visit, { error: wrongCredentials(visit) });
    const { account, started, known } = signedIn;
    return signedInResult(visit, started, arrivalOf(visit, account), [knownCookie(visit, known)]);
  },
});

/** Signs a person in with a passkey alone. */
export const passkeySignInPage = publicForm({
  path: PASSKEY_PATH,
  title: 'Sign in with a passkey',
  on: 'portal',
  show: visit => ({ location: `/sign-in?next=${encodeURIComponent(nextOf(visit))}` }),
  async submit(visit) {
    const { site, request } = visit;
    await requireAttempt(site.accounts, attemptLimits.signInByAddress, countedAddress(request.address));
    const signed = await signedByPasskey(visit, ANYONE, 'required');
    const signedIn =
      signed &&
      (await signInByPasskey(signInDeps(visit), signed.passkey, signed.used, signed.challengeAt, browserOf(visit)));
    if (signedIn === undefined) return signInView(visit, { error: 'This passkey did not work. Try again.' });
    const { account, secret } = signedIn;
    return { location: arrivalOf(visit, account), cookies: [sessionCookie(visit, secret)] };
  },
});

export const signUpPage = publicForm({
  path: '/sign-up',
  title: 'Create an account',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: HOME_PATH } : signUpView(visit)),
  async submit(visit) {
    const { form, site } = visit;
    const values = { name: form.get('name')?.trim() ?? '', email: form.get('email')?.trim() ?? '' };
    const password = form.get('password') ?? '';
    const errors = {
      name: changeError({ name: values.name }),
      email: changeError({ email: values.email }),
      password: passwordError(password, values.email),
    };
    if (Object.values(errors).some(error => error !== undefined)) return signUpView(visit, errors);
    await signUp(signInDeps(visit), { ...values, password }, browserOf(visit));
    site.emailQueued();
    // The response is the same whether or not the address already had an account.
    return signInView(visit, { done: doneText(visit, values.email) });
  },
});

export const forgotPasswordPage = publicForm({
  path: '/forgot-password',
  title: 'Choose a new password',
  on: 'portal',
  show: visit => forgotView(visit),
  async submit(visit) {
    const { site, form, request } = visit;
    const email = form.get('email')?.trim() ?? '';
    if (site.emailSender === undefined) return forgotView(visit);
    const error = changeError({ email });
    if (error !== undefined) return forgotView(visit, error);
    await requestReset(site.accounts, email, browserOf(visit), request.publicUrl);
    site.emailQueued();
    // The response is the same whether or not the address has an account.
    return {
      title: 'Check your inbox',
      body: html`<p>If <strong>${email}</strong> has an account here, we sent a link to it. It works once, for ${durationIn('hour', LINK_MS.reset, 'article')}.</p>
<p>Nothing arrived? Check the spam folder and the address, and <a href="/forgot-password">try again</a> after a few minutes.</p>
<p><a href="/sign-in">Back to signing in</a></p>`,
    };
  },
});

export const signOutPage = accountPage({
  path: '/sign-out',
  permission: 'own',
  title: 'Sign out',
  whileSuspended: true,
  withoutFactor: true,
  show: () => ({ location: '/' }),
  async submit({ site, signedIn, request }) {
    const { id, personId } = signedIn.session;
    await site.accounts.write(tx => endSession(tx, personId, id));
    return { location: '/', cookies: [clearCookie(cookieNames(request.publicUrl).session)] };
  },
});

/** Returns the path that a person opens after signing in. A suspended account can open little more than its own page. */
function arrivalOf(visit: Visit, { suspendedAt }: Account): string {
  return suspendedAt === undefined ? nextOf(visit) : '/account';
}

function wrongCredentials({ site }: Visit): string {
  const wrong = 'The e-mail address or the password is wrong';
  return site.emailSender === undefined
    ? `${wrong}.`
    : `${wrong}, or you have not confirmed the address yet: open the link that we sent you.`;
}

function doneText({ site }: Visit, email: string): string {
  return site.emailSender === undefined
    ? 'If your address is new here, your account is ready: sign in with the password that you chose. If you had an account already, its password is unchanged: sign in with that password.'
    : `We sent an e-mail to ${email}. If the address is new here, open the link in it to confirm the address; then you can sign in. If you had an account already, the e-mail says how to sign in.`;
}

async function signInView(visit: Visit, { error, done }: { error?: string; done?: string } = {}): Promise<View> {
  const passkeys = { action: PASSKEY_PATH, holder: ANYONE, passkeys: [] };
  return {
    title: 'Sign in',
    scripts: [PASSKEY_SCRIPT],
    styles: ['security.css'],
    ...(error !== undefined && { status: 401 }),
    errors: { '': error },
    body: html`${done !== undefined && notice('status', done)}${doneNotice(visit, signInNotices)}
${form(visit, { action: '/sign-in', submit: 'Sign in' }, [
  nextField(visit),
  fieldsOf(visit)('email', 'E-mail address', { type: 'email', autocomplete: 'username' }),
  passwordField({ name: 'password', label: 'Password', autocomplete: 'current-password' }),
])}
${cookieNotice(visit)}
${await signingForm(visit, passkeys, nextField(visit))}
<p><a href="/forgot-password">Forgot your password?</a></p>
<p>New here? <a href="/sign-up">Create an account</a></p>`,
  };
}

const signInNotices = {
  password: 'Your password is changed. Sign in with the new password.',
  confirmed: 'Your e-mail address is confirmed.',
  left: 'You have left the account.',
} as const;

function signUpView(visit: Visit, errors: Readonly<Record<string, string | undefined>> = {}): View {
  const fields = fieldsOf(visit, errors);
  return {
    title: 'Create an account',
    errors,
    body: html`${form(visit, { action: '/sign-up', submit: 'Create account' }, [
      fields('name', 'Name', {
        ...{ hint: 'The name of you, your shelter or your shop. Others see it.' },
        ...{ autocomplete: 'organization', maxLength: NAME_LENGTH_MAX },
      }),
      fields('email', 'E-mail address', { type: 'email', autocomplete: 'username' }),
      newPasswordField({ label: 'Password', error: errors['password'] }),
    ])}
${cookieNotice(visit)}
<p>Already have an account? <a href="/sign-in">Sign in</a></p>`,
  };
}

function forgotView(visit: Visit, error?: string): View {
  return {
    title: 'Choose a new password',
    errors: { email: error },
    body:
      visit.site.emailSender === undefined
        ? html`${operatorHelp()}
<p><a href="/sign-in">Back to signing in</a></p>`
        : html`<p>We send you a link to choose a new password.</p>
${form(visit, { action: '/forgot-password', submit: 'Send the link' }, [
  fieldsOf(visit, { email: error })('email', 'E-mail address', { type: 'email', autocomplete: 'username' }),
])}
${cookieNotice(visit)}
<p><a href="/sign-in">Back to signing in</a></p>`,
  };
}
