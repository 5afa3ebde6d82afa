import { getDelivery } from '../../events/deliveries/deliveries.ts';
import { faultText } from '../../events/deliveries/test-delivery.ts';
import { type Html, type HtmlValue, html, timeHtml } from '../../lib/html/html.ts';
import { capitalized, countText } from '../../lib/text.ts';
import { type AttemptRow, type Delivery, type DeliveryRow, deliveryOf } from '../../model/delivery.ts';
import { form, hidden } from '../forms.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import { accountPage, ownActor } from '../page.ts';
import { badge, type Columns, facts, table } from '../parts.ts';
import { onWebhook, PATH, pathOn, styles, type WebhookVisit } from './parts.ts';

export const statusTitles: Readonly<Record<Delivery['status'], string>> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
};

const looks = { pending: 'warn', delivered: 'good', failed: 'bad' } as const;

/** A delivery with each attempt and the beginning of each response. */
export const deliveryPage = accountPage({
  path: `${PATH}/{webhookId}/deliveries/{deliveryId}`,
  permission: 'developers',
  title: 'Delivery',
  async show(visit) {
    const on = await onWebhook(visit);
    const id = idOf(visit.parameters['deliveryId']);
    if (on === undefined || id === undefined) return undefined;
    const { webhook, deployment } = on;
    const delivery = await found(getDelivery(deployment.database, ownActor(on), webhook.id, id));
    if (delivery === undefined) return undefined;
    const { type, createdAt, attempts } = delivery;
    return {
      title: `Delivery ${id}`,
      styles,
      body: html`<p><a href="${pathOn(on, `/${webhook.id}`)}">Webhook ${webhook.id}</a></p>
${facts([
  ['State', deliveryState(delivery)],
  ['Event', html`<code>${type}</code>`],
  ['Event id', html`${deliveryOf(delivery).eventId ?? 'A test has none'}`],
  ['To', html`<bdi>${webhook.url}</bdi>`],
  ['Created', timeHtml(createdAt)],
  ['Next attempt', nextAttemptOf(on, delivery)],
])}
<h2>Attempts</h2>
${table('Attempts', attemptColumns, attempts, 'No attempt yet.')}
${delivery.position === null ? testForm(on) : redeliverForm(on, delivery)}`,
    };
  },
});

const attemptColumns: Columns<AttemptRow> = {
  Attempt: ({ number }) => number,
  Time: ({ at }) => timeHtml(at),
  Result: ({ status, fault }) => status ?? capitalized(`${faultText(fault ?? '')}.`),
  Duration: ({ durationMs }) => `${countText(durationMs)} ms`,
  Response: ({ answer }) => (answer ? html`<pre class="answer" dir="auto">${answer}</pre>` : undefined),
};

/** Returns the state of a delivery. */
export function deliveryState({ status }: Pick<DeliveryRow, 'status'>): Html {
  return badge(looks[status], statusTitles[status]);
}

/** Returns an attempt in one line: its status or fault, and its time. */
export function attemptText({ status, fault, at }: AttemptRow): Html {
  return html`${status ?? faultText(fault ?? '')} <span class="quiet">${timeHtml(at)}</span>`;
}

/** Returns when the next attempt of a delivery is due; nothing if the delivery is finished or its webhook not active. */
export function nextAttemptOf({ webhook }: WebhookVisit, delivery: DeliveryRow): HtmlValue {
  if (delivery.status !== 'pending' || webhook.status !== 'active') return undefined;
  const { nextAttemptAt } = deliveryOf(delivery);
  return nextAttemptAt === undefined ? 'In progress, or after an earlier event' : timeHtml(Date.parse(nextAttemptAt));
}

/** Returns the form that sends a test to a webhook. */
export function testForm(on: WebhookVisit): Html {
  return form(on, { action: pathOn(on, `/${on.webhook.id}/test`), submit: 'Send a test', secondary: true });
}

/** Returns the form that delivers an event again; nothing for a test, or if the webhook is not active. */
export function redeliverForm(on: WebhookVisit, delivery: DeliveryRow, className?: string): Html | undefined {
  const { eventId } = deliveryOf(delivery);
  const { id, status } = on.webhook;
  if (eventId === undefined || status !== 'active') return undefined;
  return form(
    on,
    {
      action: pathOn(on, `/${id}/redeliveries`),
      submit: 'Redeliver',
      secondary: true,
      ...(className && { className }),
    },
    hidden('eventId', eventId),
  );
}
