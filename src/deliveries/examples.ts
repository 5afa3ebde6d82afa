import type { Example } from '../lib/http/route.ts';

const path = { webhookId: '1' };
const one = { given: ['createWebhook: every event'], path };
const active = { given: [...one.given, 'activateWebhook: successful test'], path };
const missing = { given: [...one.given, 'updateWebhook: missing receiver'], path };
const tested = { given: [...missing.given, 'testWebhook: failed test'], path };
const testFailed = { status: 409, code: 'webhook_test_failed' };

export const testExamples: readonly Example[] = [
  { name: 'successful test', summary: 'The receiver accepts the delivery', ...one, status: 200 },
  { name: 'failed test', summary: 'The receiver responds with 404', ...missing, status: 200 },
];

export const activateExamples: readonly Example[] = [
  { name: 'successful test', summary: 'The receiver accepts the test', ...one, status: 200 },
  { name: 'failed test', summary: 'The receiver responds with 404', ...missing, ...testFailed },
];

const latest = { given: [...one.given, 'testWebhook: successful test'], path };
const unknownStatus = { query: 'status=lost', status: 400, code: 'invalid_parameter' };

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The latest twenty deliveries', ...latest, status: 200 },
  {
    name: 'failed deliveries',
    summary: 'What the receiver has missed',
    ...tested,
    query: 'status=failed',
    status: 200,
  },
  { name: 'unknown status', summary: 'No such status', ...one, ...unknownStatus },
];

const delivery = (deliveryId: string) => ({ path: { ...path, deliveryId } });
const unknownDelivery = { given: one.given, ...delivery('7'), status: 404, code: 'delivery_not_found' };

export const getExamples: readonly Example[] = [
  { name: 'failed test', summary: 'A test delivery that failed', ...tested, ...delivery('1'), status: 200 },
  { name: 'unknown delivery', summary: 'The webhook has no such delivery', ...unknownDelivery },
];

const event = { eventId: 'evt_1' };
const lastHour = { since: '2026-11-21T11:00:00Z' };
const eventAndTime = { body: { ...event, ...lastHour }, status: 400, code: 'invalid_body' };
const inactive = { body: event, status: 409, code: 'webhook_not_active' };
const unknownEvent = { body: { eventId: 'evt_999999999' }, status: 404, code: 'event_not_found' };
const expired = { body: { since: '2026-01-01T00:00:00Z' }, status: 410, code: 'events_expired' };

export const redeliverExamples: readonly Example[] = [
  { name: 'one event', summary: 'Deliver one event again', ...active, body: event, status: 202 },
  {
    name: 'since a time',
    summary: 'Deliver the events of the last hour again',
    ...active,
    body: lastHour,
    status: 202,
  },
  { name: 'event and time', summary: 'Send either an event or a time', ...one, ...eventAndTime },
  { name: 'inactive webhook', summary: 'The webhook is not active', ...one, ...inactive },
  { name: 'unknown event', summary: 'No such event', ...active, ...unknownEvent },
  { name: 'expired events', summary: 'Events of that time have expired', ...active, ...expired },
];
