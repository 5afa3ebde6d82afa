import { attemptLimits, forgetAttempts, requireAttempt } from '../../access/sessions/attempts.ts';
import { beginApp, secretToConfirm } from '../../access/sessions/authenticator-apps.ts';
import { challengeTime } from '../../access/sessions/challenges.ts';
import { hasSecondFactor } from '../../access/sessions/has-second-factor.ts';
import { PASSKEY_NAME_MAX } from '../../access/sessions/passkeys.ts';
import { replaceRecoveryCodes } from '../../access/sessions/recovery-codes.ts';
import { addApp, addOwnPasskey, removeFactor } from '../../access/sessions/second-factors.ts';
import { html } from '../../lib/html/html.ts';
import { qrCode } from '../../lib/html/qr-code.ts';
import { nameError } from '../../lib/text.ts';
import { base32Of, totpUriOf } from '../../lib/totp.ts';
import { UserError } from '../../lib/user-error.ts';
import { type Passkey, verifyRegistration } from '../../lib/webauthn.ts';
import { field, form } from '../forms.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, accountPage, type PageResult, type View, type WebPage } from '../page.ts';
import { nowOf } from '../site.ts';
import { ceremonyOf } from './factor-forms.ts';
import { codesView, holderOf, newPasskeyView, SECURITY_PATH, securityView } from './security-view.ts';
import { emailUrlOf, UPGRADING } from './visits.ts';

type Definition = Parameters<typeof accountPage>[0];

const toSecurity = () => ({ location: SECURITY_PATH });

/** Defines a page that everyone may open who lacks a required second factor. By default, it only receives a form. */
function securityPage(definition: Omit<Definition, 'permission' | 'withoutFactor'>): WebPage {
  return accountPage({ permission: 'own', withoutFactor: true, show: toSecurity, ...definition });
}

const securityIndex = securityPage({
  path: SECURITY_PATH,
  title: 'Security',
  menu: 'account',
  show: visit => securityView(visit),
});

const newAppPage = securityPage({
  path: `${SECURITY_PATH}/app/new`,
  title: 'Set up an authenticator app',
  asksAgain: 'everyone',
  submit: visit =>
    attempt(visit, async () => {
      const { site, signedIn, deployment } = visit;
      await site.accounts.write(tx => beginApp(tx, deployment.webhooks.encryptor, signedIn.person.id));
      return { location: `${SECURITY_PATH}/app` };
    }),
});

/** Shows the secret of the app, and asks for one of its codes. */
const appPage = securityPage({
  path: `${SECURITY_PATH}/app`,
  title: 'Set up an authenticator app',
  showsSecret: true,
  show: async visit => (await appView(visit)) ?? toSecurity(),
  submit: visit =>
    attempt(visit, async () => {
      const { site, signedIn, deployment, origin, form } = visit;
      const { encryptor } = deployment.webhooks;
      const code = form.get('code') ?? '';
      const emailUrl = emailUrlOf(visit);
      await requireAttempt(site.accounts, attemptLimits.secondFactor, String(signedIn.person.id));
      const codes = await site.accounts.write(async tx => {
        const added = await addApp(tx, encryptor, signedIn.person, code, emailUrl);
        if (added !== undefined) await forgetAttempts(tx, attemptLimits.secondFactor, String(signedIn.person.id));
        return added;
      }, origin);
      if (codes === undefined) {
        return (
          (await appView(visit, 'This is not the current code. Type the code that the app shows now.')) ?? toSecurity()
        );
      }
      return addedResult(visit, codes, 'app');
    }),
});

const newPasskeyPage = securityPage({
  path: `${SECURITY_PATH}/passkeys/new`,
  title: 'Add a passkey',
  asksAgain: 'everyone',
  submit: visit => attempt(visit, async () => (await newPasskeyView(visit)) ?? toSecurity()),
});

const addPasskeyPage = securityPage({
  path: `${SECURITY_PATH}/passkeys`,
  title: 'Add a passkey',
  showsSecret: true,
  submit: visit =>
    attempt(visit, async () => {
      const { site, signedIn, origin, form } = visit;
      const challenge = form.get('challenge') ?? '';
      const challengeAt = await challengeTime(site.accounts, challenge, holderOf(visit), nowOf(site));
      const passkey = challengeAt === undefined ? undefined : createdPasskey(visit);
      if (challengeAt === undefined || passkey === undefined) {
        return securityView(visit, { '': 'The passkey was not added. Try again.' });
      }
      const name = form.get('name')?.trim() ?? '';
      if (nameError(name) !== undefined || name.length > PASSKEY_NAME_MAX) {
        return (await newPasskeyView(visit, 'Choose a short name, such as “My phone”.')) ?? toSecurity();
      }
      const emailUrl = emailUrlOf(visit);
      const codes = await site.accounts.write(
        tx => addOwnPasskey(tx, signedIn.person, { ...passkey, name }, challengeAt, emailUrl),
        origin,
      );
      return addedResult(visit, codes, 'passkey');
    }),
});

const newCodesPage = securityPage({
  path: `${SECURITY_PATH}/recovery-codes`,
  title: 'Create new recovery codes',
  asksAgain: 'everyone',
  showsSecret: true,
  async submit({ site, signedIn }) {
    const { id } = signedIn.person;
    if (!(await hasSecondFactor(site.accounts, id))) return toSecurity();
    return codesView(await site.accounts.write(tx => replaceRecoveryCodes(tx, id)));
  },
});

const removeAppPage = securityPage({
  path: `${SECURITY_PATH}/app/removal`,
  title: 'Remove the authenticator app',
  asksAgain: 'everyone',
  submit: visit => remove(visit, 'app'),
});

const removePasskeyPage = securityPage({
  path: `${SECURITY_PATH}/passkeys/{passkeyId}/removal`,
  title: 'Remove a passkey',
  asksAgain: 'everyone',
  submit: visit => remove(visit, idOf(visit.parameters['passkeyId'])),
});

/** The pages of a person's second factors. */
export const securityPages: readonly WebPage[] = [
  securityIndex,
  newAppPage,
  appPage,
  newPasskeyPage,
  addPasskeyPage,
  newCodesPage,
  removeAppPage,
  removePasskeyPage,
];

/** Runs a change that adds a second factor, unless a server would not ask for it. */
async function attempt(visit: AccountVisit, change: () => Promise<PageResult>): Promise<PageResult> {
  if (!visit.site.isUpgraded()) return securityView(visit, { '': UPGRADING });
  try {
    return await change();
  } catch (error) {
    if (error instanceof UserError) return securityView(visit, { '': error.message });
    throw error;
  }
}

function addedResult({ site }: AccountVisit, codes: readonly string[], what: 'app' | 'passkey'): PageResult {
  site.emailQueued();
  return codes.length === 0 ? { location: `${SECURITY_PATH}?done=${what}` } : codesView(codes, what);
}

function createdPasskey(visit: AccountVisit): Passkey | undefined {
  const text = (name: string) => visit.form.get(name) ?? '';
  const ceremony = ceremonyOf(visit, text('challenge'), 'preferred');
  if (ceremony === undefined) return undefined;
  const response = {
    ...{ clientDataJSON: text('clientDataJSON'), authenticatorData: text('authenticatorData') },
    ...{ publicKey: text('publicKey'), algorithm: text('algorithm') },
  };
  const passkey = verifyRegistration(response, ceremony);
  return typeof passkey === 'string' ? undefined : passkey;
}

async function remove(visit: AccountVisit, factor: 'app' | number | undefined): Promise<PageResult | undefined> {
  const { site, signedIn, origin } = visit;
  if (factor === undefined) return undefined;
  const options = { session: signedIn.session.id, emailUrl: emailUrlOf(visit) };
  const existed = await site.accounts.write(tx => removeFactor(tx, signedIn.person, factor, options), origin);
  site.emailQueued();
  return existed
    ? { location: `${SECURITY_PATH}?done=${factor === 'app' ? 'appRemoved' : 'passkeyRemoved'}` }
    : undefined;
}

/** Returns the page with the secret to set up; `undefined` if the person sets up no app. */
async function appView(visit: AccountVisit, error?: string): Promise<View | undefined> {
  const { site, signedIn, deployment, request } = visit;
  const { id, email } = signedIn.person;
  const secret = await secretToConfirm(site.accounts, deployment.webhooks.encryptor, id, nowOf(site));
  if (secret === undefined) return undefined;
  const uri = totpUriOf({ secret, issuer: `Pet Store (${new URL(request.publicUrl).hostname})`, account: email });
  const text = base32Of(secret).replaceAll(/(.{4})(?=.)/g, '$1 ');
  return {
    styles: ['security.css'],
    errors: { code: error },
    body: html`<ol class="steps">
<li><p>Open an authenticator app on your phone, and scan this picture with it.</p>
${qrCode(uri, 'QR code with the key of the app')}
<details><summary>Type the key instead</summary><p><code class="token">${text}</code></p></details></li>
<li>${form(visit, { action: `${SECURITY_PATH}/app`, submit: 'Turn it on' }, [
      field({
        ...{ name: 'code', label: 'Code that the app shows', error, autocomplete: 'one-time-code', maxLength: 20 },
      }),
    ])}</li>
</ol>
<p><a href="${SECURITY_PATH}">Cancel</a></p>`,
  };
}
