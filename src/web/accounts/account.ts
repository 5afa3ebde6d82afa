import { updateAccount } from '../../access/accounts/accounts.ts';
import { changeAddress } from '../../access/accounts/addresses.ts';
import { updatePerson } from '../../access/accounts/people.ts';
import { countedAddress } from '../../access/limits/address.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { queueEmail } from '../../access/sessions/emails.ts';
import { knownBrowserOf } from '../../access/sessions/known-browser.ts';
import { findPassword, passwordError } from '../../access/sessions/passwords.ts';
import { replacePassword } from '../../access/sessions/recovery.ts';
import { startSession } from '../../access/sessions/sessions.ts';
import { UserError } from '../../lib/user-error.ts';
import { type AccountVisit, accountPage, type PageResult, type WebPage } from '../page.ts';
import { browserOf, changeError, emailUrlOf, knownCookie, personNameError, sessionCookie } from '../sessions/visits.ts';
import { accountView } from './view.ts';

/** The account: its name, address and password, and what it uses. */
export const account = accountPage({
  path: '/account',
  permission: 'own',
  title: 'Account',
  menu: 'account',
  whileSuspended: true,
  show: visit => accountView(visit),
});

/** Defines the page that receives a form of the account page. */
function change(
  path: string,
  title: string,
  permission: 'own' | 'account',
  submit: (visit: AccountVisit) => Promise<PageResult>,
  more: Pick<WebPage, 'asksAgain'> = {},
) {
  return accountPage({ path, title, permission, ...more, show: () => ({ location: '/account' }), submit });
}

/** People without a second factor give the password in the form itself. */
const asks = { asksAgain: 'people with a second factor' } as const;

export const changeName = change('/account/name', 'Change the name', 'account', async visit => {
  const { site, account, origin, form } = visit;
  const name = form.get('name')?.trim() ?? '';
  const error = changeError({ name });
  if (error !== undefined) return accountView(visit, { name: error });
  await site.accounts.write(tx => updateAccount(tx, account.id, { name }), origin);
  return { location: '/account?done=name' };
});

export const changeOwnName = change('/account/own-name', 'Change your name', 'own', async visit => {
  const { site, signedIn, origin, form } = visit;
  const ownName = form.get('ownName')?.trim() ?? '';
  const error = personNameError(ownName);
  if (error !== undefined) return accountView(visit, { ownName: error });
  await site.accounts.write(tx => updatePerson(tx, { ...signedIn.person, name: ownName }), origin);
  return { location: '/account?done=ownName' };
});

export const changeEmail = change(
  '/account/email',
  'Change the e-mail address',
  'own',
  async visit => {
    const { site, signedIn, origin, form, request } = visit;
    const { person } = signedIn;
    const email = form.get('email')?.trim().toLowerCase() ?? '';
    const errors = {
      email: changeError({ email }) ?? (email === person.email ? 'This is already your address.' : undefined),
      emailPassword: await currentPasswordError(visit, 'emailPassword'),
    };
    if (errors.email !== undefined || errors.emailPassword !== undefined) return accountView(visit, errors);
    await requireAttempt(site.accounts, attemptLimits.emailChange, String(person.id));
    const url = request.publicUrl;
    if (site.emailSender !== undefined) {
      // The response is the same whether or not the address has an account; only the e-mail shows it.
      await site.accounts.write(tx => queueEmail(tx, { kind: 'confirm', accountId: person.id, email, url }));
      site.emailQueued();
      return { location: '/account?done=sent#address' };
    }
    try {
      await site.accounts.write(tx => changeAddress(tx, person, email), origin);
      return { location: '/account?done=email' };
    } catch (error) {
      if (error instanceof UserError) return accountView(visit, { email: 'This address cannot be used.' });
      throw error;
    }
  },
  asks,
);

export const confirmAgain = change('/account/email/confirm', 'Send the link again', 'own', async visit => {
  const { site, signedIn } = visit;
  const { id: accountId, email } = signedIn.person;
  await site.accounts.write(tx => queueEmail(tx, { kind: 'confirm', accountId, email, url: emailUrlOf(visit) }));
  site.emailQueued();
  return { location: '/account?done=sent#address' };
});

export const changePassword = change(
  '/account/password',
  'Change the password',
  'own',
  async visit => {
    const { site, signedIn, account, origin, form, request } = visit;
    const { person } = signedIn;
    const password = form.get('password') ?? '';
    const errors = {
      current: await currentPasswordError(visit, 'current'),
      password: passwordError(password, person.email),
    };
    if (errors.current !== undefined || errors.password !== undefined) return accountView(visit, errors);
    const hash = await site.passwords.hash(password, countedAddress(request.address));
    const { id: accountId, email } = person;
    // This browser also gets a new session, because an attacker who knew the old password may have its cookie.
    const { secret } = await site.accounts.write(async tx => {
      await replacePassword(tx, person, hash);
      await queueEmail(tx, { kind: 'password_changed', accountId, email, url: emailUrlOf(visit) });
      return startSession(tx, person.id, browserOf(visit), account.id);
    }, origin);
    site.emailQueued();
    const cookies = [sessionCookie(visit, secret), knownCookie(visit, knownBrowserOf(hash))];
    return { location: '/account?done=password', cookies };
  },
  asks,
);

/**
 * Returns the error of the current password in a field of the form; `undefined` if it is right, or the person has no
 * password.
 * @throws {Problem} `too_many_attempts`: counted by person, including right passwords, because each costs a hash.
 *   Attempts to sign in do not count, because others can make them.
 */
export async function currentPasswordError(
  { site, signedIn, form, request }: AccountVisit,
  name: string,
): Promise<string | undefined> {
  const stored = await findPassword(site.accounts, signedIn.person.id);
  if (stored === undefined) return undefined;
  await requireAttempt(site.accounts, attemptLimits.passwordByPerson, String(signedIn.person.id));
  const network = countedAddress(request.address);
  if (!(await site.passwords.verify(form.get(name) ?? '', stored, network))) return 'The password is wrong.';
  return undefined;
}
