import { clearCookie, cookieNames, cookieOf } from '../../access/sessions/cookies.ts';
import { listSecondFactors } from '../../access/sessions/second-factors.ts';
import { completeSignIn, findSignIn, type WaitingSignIn } from '../../access/sessions/sign-ins.ts';
import { html } from '../../lib/html/html.ts';
import { publicForm, type View, type Visit } from '../page.ts';
import { nowOf } from '../site.ts';
import { factorForms, PASSKEY_SCRIPT, WRONG_FACTOR, withFactor } from './factor-forms.ts';
import { browserOf, nextField, nextOf, SECOND_FACTOR_PATH, sessionCookie } from './visits.ts';

/** Asks someone for the second factor who has given the password or opened a link. */
export const secondFactorPage = publicForm({
  path: SECOND_FACTOR_PATH,
  title: 'Confirm that it is you',
  on: 'portal',
  async show(visit) {
    const waiting = await open(visit);
    return waiting === undefined ? toSignIn(visit) : stepView(visit, waiting);
  },
  async submit(visit) {
    const waiting = await open(visit);
    if (waiting === undefined) return toSignIn(visit);
    const { personId } = waiting;
    const signedIn = await withFactor(visit, personId, holderOf(waiting), async tx => ({
      secret: await completeSignIn(tx, waiting, browserOf(visit)),
    }));
    if (signedIn === undefined) return stepView(visit, waiting, WRONG_FACTOR);
    if (signedIn.secret === undefined) return toSignIn(visit);
    const { signIn } = cookieNames(visit.request.publicUrl);
    return { location: nextOf(visit), cookies: [sessionCookie(visit, signedIn.secret), clearCookie(signIn)] };
  },
});

async function open({ site, request }: Visit): Promise<WaitingSignIn | undefined> {
  const secret = cookieOf(request.header('cookie'), cookieNames(request.publicUrl).signIn);
  return secret === undefined ? undefined : findSignIn(site.accounts, secret, nowOf(site));
}

function holderOf({ id }: WaitingSignIn): string {
  return `sign-in ${id}`;
}

function toSignIn(visit: Visit) {
  return { location: `/sign-in?next=${encodeURIComponent(nextOf(visit))}` };
}

async function stepView(visit: Visit, waiting: WaitingSignIn, error?: string): Promise<View> {
  const factors = await listSecondFactors(visit.site.accounts, waiting.personId);
  const options = { action: SECOND_FACTOR_PATH, submit: 'Sign in', holder: holderOf(waiting), error };
  return {
    scripts: [PASSKEY_SCRIPT],
    styles: ['security.css'],
    errors: error === undefined ? undefined : { code: error },
    body: html`${await factorForms(visit, factors, options, nextField(visit))}
<p class="quiet">Lost your phone and your recovery codes? Ask the operator of the store to remove the second factor.</p>
<p><a href="/sign-in">Back to signing in</a></p>`,
  };
}
