import type { Example } from '../../lib/http/route.ts';

const firstPage = {
  summary: 'The events of a small store: an animal was set aside, and an order was placed',
  given: ['updatePet: set aside', 'placeOrder: a dog with a date'],
};
const ofHolds = { given: ['createHold: two cats', 'releaseHold: a hold'], query: 'types=hold.*&limit=2' };
const unknownType = { query: 'types=pet.sold', status: 400, code: 'invalid_parameter' };
const newer = {
  ...{ name: 'newer than the store', status: 410, code: 'events_expired' },
  summary: 'An id that the store has not reached, because an older backup was restored',
};

export const listExamples: readonly Example[] = [
  { name: 'first page', ...firstPage, query: 'after=evt_9', status: 200 },
  { name: 'holds', summary: 'Only events of holds', ...ofHolds, status: 200 },
  { name: 'account', summary: 'Events of the account of the key', query: 'types=account.*', status: 200 },
  { ...newer, query: 'after=evt_999999999' },
  { name: 'unknown type', summary: 'A type that does not exist', ...unknownType },
];

export const streamExamples: readonly Example[] = [
  { name: 'continue', summary: 'The events after a known one', query: 'after=evt_9', status: 200 },
  { ...newer, headers: { 'Last-Event-ID': 'evt_999999999' } },
];
