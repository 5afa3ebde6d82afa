import type { Example } from '../lib/http/route.ts';

export const createExamples: readonly Example[] = [
  {
    name: 'everything',
    summary: 'Every event that the account may see',
    body: { url: 'https://receiver.example/petstore' },
    status: 201,
  },
  {
    name: 'orders of cats',
    summary: 'Only what happens to the orders and holds of cats',
    body: {
      url: 'https://receiver.example/cats',
      types: ['order.*', 'hold.*'],
      categoryIds: [2],
      description: 'For the people in the cat house',
    },
    status: 201,
  },
  {
    name: 'with a password',
    summary: 'What authenticates a delivery is its signature',
    body: { url: 'https://jo:secret@example.org/petstore' },
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'into the store',
    summary: 'Nothing is sent to addresses that are not public',
    body: { url: 'https://10.0.0.1/petstore' },
    status: 400,
    code: 'invalid_body',
  },
];

export const listExamples: readonly Example[] = [
  {
    name: 'first page',
    summary: 'The first twenty webhooks',
    given: ['createWebhook: everything', 'createWebhook: orders of cats'],
    status: 200,
  },
  { name: 'none', summary: 'Another account has none', as: 'stranger', status: 200 },
];

export const getExamples: readonly Example[] = [
  {
    name: 'one webhook',
    summary: 'The webhook with the id 1',
    given: ['createWebhook: orders of cats'],
    path: { webhookId: '1' },
    status: 200,
  },
  {
    name: 'somebody else',
    summary: 'To another account the webhook does not exist',
    given: ['createWebhook: everything'],
    as: 'stranger',
    path: { webhookId: '1' },
    status: 404,
    code: 'webhook_not_found',
  },
];

export const updateExamples: readonly Example[] = [
  {
    name: 'other types',
    summary: 'It is to get orders in every category',
    given: ['createWebhook: orders of cats'],
    path: { webhookId: '1' },
    body: { types: ['order.*'], categoryIds: null },
    status: 200,
  },
  {
    name: 'another receiver',
    summary: 'With another URL it has to be activated again',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    body: { url: 'https://receiver.example/moved' },
    status: 200,
  },
  {
    name: 'a receiver that is not there',
    summary: 'Any receiver may be named; whether it is there is seen when the webhook is activated',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { url: 'https://receiver.example/missing' },
    status: 200,
  },
  {
    name: 'changed meanwhile',
    summary: 'The webhook is not the version that the caller has seen',
    given: ['createWebhook: orders of cats', 'updateWebhook: other types'],
    path: { webhookId: '1' },
    headers: { 'If-Match': '"1.1"' },
    body: { description: 'Mine' },
    status: 412,
    code: 'precondition_failed',
  },
];

export const removeExamples: readonly Example[] = [
  {
    name: 'a webhook',
    summary: 'Nothing is sent to it any more',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    status: 204,
  },
  {
    name: 'somebody else',
    summary: 'To another account the webhook does not exist',
    given: ['createWebhook: everything'],
    as: 'stranger',
    path: { webhookId: '1' },
    status: 404,
    code: 'webhook_not_found',
  },
];

export const activateExamples: readonly Example[] = [
  {
    name: 'a receiver that answers',
    summary: 'The receiver takes the test',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    status: 200,
  },
  {
    name: 'a receiver that refuses',
    summary: 'The receiver answers 404',
    given: ['createWebhook: everything', 'updateWebhook: a receiver that is not there'],
    path: { webhookId: '1' },
    status: 409,
    code: 'webhook_test_failed',
  },
];

export const deactivateExamples: readonly Example[] = [
  {
    name: 'an active one',
    summary: 'Nothing is sent to it any more',
    given: ['createWebhook: everything', 'activateWebhook: a receiver that answers'],
    path: { webhookId: '1' },
    status: 200,
  },
];

export const rotateExamples: readonly Example[] = [
  {
    name: 'within an hour',
    summary: 'For an hour the secret before it is good, too',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { overlapSeconds: 3600 },
    status: 201,
  },
  {
    name: 'at once',
    summary: 'The secret before it has become known: it ends now',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { overlapSeconds: 0 },
    status: 201,
  },
  {
    name: 'too long',
    summary: 'The overlap is seven days at most',
    given: ['createWebhook: everything'],
    path: { webhookId: '1' },
    body: { overlapSeconds: 604_801 },
    status: 400,
    code: 'invalid_body',
  },
];
