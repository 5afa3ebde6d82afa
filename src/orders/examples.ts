import { example } from '../deployment.ts';

/** The order of 'placeOrder: a cat', and the steps that it can have taken. */
const path = { orderId: '1' };
const placed = ['placeOrder: a cat'];
const approved = [...placed, 'approveOrder: with a note'];
const delivered = [...approved, 'deliverOrder: an approved order'];
const twoOrders = [...approved, 'placeOrder: a dog with a date'];

export const listExamples = [
  example('first page', 'List the first 20 orders', 200, { given: twoOrders }),
  example('orders to approve', 'List the orders that wait for approval', 200, {
    given: twoOrders,
    query: 'status=placed',
  }),
  example('orders of an animal', 'List the cancelled and expired orders of an animal', 200, {
    given: [...placed, 'cancelOrder: a change of mind'],
    query: 'petId=1&status=cancelled&status=expired',
  }),
  example('unknown status', 'Orders do not have this status', 'invalid_parameter', { query: 'status=sold' }),
];

export const placeExamples = [
  example('a cat', 'Order an animal', 201, { body: { petId: 1 } }),
  example('a dog with a date', 'Order an animal with a ship date and a note', 201, {
    body: { petId: 3, shipDate: '2026-11-24T09:00:00Z', note: 'Rex comes with his basket.' },
  }),
  example('from a hold', 'Order one of two cats that are on hold for you; the other stays on hold', 201, {
    given: ['createHold: two cats'],
    body: { petId: 1, holdId: 1 },
  }),
  example('by another account', 'Order an animal of another account; its owner can see and approve the order', 201, {
    as: 'stranger',
    body: { petId: 1, note: 'For my grandmother.' },
  }),
  example(
    'already ordered',
    'Another account ordered the animal; `Retry-After` says when it may be available',
    'pet_reserved',
    { given: placed, as: 'stranger', body: { petId: 1 } },
  ),
  example('already sold', 'Only available animals can be ordered', 'invalid_status_transition', { body: { petId: 4 } }),
  example('a released hold', 'The hold has ended', 'hold_ended', {
    given: ['createHold: two cats', 'releaseHold: a hold'],
    body: { petId: 1, holdId: 1 },
  }),
  example('unknown animal', 'The animal does not exist', 'pet_not_found', { body: { petId: 999999999 } }),
  example('quantity of two', 'Each animal is unique, so the quantity is always 1', 'invalid_body', {
    body: { petId: 1, quantity: 2 },
  }),
];

export const getExamples = [
  example('one order', 'Get an approved order', 200, { given: approved, path }),
  example(
    'order of another account',
    'For accounts that are not involved, the order does not exist',
    'order_not_found',
    { given: placed, as: 'stranger', path },
  ),
];

export const approveExamples = [
  example('with a note', 'Approve an order with a note to the buyer', 200, {
    given: placed,
    path,
    body: { note: 'You are welcome to fetch her.' },
  }),
  example('without a body', 'The body is optional', 200, { given: placed, path }),
  example('by the buyer', 'Only the owner of the animal or an admin can approve an order', 'not_owner', {
    given: ['placeOrder: by another account'],
    as: 'stranger',
    path,
    body: {},
  }),
  example('already approved', 'An order is approved once', 'invalid_order_transition', {
    given: approved,
    path,
    body: {},
  }),
  example('changed since', 'The order has changed since the caller read it', 'precondition_failed', {
    given: [...placed, 'cancelOrder: a change of mind'],
    path,
    headers: { 'If-Match': '"1.1"' },
    body: {},
  }),
];

export const deliverExamples = [
  example('an approved order', 'The buyer has fetched the animal', 200, {
    given: approved,
    path,
    body: { note: 'Fetched by her new family.' },
  }),
  example('not approved', 'Only an approved order can be delivered', 'invalid_order_transition', {
    given: placed,
    path,
    body: {},
  }),
];

export const cancelExamples = [
  example('a change of mind', 'Cancel an order with a note', 200, {
    given: placed,
    path,
    body: { note: 'We found a cat in the neighbourhood.' },
  }),
  example('already delivered', 'A delivered order can be returned, but not cancelled', 'invalid_order_transition', {
    given: delivered,
    path,
    body: {},
  }),
];

export const returnExamples = [
  example('not ready yet', 'The animal is back and sees the vet first', 200, {
    given: delivered,
    path,
    body: { note: 'Allergies in the family.', ready: false },
  }),
  example('ready at once', 'The animal is available again', 200, { given: delivered, path }),
  example('not delivered', 'An order that is not delivered can be cancelled instead', 'invalid_order_transition', {
    given: placed,
    path,
    body: {},
  }),
];
