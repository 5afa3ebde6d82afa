import { newChallenge } from '../../access/sessions/challenges.ts';
import { listPasskeys, type OwnPasskey, PASSKEY_NAME_MAX, PASSKEYS_MAX } from '../../access/sessions/passkeys.ts';
import { listSecondFactors, type SecondFactors } from '../../access/sessions/second-factors.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { creationOptions, passkeyHostOf } from '../../lib/webauthn.ts';
import { doneNotice, field, form, notice } from '../forms.ts';
import type { AccountVisit, FormErrors, View } from '../page.ts';
import { badge, setting } from '../parts.ts';
import { nowOf } from '../site.ts';
import { ceremonyOf, PASSKEY_SCRIPT, passkeyForm } from './factor-forms.ts';

/** The path of the page, and of the pages that receive its forms. */
export const SECURITY_PATH = '/security';

const done = {
  required: 'This account requires a second factor of everyone who works in it. Add an authenticator app or a passkey.',
  app: 'The authenticator app is set up. From now on we ask for its code when you sign in.',
  passkey: 'The passkey is added.',
  appRemoved: 'The authenticator app is removed. All your other browsers are signed out.',
  passkeyRemoved: 'The passkey is removed. All your other browsers are signed out.',
};

/** Returns the page of a person's second factors, with the errors of the submitted form. */
export async function securityView(visit: AccountVisit, errors?: FormErrors): Promise<View> {
  const factors = await listSecondFactors(visit.site.accounts, visit.signedIn.person.id);
  const hasFactor = factors.app !== undefined || factors.passkeys.length > 0;
  return {
    title: 'Security',
    styles: ['account.css', 'security.css'],
    errors,
    body: html`${doneNotice(visit, done)}
<p class="lead">A second factor protects your sign-in even if someone knows your password.</p>
${app(visit, factors)}${passkeys(visit, factors)}${hasFactor && recoveryCodes(visit, factors)}${setting(
  'sign-in',
  'Address and password',
  'What you sign in with first.',
  html`<p><a href="/account#address">Change the e-mail address</a> or <a href="/account#new-password">the password</a>. <a href="/sessions">See where you are signed in</a>.</p>`,
)}`,
  };
}

function app(visit: AccountVisit, { app: found }: SecondFactors): Html {
  const about = 'An app on your phone shows a new code every 30 seconds. It works without a network.';
  if (found === undefined) {
    const set = { action: `${SECURITY_PATH}/app/new`, submit: 'Set up an app', className: 'inline' };
    return setting('app', 'Authenticator app', about, form(visit, set));
  }
  const { createdAt, lastUsedAt } = found;
  return setting(
    'app',
    'Authenticator app',
    about,
    html`<p>${badge('good', 'On')} since ${timeHtml(createdAt)}${lastUsedAt !== null && html`, last used ${timeHtml(lastUsedAt)}`}.</p>
${form(visit, { action: `${SECURITY_PATH}/app/removal`, submit: 'Remove the app', className: 'inline', danger: true })}`,
  );
}

function passkeys(visit: AccountVisit, { passkeys: found }: SecondFactors): Html {
  const list = found.length > 0 && html`<ul class="sessions">${found.map(passkey => passkeyItem(visit, passkey))}</ul>`;
  return setting(
    'passkeys',
    'Passkeys',
    'Your fingerprint, face or a security key. Signs you in without the password.',
    html`${list}${addition(visit, found.length)}`,
  );
}

function passkeyItem(visit: AccountVisit, { id, name, createdAt, lastUsedAt, backedUp }: OwnPasskey): Html {
  return html`<li class="card"><div><strong><bdi>${name}</bdi></strong>
<p class="hint">Added ${timeHtml(createdAt)}${lastUsedAt !== null && html` · last used ${timeHtml(lastUsedAt)}`}${backedUp && ' · copied to your other devices'}</p></div>
${form(
  visit,
  { action: `${SECURITY_PATH}/passkeys/${id}/removal`, submit: 'Remove', className: 'inline', danger: true },
  html`<span class="sr-only">${name}</span>`,
)}</li>
`;
}

/** Returns the button that adds a passkey, or says why there is none. */
function addition(visit: AccountVisit, count: number): Html {
  const { publicUrl } = visit.request;
  if (passkeyHostOf(publicUrl) === undefined) {
    return html`<p class="hint">Browsers allow passkeys only at an address with a name and HTTPS, not at <code>${new URL(publicUrl).host}</code>. Use an authenticator app here.</p>`;
  }
  if (count >= PASSKEYS_MAX) {
    return html`<p class="hint">You have ${PASSKEYS_MAX} passkeys. Remove one to add another.</p>`;
  }
  return form(visit, { action: `${SECURITY_PATH}/passkeys/new`, submit: 'Add a passkey', className: 'inline' });
}

/** Returns the page with the form that adds a passkey; `undefined` where passkeys do not work. */
export async function newPasskeyView(visit: AccountVisit, error?: string): Promise<View | undefined> {
  const { site, signedIn, form: sent } = visit;
  const challenge = await newChallenge(site.accounts, holderOf(visit), nowOf(site));
  const ceremony = ceremonyOf(visit, challenge, 'preferred');
  if (ceremony === undefined) return undefined;
  const { id, email, name } = signedIn.person;
  const options = creationOptions(ceremony, {
    siteName: 'Pet Store',
    user: { id: Buffer.from(`person ${id}`).toString('base64url'), name: email, displayName: name },
    existing: (await listPasskeys(site.accounts, id)).map(({ credentialId }) => credentialId),
  });
  return {
    title: 'Add a passkey',
    scripts: [PASSKEY_SCRIPT],
    styles: ['security.css'],
    errors: error === undefined ? undefined : { name: error },
    body: html`<p>Your browser asks for your fingerprint, your face, a PIN or a security key.</p>
${passkeyForm(
  visit,
  { action: `${SECURITY_PATH}/passkeys`, submit: 'Add a passkey', kind: 'create' },
  { challenge, options },
  ['clientDataJSON', 'authenticatorData', 'publicKey', 'algorithm'],
  field({
    ...{ name: 'name', label: 'Name', value: sent.get('name'), error, maxLength: PASSKEY_NAME_MAX },
    hint: 'Where it is, such as “My phone”.',
  }),
)}
<p><a href="${SECURITY_PATH}">Cancel</a></p>`,
  };
}

/**
 * Returns the holder of challenges for new passkeys. Only a session that has just proved its identity gets one, and so
 * can add a passkey.
 */
export function holderOf({ signedIn }: AccountVisit): string {
  return `new passkey of session ${signedIn.session.id}`;
}

function recoveryCodes(visit: AccountVisit, { recoveryCodes: left }: SecondFactors): Html {
  return setting(
    'recovery-codes',
    'Recovery codes',
    'Each signs you in once if you lose your phone.',
    html`<p>${left === 0 ? badge('bad', 'None left') : `${left} unused ${left === 1 ? 'code' : 'codes'}.`}</p>
${form(visit, { action: `${SECURITY_PATH}/recovery-codes`, submit: 'Create new codes', className: 'inline' })}
<p class="hint">New codes replace the ones that you have.</p>`,
  );
}

/** Shows recovery codes, once. @param what the change that came with them */
export function codesView(codes: readonly string[], what?: keyof typeof done): View {
  return {
    title: 'Your recovery codes',
    scripts: ['print.js'],
    styles: ['security.css'],
    body: html`${what !== undefined && notice('status', done[what])}
<p class="lead">Print these codes, or keep them in a password manager. Each signs you in once if you lose your phone. They are shown only now.</p>
<pre class="copy" id="codes"><code>${codes.join('\n')}</code></pre>
<p class="actions"><button type="button" class="secondary" data-print hidden>Print</button> <a class="button" href="${SECURITY_PATH}">I have kept them</a></p>`,
  };
}
