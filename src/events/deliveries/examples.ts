import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';
import { spelled } from '../../lib/text.ts';

const path = { webhookId: '1' };
const one = { given: ['createWebhook: every event'], path };
const active = { given: [...one.given, 'activateWebhook: successful test'], path };
const missing = { given: [...one.given, 'updateWebhook: missing receiver'], path };
const tested = { given: [...missing.given, 'testWebhook: failed test'], path };

export const testExamples = [
  example('successful test', 'The receiver accepts the delivery', 200, one),
  example('failed test', 'The receiver responds with 404', 200, missing),
];

export const activateExamples = [
  example('successful test', 'The receiver accepts the test', 200, one),
  example('failed test', 'The receiver responds with 404', 'webhook_test_failed', missing),
];

export const listExamples = [
  example('first page', `The latest ${spelled(LIMIT_DEFAULT)} deliveries`, 200, {
    given: [...one.given, 'testWebhook: successful test'],
    path,
  }),
  example('failed deliveries', 'What the receiver has missed', 200, { ...tested, query: 'status=failed' }),
  example('unknown status', 'No such status', 'invalid_parameter', { ...one, query: 'status=lost' }),
];

const delivery = (deliveryId: string) => ({ path: { ...path, deliveryId } });

export const getExamples = [
  example('failed test', 'A test delivery that failed', 200, { ...tested, ...delivery('1') }),
  example('unknown delivery', 'The webhook has no such delivery', 'delivery_not_found', { ...one, ...delivery('7') }),
];

const event = { eventId: 'evt_1' };
const lastHour = { since: '2026-11-21T11:00:00Z' };

export const redeliverExamples = [
  example('one event', 'Deliver one event again', 202, { ...active, body: event }),
  example('since a time', 'Deliver the events of the last hour again', 202, { ...active, body: lastHour }),
  example('event and time', 'Send either an event or a time', 'invalid_body', {
    ...one,
    body: { ...event, ...lastHour },
  }),
  example('inactive webhook', 'The webhook is not active', 'webhook_not_active', { ...one, body: event }),
  example('unknown event', 'No such event', 'event_not_found', { ...active, body: { eventId: 'evt_999999999' } }),
  example('expired events', 'Events of that time have expired', 'events_expired', {
    ...active,
    body: { since: '2026-01-01T00:00:00Z' },
  }),
];
