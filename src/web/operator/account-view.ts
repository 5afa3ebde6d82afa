import { type Account, limitsOfAccount } from '../../accounts/account.ts';
import { type Key, keyState } from '../../keys/key.ts';
import { listKeys } from '../../keys/keys.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { accountSubject } from '../../limits/subject.ts';
import { LIMIT_MAX, plans } from '../../plans/plan.ts';
import type { DeploymentName } from '../../schema.ts';
import { usageReport } from '../../usage/report.ts';
import { listWebhookHealth, type WebhookHealth } from '../../webhooks/health.ts';
import { boundsTable } from '../bounds.ts';
import { choices, doneNotice, field, form, select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import type { AccountVisit, View } from '../page.ts';
import { facts, table } from '../parts.ts';
import { nowOf } from '../site.ts';
import { stateBadges } from './accounts-page.ts';
import { keyLink, pathWith, styles } from './parts.ts';
import { webhookState } from './webhooks-page.ts';

/** The grace periods to choose from. */
export const GRACES = { '30d': '30 days', '7d': '7 days', '24h': '24 hours', '0s': 'None: as soon as possible' };

const doneTexts = {
  updated: 'The account is changed. The next request counts against its limits.',
  suspended: 'The account is suspended. Its keys are rejected, its imports have ended, and its webhooks are disabled.',
  resumed: 'The account is resumed. Its keys are accepted again. Its owner activates the webhooks again.',
  deleting: 'The account is suspended, and will be deleted when the grace period ends.',
};

/** Keys and webhooks of an account that its page shows; all of them are on the pages of keys and webhooks. */
const SHOWN_MAX = 100;

/** What is wrong with the form that was sent, by field; `''` for the whole form. */
export type AccountErrors = Readonly<
  Partial<Record<'perMinute' | 'perDay' | 'admin' | 'confirmation' | '', string | undefined>>
>;

/** Returns the page of an account, with the errors of the form that was sent. */
export async function accountView(visit: AccountVisit, account: Account, errors?: AccountErrors): Promise<View> {
  const { site, query } = visit;
  const done = doneNotice(doneTexts, query.get('done'));
  const keys = (await listKeys(site.accounts, account.id)).reverse();
  const isOver = account.deletedAt !== undefined || (account.deleteAt ?? Number.POSITIVE_INFINITY) <= nowOf(site);
  return {
    title: account.name,
    styles,
    errors,
    body: html`${errors === undefined && done}
<p><a href="/operator/accounts">All accounts</a></p>
<p>${stateBadges(account)}</p>
${accountFacts(account)}
<p><a href="${pathWith('/operator/audit', { account: account.id })}">Its entries in the audit log</a></p>
${!isOver && planForm(visit, account, errors)}
<h2>Keys</h2>
${keyTable(keys, nowOf(site))}
${await webhookTables(visit, account.id)}
${await usageTable(visit, account)}
<h2>Bounds</h2>
<p class="quiet">Event streams and lists that scan are those on this node.</p>
${await boundsTable(site, account)}
${!isOver && [lifeForms(visit, account), deletionForm(visit, account, errors)]}`,
  };
}

function accountFacts(account: Account): Html {
  const { id, email, plan, emailConfirmedAt, deletionByOwner } = account;
  const { createdAt, suspendedAt, deleteAt, deletedAt } = account;
  const limits = limitsOfAccount(account);
  const deletion = deletionByOwner ? ', as its owner asked' : '';
  return facts([
    ['Id', html`<code>${id}</code>`],
    [
      'E-mail address',
      html`<bdi>${email}</bdi> <span class="quiet">${emailConfirmedAt === undefined ? 'not confirmed' : 'confirmed'}</span>`,
    ],
    [
      'Plan',
      `${plans[plan].title}: ${countText(limits.perMinute)} requests per minute, ${countText(limits.perDay)} per day`,
    ],
    ['Created', timeHtml(createdAt)],
    ['Suspended', suspendedAt === undefined ? undefined : timeHtml(suspendedAt)],
    ['Will be deleted', deleteAt === undefined ? undefined : html`${timeHtml(deleteAt)}${deletion}`],
    ['Deleted', deletedAt === undefined ? undefined : timeHtml(deletedAt)],
  ]);
}

function planForm(visit: AccountVisit, account: Account, errors: AccountErrors = {}): Html {
  const { form: sent } = visit;
  const isSent = sent.has('plan');
  const plan = sent.get('plan') ?? account.plan;
  const limit = (name: 'perMinute' | 'perDay', label: string) =>
    field({
      name,
      label,
      type: 'number',
      value: sent.get(name) ?? account[name],
      hint: 'For Enterprise, which has limits of its own.',
      error: errors[name],
      optional: true,
      min: 1,
      max: LIMIT_MAX,
    });
  const isAdmin = isSent ? sent.get('admin') === 'yes' : account.admin;
  return html`<h2>Plan and rights</h2>
${form(visit, { action: `/operator/accounts/${account.id}`, submit: 'Save' }, [
  select({
    name: 'plan',
    label: 'Plan',
    choices: Object.entries(plans).map(([value, { title }]) => ({ value, label: title, checked: value === plan })),
  }),
  limit('perMinute', 'Requests per minute'),
  limit('perDay', 'Requests per day'),
  choices('checkbox', {
    name: 'admin',
    label: 'Rights',
    error: errors.admin,
    choices: [
      {
        value: 'yes',
        label: 'Admin',
        hint: 'Opens these pages, and its keys may change what belongs to others. The only active admin cannot be removed here.',
        checked: isAdmin,
      },
    ],
  }),
])}`;
}

function keyTable(keys: readonly Key[], now: number): Html {
  const more = keys.length - SHOWN_MAX;
  return html`${table(
    'Keys',
    ['Id', 'Name', 'Deployment', 'State', 'Created', 'Last used'],
    keys
      .slice(0, SHOWN_MAX)
      .map(key => [
        keyLink(key.id),
        html`<bdi>${key.name}</bdi>`,
        titleOf(key.deployment),
        keyState(key, now),
        timeHtml(key.createdAt),
        key.lastUsedAt === null ? 'Never' : timeHtml(key.lastUsedAt),
      ]),
    'This account has no keys.',
  )}${more > 0 && html`<p class="quiet">${countText(more)} older keys are not shown.</p>`}`;
}

async function webhookTables({ site }: AccountVisit, accountId: number): Promise<Html[]> {
  const tables: Html[] = [];
  for (const { name, database } of site.deployments.values()) {
    const { rows, next } = await listWebhookHealth(database, { accountId }, { limit: SHOWN_MAX });
    if (rows.length === 0) continue;
    const path = pathWith('/operator/webhooks', { deployment: name, account: accountId });
    tables.push(html`<h2>Webhooks on ${name}</h2>
${table(`Webhooks on ${name}`, ['Id', 'URL', 'State', 'Pending deliveries'], rows.map(webhookRow), '')}
${next !== undefined && html`<p><a href="${path}">All of them</a></p>`}`);
  }
  return tables;
}

function webhookRow(webhook: WebhookHealth) {
  return [String(webhook.id), html`<bdi>${webhook.url}</bdi>`, webhookState(webhook), countText(webhook.pending)];
}

/** Returns what an account has sent, and what is left of its limits. */
async function usageTable({ site }: AccountVisit, account: Account): Promise<Html> {
  const deployments = [...site.deployments.keys()] as DeploymentName[];
  const { id } = account;
  const limits = limitsOfAccount(account);
  const now = nowOf(site);
  const columns = await Promise.all(
    deployments.map(async deployment => {
      const range = { accountId: id, deployment };
      const day = (await usageReport(site.accounts, { ...range, interval: 'hour' }, now)).total;
      const month = (await usageReport(site.accounts, { ...range, interval: 'day' }, now)).total;
      const left = await site.limiter.status(accountSubject(deployment, id, limits));
      return {
        'Left of this minute': `${countText(left.minuteLeft)} of ${countText(limits.perMinute)}`,
        'Left of today': `${countText(left.dayLeft)} of ${countText(limits.perDay)}`,
        'Requests in 24 hours': countText(day.requests),
        'Rate limited or banned': countText(day.rateLimited + day.banned),
        'Errors of the client': countText(day.clientErrors),
        'Errors of the server': countText(day.serverErrors),
        'Requests in 30 days': countText(month.requests),
      };
    }),
  );
  const names = Object.keys(columns[0] ?? {}) as (keyof (typeof columns)[number])[];
  const rows = names.map(name => [name, ...columns.map(column => column[name])]);
  return html`<h2>Use</h2>
${table('Use', ['What', ...deployments.map(titleOf)], rows, '')}`;
}

/** Returns the form to suspend or to resume an account. */
function lifeForms(visit: AccountVisit, { id, suspendedAt, deleteAt }: Account): Html {
  if (suspendedAt === undefined) {
    return html`<h2>Suspend</h2>
<p>Its keys are rejected, its event streams and imports end, and its webhooks are disabled. Its animals and orders stay.</p>
${form(visit, { action: `/operator/accounts/${id}/suspend`, submit: 'Suspend account', danger: true }, '')}`;
  }
  const [title, submit] =
    deleteAt === undefined ? ['Resume', 'Resume account'] : ['Cancel the deletion', 'Cancel deletion and resume'];
  return html`<h2>${title}</h2>
<p>Its keys are accepted again. Its owner activates the webhooks again.</p>
${form(visit, { action: `/operator/accounts/${id}/resume`, submit }, '')}`;
}

function deletionForm(visit: AccountVisit, { id, name, deleteAt }: Account, errors: AccountErrors = {}): Html {
  if (deleteAt !== undefined) return html``;
  const { form: sent } = visit;
  const graces = Object.entries(GRACES).map(([value, label]) => ({
    value,
    label,
    checked: sent.get('grace') === value,
  }));
  return html`<h2>Delete</h2>
<p>Suspends the account. When the grace period ends, its animals, keys, webhooks and personal data are deleted on both
deployments. Until then you can cancel. <code>petstore account transfer</code> keeps its animals.</p>
${form(visit, { action: `/operator/accounts/${id}/delete`, submit: 'Delete account', danger: true }, [
  select({ name: 'grace', label: 'Grace period', choices: graces }),
  field({
    name: 'confirmation',
    label: html`Type the name <strong><bdi>${name}</bdi></strong> to confirm`,
    error: errors.confirmation,
  }),
])}`;
}
