import { checkChange } from '../accounts/account.ts';
import { type Html, html } from '../lib/html/html.ts';
import { UserError } from '../lib/user-error.ts';
import { field, form, notice } from '../web/forms.ts';
import { accountPage, publicPage, type View, type Visit } from '../web/page.ts';
import { clearCookie, cookieNames, setCookie } from './cookies.ts';
import { passwordError } from './passwords.ts';
import { endSession } from './sessions.ts';
import { signIn, signUp } from './sign-in.ts';

export const signInPage = publicPage({
  path: '/sign-in',
  title: 'Sign in',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: nextOf(visit) } : signInView(visit, {})),
  async submit(visit) {
    const { site, form, request } = visit;
    const email = form.get('email')?.trim() ?? '';
    const secret = await signIn(
      site.accounts,
      site.passwords,
      { email, password: form.get('password') ?? '' },
      browserOf(visit),
    );
    if (secret === undefined) {
      return signInView(visit, { email, error: 'The e-mail address or the password is wrong.' });
    }
    return { location: nextOf(visit), cookies: [setCookie(cookieNames(request.publicUrl).session, secret)] };
  },
});

export const signUpPage = publicPage({
  path: '/sign-up',
  title: 'Create an account',
  on: 'portal',
  show: visit => (visit.signedIn ? { location: '/keys' } : signUpView(visit, {})),
  async submit(visit) {
    const { site, form } = visit;
    const values = { name: form.get('name')?.trim() ?? '', email: form.get('email')?.trim() ?? '' };
    const password = form.get('password') ?? '';
    const errors = { ...errorsOf(values), password: passwordError(password, values.email) };
    if (Object.values(errors).some(error => error !== undefined)) return signUpView(visit, { ...values, errors });
    await signUp(site.accounts, site.passwords, { ...values, password }, browserOf(visit));
    // The same page whether or not the address had an account already.
    return signInView(visit, {
      email: values.email,
      done: 'Your account is ready. Sign in with the password that you chose.',
    });
  },
});

export const signOutPage = accountPage({
  path: '/sign-out',
  title: 'Sign out',
  whileSuspended: true,
  show: () => ({ location: '/' }),
  async submit({ site, signedIn, request }) {
    const { id, accountId } = signedIn.session;
    await site.accounts.write(tx => endSession(tx, accountId, id));
    return { location: '/', cookies: [clearCookie(cookieNames(request.publicUrl).session)] };
  },
});

function signInView(visit: Visit, { email, error, done }: { email?: string; error?: string; done?: string }): View {
  const next = visit.form.get('next') ?? visit.query.get('next');
  return {
    title: 'Sign in',
    status: error === undefined ? 200 : 401,
    body: html`${done !== undefined && notice('status', done)}${error !== undefined && notice('alert', error)}
${form(visit, { action: '/sign-in', submit: 'Sign in' }, [
  next !== null && html`<input type="hidden" name="next" value="${next}">`,
  field({ name: 'email', label: 'E-mail address', type: 'email', value: email, autocomplete: 'username' }),
  field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' }),
])}
${cookieNotice(visit)}
<p>New here? <a href="/sign-up">Create an account</a></p>`,
  };
}

interface SignUpValues {
  readonly name?: string;
  readonly email?: string;
  readonly errors?: Readonly<Partial<Record<'name' | 'email' | 'password', string | undefined>>>;
}

function signUpView(visit: Visit, { name, email, errors = {} }: SignUpValues): View {
  return {
    title: 'Create an account',
    status: Object.keys(errors).length === 0 ? 200 : 422,
    body: html`${form(visit, { action: '/sign-up', submit: 'Create account' }, [
      field({
        name: 'name',
        label: 'Name',
        value: name,
        hint: 'Of you, your shelter or your shop. Others see it.',
        error: errors.name,
        autocomplete: 'organization',
        maxLength: 255,
      }),
      field({
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        value: email,
        error: errors.email,
        autocomplete: 'username',
      }),
      field({
        name: 'password',
        label: 'Password',
        type: 'password',
        hint: 'At least 10 characters.',
        error: errors.password,
        autocomplete: 'new-password',
      }),
    ])}
${cookieNotice(visit)}
<p>You have an account? <a href="/sign-in">Sign in</a></p>`,
  };
}

/** Says why signing in cannot work over plain HTTP. */
function cookieNotice({ canSignIn }: Visit): Html | undefined {
  if (canSignIn) return undefined;
  return notice(
    'alert',
    'Browsers keep the cookie of a session only over HTTPS, and on localhost. Open this page over HTTPS to sign in.',
  );
}

function errorsOf({ name, email }: { name: string; email: string }) {
  const errorOf = (change: Parameters<typeof checkChange>[0]) => {
    try {
      checkChange(change);
      return undefined;
    } catch (error) {
      if (error instanceof UserError) return error.message;
      throw error;
    }
  };
  return { name: errorOf({ name }), email: errorOf({ email }) };
}

/** Returns the path to open after signing in: one of this site only. */
function nextOf({ form, query }: Visit): string {
  const next = form.get('next') ?? query.get('next') ?? '';
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/keys';
}

function browserOf({ request }: Visit) {
  return { address: request.address, userAgent: request.header('user-agent') ?? '' };
}
