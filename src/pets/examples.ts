import type { Example } from '../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty animals', status: 200 },
  {
    name: 'available cats by name',
    summary: 'Two available cats by name',
    query: 'limit=2&status=available&categoryId=2&sort=name',
    status: 200,
  },
  { name: 'some by id', summary: 'Two animals at once', query: 'id=1&id=2', status: 200 },
  {
    name: 'all there is to say',
    summary: 'An animal with all its fields',
    query: 'id=1&view=full',
    status: 200,
  },
  {
    name: 'with categories below',
    summary: 'The animals of a category and its descendants',
    query: 'categoryId=2&includeDescendants=true',
    status: 200,
  },
  {
    name: 'changes since a time',
    summary: 'One animal was changed, another was deleted',
    given: ['updatePet: set aside', 'deletePet: another animal'],
    query: 'updatedSince=2026-11-21T00:00:00Z&includeRemoved=true',
    status: 200,
  },
  {
    name: 'limit too large',
    summary: 'A limit beyond the maximum is rejected, not clamped',
    query: 'limit=101',
    status: 400,
    code: 'invalid_parameter',
  },
  {
    name: 'foreign cursor',
    summary: 'An invalid cursor',
    query: 'cursor=abc',
    status: 400,
    code: 'invalid_parameter',
  },
  {
    name: 'changes by name',
    summary: 'Changes cannot be sorted',
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
    summary: 'An available cat',
    body: { name: 'Minka', categoryId: 2, status: 'available' },
    status: 201,
  },
  { name: 'the least', summary: 'Only the required members', body: { name: 'Bruno', categoryId: 1 }, status: 201 },
  {
    name: 'a new category',
    summary: 'An unknown category gets a placeholder',
    body: { name: 'Pepe', categoryId: 9000 },
    status: 201,
  },
  {
    name: 'nothing required is there',
    summary: 'The response names every missing or invalid member',
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
    summary: 'Delete the price, if the version is still the expected one',
    path: { petId: '1' },
    headers: { 'If-Match': '"1.1"' },
    body: { price: null },
    status: 200,
  },
  {
    name: 'no name',
    summary: 'A required member cannot be deleted',
    path: { petId: '1' },
    body: { name: null },
    status: 400,
    code: 'invalid_body',
  },
  ...rejections({ body: { status: 'sold' } }),
];

export const replaceExamples: readonly Example[] = [
  {
    name: 'a new name',
    summary: 'Give the animal another name',
    path: { petId: '1' },
    body: { name: 'Minka the Second', categoryId: 2 },
    status: 200,
  },
  {
    name: 'half an animal',
    summary: 'A required member is missing',
    path: { petId: '1' },
    body: { name: 'Minka the Second' },
    status: 400,
    code: 'invalid_body',
  },
  ...rejections({ body: { name: 'Minka', categoryId: 2, status: 'sold' } }),
];

export const removeExamples: readonly Example[] = [
  { name: 'an animal', summary: 'Delete the animal with the id 1', path: { petId: '1' }, status: 204 },
  {
    name: 'another animal',
    summary: 'Delete the animal only if nobody has changed it',
    path: { petId: '3' },
    headers: { 'If-Match': '"3.1"' },
    status: 204,
  },
  ...rejections({}),
];

export const getExamples: readonly Example[] = [
  { name: 'one animal', summary: 'The animal with the id 1', path: { petId: '1' }, status: 200 },
  {
    name: 'all there is to say',
    summary: 'The animal with all its fields',
    path: { petId: '1' },
    query: 'view=full',
    status: 200,
  },
  {
    name: 'no such animal',
    summary: 'An id without an animal',
    path: { petId: '999999999' },
    status: 404,
    code: 'pet_not_found',
  },
];

export const historyExamples: readonly Example[] = [
  {
    name: 'set aside',
    summary: 'An animal was added and went into foster care',
    given: ['updatePet: set aside'],
    path: { petId: '1' },
    status: 200,
  },
  {
    name: 'on hold',
    summary: 'Everyone sees that an animal is on hold; only some see who holds it',
    given: ['createHold: two cats'],
    as: 'stranger',
    path: { petId: '2' },
    status: 200,
  },
  {
    name: 'taken out',
    summary: 'The history of a deleted animal',
    given: ['deletePet: another animal'],
    path: { petId: '3' },
    status: 200,
  },
  {
    name: 'never there',
    summary: 'An id that was never assigned',
    path: { petId: '999999999' },
    status: 404,
    code: 'pet_not_found',
  },
];

/** Returns the examples of rejected requests; `sent` is common to all of them. */
function rejections(sent: Pick<Example, 'body'>): Example[] {
  return [
    {
      ...sent,
      name: 'by another account',
      summary: 'Only the owner or an admin can change an animal',
      as: 'stranger',
      path: { petId: '1' },
      status: 403,
      code: 'not_owner',
    },
    {
      ...sent,
      name: 'no such animal',
      summary: 'An id without an animal',
      path: { petId: '999999999' },
      status: 404,
      code: 'pet_not_found',
    },
    {
      ...sent,
      name: 'on hold',
      summary: 'A hold reserves the animal',
      given: ['createHold: two cats'],
      path: { petId: '1' },
      status: 409,
      code: 'pet_reserved',
    },
    {
      ...sent,
      name: 'changed meanwhile',
      summary: 'The animal has changed since the expected version',
      given: ['updatePet: set aside'],
      path: { petId: '1' },
      headers: { 'If-Match': '"1.1"' },
      status: 412,
      code: 'precondition_failed',
    },
  ];
}
