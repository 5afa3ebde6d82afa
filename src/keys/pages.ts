import { type Html, html, timeHtml } from '../lib/html/html.ts';
import { UserError } from '../lib/user-error.ts';
import type { DeploymentName } from '../schema.ts';
import { PREFIX } from '../urls.ts';
import { type Choice, choices, form, notice } from '../web/forms.ts';
import { titleOf } from '../web/layout.ts';
import { type AccountVisit, accountPage, type View } from '../web/page.ts';
import { nowOf } from '../web/site.ts';
import { revokeKeyAndWebhooks } from '../webhooks/key-changes.ts';
import { EVERY_SCOPE, type IssuedKey, type Key, keyState, scopes } from './key.ts';
import { createKey, listKeys } from './keys.ts';

/** The keys of the account, and the form for a new one. */
export const keysPage = accountPage({
  path: '/keys',
  title: 'API keys',
  menu: 'account',
  show: visit => keysView(visit, {}),
  async submit(visit) {
    const { site, account, form, origin } = visit;
    const deployment: DeploymentName = form.get('deployment') === 'production' ? 'production' : 'staging';
    const chosen = form.getAll('scope');
    const key = { accountId: account.id, deployment, scopes: chosen.length === 0 ? [EVERY_SCOPE] : chosen };
    try {
      const issued = await site.accounts.write(tx => createKey(tx, key, site.config.keyLifetimeDays), origin);
      return keysView(visit, { issued });
    } catch (error) {
      if (error instanceof UserError) return keysView(visit, { error: error.message });
      throw error;
    }
  },
});

/** Revokes a key. */
export const revokeKeyPage = accountPage({
  path: '/keys/{keyId}/revoke',
  title: 'Revoke a key',
  async submit({ site, account, parameters, origin }) {
    const key = (await listKeys(site.accounts, account.id)).find(({ id }) => id === parameters['keyId']);
    if (key === undefined) return undefined;
    const webhooks = site.deployments.get(key.deployment)?.database;
    await revokeKeyAndWebhooks({ accounts: site.accounts, webhooks }, key.id, { origin });
    return { location: '/keys' };
  },
});

async function keysView(visit: AccountVisit, { issued, error }: { issued?: IssuedKey; error?: string }): Promise<View> {
  const { site, account } = visit;
  const keys = await listKeys(site.accounts, account.id);
  const now = nowOf(site);
  const active = keys.filter(key => keyState(key, now) === 'active');
  return {
    status: error === undefined ? 200 : 422,
    body: html`${issued && issuedView(visit, issued)}${error !== undefined && notice('alert', error)}
${active.length === 0 ? html`<p class="empty">You have no API keys yet.</p>` : keyTable(visit, active)}
<h2>New key</h2>
${form(visit, { action: '/keys', submit: 'Create key' }, [
  choices('radio', { name: 'deployment', label: 'For', choices: deploymentChoices(visit) }),
  choices('checkbox', {
    name: 'scope',
    label: 'Scopes (every scope if you choose none)',
    choices: Object.entries(scopes).map(([value, hint]) => ({ value, label: html`<code>${value}</code>`, hint })),
  }),
])}`,
  };
}

function deploymentChoices({ site }: AccountVisit): Choice[] {
  const hints = { staging: 'Sample data, to try things.', production: 'The real store.' };
  return (['staging', 'production'] as const)
    .filter(name => site.deployments.has(name))
    .map((value, index) => ({ value, label: titleOf(value), hint: hints[value], checked: index === 0 }));
}

function issuedView({ site, request }: AccountVisit, { token, deployment }: IssuedKey): Html {
  const url = site.urlOf(deployment, request.tls);
  return notice('status', [
    html`<p><strong>Your new key.</strong> Copy it now: it is shown this once.</p>
<pre class="copy"><code>${token}</code></pre>`,
    url !== undefined &&
      html`<p>Your first call:</p>
<pre class="copy"><code>curl -H "Authorization: Bearer ${token}" ${url + PREFIX}/pets</code></pre>`,
  ]);
}

function keyTable(visit: AccountVisit, keys: readonly Key[]): Html {
  return html`<div class="scroll"><table>
<caption class="sr-only">Active keys</caption>
<thead><tr><th scope="col">Key</th><th scope="col">Deployment</th><th scope="col">Scopes</th><th scope="col">Created</th><th scope="col">Last used</th><td></td></tr></thead>
<tbody>${keys.map(
    key => html`<tr>
<th scope="row"><code>${key.id}</code></th><td>${titleOf(key.deployment)}</td><td>${key.scopes.join(', ')}</td><td>${timeHtml(key.createdAt)}</td>
<td>${key.lastUsedAt === null ? 'never' : timeHtml(key.lastUsedAt)}</td>
<td>${form(visit, { action: `/keys/${key.id}/revoke`, submit: 'Revoke', className: 'inline', danger: true }, undefined)}</td>
</tr>`,
  )}</tbody></table></div>`;
}
