import { createKey, listKeys } from '../../access/keys/keys.ts';
import { attemptLimits, countAttempt, tooManyAttempts } from '../../access/sessions/attempts.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { prefersHtml } from '../../lib/http/server/accept.ts';

import { keyState } from '../../model/key.ts';
import { form } from '../forms.ts';
import { accountPage, type Visit } from '../page.ts';
import { nextOf } from '../sessions/visits.ts';
import type { GuideEntry } from './catalog.ts';

/** The name of keys for the examples, on the page of the account's keys. */
const KEY_NAME = 'Guides';
/** The validity of a key for the examples. */
const KEY_MS = 3_600_000;
/** The maximum number of keys for examples of an account at a time. */
const KEYS_MAX = 5;
const TOO_MANY = `You have ${KEYS_MAX} active keys named “${KEY_NAME}”. Revoke one on the page “API keys”, or wait until it expires.`;

/** Returns instructions for seeing one's own key in the examples; `undefined` if staging is not served. */
export function keyPrompt(visit: Visit, { path }: GuideEntry): Html | undefined {
  const { site, deployment, signedIn, request } = visit;
  const portal = site.urlOf(site.portal, request.tls);
  if (site.urlOf('staging', request.tls) === undefined || portal === undefined) return undefined;
  const place = html`<code>$KEY</code> stands for your API key.`;
  if (signedIn !== undefined) {
    return html`<div class="key-prompt"><p>${place} <a href="/keys">Your keys</a></p>
${form(
  visit,
  { action: '/guides/key', submit: 'Use a key of mine', className: 'use-key' },
  html`<input type="hidden" name="next" value="${path}">`,
)}
<p class="use-key-result" role="status"></p></div>`;
  }
  const signIn = `/sign-in?next=${encodeURIComponent(path)}`;
  const isPortal = deployment.name === site.portal;
  return html`<div class="key-prompt"><p>${place} <a href="${isPortal ? signIn : portal + signIn}">Sign in</a> to see a key of yours in the examples.</p></div>`;
}

/**
 * Creates a staging key that is valid for an hour, for the examples of one page. Returns it as JSON. A browser without
 * the script, which comes here to confirm that it is its person, goes back to the guide.
 */
export const guideKeyPage = accountPage({
  path: '/guides/key',
  permission: 'developers',
  title: 'Key for the examples',
  asksAgain: 'everyone',
  async submit(visit) {
    const { site, account, signedIn, origin, request } = visit;
    if (site.urlOf('staging', request.tls) === undefined) return undefined;
    if (prefersHtml(request.header('accept'))) return { location: nextOf(visit) };
    if (signedIn.scopes.length === 0) {
      throw new Problem('role_not_allowed', 403, 'Only an owner of this account can create keys.');
    }
    const waitMs = await site.accounts.write(tx => countAttempt(tx, attemptLimits.newKeys, String(account.id)));
    if (waitMs > 0) throw tooManyAttempts(waitMs);
    const issued = await site.accounts.write(async tx => {
      const keys = await listKeys(tx, account.id);
      const mine = keys.filter(key => key.name === KEY_NAME && keyState(key, tx.now) === 'active');
      if (mine.length >= KEYS_MAX) throw new Problem('example_key_limit', 409, TOO_MANY);
      return createKey(tx, {
        accountId: account.id,
        deployment: 'staging',
        name: KEY_NAME,
        scopes: signedIn.scopes,
        expiresAt: tx.now + KEY_MS,
      });
    }, origin);
    const { token: key, expiresAt } = issued;
    return { status: 201, contentType: 'application/json', bytes: JSON.stringify({ key, expiresAt }) };
  },
});
