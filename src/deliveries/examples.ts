import type { Example } from '../lib/http/route.ts';

export const testExamples: readonly Example[] = [
  {
    name: 'taken',
    summary: 'The receiver takes it',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    status: 200,
  },
  {
    name: 'not taken',
    summary: 'The receiver answers 404',
    given: ['createWebhook: everything', 'updateWebhook: a receiver that is not there'],
    path: { webhookId: '1' },
    status: 200,
  },
];

export const listExamples: readonly Example[] = [
  {
    name: 'first page',
    summary: 'The last twenty deliveries',
    given: ['createWebhook: everything', 'testWebhook: taken'],
    path: { webhookId: '1' },
    status: 200,
  },
  {
    name: 'the gap',
    summary: 'What the receiver has missed',
    given: ['createWebhook: everything', 'updateWebhook: a receiver that is not there', 'testWebhook: not taken'],
    path: { webhookId: '1' },
    query: 'status=failed',
    status: 200,
  },
  {
    name: 'no such status',
    summary: 'A status that there is not',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    query: 'status=lost',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const getExamples: readonly Example[] = [
  {
    name: 'a test',
    summary: 'A test delivery that was not taken',
    given: ['createWebhook: everything', 'updateWebhook: a receiver that is not there', 'testWebhook: not taken'],
    path: { webhookId: '1', deliveryId: '1' },
    status: 200,
  },
  {
    name: 'no such delivery',
    summary: 'An id that no delivery to the webhook has',
    given: ['createWebhook: everything'],
    path: { webhookId: '1', deliveryId: '7' },
    status: 404,
    code: 'delivery_not_found',
  },
];

export const redeliverExamples: readonly Example[] = [
  {
    name: 'one event',
    summary: 'An event that the receiver has missed',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    body: { eventId: 'evt_1' },
    status: 202,
  },
  {
    name: 'since a time',
    summary: 'Everything of the last hour, after the receiver was away',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    body: { since: '2026-11-21T11:00:00Z' },
    status: 202,
  },
  {
    name: 'both',
    summary: 'Either an event or a time',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { eventId: 'evt_1', since: '2026-11-21T11:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'not active',
    summary: 'The webhook was not activated',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { eventId: 'evt_1' },
    status: 409,
    code: 'webhook_not_active',
  },
  {
    name: 'no such event',
    summary: 'An id that no event has',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    body: { eventId: 'evt_999999999' },
    status: 404,
    code: 'event_not_found',
  },
  {
    name: 'too long ago',
    summary: 'Events that old are no longer told',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    body: { since: '2026-01-01T00:00:00Z' },
    status: 410,
    code: 'events_expired',
  },
];
