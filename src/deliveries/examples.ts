import type { Example } from '../lib/http/route.ts';

const created = ['createWebhook: every event'];
const active = [...created, 'activateWebhook: successful test'];
const missing = [...created, 'updateWebhook: missing receiver'];
const path = { webhookId: '1' };

export const testExamples: readonly Example[] = [
  { name: 'successful test', summary: 'The receiver accepts the delivery', given: created, path, status: 200 },
  { name: 'failed test', summary: 'The receiver responds with 404', given: missing, path, status: 200 },
];

export const activateExamples: readonly Example[] = [
  { name: 'successful test', summary: 'The receiver accepts the test', given: created, path, status: 200 },
  {
    name: 'failed test',
    summary: 'The receiver responds with 404',
    given: missing,
    path,
    status: 409,
    code: 'webhook_test_failed',
  },
];

export const listExamples: readonly Example[] = [
  {
    name: 'first page',
    summary: 'The latest twenty deliveries',
    given: [...created, 'testWebhook: successful test'],
    path,
    status: 200,
  },
  {
    name: 'failed deliveries',
    summary: 'What the receiver has missed',
    given: [...missing, 'testWebhook: failed test'],
    path,
    query: 'status=failed',
    status: 200,
  },
  {
    name: 'unknown status',
    summary: 'No such status',
    given: created,
    path,
    query: 'status=lost',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const getExamples: readonly Example[] = [
  {
    name: 'failed test',
    summary: 'A test delivery that failed',
    given: [...missing, 'testWebhook: failed test'],
    path: { ...path, deliveryId: '1' },
    status: 200,
  },
  {
    name: 'unknown delivery',
    summary: 'The webhook has no such delivery',
    given: created,
    path: { ...path, deliveryId: '7' },
    status: 404,
    code: 'delivery_not_found',
  },
];

export const redeliverExamples: readonly Example[] = [
  {
    name: 'one event',
    summary: 'Deliver one event again',
    given: active,
    path,
    body: { eventId: 'evt_1' },
    status: 202,
  },
  {
    name: 'since a time',
    summary: 'Deliver the events of the last hour again, after an outage of the receiver',
    given: active,
    path,
    body: { since: '2026-11-21T11:00:00Z' },
    status: 202,
  },
  {
    name: 'event and time',
    summary: 'Send either an event or a time',
    given: created,
    path,
    body: { eventId: 'evt_1', since: '2026-11-21T11:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'inactive webhook',
    summary: 'The webhook is not active',
    given: created,
    path,
    body: { eventId: 'evt_1' },
    status: 409,
    code: 'webhook_not_active',
  },
  {
    name: 'unknown event',
    summary: 'No such event',
    given: active,
    path,
    body: { eventId: 'evt_999999999' },
    status: 404,
    code: 'event_not_found',
  },
  {
    name: 'expired events',
    summary: 'Events of that time have expired',
    given: active,
    path,
    body: { since: '2026-01-01T00:00:00Z' },
    status: 410,
    code: 'events_expired',
  },
];
