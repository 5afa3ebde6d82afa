import type { Example } from '../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty animals', status: 200 },
  {
    name: 'available cats by name',
    summary: 'Two cats that are available, by name, and how many cats there are',
    query: 'limit=2&status=available&categoryId=2&sort=name',
    status: 200,
  },
  { name: 'some by id', summary: 'Two animals at once', query: 'id=1&id=2', status: 200 },
  {
    name: 'all there is to say',
    summary: 'An animal with its price, its owner, its times and its entity tag',
    query: 'id=1&view=full',
    status: 200,
  },
  {
    name: 'with categories below',
    summary: 'The animals of a category and of every one below it',
    query: 'categoryId=2&includeDescendants=true',
    status: 200,
  },
  {
    name: 'changes since a time',
    summary: 'What a mirror hears of: one animal was changed, another was taken out',
    given: ['updatePet: set aside', 'deletePet: another animal'],
    query: 'updatedSince=2026-11-21T00:00:00Z&includeRemoved=true',
    status: 200,
  },
  {
    name: 'limit too large',
    summary: 'A limit beyond the maximum is refused, not clamped',
    query: 'limit=101',
    status: 400,
    code: 'invalid_parameter',
  },
  {
    name: 'foreign cursor',
    summary: 'A cursor that is none',
    query: 'cursor=abc',
    status: 400,
    code: 'invalid_parameter',
  },
  {
    name: 'changes by name',
    summary: 'Changes come in their own order',
    query: 'updatedSince=2026-11-21T00:00:00Z&sort=name',
    status: 400,
    code: 'invalid_parameter',
  },
  {
    name: 'an old token',
    summary: 'A sync token that is older than 30 days',
    query: 'updatedSince=WzEsMCwwXQ',
    status: 410,
    code: 'sync_token_expired',
  },
];

export const createExamples: readonly Example[] = [
  {
    name: 'a cat',
    summary: 'A cat that is available',
    body: { name: 'Minka', categoryId: 2, status: 'available' },
    status: 201,
  },
  { name: 'the least', summary: 'Only what is required', body: { name: 'Bruno', categoryId: 1 }, status: 201 },
  {
    name: 'a new category',
    summary: 'A category that was never seen before gets a placeholder',
    body: { name: 'Pepe', categoryId: 9000 },
    status: 201,
  },
  {
    name: 'nothing required is there',
    summary: 'Every missing or wrong field is named',
    body: { status: 'lost' },
    status: 400,
    code: 'invalid_body',
  },
  { name: 'no JSON', summary: 'A body that is not JSON', body: '{"name": ', status: 400, code: 'invalid_json' },
];

export const updateExamples: readonly Example[] = [
  {
    name: 'set aside',
    summary: 'An animal goes into foster care',
    path: { petId: '1' },
    body: { status: 'pending', statusReason: 'in foster' },
    status: 200,
  },
  {
    name: 'free of charge',
    summary: 'The version that was seen is changed, and no other: the price goes',
    path: { petId: '1' },
    headers: { 'If-Match': '"1.1"' },
    body: { price: null },
    status: 200,
  },
  {
    name: 'no name',
    summary: 'What cannot be taken away',
    path: { petId: '1' },
    body: { name: null },
    status: 400,
    code: 'invalid_body',
  },
  ...refusals({ body: { status: 'sold' } }),
];

export const replaceExamples: readonly Example[] = [
  {
    name: 'a new name',
    summary: 'The animal gets another name',
    path: { petId: '1' },
    body: { name: 'Minka the Second', categoryId: 2 },
    status: 200,
  },
  {
    name: 'half an animal',
    summary: 'What is required has to be there',
    path: { petId: '1' },
    body: { name: 'Minka the Second' },
    status: 400,
    code: 'invalid_body',
  },
  ...refusals({ body: { name: 'Minka', categoryId: 2, status: 'sold' } }),
];

export const removeExamples: readonly Example[] = [
  { name: 'an animal', summary: 'The animal with the id 1 is gone', path: { petId: '1' }, status: 204 },
  {
    name: 'another animal',
    summary: 'Only as it was seen: nobody has changed it since',
    path: { petId: '3' },
    headers: { 'If-Match': '"3.1"' },
    status: 204,
  },
  ...refusals({}),
];

export const getExamples: readonly Example[] = [
  { name: 'one animal', summary: 'The animal with the id 1', path: { petId: '1' }, status: 200 },
  {
    name: 'all there is to say',
    summary: 'The animal with its price, its owner, its times and its entity tag',
    path: { petId: '1' },
    query: 'view=full',
    status: 200,
  },
  {
    name: 'no such animal',
    summary: 'An id that no animal has',
    path: { petId: '999999999' },
    status: 404,
    code: 'pet_not_found',
  },
];

export const historyExamples: readonly Example[] = [
  {
    name: 'set aside',
    summary: 'An animal was added, and went into foster care',
    given: ['updatePet: set aside'],
    path: { petId: '1' },
    status: 200,
  },
  {
    name: 'on hold',
    summary: 'Anybody sees that an animal is on hold; only some, who holds it',
    given: ['createHold: two cats'],
    as: 'stranger',
    path: { petId: '2' },
    status: 200,
  },
  {
    name: 'taken out',
    summary: 'The history of an animal that is not there any more',
    given: ['deletePet: another animal'],
    path: { petId: '3' },
    status: 200,
  },
  {
    name: 'never there',
    summary: 'An id that no animal ever had',
    path: { petId: '999999999' },
    status: 404,
    code: 'pet_not_found',
  },
];

/** Examples of what any of them may answer instead; `sent` is what they have in common. */
function refusals(sent: Pick<Example, 'body'>): Example[] {
  return [
    {
      ...sent,
      name: 'by another account',
      summary: 'An animal is changed by the account that it belongs to, or by an admin',
      as: 'stranger',
      path: { petId: '1' },
      status: 403,
      code: 'not_owner',
    },
    {
      ...sent,
      name: 'no such animal',
      summary: 'An id that no animal has',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
    {
      ...sent,
      name: 'on hold',
      summary: 'While somebody holds the animal, only the hold moves it',
      given: ['createHold: two cats'],
      path: { petId: '1' },
      status: 409,
      code: 'pet_reserved',
    },
    {
      ...sent,
      name: 'changed meanwhile',
      summary: 'Somebody was faster: the version that was seen is not the one there is',
      given: ['updatePet: set aside'],
      path: { petId: '1' },
      headers: { 'If-Match': '"1.1"' },
      status: 412,
      code: 'precondition_failed',
    },
  ];
}
