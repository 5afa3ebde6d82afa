import type { Example } from '../lib/http/route.ts';

const created = ['createWebhook: every event'];
const createdForCats = ['createWebhook: orders of cats'];
const path = { webhookId: '1' };
const notFound = { status: 404, code: 'webhook_not_found' };

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
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'private address',
    summary: 'Nothing is sent to private addresses',
    body: { url: 'https://10.0.0.1/petstore' },
    status: 400,
    code: 'invalid_body',
  },
];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty webhooks', given: [...created, ...createdForCats], status: 200 },
  { name: 'no webhooks', summary: 'Another account without webhooks', as: 'stranger', status: 200 },
];

export const getExamples: readonly Example[] = [
  { name: 'one webhook', summary: 'The webhook with id 1', given: createdForCats, path, status: 200 },
  {
    name: 'another account',
    summary: 'Other accounts cannot see the webhook',
    given: created,
    as: 'stranger',
    path,
    ...notFound,
  },
];

export const updateExamples: readonly Example[] = [
  {
    name: 'other types',
    summary: 'Receive events about orders in every category',
    given: createdForCats,
    path,
    body: { types: ['order.*'], categoryIds: null },
    status: 200,
  },
  {
    name: 'new url',
    summary: 'A new URL makes the webhook inactive',
    given: [...created, 'activateWebhook: successful test'],
    path,
    body: { url: 'https://receiver.example/moved' },
    status: 200,
  },
  {
    name: 'missing receiver',
    summary: 'The receiver is tested only when the webhook is activated',
    given: created,
    path,
    body: { url: 'https://receiver.example/missing' },
    status: 200,
  },
  {
    name: 'lost update',
    summary: 'Another caller has changed the webhook since',
    given: [...createdForCats, 'updateWebhook: other types'],
    path,
    headers: { 'If-Match': '"1.1"' },
    body: { description: 'Mine' },
    status: 412,
    code: 'precondition_failed',
  },
];

export const deleteExamples: readonly Example[] = [
  { name: 'one webhook', summary: 'Delete the webhook with id 1', given: created, path, status: 204 },
  {
    name: 'another account',
    summary: 'Other accounts cannot see the webhook',
    given: created,
    as: 'stranger',
    path,
    ...notFound,
  },
];

export const deactivateExamples: readonly Example[] = [
  {
    name: 'active webhook',
    summary: 'Stop deliveries',
    given: [...created, 'activateWebhook: successful test'],
    path,
    status: 200,
  },
];

export const rotateExamples: readonly Example[] = [
  {
    name: 'overlap of an hour',
    summary: 'The previous secret stays valid for an hour',
    given: created,
    path,
    body: { overlapSeconds: 3600 },
    status: 201,
  },
  {
    name: 'leaked secret',
    summary: 'The previous secret expires now',
    given: created,
    path,
    body: { overlapSeconds: 0 },
    status: 201,
  },
  {
    name: 'overlap too long',
    summary: 'The overlap is at most seven days',
    given: created,
    path,
    body: { overlapSeconds: 604_801 },
    status: 400,
    code: 'invalid_body',
  },
];
