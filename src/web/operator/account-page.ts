import {
  getAccount,
  requestDeletion,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from '../../access/accounts/accounts.ts';
import { listKeys } from '../../access/keys/keys.ts';
import { accountSubject } from '../../access/limits/subject.ts';
import { suspendWithDependents } from '../../events/webhooks/account-changes.ts';
import { listWebhookHealth, type WebhookHealth } from '../../events/webhooks/health.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { parseDuration } from '../../lib/time.ts';
import { userErrorOf } from '../../lib/user-error.ts';
import { type Account, type AccountChange, checkChange, limitsOfAccount } from '../../model/account.ts';
import { type Key, keyState } from '../../model/key.ts';
import { LIMIT_MAX, type PlanName, plans } from '../../model/plan.ts';
import { DELETION_GRACE_DAYS } from '../../model/rules.ts';
import type { DeploymentName, Transaction } from '../../model/schema.ts';
import { reportRules, usageReport } from '../../operate/usage/report.ts';
import { boundsTable } from '../bounds.ts';
import { withQuery } from '../deployments.ts';
import { choices, choicesOf, doneNotice, field, fieldsOf, form, select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import { idOf } from '../lists.ts';
import type { AccountVisit, View } from '../page.ts';
import { type Columns, facts, table } from '../parts.ts';
import { accountDatabases, nowOf } from '../site.ts';
import { stateBadges } from './accounts-page.ts';
import { keyLink, styles } from './parts.ts';
import { type Errors, resourcePages } from './resource.ts';
import { webhookColumns } from './webhooks-page.ts';

/** An account, even if it is deleted: its resources, and the forms to change, suspend, resume and delete it. */
export const accountPages = resourcePages<Account, AccountField>({
  path: '/operator/accounts/{accountId}',
  title: 'Account',
  async find({ site, parameters }) {
    const id = idOf(parameters['accountId']);
    return id === undefined ? undefined : getAccount(site.accounts, id);
  },
  view: accountView,
  forms: {
    '': {
      wrong: ({ form }, account) => limitErrors(form, account),
      about: 'admin',
      asksAgain: 'everyone',
      async work({ site, form, origin }, { id }) {
        await site.accounts.write(tx => updateAccount(tx, id, changeOf(form)), origin);
        return 'updated';
      },
    },
    suspend: {
      title: 'Suspend an account',
      async work(visit, { id }) {
        await suspend(visit, id, suspendAccount);
        return 'suspended';
      },
    },
    // Also cancels its deletion.
    resume: {
      title: 'Resume an account',
      async work({ site, origin }, { id }) {
        await site.accounts.write(tx => resumeAccount(tx, id), origin);
        return 'resumed';
      },
    },
    delete: {
      title: 'Delete an account',
      asksAgain: 'everyone',
      wrong({ form }, { name }) {
        if (form.get('confirmation')?.trim() === name.trim()) return {};
        return { confirmation: 'Type the name of the account exactly as it is shown to confirm the deletion.' };
      },
      async work(visit, { id }) {
        const grace = visit.form.get('grace') ?? '';
        const graceMs = parseDuration(Object.hasOwn(GRACES, grace) ? grace : DEFAULT_GRACE)!;
        await suspend(visit, id, (tx, id) => requestDeletion(tx, id, graceMs));
        return 'deleting';
      },
    },
  },
});

function suspend({ site, origin }: AccountVisit, id: number, work: (tx: Transaction, id: number) => Promise<Account>) {
  return suspendWithDependents(accountDatabases(site), id, work, origin);
}

function changeOf(form: URLSearchParams): AccountChange {
  const plan = (form.get('plan') ?? '') as PlanName;
  const limits = plan === 'enterprise' ? { ...limitOf(form, 'perMinute'), ...limitOf(form, 'perDay') } : {};
  return { plan, ...limits, admin: form.get('admin') === 'yes' };
}

function limitOf(form: URLSearchParams, name: 'perMinute' | 'perDay'): AccountChange {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? {} : { [name]: /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN };
}

/** Returns the errors of the limits of a form; Enterprise needs both limits. */
function limitErrors(form: URLSearchParams, account: Account): Errors<AccountField> {
  if (form.get('plan') !== 'enterprise') return {};
  const errorOf = (name: 'perMinute' | 'perDay', window: string) => {
    const limit = limitOf(form, name);
    const isMissing = limit[name] === undefined && account[name] === null;
    return isMissing ? `Enterprise needs its own requests per ${window}.` : userErrorOf(() => checkChange(limit));
  };
  return { perMinute: errorOf('perMinute', 'minute'), perDay: errorOf('perDay', 'day') };
}

const DEFAULT_GRACE = `${DELETION_GRACE_DAYS}d`;
/** The grace periods to choose from. */
const GRACES = {
  [DEFAULT_GRACE]: `${DELETION_GRACE_DAYS} days`,
  '7d': '7 days',
  '24h': '24 hours',
  '0s': 'None: as soon as possible',
};

const doneTexts = {
  updated: 'The account is changed. The next request counts against its limits.',
  suspended: 'The account is suspended. Its keys are rejected, its imports have ended, and its webhooks are disabled.',
  resumed: 'The account is resumed. Its keys are accepted again. Its owner must activate the webhooks again.',
  deleting: 'The account is suspended, and will be deleted when the grace period ends.',
};

/**
 * The maximum number of keys and webhooks that the page of an account shows; the pages of keys and webhooks show all.
 */
const SHOWN_MAX = 100;

/** The fields of the forms that can have an error. */
type AccountField = 'perMinute' | 'perDay' | 'admin' | 'confirmation';
type AccountErrors = Errors<AccountField>;

/** Returns the page of an account, with the errors of the submitted form. */
async function accountView(visit: AccountVisit, account: Account, errors?: AccountErrors): Promise<View> {
  const { site } = visit;
  const done = doneNotice(visit, doneTexts);
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
<p><a href="${withQuery('/operator/audit', { account: account.id })}">Its entries in the audit log</a></p>
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

const adminHint =
  'Can open these pages, and its keys may change resources of other accounts. The only active admin cannot be removed here.';

function planForm(visit: AccountVisit, account: Account, errors: AccountErrors = {}): Html {
  const { form: sent } = visit;
  const plan = sent.get('plan') ?? account.plan;
  const field = fieldsOf(visit, errors);
  const limit = { type: 'number', hint: 'For Enterprise, which has limits of its own.', optional: true } as const;
  const isAdmin = sent.has('plan') ? sent.get('admin') === 'yes' : account.admin;
  return html`<h2>Plan and rights</h2>
${form(visit, { action: `/operator/accounts/${account.id}`, submit: 'Save' }, [
  select({
    name: 'plan',
    label: 'Plan',
    choices: Object.entries(plans).map(([value, { title }]) => ({ value, label: title, checked: value === plan })),
  }),
  field('perMinute', 'Requests per minute', { ...limit, value: account.perMinute, min: 1, max: LIMIT_MAX }),
  field('perDay', 'Requests per day', { ...limit, value: account.perDay, min: 1, max: LIMIT_MAX }),
  choices('checkbox', {
    name: 'admin',
    label: 'Rights',
    error: errors.admin,
    choices: [{ value: 'yes', label: 'Admin', hint: adminHint, checked: isAdmin }],
  }),
])}`;
}

function keyTable(keys: readonly Key[], now: number): Html {
  const more = keys.length - SHOWN_MAX;
  return html`${table(
    'Keys',
    {
      Id: ({ id }) => keyLink(id),
      Name: ({ name }) => html`<bdi>${name}</bdi>`,
      Deployment: ({ deployment }) => titleOf(deployment),
      State: key => keyState(key, now),
      Created: ({ createdAt }) => timeHtml(createdAt),
      'Last used': ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : timeHtml(lastUsedAt)),
    },
    keys.slice(0, SHOWN_MAX),
    'This account has no keys.',
  )}${more > 0 && html`<p class="quiet">${countText(more)} older keys are not shown.</p>`}`;
}

async function webhookTables({ site }: AccountVisit, accountId: number): Promise<Html[]> {
  const { Id, URL, State } = webhookColumns;
  const columns: Columns<WebhookHealth> = { Id, URL, State, 'Pending deliveries': ({ pending }) => countText(pending) };
  const tables: Html[] = [];
  for (const { name, database } of site.deployments.values()) {
    const { rows, next } = await listWebhookHealth(database, { accountId }, { limit: SHOWN_MAX });
    if (rows.length === 0) continue;
    const path = withQuery('/operator/webhooks', { deployment: name, account: accountId });
    tables.push(html`<h2>Webhooks on ${name}</h2>
${table(`Webhooks on ${name}`, columns, rows)}
${next !== undefined && html`<p><a href="${path}">All webhooks of the account</a></p>`}`);
  }
  return tables;
}

/** Returns a table of the requests of an account, and what remains of its limits. */
async function usageTable({ site }: AccountVisit, account: Account): Promise<Html> {
  const deployments = [...site.deployments.keys()] as DeploymentName[];
  const { id } = account;
  const limits = limitsOfAccount(account);
  const now = nowOf(site);
  const numbers: readonly Readonly<Record<string, string>>[] = await Promise.all(
    deployments.map(async deployment => {
      const range = { accountId: id, deployment };
      const day = (await usageReport(site.accounts, { ...range, interval: 'hour' }, now)).total;
      const month = (await usageReport(site.accounts, { ...range, interval: 'day' }, now)).total;
      const left = await site.limiter.status(accountSubject(deployment, id, limits));
      return {
        'Left of this minute': `${countText(left.minuteLeft)} of ${countText(limits.perMinute)}`,
        'Left of today': `${countText(left.dayLeft)} of ${countText(limits.perDay)}`,
        [`Requests in ${reportRules.hour.count} hours`]: countText(day.requests),
        'Rate limited or banned': countText(day.rateLimited + day.banned),
        'Errors of the client': countText(day.clientErrors),
        'Errors of the server': countText(day.serverErrors),
        [`Requests in ${reportRules.day.count} days`]: countText(month.requests),
      };
    }),
  );
  const ofDeployments = deployments.map(
    (name, index) => [titleOf(name), (fact: string) => numbers[index]![fact]] as const,
  );
  return html`<h2>Use</h2>
${table('Use', { What: fact => fact, ...Object.fromEntries(ofDeployments) }, Object.keys(numbers[0] ?? {}))}`;
}

/** Returns the form to suspend or to resume an account. */
function lifeForms(visit: AccountVisit, { id, suspendedAt, deleteAt }: Account): Html {
  if (suspendedAt === undefined) {
    return html`<h2>Suspend</h2>
<p>Its keys are rejected, its event streams and imports end, and its webhooks are disabled. Its animals and orders stay.</p>
${form(visit, { action: `/operator/accounts/${id}/suspend`, submit: 'Suspend account', danger: true })}`;
  }
  const [title, submit] =
    deleteAt === undefined ? ['Resume', 'Resume account'] : ['Cancel the deletion', 'Cancel deletion and resume'];
  return html`<h2>${title}</h2>
<p>Its keys are accepted again. Its owner must activate the webhooks again.</p>
${form(visit, { action: `/operator/accounts/${id}/resume`, submit })}`;
}

function deletionForm(visit: AccountVisit, { id, name, deleteAt }: Account, errors: AccountErrors = {}): Html {
  if (deleteAt !== undefined) return html``;
  const { form: sent } = visit;
  return html`<h2>Delete</h2>
<p>Suspends the account. When the grace period ends, its animals, keys, webhooks and personal data are deleted on both
deployments. Until then you can cancel. <code>petstore account transfer</code> keeps its animals.</p>
${form(visit, { action: `/operator/accounts/${id}/delete`, submit: 'Delete account', danger: true }, [
  select({ name: 'grace', label: 'Grace period', choices: choicesOf(GRACES, sent.get('grace')) }),
  field({
    name: 'confirmation',
    label: html`Type the name <strong><bdi>${name}</bdi></strong> to confirm`,
    error: errors.confirmation,
  }),
])}`;
}
