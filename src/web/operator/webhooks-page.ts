import { listWebhookHealth, type WebhookHealth } from '../../events/webhooks/health.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import type { Columns } from '../parts.ts';
import { pendingText, stateOf } from '../webhooks/parts.ts';
import { choiceFilter, idFilter, operatorList } from './list.ts';
import { accountLink } from './parts.ts';

const states = { active: 'Active', failing: 'Failing', disabled: 'Disabled', inactive: 'Inactive' };

export const webhookColumns = {
  Id: ({ id }) => id,
  URL: ({ url }) => html`<bdi>${url}</bdi>`,
  Account: ({ accountId }) => accountLink(accountId),
  State: stateOf,
  'Pending deliveries': pendingText,
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
