import { countedAddress } from '../../access/limits/address.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { hasSecondFactor } from '../../access/sessions/has-second-factor.ts';
import { findPassword } from '../../access/sessions/passwords.ts';
import { listSecondFactors } from '../../access/sessions/second-factors.ts';
import type { SignedIn } from '../../access/sessions/session.ts';
import { recordConfirmed } from '../../access/sessions/sessions.ts';
import { html } from '../../lib/html/html.ts';
import { form, isPasswordName, passwordField, passwordLabels } from '../forms.ts';
import type { PageResult, View, Visit, WebPage } from '../page.ts';
import { nowOf } from '../site.ts';
import { factorFields, factorForms, PASSKEY_SCRIPT, WRONG_FACTOR, withFactor } from './factor-forms.ts';
import { usernameField } from './visits.ts';

/** For how long a session counts as that of its person, after a sign-in or a confirmation. */
export const CONFIRMED_MS = 15 * 60_000;

/** The hidden field of a form that confirms: whether the form before it had passwords, which are not kept. */
const MARK = 'confirmsAgain';
const PASSWORD = 'confirmPassword';

type SignedInVisit = Visit & { readonly signedIn: SignedIn };

/**
 * Handles the form of a page. If the page asks again, and the session has not proved the identity in the last minutes,
 * first shows a page that asks for the second factor or the password, and sends the entries of the form with it.
 */
export async function submitAgain(page: WebPage, visit: Visit): Promise<PageResult | undefined> {
  if (page.asksAgain === undefined || !isSignedIn(visit)) return page.submit!(visit);
  const { site, signedIn, form: sent } = visit;
  if (nowOf(site) - signedIn.session.confirmedAt < CONFIRMED_MS) return resume(page, visit);
  const way = await wayOf(page, visit);
  if (way === undefined) return page.submit!(visit);
  if (!sent.has(MARK)) return againView(visit, way);
  const error = await errorOf(visit, way);
  return error === undefined ? resume(page, visit) : againView(visit, way, error);
}

function isSignedIn(visit: Visit): visit is SignedInVisit {
  return visit.signedIn !== undefined;
}

/** Returns how a person proves the identity; `undefined` if the page does not ask, or the person has no means. */
async function wayOf({ asksAgain }: WebPage, { site, signedIn }: SignedInVisit) {
  const { id } = signedIn.person;
  if (await hasSecondFactor(site.accounts, id)) return 'factor';
  const asks = asksAgain === 'everyone' && (await findPassword(site.accounts, id)) !== undefined;
  return asks ? 'password' : undefined;
}

/**
 * Records that the person has proved the identity. Returns the error of the proof, as a sentence; `undefined` if it is
 * right.
 * @throws {Problem} `too_many_attempts`, by person; `overloaded`
 */
async function errorOf(visit: SignedInVisit, way: 'factor' | 'password'): Promise<string | undefined> {
  const { site, signedIn, form: sent, request } = visit;
  const { session, person } = signedIn;
  if (way === 'factor') {
    const isRight = await withFactor(visit, person.id, holderOf(signedIn), async tx => {
      await recordConfirmed(tx, session);
      return true;
    });
    return isRight ? undefined : WRONG_FACTOR;
  }
  await requireAttempt(site.accounts, attemptLimits.passwordByPerson, String(person.id));
  const stored = await findPassword(site.accounts, person.id);
  if (!(await site.passwords.verify(sent.get(PASSWORD) ?? '', stored, countedAddress(request.address)))) {
    return 'The password is wrong.';
  }
  await site.accounts.write(tx => recordConfirmed(tx, session));
  return undefined;
}

function holderOf({ session }: SignedIn): string {
  return `session ${session.id}`;
}

/** Handles the form with its own entries. A form with passwords is shown again instead, because they are not kept. */
function resume(page: WebPage, visit: SignedInVisit) {
  const mark = visit.form.get(MARK);
  if (mark === null) return page.submit!(visit);
  const form = new URLSearchParams(entriesOf(visit));
  if (mark === 'passwords' && page.show !== undefined) return page.show({ ...visit, form });
  return page.submit!({ ...visit, form });
}

/** Returns the entries of the form, without those of the confirmation and without passwords. */
function entriesOf({ form: sent }: Visit): [string, string][] {
  const isConfirmation = sent.has(MARK);
  return Array.from(sent).filter(
    ([name]) =>
      name !== 'token' && name !== MARK && !isPasswordName(name) && !(isConfirmation && factorFields.includes(name)),
  );
}

async function againView(visit: SignedInVisit, way: 'factor' | 'password', error?: string): Promise<View> {
  const { site, signedIn, request, form: sent } = visit;
  const hasPasswords = sent.get(MARK) === 'passwords' || Array.from(sent.keys()).some(isOtherPassword);
  const kept = [...entriesOf(visit), [MARK, hasPasswords ? 'passwords' : 'all'] as const].map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  const options = { action: request.path + request.search, submit: 'Continue', holder: holderOf(signedIn), error };
  const forms =
    way === 'factor'
      ? await factorForms(visit, await listSecondFactors(site.accounts, signedIn.person.id), options, kept)
      : form(visit, { action: options.action, submit: options.submit }, [
          kept,
          usernameField(signedIn.person.email),
          passwordField({
            ...{ name: PASSWORD, label: passwordLabels[PASSWORD], error, autocomplete: 'current-password' },
          }),
        ]);
  return {
    title: 'Confirm that it is you',
    status: error === undefined ? 403 : 422,
    scripts: [PASSKEY_SCRIPT],
    styles: ['security.css'],
    errors: error === undefined ? undefined : { [way === 'factor' ? 'code' : PASSWORD]: error },
    body: html`<p>You signed in a while ago, so we ask again before this step. ${
      hasPasswords ? 'Then fill in the form once more: we do not keep passwords.' : 'What you entered is kept.'
    }</p>
${forms}`,
  };
}

function isOtherPassword(name: string): boolean {
  return isPasswordName(name) && name !== PASSWORD;
}
