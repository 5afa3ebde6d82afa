import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { type HealthFilter, listWebhookHealth, type WebhookHealth } from '../../webhooks/health.ts';
import type { DisabledReason } from '../../webhooks/webhook.ts';
import { select } from '../forms.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { operatorPage } from '../page.ts';
import { badge, table } from '../parts.ts';
import { accountLink, deploymentOf, deploymentTabs, emptyText, searchField, searchForm, styles } from './parts.ts';

const states = { '': 'All', active: 'Active', failing: 'Failing', disabled: 'Disabled', inactive: 'Inactive' };

const reasons: Readonly<Record<DisabledReason, string>> = {
  gone: 'its receiver responded 410',
  failing: 'every attempt failed for five days',
  operator: 'by the operator',
  key_revoked: 'its key was revoked',
  key_expired: 'its key expired',
  account_suspended: 'its account was suspended',
  account_deleted: 'its account was deleted',
  secret_replaced: 'its secret was replaced after a restore',
};

/** The webhooks of all accounts on a deployment, and how they do. */
export const webhooksPage = operatorPage({
  path: '/operator/webhooks',
  title: 'All webhooks',
  menu: 'operator',
  async show(visit) {
    const { query } = visit;
    const deployment = deploymentOf(visit);
    if (deployment === undefined) return undefined;
    const state = Object.hasOwn(states, query.get('state') ?? '') ? query.get('state') || undefined : undefined;
    const filter = { accountId: idOf(query.get('account')), state: state as HealthFilter['state'] };
    const page = await listWebhookHealth(deployment.database, filter, listPage(visit));
    const choices = Object.entries(states).map(([value, label]) => ({ value, label, checked: value === state }));
    return {
      styles,
      body: html`${deploymentTabs(visit, '/operator/webhooks', deployment.name)}
${searchForm('/operator/webhooks', [
  html`<input type="hidden" name="deployment" value="${deployment.name}">`,
  searchField(visit, 'account', 'Account id', 'number'),
  select({ name: 'state', label: 'State', choices }),
])}
${table(
  'Webhooks',
  ['Id', 'URL', 'Account', 'State', 'Pending deliveries', 'Next attempt'],
  page.rows.map(webhook => [
    String(webhook.id),
    html`<bdi>${webhook.url}</bdi>`,
    accountLink(webhook.accountId),
    webhookState(webhook),
    html`${countText(webhook.pending)}${webhook.waits === 1 && html` <span class="quiet">and more events wait in the log</span>`}`,
    webhook.dueAt !== null && webhook.status === 'active' && timeHtml(webhook.dueAt),
  ]),
  emptyText('No webhook matches.', page),
)}
${pageLinks(visit, page)}`,
    };
  },
});

/** Returns the state of a webhook, since when it fails, and why it is disabled. */
export function webhookState({ status, disabledReason, failingSince, updatedAt }: WebhookHealth): Html {
  if (status === 'inactive') return badge('', 'Inactive');
  if (status === 'disabled') {
    const why = disabledReason === null ? '' : `: ${reasons[disabledReason]}`;
    return html`${badge('bad', 'Disabled')} <span class="quiet">${timeHtml(updatedAt)}${why}</span>`;
  }
  if (failingSince === null) return badge('good', 'Active');
  return html`${badge('warn', 'Failing')} <span class="quiet">since ${timeHtml(failingSince)}</span>`;
}
