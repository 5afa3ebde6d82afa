import type { Ban } from '../../access/limits/bans.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { capitalized, countText, NAME_LENGTH_MAX } from '../../lib/text.ts';
import { limitsOfAccount } from '../../model/account.ts';
import { budgetText, type IssuedKey, type Key, keyState } from '../../model/key.ts';
import { includesScopes } from '../../model/roles.ts';
import { KEY_OVERLAP_HOURS } from '../../model/rules.ts';
import { EVERY_SCOPE, scopes } from '../../model/scopes.ts';
import { importsEndedWith } from '../../store/imports/authority.ts';
import { type ImportRow, importTitle } from '../../store/imports/import.ts';
import { PREFIX } from '../../views/urls.ts';
import { type Choice, choices, choicesOf, fieldsOf, form, notice, select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import { onceField } from '../once.ts';
import type { AccountVisit, View } from '../page.ts';
import { badge, facts, table } from '../parts.ts';
import { IMPORTS_PATH } from '../paths.ts';
import type { Site } from '../site.ts';
import { mcpSetup } from './mcp.ts';

const lifetimes = {
  '': 'Never',
  '7d': 'After 7 days',
  '30d': 'After 30 days',
  '90d': 'After 90 days',
  '365d': 'After a year',
};
const overlaps = {
  [`${KEY_OVERLAP_HOURS}h`]: `${KEY_OVERLAP_HOURS} hours`,
  '0s': 'Not at all',
  '1h': '1 hour',
  '7d': '7 days',
};

/** Returns the page with the keys of an account. @param imports the sentences about imports that ended with a key */
export function keysView(visit: AccountVisit, keys: readonly Key[], now: number, imports?: Html): View {
  const active = keys.filter(key => keyState(key, now) === 'active').reverse();
  const ended = keys.filter(key => keyState(key, now) !== 'active').reverse();
  const revoked = ended.find(({ id, revokedAt }) => id === visit.query.get('revoked') && revokedAt !== null);
  return {
    description: 'Create, rotate and revoke API keys.',
    body: html`${revoked !== undefined && notice('status', html`<p>The key <code>${revoked.id}</code> is revoked. Requests with it get 401 from now on.</p>${imports}`)}
<p class="lead">An API key lets your application act for this account, on one deployment.</p>
<p><a class="button" href="/keys/new">New API key</a></p>
${
  active.length === 0
    ? html`<div class="empty"><p><strong>No active API keys</strong></p><p>Create one for staging to try the API with sample animals.</p></div>`
    : keyTable(active, now, 'Active keys')
}
${ended.length > 0 && html`<details><summary>${String(ended.length)} revoked or expired</summary>${keyTable(ended, now, 'Revoked and expired keys')}</details>`}`,
  };
}

/**
 * Returns the sentences about the imports that the revocation of a key has ended; `undefined` if there are none.
 * @param isOwn whether the reader owns the key, and so can open the pages of the imports on the portal
 */
export async function endedImports({ deployments, portal }: Site, key: Key, isOwn: boolean): Promise<Html | undefined> {
  const database = deployments.get(key.deployment)?.database;
  const imports = database === undefined ? [] : await importsEndedWith(database, key);
  if (imports.length === 0) return undefined;
  const title = (row: ImportRow) =>
    isOwn && key.deployment === portal
      ? html`<a href="${IMPORTS_PATH}/${row.id}">${importTitle(row)}</a>`
      : importTitle(row);
  return html`<p>Its imports have ended. Their changes so far stay, and it is safe to import the files again with another key:</p>
<ul>${imports.map(row => html`<li>${title(row)}: ${countText(row.rows_read)} of ${countText(row.row_count)} rows are done</li>`)}</ul>`;
}

/** The errors of the form for a new key, by field. */
export type KeyErrors = Readonly<Record<string, string | undefined>>;

/** Returns the form for a new key. @param errors the errors of the submitted form */
export function newKeyView(visit: AccountVisit, errors: KeyErrors = {}): View {
  const { form: sent, account } = visit;
  const field = fieldsOf(visit, errors);
  const limits = limitsOfAccount(account);
  return {
    title: 'New API key',
    errors,
    body: html`${form(visit, { action: '/keys/new', submit: 'Create key' }, [
      onceField(visit),
      field('name', 'Name', {
        hint: 'The program that uses the key, such as “Adoption site”.',
        maxLength: NAME_LENGTH_MAX,
      }),
      choices('radio', {
        ...{ name: 'deployment', label: 'Deployment', choices: deploymentChoices(visit) },
        error: errors['deployment'],
      }),
      accessFields(visit, errors['scope']),
      expiryField(visit),
      html`<details class="more"${moreOptions.some(name => sent.get(name)) && html` open`}><summary>More options</summary>
${field('networks', 'Allowed networks', {
  hint: html`Addresses or networks such as <code>203.0.113.0/24</code>, separated by spaces. If you enter none, the key works from everywhere.`,
  optional: true,
})}
${field('perMinute', 'Requests per minute', budgetOptions(limits.perMinute))}
${field('perDay', 'Requests per day', budgetOptions(limits.perDay))}</details>`,
    ])}
<p><a href="/keys">Cancel</a></p>`,
  };
}

/** Returns the fields to choose all scopes or single scopes. */
function accessFields({ form: sent, signedIn }: AccountVisit, error: string | undefined): Html {
  const hasAll = includesScopes(signedIn.scopes, [EVERY_SCOPE]);
  const access = sent.get('access') ?? (hasAll ? 'all' : 'read');
  const chosen = sent.getAll('scope');
  const kinds = [
    ...(hasAll ? [{ value: 'all', label: 'Everything', hint: 'All scopes, also those of later releases.' }] : []),
    { value: 'read', label: 'Read only', hint: 'All scopes for reading.' },
    { value: 'chosen', label: 'Only these scopes' },
  ];
  const single = Object.entries(scopes)
    .filter(([value]) => includesScopes(signedIn.scopes, [value]))
    .map(([value, hint]) => ({ value, hint, label: html`<code>${value}</code>`, checked: chosen.includes(value) }));
  return html`${choices('radio', {
    name: 'access',
    label: 'Access',
    choices: kinds.map(kind => ({ ...kind, checked: kind.value === access })),
  })}
<details class="more"${access === 'chosen' && html` open`}><summary>Scopes</summary>
${choices('checkbox', { name: 'scope', label: 'Scopes', choices: single, error })}</details>`;
}

function expiryField({ form: sent, site }: AccountVisit): Html {
  const maxDays = site.config.keyLifetimeDays ?? Number.POSITIVE_INFINITY;
  const expiries = Object.entries(lifetimes)
    .filter(([value]) => Number.parseInt(value || '0', 10) <= maxDays)
    .map(([value, label]) => {
      const isNever = value === '' && maxDays < Number.POSITIVE_INFINITY;
      return { value, label: isNever ? `After ${maxDays} days` : label, checked: sent.get('expires') === value };
    });
  return select({ name: 'expires', label: 'Expires', choices: expiries });
}

const moreOptions = ['networks', 'perMinute', 'perDay'];

/** Returns the options of a field for a budget. @param max the limit of the account */
function budgetOptions(max: number) {
  const hint = `A budget of this key, within the ${countText(max)} of the account.`;
  return { type: 'number', hint, optional: true, min: 1, max } as const;
}

/** Returns the page that shows a token. It is shown only once. */
export function issuedView({ site, request }: AccountVisit, key: IssuedKey, title: string): View {
  const { token, deployment } = key;
  const url = site.urlOf(deployment, request.tls);
  const call = `curl -H "Authorization: Bearer ${token}" "${url}${PREFIX}/pets?limit=3"`;
  return {
    title,
    body: html`${notice('status', html`<p><strong>Copy the key now.</strong> It is shown only this once.</p>`)}
<h2>${key.name ?? 'API key'} <span class="badge">${titleOf(deployment)}</span></h2>
<pre class="copy" id="token"><code>${token}</code></pre>
${
  url !== undefined &&
  html`<h2>Your first call</h2>
<p>Paste this into a shell:</p>
<pre class="copy" id="call"><code>${call}</code></pre>${site.config.mcp.isServed && mcpSetup(url, token)}`
}
<p>Next: <a href="/reference">browse the reference</a>, or read <a href="/guides/quickstart">the quickstart</a>.</p>
<p><a href="/keys">All your keys</a></p>`,
  };
}

/** Returns the page of a key. @param ban the active ban, if any */
export function keyView(visit: AccountVisit, key: Key, ban: Ban | undefined, now: number): View {
  const state = keyState(key, now);
  return {
    title: key.name ?? key.id,
    body: html`${visit.query.has('shown') && notice('status', html`<p>The page that showed this key is closed. If you have not copied the key, rotate it: that shows a new one.</p>`)}<p><a href="/keys">All keys</a></p>
<p>${stateBadge(state)}</p>
${ban !== undefined && banNotice(ban)}
${keyFacts(key)}
${state === 'active' && [rotateForm(visit, key.id), revokeForm(visit, `/keys/${key.id}/revoke`)]}`,
  };
}

/** Returns the properties of a key. @param account a link to its account, for operators */
export function keyFacts(key: Key, account?: Html): Html {
  const { id, createdAt, expiresAt, lastUsedAt, revokedAt, networks, budget } = key;
  return facts([
    ['Id', html`<code>${id}</code>`],
    ['Account', account],
    ['Deployment', titleOf(key.deployment)],
    ['Scopes', scopeList(key)],
    ['Networks', networks?.join(', ')],
    ['Budget', budget && budgetText(budget)],
    ['Created', timeHtml(createdAt)],
    ['Last used', lastUsedAt === null ? 'Never' : timeHtml(lastUsedAt)],
    ['Expires', expiresAt === null ? 'Never' : timeHtml(expiresAt)],
    ['Revoked', revokedAt === null ? undefined : timeHtml(revokedAt)],
  ]);
}

function rotateForm(visit: AccountVisit, id: string): Html {
  return html`<h2>Rotate</h2>
<p>Creates a key with the same access, and lets this key expire. Its webhooks and imports move to the new key.</p>
${form(visit, { action: `/keys/${id}/rotate`, submit: 'Rotate key' }, [
  onceField(visit),
  select({ name: 'overlap', label: 'How long this key keeps working', choices: choicesOf(overlaps) }),
])}`;
}

/** Returns the form that revokes a key. @param action its path */
export function revokeForm(visit: AccountVisit, action: string): Html {
  const keep = { value: 'yes', label: 'Keep its webhooks active' };
  return html`<h2>Revoke</h2>
<p>Requests with this key get 401 at once, and its imports end. You cannot undo this.</p>
${form(visit, { action, submit: 'Revoke key', danger: true }, choices('checkbox', { name: 'keepWebhooks', label: 'Webhooks', choices: [keep] }))}`;
}

function banNotice({ until, bannedAt }: Ban): Html {
  return notice(
    'alert',
    html`<p><strong>This key is banned until ${timeHtml(until)}.</strong></p>
<p>Since ${timeHtml(bannedAt)}: it kept sending requests after 429 responses, before the time in <code>Retry-After</code>. See
<a href="/guides/rate-limits">rate limits</a> for how to back off. The operator of the store can lift the ban.</p>`,
  );
}

function keyTable(keys: readonly Key[], now: number, caption: string): Html {
  return table(
    caption,
    {
      Name: ({ id, name }) => html`<a href="/keys/${id}">${name ?? id}</a>`,
      Deployment: ({ deployment }) => titleOf(deployment),
      Access: accessText,
      State: key => stateBadge(keyState(key, now)),
      Created: ({ createdAt }) => timeHtml(createdAt),
      'Last used': ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : timeHtml(lastUsedAt)),
    },
    keys,
  );
}

function accessText({ scopes: own }: Key): string {
  if (own.includes(EVERY_SCOPE)) return 'Everything';
  return own.length === 1 ? own[0]! : `${own.length} scopes`;
}

function scopeList({ scopes: own }: Key): Html | string {
  return own.includes(EVERY_SCOPE) ? 'Every scope' : html`${own.map(scope => html`<code>${scope}</code> `)}`;
}

/** Returns the state of a key: `Active`, `Expired` or `Revoked`. */
export function stateBadge(state: ReturnType<typeof keyState>): Html {
  const look = { active: 'good', expired: 'warn', revoked: 'bad' } as const;
  return badge(look[state], capitalized(state));
}

function deploymentChoices({ site, form: sent }: AccountVisit): Choice[] {
  const hints = { staging: 'Sample animals, to try things.', production: 'The real store.' };
  const served = (['staging', 'production'] as const).filter(name => site.deployments.has(name));
  const wanted = sent.get('deployment') ?? served[0];
  return served.map(value => ({ value, label: titleOf(value), hint: hints[value], checked: value === wanted }));
}
