import type { Example } from '../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  {
    name: 'first page',
    summary: 'The first twenty orders',
    given: ['placeOrder: a cat', 'approveOrder: with a note', 'placeOrder: a dog with a date'],
    status: 200,
  },
  {
    name: 'those to approve',
    summary: 'What is placed and waits for approval',
    given: ['placeOrder: a cat', 'approveOrder: with a note', 'placeOrder: a dog with a date'],
    query: 'status=placed',
    status: 200,
  },
  {
    name: 'of one animal',
    summary: 'What became of the orders of an animal',
    given: ['placeOrder: a cat', 'cancelOrder: a change of mind'],
    query: 'petId=1&status=cancelled&status=expired',
    status: 200,
  },
  {
    name: 'no such status',
    summary: 'A status that orders do not have',
    query: 'status=sold',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const placeExamples: readonly Example[] = [
  { name: 'a cat', summary: 'Only what is required', body: { petId: 1 }, status: 201 },
  {
    name: 'a dog with a date',
    summary: 'With a day on which the animal is to leave, and a note',
    body: { petId: 3, shipDate: '2026-11-24T09:00:00Z', note: 'Rex comes with his basket.' },
    status: 201,
  },
  {
    name: 'from a hold',
    summary: 'One of two cats that are on hold for the account; the other one stays on hold',
    given: ['createHold: two cats'],
    body: { petId: 1, holdId: 1 },
    status: 201,
  },
  {
    name: 'by another account',
    summary: 'Anybody with a key orders; the owner of the animal sees it and approves',
    as: 'stranger',
    body: { petId: 1, note: 'For my grandmother.' },
    status: 201,
  },
  {
    name: 'ordered already',
    summary: 'Somebody else was first; `Retry-After` says when the animal may be free',
    given: ['placeOrder: a cat'],
    as: 'stranger',
    body: { petId: 1 },
    status: 409,
    code: 'pet_reserved',
  },
  {
    name: 'sold',
    summary: 'An animal that is sold',
    body: { petId: 4 },
    status: 409,
    code: 'invalid_status_transition',
  },
  {
    name: 'an ended hold',
    summary: 'A hold that was released',
    given: ['createHold: two cats', 'releaseHold: a hold'],
    body: { petId: 1, holdId: 1 },
    status: 409,
    code: 'hold_ended',
  },
  {
    name: 'no such animal',
    summary: 'An id that no animal has',
    body: { petId: 999999999 },
    status: 404,
    code: 'pet_not_found',
  },
  {
    name: 'two of a kind',
    summary: 'There is only one of each',
    body: { petId: 1, quantity: 2 },
    status: 400,
    code: 'invalid_body',
  },
];

export const getExamples: readonly Example[] = [
  {
    name: 'one order',
    summary: 'An order that was approved',
    given: ['placeOrder: a cat', 'approveOrder: with a note'],
    path: { orderId: '1' },
    status: 200,
  },
  {
    name: 'of somebody else',
    summary: 'An order of other accounts is not there',
    given: ['placeOrder: a cat'],
    as: 'stranger',
    path: { orderId: '1' },
    status: 404,
    code: 'order_not_found',
  },
];

export const approveExamples: readonly Example[] = [
  {
    name: 'with a note',
    summary: 'The owner agrees',
    given: ['placeOrder: a cat'],
    path: { orderId: '1' },
    body: { note: 'You are welcome to fetch her.' },
    status: 200,
  },
  {
    name: 'without a word',
    summary: 'Nothing has to be said with it',
    given: ['placeOrder: a cat'],
    path: { orderId: '1' },
    status: 200,
  },
  {
    name: 'by who placed it',
    summary: 'Who orders an animal does not approve it',
    given: ['placeOrder: by another account'],
    as: 'stranger',
    path: { orderId: '1' },
    body: {},
    status: 403,
    code: 'not_owner',
  },
  {
    name: 'a second time',
    summary: 'What is approved cannot be approved',
    given: ['placeOrder: a cat', 'approveOrder: with a note'],
    path: { orderId: '1' },
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
  {
    name: 'changed meanwhile',
    summary: 'Only the version that was read is approved',
    given: ['placeOrder: a cat', 'cancelOrder: a change of mind'],
    path: { orderId: '1' },
    headers: { 'If-Match': '"1.1"' },
    body: {},
    status: 412,
    code: 'precondition_failed',
  },
];

export const deliverExamples: readonly Example[] = [
  {
    name: 'an approved order',
    summary: 'The animal was fetched',
    given: ['placeOrder: a cat', 'approveOrder: with a note'],
    path: { orderId: '1' },
    body: { note: 'Fetched by her new family.' },
    status: 200,
  },
  {
    name: 'too early',
    summary: 'What is not approved cannot be delivered',
    given: ['placeOrder: a cat'],
    path: { orderId: '1' },
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];

export const cancelExamples: readonly Example[] = [
  {
    name: 'a change of mind',
    summary: 'The order is not wanted any more',
    given: ['placeOrder: a cat'],
    path: { orderId: '1' },
    body: { note: 'We found a cat in the neighbourhood.' },
    status: 200,
  },
  {
    name: 'too late',
    summary: 'What is delivered can be returned, and not cancelled',
    given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
    path: { orderId: '1' },
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];

export const takeBackExamples: readonly Example[] = [
  {
    name: 'not ready yet',
    summary: 'The animal is back and sees the vet first',
    given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
    path: { orderId: '1' },
    body: { note: 'Allergies in the family.', ready: false },
    status: 200,
  },
  {
    name: 'ready at once',
    summary: 'The animal is available again',
    given: ['placeOrder: a cat', 'approveOrder: with a note', 'deliverOrder: an approved order'],
    path: { orderId: '1' },
    status: 200,
  },
  {
    name: 'not delivered',
    summary: 'What was not delivered is cancelled instead',
    given: ['placeOrder: a cat'],
    path: { orderId: '1' },
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];
