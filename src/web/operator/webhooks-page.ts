import { listWebhookHealth, type WebhookHealth } from '../../events/webhooks/health.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { FAILING_MAX_MS } from '../../model/rules.ts';
import type { DisabledReason } from '../../model/webhook.ts';
import { badge, type Columns } from '../parts.ts';
import { choiceFilter, idFilter, operatorList } from './list.ts';
import { accountLink } from './parts.ts';

const states = { active: 'Active', failing: 'Failing', disabled: 'Disabled', inactive: 'Inactive' };

const reasons: Readonly<Record<DisabledReason, string>> = {
  gone: 'its receiver responded 410',
  failing: `every attempt failed for ${durationIn('day', FAILING_MAX_MS, 'words')}`,
  operator: 'by the operator',
  key_revoked: 'its key was revoked',
  key_expired: 'its key expired',
  account_suspended: 'its account was suspended',
  account_deleted: 'its account was deleted',
  secret_replaced: 'its secret was replaced after a restore',
};

export const webhookColumns = {
  Id: ({ id }) => id,
  URL: ({ url }) => html`<bdi>${url}</bdi>`,
  Account: ({ accountId }) => accountLink(accountId),
  State: webhookState,
  'Pending deliveries': ({ pending, waits }) =>
    html`${countText(pending)}${waits === 1 && html` <span class="quiet">and more events wait in the log</span>`}`,
  'Next attempt': ({ dueAt, status }) => dueAt !== null && status === 'active' && timeHtml(dueAt),
} satisfies Columns<WebhookHealth>;

/** The webhooks of all accounts on a deployment, with their health. */
export const webhooksPage = operatorList({
  path: '/operator/webhooks',
  title: 'All webhooks',
  menu: 'operator',
  perDeployment: true,
  filters: { account: idFilter('Account id'), state: choiceFilter('State', states) },
  read: ({ deployment }, { account, state }, page) =>
    listWebhookHealth(deployment.database, { accountId: account, state }, page),
  caption: 'Webhooks',
  columns: () => webhookColumns,
  empty: 'No webhook matches.',
});

/** Returns the state of a webhook, since when it has failed, and why it is disabled. */
function webhookState({ status, disabledReason, failingSince, updatedAt }: WebhookHealth): Html {
  if (status === 'inactive') return badge('', 'Inactive');
  if (status === 'disabled') {
    const why = disabledReason === null ? '' : `: ${reasons[disabledReason]}`;
    return html`${badge('bad', 'Disabled')} <span class="quiet">${timeHtml(updatedAt)}${why}</span>`;
  }
  if (failingSince === null) return badge('good', 'Active');
  return html`${badge('warn', 'Failing')} <span class="quiet">since ${timeHtml(failingSince)}</span>`;
}
