import type { Example } from '../lib/http/route.ts';

const created = ['createWebhook: every event'];
const forCats = ['createWebhook: orders of cats'];
const active = [...created, 'activateWebhook: successful test'];
const one = { given: created, path: { webhookId: '1' } };
const oneForCats = { given: forCats, path: one.path };
const invalid = { status: 400, code: 'invalid_body' };
const hidden = { ...one, as: 'stranger', status: 404, code: 'webhook_not_found' } as const;
const stranger: Example = { name: 'another account', summary: 'Other accounts cannot see the webhook', ...hidden };

const url = 'https://receiver.example/petstore';
const cats = { types: ['order.*', 'hold.*'], categoryIds: [2], description: 'For the people in the cat house' };
const forCatsBody = { url: 'https://receiver.example/cats', ...cats };
const withPassword = { body: { url: 'https://jo:secret@example.org/petstore' }, ...invalid };
const privateAddress = { body: { url: 'https://10.0.0.1/petstore' }, ...invalid };

export const createExamples: readonly Example[] = [
  { name: 'every event', summary: 'Receive every event that the account can see', body: { url }, status: 201 },
  { name: 'orders of cats', summary: 'Receive only orders and holds of cats', body: forCatsBody, status: 201 },
  { name: 'password in the url', summary: 'The URL must not contain a password', ...withPassword },
  { name: 'private address', summary: 'Nothing is sent to private addresses', ...privateAddress },
];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty webhooks', given: [...created, ...forCats], status: 200 },
  { name: 'no webhooks', summary: 'Another account without webhooks', as: 'stranger', status: 200 },
];

export const getExamples: readonly Example[] = [
  { name: 'one webhook', summary: 'The webhook with id 1', ...oneForCats, status: 200 },
  stranger,
];

const otherTypes = { ...oneForCats, body: { types: ['order.*'], categoryIds: null } };
const newUrl = { ...one, given: active, body: { url: 'https://receiver.example/moved' } };
const missing = { ...one, body: { url: 'https://receiver.example/missing' } };
const changed = { given: [...forCats, 'updateWebhook: other types'], headers: { 'If-Match': '"1.1"' } };
const lostUpdate = {
  ...oneForCats,
  ...changed,
  body: { description: 'Mine' },
  status: 412,
  code: 'precondition_failed',
};

export const updateExamples: readonly Example[] = [
  { name: 'other types', summary: 'Receive events about orders in every category', ...otherTypes, status: 200 },
  { name: 'new url', summary: 'A new URL makes the webhook inactive', ...newUrl, status: 200 },
  { name: 'missing receiver', summary: 'The receiver is tested only on activation', ...missing, status: 200 },
  { name: 'lost update', summary: 'Another caller has changed the webhook since', ...lostUpdate },
];

export const deleteExamples: readonly Example[] = [
  { name: 'one webhook', summary: 'Delete the webhook with id 1', ...one, status: 204 },
  stranger,
];

export const deactivateExamples: readonly Example[] = [
  { name: 'active webhook', summary: 'Stop deliveries', ...one, given: active, status: 200 },
];

const overlap = (overlapSeconds: number) => ({ ...one, body: { overlapSeconds } });

export const rotateExamples: readonly Example[] = [
  { name: 'overlap of an hour', summary: 'The previous secret is valid for an hour', ...overlap(3600), status: 201 },
  { name: 'leaked secret', summary: 'The previous secret expires now', ...overlap(0), status: 201 },
  { name: 'overlap too long', summary: 'The overlap is at most seven days', ...overlap(604_801), ...invalid },
];
