import type { Example } from '../lib/http/route.ts';

const created = ['createWebhook: every event'];
const forCats = ['createWebhook: orders of cats'];
const active = [...created, 'activateWebhook: successful test'];
const one = { given: created, path: { webhookId: '1' } };
const oneForCats = { given: forCats, path: one.path };
const stranger = {
  name: 'another account',
  summary: 'Other accounts cannot see the webhook',
  ...one,
  as: 'stranger',
  status: 404,
  code: 'webhook_not_found',
} as const;
const invalid = { status: 400, code: 'invalid_body' };

export const createExamples: readonly Example[] = [
  {
    name: 'every event',
    summary: 'Receive every event that the account can see',
    body: { url: 'https://receiver.example/petstore' },
    status: 201,
  },
  {
    name: 'orders of cats',
    summary: 'Receive only events about orders and holds of cats',
    body: {
      url: 'https://receiver.example/cats',
      types: ['order.*', 'hold.*'],
      categoryIds: [2],
      description: 'For the people in the cat house',
    },
    status: 201,
  },
  {
    name: 'password in the url',
    summary: 'Signatures authenticate deliveries; the URL must not contain a password',
    body: { url: 'https://jo:secret@example.org/petstore' },
    ...invalid,
  },
  {
    name: 'private address',
    summary: 'Nothing is sent to private addresses',
    body: { url: 'https://10.0.0.1/petstore' },
    ...invalid,
  },
];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty webhooks', given: [...created, ...forCats], status: 200 },
  { name: 'no webhooks', summary: 'Another account without webhooks', as: 'stranger', status: 200 },
];

export const getExamples: readonly Example[] = [
  { name: 'one webhook', summary: 'The webhook with id 1', ...oneForCats, status: 200 },
  stranger,
];

export const updateExamples: readonly Example[] = [
  {
    name: 'other types',
    summary: 'Receive events about orders in every category',
    ...oneForCats,
    body: { types: ['order.*'], categoryIds: null },
    status: 200,
  },
  {
    name: 'new url',
    summary: 'A new URL makes the webhook inactive',
    ...one,
    given: active,
    body: { url: 'https://receiver.example/moved' },
    status: 200,
  },
  {
    name: 'missing receiver',
    summary: 'The receiver is tested only when the webhook is activated',
    ...one,
    body: { url: 'https://receiver.example/missing' },
    status: 200,
  },
  {
    name: 'lost update',
    summary: 'Another caller has changed the webhook since',
    ...oneForCats,
    given: [...forCats, 'updateWebhook: other types'],
    headers: { 'If-Match': '"1.1"' },
    body: { description: 'Mine' },
    status: 412,
    code: 'precondition_failed',
  },
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
