import { listDeliveries } from '../../events/deliveries/deliveries.ts';
import { type DeliveryHealth, deliveryHealthOf } from '../../events/deliveries/health.ts';
import { type Html, type HtmlValue, html, timeHtml } from '../../lib/html/html.ts';
import { durationIn } from '../../lib/time.ts';
import type { Delivery, DeliveryRow } from '../../model/delivery.ts';
import { SECRET_OVERLAP_MAX_MS, SECRET_OVERLAP_MS } from '../../model/rules.ts';
import { type WebhookRow, webhookEtag } from '../../model/webhook.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { choicesOf, doneNotice, fieldsOf, form, hidden, select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import { listPage, pageLinks } from '../lists.ts';
import { onceField } from '../once.ts';
import { type FormErrors, ownActor, type View } from '../page.ts';
import { facts, table, tabs } from '../parts.ts';
import { attemptText, deliveryState, nextAttemptOf, redeliverForm, statusTitles, testForm } from './deliveries.ts';
import { keyField } from './form.ts';
import { PATH, pathOn, pendingText, stateOf, styles, successText, typesText, type WebhookVisit } from './parts.ts';

const DELIVERIES_SHOWN = 25;

/** How long the previous secrets of a webhook also sign, in seconds. */
const overlaps: Readonly<Record<string, string>> = {
  0: 'Not at all',
  3600: '1 hour',
  [SECRET_OVERLAP_MS / 1000]: durationIn('day', SECRET_OVERLAP_MS),
  [SECRET_OVERLAP_MAX_MS / 1000]: durationIn('day', SECRET_OVERLAP_MAX_MS),
};

const doneTexts = {
  shown:
    'The page that showed the secret is closed. If you have not copied the secret, rotate it: that shows a new one.',
  saved: 'Saved.',
  moved: 'Saved. The receiver has a new URL: activate the webhook again.',
  activated: 'The receiver accepted a test. The webhook is active.',
  deactivated: 'The webhook is inactive. Pending deliveries are kept until you activate it again.',
  redelivered: 'The event is delivered again.',
  replayed: 'The events since then are delivered again, as your receiver accepts them.',
};

/** Returns the page of a webhook. @param errors of the submitted form, by field */
export async function webhookView(on: WebhookVisit, errors: Readonly<Record<string, string>> = {}): Promise<View> {
  const { site, webhook, deployment } = on;
  const { id } = webhook;
  const health = (await deliveryHealthOf(deployment.database, [id])).get(id)!;
  return {
    title: `Webhook ${id}`,
    styles,
    errors: errors as FormErrors,
    body: html`${doneNotice(on, doneTexts)}
<p><a href="${pathOn(on)}">All webhooks</a></p>
${facts([
  ['State', stateOf(webhook)],
  ['Deployment', site.deployments.size > 1 ? titleOf(deployment.name) : undefined],
  ['URL', html`<bdi>${webhook.url}</bdi>`],
  ['Description', webhook.description === null ? undefined : html`<bdi>${webhook.description}</bdi>`],
  ['Events', typesText(webhook)],
  ['Categories', await categoriesText(on)],
  ['Acts for', authorityText(webhook)],
  ['Created', timeHtml(webhook.createdAt)],
])}
<p><a class="button secondary" href="${pathOn(on, `/${id}/edit`)}">Edit</a></p>
${webhook.status !== 'active' && (await activationForm(on, errors['key']))}
<h2>Health</h2>
${healthFacts(webhook, health)}
${testForm(on)}
<h2>Deliveries</h2>
${await deliveriesList(on)}
${webhook.status === 'active' && replayForm(on, errors)}
${rotationForm(on)}
${webhook.status === 'active' && deactivationForm(on)}
<h2>Delete</h2>
<p>Deletes the webhook, its secrets and its deliveries. Pending ones are not sent. You cannot undo this.</p>
${form(on, { action: pathOn(on, `/${id}/deletion`), submit: 'Delete webhook', danger: true })}`,
  };
}

function healthFacts({ status }: WebhookRow, health: DeliveryHealth): Html {
  const { delivered, failed, lastDeliveredAt, dueAt } = health;
  return facts([
    ['Delivered', successText(health)],
    ['Last success', lastDeliveredAt === null ? 'Never' : timeHtml(lastDeliveredAt)],
    ['Failed', html`${failed} <span class="quiet">of the latest ${delivered + failed}</span>`],
    ['Pending', pendingText(health)],
    ['Next attempt', dueAt === null || status !== 'active' ? undefined : timeHtml(dueAt)],
  ]);
}

function authorityText({ keyId, scopes }: WebhookRow): HtmlValue {
  if (keyId === null) return scopes === '*' ? 'Your account' : html`Your account, with ${scopesText(scopes)}`;
  return html`<a href="/keys/${keyId}">Key ${keyId}</a>${scopes !== '*' && html` with ${scopesText(scopes)}`}`;
}

function scopesText(scopes: string): Html {
  return html`${scopes.split(' ').map(scope => html`<code>${scope}</code> `)}`;
}

async function categoriesText({ webhook, deployment }: WebhookVisit): Promise<HtmlValue> {
  if (webhook.categoryIds === null) return undefined;
  const ids: number[] = JSON.parse(webhook.categoryIds);
  const paths = await categoryPaths(deployment.database, ids);
  return html`${ids.map((id, index) => {
    const name = paths.get(id)?.at(-1)?.name;
    return html`${index > 0 && ', '}${name === undefined ? String(id) : html`<bdi>${name}</bdi>`}`;
  })}`;
}

async function activationForm(on: WebhookVisit, keyError: string | undefined): Promise<Html> {
  const { webhook, account } = on;
  return html`<h2>Activate</h2>
<p>Sends a signed test. If your receiver responds with a status from 200 to 299, it gets the events from then on, and the pending deliveries.</p>
${account.admin && html`<p>You are an admin, so your account can see the events of all accounts.</p>`}
${form(on, { action: pathOn(on, `/${webhook.id}/activation`), submit: 'Test and activate' }, [
  hidden('etag', webhookEtag(webhook)),
  await keyField(on, webhook.keyId, keyError),
])}`;
}

async function deliveriesList(on: WebhookVisit): Promise<Html> {
  const { deployment, webhook, query, request } = on;
  const asked = query.get('status');
  const status = asked !== null && Object.hasOwn(statusTitles, asked) ? (asked as Delivery['status']) : undefined;
  const page = listPage(on, DELIVERIES_SHOWN);
  const { rows, ...links } = await listDeliveries(deployment.database, ownActor(on), webhook.id, { status }, page);
  const path = (part = '', parameters = {}) => pathOn(on, `/${webhook.id}${part}`, parameters);
  const choices = [[undefined, 'All'] as const, ...Object.entries(statusTitles)].map(([value, title]) => ({
    ...{ href: `${path('', { status: value })}#deliveries`, title, isCurrent: value === status },
  }));
  const columns = {
    Event: ({ id, type }: DeliveryRow) => html`<a href="${path(`/deliveries/${id}`)}"><code>${type}</code></a>`,
    State: deliveryState,
    Created: ({ createdAt }: DeliveryRow) => timeHtml(createdAt),
    Attempts: attemptsCell,
    'Next attempt': (row: DeliveryRow) => nextAttemptOf(on, row),
    Again: (row: DeliveryRow) => redeliverForm(on, row, 'inline'),
  };
  return html`${tabs('Deliveries', choices, 'deliveries')}
${table('Deliveries', columns, rows, 'No deliveries.')}
${pageLinks({ ...on, query: withoutDone(query), request: { ...request, path: `${PATH}/${webhook.id}` } }, links)}`;
}

function attemptsCell({ attempts }: DeliveryRow): HtmlValue {
  if (attempts.length < 2) return attempts.map(attemptText);
  const last = attempts.at(-1)!;
  return html`<details class="attempts"><summary>${attempts.length}, last ${last.status ?? last.fault}</summary>
<ol>${attempts.map(attempt => html`<li>${attemptText(attempt)}</li>`)}</ol></details>`;
}

function replayForm(on: WebhookVisit, errors: Readonly<Record<string, string>>): Html {
  return html`<h2>Deliver again</h2>
<p>Delivers every event that the webhook receives and that happened since a time, delivered before or not.</p>
${form(
  on,
  { action: pathOn(on, `/${on.webhook.id}/redeliveries`), submit: 'Deliver again' },
  fieldsOf(on, errors)('since', 'Since, UTC', { type: 'datetime-local' }),
)}`;
}

function rotationForm(on: WebhookVisit): Html {
  return html`<h2>Rotate the secret</h2>
<p>Creates a new signing secret, and shows it once. Choose “${overlaps[0]}” if the current one has leaked.</p>
${form(on, { action: pathOn(on, `/${on.webhook.id}/secrets`), submit: 'Rotate secret' }, [
  onceField(on),
  select({
    name: 'overlap',
    label: 'How long previous secrets also sign',
    choices: choicesOf(overlaps, String(SECRET_OVERLAP_MS / 1000)),
  }),
])}`;
}

function deactivationForm(on: WebhookVisit): Html {
  return html`<h2>Deactivate</h2>
<p>Sends nothing until you activate the webhook again. Events that happen in the meantime are not delivered.</p>
${form(on, { action: pathOn(on, `/${on.webhook.id}/deactivation`), submit: 'Deactivate webhook', secondary: true })}`;
}

function withoutDone(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => name !== 'done'));
}
