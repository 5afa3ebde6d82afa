import { clearCookie, cookieNames } from '../../access/sessions/cookies.ts';
import { LINK_MS } from '../../access/sessions/links.ts';
import { passwordError } from '../../access/sessions/passwords.ts';
import { requestReset } from '../../access/sessions/recovery.ts';
import { endSession } from '../../access/sessions/sessions.ts';
import { signIn, signUp } from '../../access/sessions/sign-in.ts';
import { html } from '../../lib/html/html.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { field, form, notice, passwordField } from '../forms.ts';
import { accountPage, publicForm, type View, type Visit } from '../page.ts';
import {
  browserOf,
  changeError,
  cookieNotice,
  doneNotice,
  knownCookie,
  newPasswordField,
  operatorHelp,
  sessionCookie,
  signInDeps,
} from './visits.ts';

export const signInPage = publicForm({
  path: '/sign-in',
  title: 'Sign in',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: nextOf(visit) } : signInView(visit, {})),
  async submit(visit) {
    const email = visit.form.get('email')?.trim() ?? '';
    const password = visit.form.get('password') ?? '';
    const started = await signIn(signInDeps(visit), { email, password }, browserOf(visit));
    if (started === undefined) return signInView(visit, { email, error: wrongCredentials(visit) });
    // A suspended account can open little more than its account page.
    const location = started.account.suspendedAt === undefined ? nextOf(visit) : '/account';
    return { location, cookies: [sessionCookie(visit, started.secret), knownCookie(visit, started.known)] };
  },
});

export const signUpPage = publicForm({
  path: '/sign-up',
  title: 'Create an account',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: '/shelter' } : signUpView(visit, {})),
  async submit(visit) {
    const { form, site } = visit;
    const values = { name: form.get('name')?.trim() ?? '', email: form.get('email')?.trim() ?? '' };
    const password = form.get('password') ?? '';
    const errors = {
      name: changeError({ name: values.name }),
      email: changeError({ email: values.email }),
      password: passwordError(password, values.email),
    };
    if (Object.values(errors).some(error => error !== undefined)) return signUpView(visit, { ...values, errors });
    await signUp(signInDeps(visit), { ...values, password }, browserOf(visit));
    site.emailQueued();
    // The response is the same whether or not the address already had an account.
    return signInView(visit, { email: values.email, done: doneText(visit, values.email) });
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
    if (error !== undefined) return forgotView(visit, email, error);
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
  show: () => ({ location: '/' }),
  async submit({ site, signedIn, request }) {
    const { id, personId } = signedIn.session;
    await site.accounts.write(tx => endSession(tx, personId, id));
    return { location: '/', cookies: [clearCookie(cookieNames(request.publicUrl).session)] };
  },
});

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

function signInView(visit: Visit, { email, error, done }: { email?: string; error?: string; done?: string }): View {
  const next = visit.form.get('next') ?? visit.query.get('next');
  return {
    title: 'Sign in',
    ...(error !== undefined && { status: 401 }),
    errors: { '': error },
    body: html`${done !== undefined && notice('status', done)}${doneNotice(visit, signInNotices)}
${form(visit, { action: '/sign-in', submit: 'Sign in' }, [
  next !== null && html`<input type="hidden" name="next" value="${next}">`,
  field({ name: 'email', label: 'E-mail address', type: 'email', value: email, autocomplete: 'username' }),
  passwordField({ name: 'password', label: 'Password', autocomplete: 'current-password' }),
])}
${cookieNotice(visit)}
<p><a href="/forgot-password">Forgot your password?</a></p>
<p>New here? <a href="/sign-up">Create an account</a></p>`,
  };
}

const signInNotices = {
  password: 'Your password is changed. Sign in with the new password.',
  confirmed: 'Your e-mail address is confirmed.',
  left: 'You have left the account.',
} as const;

interface SignUpValues {
  readonly name?: string;
  readonly email?: string;
  readonly errors?: Readonly<Partial<Record<'name' | 'email' | 'password', string | undefined>>>;
}

function signUpView(visit: Visit, { name, email, errors = {} }: SignUpValues): View {
  return {
    title: 'Create an account',
    errors,
    body: html`${form(visit, { action: '/sign-up', submit: 'Create account' }, [
      field({
        name: 'name',
        label: 'Name',
        value: name,
        hint: 'The name of you, your shelter or your shop. Others see it.',
        error: errors.name,
        autocomplete: 'organization',
        maxLength: NAME_LENGTH_MAX,
      }),
      field({
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        value: email,
        error: errors.email,
        autocomplete: 'username',
      }),
      newPasswordField({ label: 'Password', error: errors.password }),
    ])}
${cookieNotice(visit)}
<p>Already have an account? <a href="/sign-in">Sign in</a></p>`,
  };
}

function forgotView(visit: Visit, email?: string, error?: string): View {
  return {
    title: 'Choose a new password',
    errors: { email: error },
    body:
      visit.site.emailSender === undefined
        ? html`${operatorHelp()}
<p><a href="/sign-in">Back to signing in</a></p>`
        : html`<p>We send you a link to choose a new password.</p>
${form(visit, { action: '/forgot-password', submit: 'Send the link' }, [
  field({ name: 'email', label: 'E-mail address', type: 'email', value: email, error, autocomplete: 'username' }),
])}
${cookieNotice(visit)}
<p><a href="/sign-in">Back to signing in</a></p>`,
  };
}

/** Returns the path to open after signing in: only a path of this site. */
function nextOf({ form, query }: Visit): string {
  const next = form.get('next') ?? query.get('next') ?? '';
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/shelter';
}
