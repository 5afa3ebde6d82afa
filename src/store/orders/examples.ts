import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';

/** The order of 'placeOrder: a cat', after each step. */
const path = { orderId: '1' };
const placed = { given: ['placeOrder: a cat'], path };
const approved = { given: [...placed.given, 'approveOrder: with a note'], path };
const delivered = { given: [...approved.given, 'deliverOrder: an approved order'], path };
const cancelled = { given: [...placed.given, 'cancelOrder: a change of mind'], path };
const approvedAndPlaced = { given: [...approved.given, 'placeOrder: a dog with a date'] };

const cancelledOrExpired = { given: cancelled.given, query: 'petId=1&status=cancelled&status=expired' };

export const listExamples = [
  example('first page', `List the first ${LIMIT_DEFAULT} orders`, 200, approvedAndPlaced),
  example('orders to approve', 'List the orders that wait for approval', 200, {
    ...approvedAndPlaced,
    query: 'status=placed',
  }),
  example('orders of an animal', 'List the cancelled and expired orders of an animal', 200, cancelledOrExpired),
  example('orders of own animals', 'List the orders of your animals', 200, {
    ...approvedAndPlaced,
    query: 'role=owner',
  }),
  example('unknown status', 'Orders do not have this status', 'invalid_parameter', { query: 'status=sold' }),
];

const cat = { body: { petId: 1 } };
const twoAnimals = { body: { petId: 1, quantity: 2 } };
const bonded = ['updatePet: bonded', 'updatePet: the other one'];
const availableLater = 'Another account ordered the animal; `Retry-After` says when it may be available';

export const placeExamples = [
  example('a cat', 'Order an animal', 201, cat),
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
  example('bonded animals', 'Order all animals of a bonded group together', 201, {
    given: bonded,
    body: { petIds: [1, 2] },
  }),
  example('one of bonded animals', 'The message names the others', 'bonded_animals', { given: bonded, ...cat }),
  example('already ordered', availableLater, 'pet_reserved', { given: placed.given, as: 'stranger', ...cat }),
  example('already sold', 'Only available animals can be ordered', 'invalid_status_transition', { body: { petId: 4 } }),
  example('a released hold', 'The hold has ended', 'hold_ended', {
    given: ['createHold: two cats', 'releaseHold: a hold'],
    body: { petId: 1, holdId: 1 },
  }),
  example('unknown animal', 'The animal does not exist', 'pet_not_found', { body: { petId: 999999999 } }),
  example('quantity of two', 'Each animal is unique, so the quantity is always 1', 'invalid_body', twoAnimals),
];

export const getExamples = [
  example('one order', 'Get an approved order', 200, approved),
  example(
    'order of another account',
    'For accounts that are not involved, the order does not exist',
    'order_not_found',
    { ...placed, as: 'stranger' },
  ),
];

const byBuyer = { given: ['placeOrder: by another account'], as: 'stranger', path, body: {} } as const;
const outdated = { ...cancelled, headers: { 'If-Match': '"1.1"' }, body: {} };

export const approveExamples = [
  example('with a note', 'Approve an order with a note to the buyer', 200, {
    ...placed,
    body: { note: 'You are welcome to fetch her.' },
  }),
  example('without a body', 'The body is optional', 200, placed),
  example('by the buyer', 'Only the owner of the animal or an admin can approve an order', 'not_owner', byBuyer),
  example('already approved', 'An order is approved once', 'invalid_order_transition', { ...approved, body: {} }),
  example('changed since', 'The order has changed since the caller read it', 'precondition_failed', outdated),
];

export const deliverExamples = [
  example('an approved order', 'The buyer has fetched the animal', 200, {
    ...approved,
    body: { note: 'Fetched by her new family.' },
  }),
  example('not approved', 'Only an approved order can be delivered', 'invalid_order_transition', {
    ...placed,
    body: {},
  }),
];

export const cancelExamples = [
  example('a change of mind', 'Cancel an order with a note', 200, {
    ...placed,
    body: { note: 'We found a cat in the neighbourhood.' },
  }),
  example('already delivered', 'A delivered order can be returned, but not cancelled', 'invalid_order_transition', {
    ...delivered,
    body: {},
  }),
];

export const returnExamples = [
  example('not ready yet', 'The animal is back and sees the vet first', 200, {
    ...delivered,
    body: { note: 'Allergies in the family.', ready: false },
  }),
  example('ready at once', 'The animal is available again', 200, delivered),
  example('not delivered', 'An order that is not delivered can be cancelled instead', 'invalid_order_transition', {
    ...placed,
    body: {},
  }),
];
