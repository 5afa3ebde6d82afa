import { findKey } from '../../access/keys/keys.ts';
import { type Ban, findActiveBan, liftBan, listBans, stepMinutes } from '../../access/limits/bans.ts';
import { revokeKeyAndDependents } from '../../events/webhooks/key-changes.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { type Key, keyState } from '../../model/key.ts';
import { withQuery } from '../deployments.ts';
import { doneNotice, form, notice } from '../forms.ts';
import { endedImports, keyFacts, revokeForm, stateBadge } from '../keys/views.ts';
import { titleOf } from '../layout.ts';
import { type AccountVisit, operatorPage, type View } from '../page.ts';
import { badge, table } from '../parts.ts';
import { keyDatabases, nowOf } from '../site.ts';
import { filterForm, givenIn, textFilter } from './list.ts';
import { accountLink, keyLink, styles } from './parts.ts';
import { type Errors, resourcePages } from './resource.ts';

/** The maximum number of bans that the page shows; a ban lasts an hour at most. */
const BANS_MAX = 200;

const filters = { id: textFilter('Key id') };

/** The active bans, and a search for keys. */
export const keysPage = operatorPage({
  path: '/operator/keys',
  title: 'Keys and bans',
  menu: 'operator',
  async show(visit) {
    const { site } = visit;
    const { id } = givenIn(visit, filters).given;
    const key = id === undefined ? undefined : await findKey(site.accounts, id);
    if (key !== undefined) return { location: `/operator/keys/${key.id}` };
    const bans = await listBans(site.accounts, nowOf(site));
    return {
      styles,
      body: html`${id !== undefined && notice('alert', html`<p>There is no key with this id. The id is the 12 characters after <code>petstore_live_</code> or <code>petstore_test_</code>.</p>`)}
${filterForm(visit, '/operator/keys', filters)}
<h2>Active bans</h2>
<p>A key is banned when it keeps sending requests after 429 responses, before the time in <code>Retry-After</code>.</p>
${table(
  'Active bans',
  {
    Key: ({ keyId }) => keyLink(keyId),
    Account: ({ accountId }) => accountLink(accountId),
    Deployment: ({ deployment }) => titleOf(deployment),
    Since: ({ bannedAt }) => timeHtml(bannedAt),
    Until: ({ until }) => timeHtml(until),
    Step: stepText,
    Action: ({ keyId }) => liftForm(visit, keyId),
  },
  bans.slice(0, BANS_MAX),
  'No key is banned.',
)}
${bans.length > BANS_MAX && html`<p class="quiet">${countText(bans.length - BANS_MAX)} more keys are banned.</p>`}`,
    };
  },
});

/** A key of any account. */
export const keyPages = resourcePages<Key>({
  path: '/operator/keys/{keyId}',
  title: 'Key',
  find: ({ site, parameters }) => findKey(site.accounts, parameters['keyId']!),
  view: keyView,
  forms: {
    // Also disables its webhooks and ends its imports.
    revoke: {
      title: 'Revoke a key',
      async work({ site, form, origin }, key) {
        const keepWebhooks = form.get('keepWebhooks') === 'yes';
        await revokeKeyAndDependents(keyDatabases(site, key), key.id, { keepWebhooks, origin });
        return 'revoked';
      },
    },
    'lift-ban': {
      title: 'Lift a ban',
      async work({ site, origin }, { id }) {
        return (await site.accounts.write(tx => liftBan(tx, id), origin)) ? 'lifted' : 'ended';
      },
    },
  },
});

const doneTexts = {
  revoked: 'The key is revoked. Requests with it get 401 from now on.',
  lifted: 'The ban is lifted. The next request with the key is accepted.',
  ended: 'The key is not banned: its ban has ended, or was lifted.',
};

async function keyView(visit: AccountVisit, key: Key, errors?: Errors<never>): Promise<View> {
  const { site, query } = visit;
  const { id, name, accountId } = key;
  const state = keyState(key, nowOf(site));
  const ban = await findActiveBan(site.accounts, id, nowOf(site));
  const imports = query.get('done') === 'revoked' ? await endedImports(site, key, false) : undefined;
  const done = doneNotice(visit, doneTexts, imports);
  return {
    title: name ?? id,
    styles,
    errors,
    body: html`${done}
<p><a href="/operator/keys">Keys and bans</a></p>
<p>${stateBadge(state)}${ban !== undefined && html` ${badge('bad', 'Banned')}`}</p>
${keyFacts(key, accountLink(accountId))}
<p><a href="${withQuery('/operator/audit', { deployment: key.deployment, key: id })}">Changes made with this key</a> ·
<a href="${withQuery('/operator/audit/refusals', { key: id })}">Its refused requests</a></p>
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
  return form(visit, { action: `/operator/keys/${keyId}/lift-ban`, submit: 'Lift ban', className: 'inline' });
}
