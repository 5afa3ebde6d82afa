import type { Example } from '../lib/http/route.ts';

/** The order of 'placeOrder: a cat', and the steps that it can have taken. */
const path = { orderId: '1' };
const placed = ['placeOrder: a cat'];
const approved = [...placed, 'approveOrder: with a note'];
const delivered = [...approved, 'deliverOrder: an approved order'];
const twoOrders = [...approved, 'placeOrder: a dog with a date'];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'List the first 20 orders', given: twoOrders, status: 200 },
  {
    name: 'orders to approve',
    summary: 'List the orders that wait for approval',
    given: twoOrders,
    query: 'status=placed',
    status: 200,
  },
  {
    name: 'orders of an animal',
    summary: 'List the cancelled and expired orders of an animal',
    given: [...placed, 'cancelOrder: a change of mind'],
    query: 'petId=1&status=cancelled&status=expired',
    status: 200,
  },
  {
    name: 'unknown status',
    summary: 'Orders do not have this status',
    query: 'status=sold',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const placeExamples: readonly Example[] = [
  { name: 'a cat', summary: 'Order an animal', body: { petId: 1 }, status: 201 },
  {
    name: 'a dog with a date',
    summary: 'Order an animal with a ship date and a note',
    body: { petId: 3, shipDate: '2026-11-24T09:00:00Z', note: 'Rex comes with his basket.' },
    status: 201,
  },
  {
    name: 'from a hold',
    summary: 'Order one of two cats that are on hold for you; the other stays on hold',
    given: ['createHold: two cats'],
    body: { petId: 1, holdId: 1 },
    status: 201,
  },
  {
    name: 'by another account',
    summary: 'Order an animal of another account; its owner can see and approve the order',
    as: 'stranger',
    body: { petId: 1, note: 'For my grandmother.' },
    status: 201,
  },
  {
    name: 'already ordered',
    summary: 'Another account ordered the animal; `Retry-After` says when it may be available',
    given: placed,
    as: 'stranger',
    body: { petId: 1 },
    status: 409,
    code: 'pet_reserved',
  },
  {
    name: 'already sold',
    summary: 'Only available animals can be ordered',
    body: { petId: 4 },
    status: 409,
    code: 'invalid_status_transition',
  },
  {
    name: 'a released hold',
    summary: 'The hold has ended',
    given: ['createHold: two cats', 'releaseHold: a hold'],
    body: { petId: 1, holdId: 1 },
    status: 409,
    code: 'hold_ended',
  },
  {
    name: 'unknown animal',
    summary: 'The animal does not exist',
    body: { petId: 999999999 },
    status: 404,
    code: 'pet_not_found',
  },
  {
    name: 'quantity of two',
    summary: 'Each animal is unique, so the quantity is always 1',
    body: { petId: 1, quantity: 2 },
    status: 400,
    code: 'invalid_body',
  },
];

export const getExamples: readonly Example[] = [
  { name: 'one order', summary: 'Get an approved order', given: approved, path, status: 200 },
  {
    name: 'order of another account',
    summary: 'For accounts that are not involved, the order does not exist',
    given: placed,
    as: 'stranger',
    path,
    status: 404,
    code: 'order_not_found',
  },
];

export const approveExamples: readonly Example[] = [
  {
    name: 'with a note',
    summary: 'Approve an order with a note to the buyer',
    given: placed,
    path,
    body: { note: 'You are welcome to fetch her.' },
    status: 200,
  },
  { name: 'without a body', summary: 'The body is optional', given: placed, path, status: 200 },
  {
    name: 'by the buyer',
    summary: 'Only the owner of the animal or an admin can approve an order',
    given: ['placeOrder: by another account'],
    as: 'stranger',
    path,
    body: {},
    status: 403,
    code: 'not_owner',
  },
  {
    name: 'already approved',
    summary: 'An order is approved once',
    given: approved,
    path,
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
  {
    name: 'changed since',
    summary: 'The order has changed since the caller read it',
    given: [...placed, 'cancelOrder: a change of mind'],
    path,
    headers: { 'If-Match': '"1.1"' },
    body: {},
    status: 412,
    code: 'precondition_failed',
  },
];

export const deliverExamples: readonly Example[] = [
  {
    name: 'an approved order',
    summary: 'The buyer has fetched the animal',
    given: approved,
    path,
    body: { note: 'Fetched by her new family.' },
    status: 200,
  },
  {
    name: 'not approved',
    summary: 'Only an approved order can be delivered',
    given: placed,
    path,
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];

export const cancelExamples: readonly Example[] = [
  {
    name: 'a change of mind',
    summary: 'Cancel an order with a note',
    given: placed,
    path,
    body: { note: 'We found a cat in the neighbourhood.' },
    status: 200,
  },
  {
    name: 'already delivered',
    summary: 'A delivered order can be returned, but not cancelled',
    given: delivered,
    path,
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];

export const returnExamples: readonly Example[] = [
  {
    name: 'not ready yet',
    summary: 'The animal is back and sees the vet first',
    given: delivered,
    path,
    body: { note: 'Allergies in the family.', ready: false },
    status: 200,
  },
  { name: 'ready at once', summary: 'The animal is available again', given: delivered, path, status: 200 },
  {
    name: 'not delivered',
    summary: 'An order that is not delivered can be cancelled instead',
    given: placed,
    path,
    body: {},
    status: 409,
    code: 'invalid_order_transition',
  },
];
