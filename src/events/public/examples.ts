import type { Example } from '../../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  {
    name: 'first page',
    summary: 'What happened in a small store: an animal was set aside, an order was placed',
    given: ['updatePet: set aside', 'placeOrder: a dog with a date'],
    query: 'after=evt_9',
    status: 200,
  },
  {
    name: 'of holds',
    summary: 'Only what became of holds',
    given: ['createHold: two cats', 'releaseHold: a hold'],
    query: 'types=hold.*&limit=2',
    status: 200,
  },
  {
    name: 'of the account',
    summary: 'What happened to the account that asks',
    query: 'types=account.*',
    status: 200,
  },
  {
    name: 'of a later state',
    summary: 'An id that the store has not reached: an older backup was restored',
    query: 'after=evt_999999999',
    status: 410,
    code: 'events_expired',
  },
  {
    name: 'no such type',
    summary: 'A type that there is not',
    query: 'types=pet.sold',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const streamExamples: readonly Example[] = [
  {
    name: 'going on',
    summary: 'What came behind an event that one has',
    query: 'after=evt_9',
    status: 200,
  },
  {
    name: 'of a later state',
    summary: 'An id that the store has not reached: an older backup was restored',
    headers: { 'Last-Event-ID': 'evt_999999999' },
    status: 410,
    code: 'events_expired',
  },
];
