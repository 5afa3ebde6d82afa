import { type Key, keyState } from '../../keys/key.ts';
import { findKey } from '../../keys/keys.ts';
import { endedImports, keyFacts, revokeForm, stateBadge } from '../../keys/views.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { type Ban, findActiveBan, liftBan, listBans, stepMinutes } from '../../limits/bans.ts';
import { revokeKeyAndDependents } from '../../webhooks/key-changes.ts';
import { doneNotice, form, notice } from '../forms.ts';
import { titleOf } from '../layout.ts';
import { type AccountVisit, operatorPage, type View } from '../page.ts';
import { badge, table } from '../parts.ts';
import { keyDatabases, nowOf } from '../site.ts';
import { accountLink, keyLink, pathWith, searchField, searchForm, searchText, styles } from './parts.ts';

/** The bans that the page shows; a ban lasts an hour at most. */
const BANS_MAX = 200;

/** The active bans, and a search for keys. */
export const keysPage = operatorPage({
  path: '/operator/keys',
  title: 'Keys and bans',
  menu: 'operator',
  async show(visit) {
    const { site } = visit;
    const id = searchText(visit, 'id');
    const key = id === undefined ? undefined : await findKey(site.accounts, id);
    if (key !== undefined) return { location: `/operator/keys/${key.id}` };
    const bans = await listBans(site.accounts, nowOf(site));
    return {
      styles,
      body: html`${id !== undefined && notice('alert', html`<p>There is no key with this id. The id is the 12 characters after <code>petstore_live_</code> or <code>petstore_test_</code>.</p>`)}
${searchForm('/operator/keys', searchField(visit, 'id', 'Key id'))}
<h2>Active bans</h2>
<p>A key is banned when it keeps sending requests after 429 responses, before the time in <code>Retry-After</code>.</p>
${table(
  'Active bans',
  ['Key', 'Account', 'Deployment', 'Since', 'Until', 'Step', 'Action'],
  bans
    .slice(0, BANS_MAX)
    .map(ban => [
      keyLink(ban.keyId),
      accountLink(ban.accountId),
      titleOf(ban.deployment),
      timeHtml(ban.bannedAt),
      timeHtml(ban.until),
      stepText(ban),
      liftForm(visit, ban.keyId),
    ]),
  'No key is banned.',
)}
${bans.length > BANS_MAX && html`<p class="quiet">${countText(bans.length - BANS_MAX)} more keys are banned.</p>`}`,
    };
  },
});

/** One key of any account. */
export const keyPage = operatorPage({
  path: '/operator/keys/{keyId}',
  title: 'Key',
  async show(visit) {
    const key = await findKey(visit.site.accounts, visit.parameters['keyId']!);
    if (key === undefined) return undefined;
    const { site } = visit;
    const imports = visit.query.get('done') === 'revoked' ? await endedImports(site, key, false) : undefined;
    return keyView(visit, key, await findActiveBan(site.accounts, key.id, nowOf(site)), imports);
  },
});

/** Revokes a key, disables its webhooks and ends its imports. */
export const revokePage = operatorPage({
  path: '/operator/keys/{keyId}/revoke',
  title: 'Revoke a key',
  async submit(visit) {
    const { site, form: sent, origin } = visit;
    const key = await findKey(visit.site.accounts, visit.parameters['keyId']!);
    if (key === undefined) return undefined;
    await revokeKeyAndDependents(keyDatabases(site, key), key.id, {
      keepWebhooks: sent.get('keepWebhooks') === 'yes',
      origin,
    });
    return { location: `/operator/keys/${key.id}?done=revoked` };
  },
});

/** Lifts the ban of a key; nothing if it has ended meanwhile. */
export const liftPage = operatorPage({
  path: '/operator/keys/{keyId}/lift-ban',
  title: 'Lift a ban',
  async submit(visit) {
    const { site, origin } = visit;
    const key = await findKey(visit.site.accounts, visit.parameters['keyId']!);
    if (key === undefined) return undefined;
    const lifted = await site.accounts.write(tx => liftBan(tx, key.id), origin);
    return { location: `/operator/keys/${key.id}?done=${lifted ? 'lifted' : 'ended'}` };
  },
});

const doneTexts = {
  revoked: 'The key is revoked. Requests with it get 401 from now on.',
  lifted: 'The ban is lifted. The next request with the key is accepted.',
  ended: 'The key is not banned: its ban has ended, or was lifted.',
};

/** @param imports the sentences about imports that ended with the key */
function keyView(visit: AccountVisit, key: Key, ban: Ban | undefined, imports: Html | undefined): View {
  const { id, name, accountId } = key;
  const state = keyState(key, nowOf(visit.site));
  const done = doneNotice(doneTexts, visit.query.get('done'), imports);
  return {
    title: name ?? id,
    styles,
    body: html`${done}
<p><a href="/operator/keys">Keys and bans</a></p>
<p>${stateBadge(state)}${ban !== undefined && html` ${badge('bad', 'Banned')}`}</p>
${keyFacts(key, accountLink(accountId))}
<p><a href="${pathWith('/operator/audit', { deployment: key.deployment, key: id })}">What was done with it</a> ·
<a href="${pathWith('/operator/audit/refusals', { key: id })}">Its refused requests</a></p>
${
  ban !== undefined &&
  html`<h2>Ban</h2>
<p>Since ${timeHtml(ban.bannedAt)} until ${timeHtml(ban.until)}: ${stepText(ban)}.</p>
${liftForm(visit, id)}`
}
${state === 'active' && revokeForm(visit, `/operator/keys/${id}/revoke`)}`,
  };
}

function stepText({ step }: Ban): string {
  const minutes = stepMinutes(step);
  return `step ${step + 1}, ${minutes === 1 ? '1 minute' : `${minutes} minutes`}`;
}

function liftForm(visit: AccountVisit, keyId: string) {
  return form(visit, { action: `/operator/keys/${keyId}/lift-ban`, submit: 'Lift ban', className: 'inline' }, '');
}
