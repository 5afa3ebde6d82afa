import { tooManyAttempts } from '../../access/sessions/attempts.ts';
import { challengeTime, newChallenge } from '../../access/sessions/challenges.ts';
import { findPasskey, type OwnPasskey, takePasskey } from '../../access/sessions/passkeys.ts';
import { countCode, type SecondFactors, takeCode } from '../../access/sessions/second-factors.ts';
import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import {
  type Ceremony,
  type Passkey,
  passkeyHostOf,
  requestOptions,
  type UserVerification,
  verifyAssertion,
} from '../../lib/webauthn.ts';
import type { Transaction } from '../../model/schema.ts';
import { field, form } from '../forms.ts';
import type { Visit } from '../page.ts';
import { nowOf } from '../site.ts';
import { emailUrlOf } from './visits.ts';

/** The script of pages with a form for a passkey. */
export const PASSKEY_SCRIPT = 'passkey.js';

/** The same for wrong, used and expired codes. */
export const WRONG_FACTOR = 'That did not work. Wait for the next code of your app, or use a recovery code.';

/** The fields of the forms of this file, which no page keeps. */
export const factorFields: readonly string[] = [
  'code',
  'challenge',
  'credentialId',
  'clientDataJSON',
  'authenticatorData',
  'signature',
];

/** Returns what a browser must sign for; `undefined` where passkeys do not work. */
export function ceremonyOf(
  { request }: Visit,
  challenge: string,
  userVerification: UserVerification,
): Ceremony | undefined {
  const rpId = passkeyHostOf(request.publicUrl);
  return rpId === undefined
    ? undefined
    : { challenge, rpId, origin: new URL(request.publicUrl).origin, userVerification };
}

/** Returns a form that `passkey.js` fills and sends. @param names the fields that the script fills */
export function passkeyForm(
  visit: Visit,
  { action, submit, kind }: { action: string; submit: string; kind: 'create' | 'get' },
  { challenge, options }: { challenge: string; options: object },
  names: readonly string[],
  fields?: HtmlValue,
): Html {
  return html`<form method="post" action="${action}" class="stacked passkey" data-passkey="${kind}" data-options="${JSON.stringify(options)}">
${visit.tokenField()}
${fields}
<input type="hidden" name="challenge" value="${challenge}">
${names.map(name => html`<input type="hidden" name="${name}">`)}
<button disabled class="secondary">${submit}</button>
<p class="hint" role="status">Passkeys need JavaScript.</p>
</form>`;
}

/** Returns a form that signs with a passkey; `undefined` where passkeys do not work. @param passkeys none for any */
export async function signingForm(
  visit: Visit,
  { action, holder, passkeys }: { action: string; holder: string; passkeys: readonly OwnPasskey[] },
  fields?: HtmlValue,
): Promise<Html | undefined> {
  const { site } = visit;
  if (passkeyHostOf(visit.request.publicUrl) === undefined) return undefined;
  const challenge = await newChallenge(site.accounts, holder, nowOf(site));
  const ceremony = ceremonyOf(visit, challenge, passkeys.length === 0 ? 'required' : 'preferred')!;
  const options = requestOptions(
    ceremony,
    passkeys.map(({ credentialId }) => credentialId),
  );
  const submit = passkeys.length === 0 ? 'Sign in with a passkey' : 'Use a passkey';
  const names = factorFields.filter(name => name !== 'code' && name !== 'challenge');
  return passkeyForm(visit, { action, submit, kind: 'get' }, { challenge, options }, names, fields);
}

/** Returns the forms for the second factor of a person. @param kept the hidden fields of both */
export async function factorForms(
  visit: Visit,
  { passkeys, app }: SecondFactors,
  { action, submit, holder, error }: { action: string; submit: string; holder: string; error: string | undefined },
  kept?: HtmlValue,
): Promise<Html> {
  const byPasskey = passkeys.length > 0 && (await signingForm(visit, { action, holder, passkeys }, kept));
  const codeForm = form(visit, { action, submit }, [
    kept,
    field({
      ...{ name: 'code', label: 'Code', error, autocomplete: 'one-time-code', maxLength: 40 },
      hint: app === undefined ? 'One of your recovery codes.' : 'Of your authenticator app, or a recovery code.',
    }),
  ]);
  return html`${byPasskey}${codeForm}`;
}

/** A signature of a stored passkey. */
export interface Signed {
  readonly passkey: OwnPasskey;
  readonly used: Pick<Passkey, 'signCount' | 'backedUp'>;
  /** The time of its challenge. */
  readonly challengeAt: number;
}

/** Returns the signature in a form; `undefined` if it is invalid. `takePasskey` then accepts it once. */
export async function signedByPasskey(
  visit: Visit,
  holder: string,
  userVerification: UserVerification,
): Promise<Signed | undefined> {
  const { site, form: sent } = visit;
  const text = (name: string) => sent.get(name) ?? '';
  const challenge = text('challenge');
  const ceremony = ceremonyOf(visit, challenge, userVerification);
  const challengeAt = await challengeTime(site.accounts, challenge, holder, nowOf(site));
  const passkey = await findPasskey(site.accounts, text('credentialId'));
  if (ceremony === undefined || challengeAt === undefined || passkey === undefined) return undefined;
  const response = {
    clientDataJSON: text('clientDataJSON'),
    authenticatorData: text('authenticatorData'),
    signature: text('signature'),
  };
  const used = verifyAssertion(response, passkey, ceremony);
  return typeof used === 'string' ? undefined : { passkey, used, challengeAt };
}

/**
 * Accepts the second factor in a form, and runs a change in the same transaction.
 * @returns the result of the change; `undefined` if the factor is wrong
 * @throws {Problem} `too_many_attempts`, by person
 */
export async function withFactor<Result>(
  visit: Visit,
  personId: number,
  holder: string,
  change: (tx: Transaction) => Promise<Result>,
): Promise<Result | undefined> {
  const { accounts } = visit.site;
  if (visit.form.has('credentialId')) {
    const signed = await signedByPasskey(visit, holder, 'preferred');
    if (signed?.passkey.personId !== personId) return undefined;
    const { passkey, used, challengeAt } = signed;
    return accounts.write(async tx =>
      (await takePasskey(tx, passkey.id, used, challengeAt)) ? change(tx) : undefined,
    );
  }
  const typed = visit.form.get('code') ?? '';
  const waitMs = await countCode(accounts, personId, { typed, address: visit.request.address }, emailUrlOf(visit));
  if (waitMs > 0) {
    visit.site.emailQueued();
    throw tooManyAttempts(waitMs, 'Too many codes. A recovery code or a passkey may still work.');
  }
  const { encryptor } = visit.deployment.webhooks;
  return accounts.write(async tx => ((await takeCode(tx, encryptor, personId, typed)) ? change(tx) : undefined));
}
