import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';
import { spelled } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { SECRET_OVERLAP_MAX_MS } from '../../model/rules.ts';

const created = ['createWebhook: every event'];
const forCats = ['createWebhook: orders of cats'];
const active = [...created, 'activateWebhook: successful test'];
const path = { webhookId: '1' };
const one = { given: created, path };
const oneForCats = { given: forCats, path };
const stranger = example('another account', 'Other accounts cannot see the webhook', 'webhook_not_found', {
  ...one,
  as: 'stranger',
});

const url = 'https://receiver.example/petstore';
const cats = { types: ['order.*', 'hold.*'], categoryIds: [2], description: 'For the people in the cat house' };

export const createExamples = [
  example('every event', 'Receive every event that the account can see', 201, { body: { url } }),
  example('orders of cats', 'Receive only orders and holds of cats', 201, {
    body: { url: 'https://receiver.example/cats', ...cats },
  }),
  example('password in the url', 'The URL must not contain a password', 'invalid_body', {
    body: { url: 'https://jo:secret@example.org/petstore' },
  }),
  example('private address', 'Nothing is sent to private addresses', 'invalid_body', {
    body: { url: 'https://10.0.0.1/petstore' },
  }),
];

export const listExamples = [
  example('first page', `The first ${spelled(LIMIT_DEFAULT)} webhooks`, 200, { given: [...created, ...forCats] }),
  example('no webhooks', 'Another account without webhooks', 200, { as: 'stranger' }),
];

export const getExamples = [example('one webhook', 'The webhook with id 1', 200, oneForCats), stranger];

export const updateExamples = [
  example('other types', 'Receive events about orders in every category', 200, {
    ...oneForCats,
    body: { types: ['order.*'], categoryIds: null },
  }),
  example('new url', 'A new URL makes the webhook inactive', 200, {
    given: active,
    path,
    body: { url: 'https://receiver.example/moved' },
  }),
  example('missing receiver', 'The receiver is tested only on activation', 200, {
    ...one,
    body: { url: 'https://receiver.example/missing' },
  }),
  example('lost update', 'Another caller has changed the webhook since', 'precondition_failed', {
    given: [...forCats, 'updateWebhook: other types'],
    path,
    headers: { 'If-Match': '"1.1"' },
    body: { description: 'Mine' },
  }),
];

export const deleteExamples = [example('one webhook', 'Delete the webhook with id 1', 204, one), stranger];

export const deactivateExamples = [example('active webhook', 'Stop deliveries', 200, { given: active, path })];

const overlap = (overlapSeconds: number) => ({ ...one, body: { overlapSeconds } });

export const rotateExamples = [
  example('overlap of an hour', 'The previous secret is valid for an hour', 201, overlap(3600)),
  example('leaked secret', 'The previous secret expires now', 201, overlap(0)),
  example(
    'overlap too long',
    `The overlap is at most ${durationIn('day', SECRET_OVERLAP_MAX_MS, 'words')}`,
    'invalid_body',
    overlap(SECRET_OVERLAP_MAX_MS / 1000 + 1),
  ),
];
