import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';
import type { Example } from '../../lib/http/route.ts';
import { spelled } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { SYNC_TOKEN_MS } from '../../model/rules.ts';

const path = { petId: '1' };
const missing = { petId: '999999999' };
const firstVersion = { 'If-Match': '"1.1"' };
const changed = ['updatePet: set aside'];
const held = ['createHold: two cats'];

export const listExamples = [
  example('first page', `The first ${spelled(LIMIT_DEFAULT)} animals`, 200),
  example('available cats by name', 'Two available cats by name', 200, {
    query: 'limit=2&status=available&categoryId=2&sort=name',
  }),
  example('several by id', 'Two animals at once', 200, { query: 'id=1&id=2' }),
  example('all fields', 'An animal with all its fields', 200, { query: 'id=1&view=full' }),
  example('own animals', 'The available animals of your account', 200, { query: 'owner=me&status=available' }),
  example('by traits', 'Young or adult animals that get along with children', 200, {
    given: ['createPet: with a profile'],
    query: 'age=young,adult&goodWithChildren=yes',
  }),
  example('by words', 'Animals with words that begin so, in their names, breeds, colors or tags', 200, {
    given: ['createPet: with a profile'],
    query: 'q=bel%20lab',
  }),
  example('by external id', 'One of your animals by your own identifier', 200, {
    given: ['createPet: with a profile'],
    query: 'owner=me&externalId=A-2026-117',
  }),
  example('with descendants', 'The animals of a category and its descendants', 200, {
    query: 'categoryId=2&includeDescendants=true',
  }),
  example('changes since a time', 'One animal was changed, another was deleted', 200, {
    given: ['updatePet: set aside', 'deletePet: another animal'],
    query: 'updatedSince=2026-11-21T00:00:00Z&includeRemoved=true',
  }),
  example('limit too large', 'A limit beyond the maximum is rejected, not clamped', 'invalid_parameter', {
    query: 'limit=101',
  }),
  example('invalid cursor', 'An invalid cursor', 'invalid_parameter', { query: 'cursor=abc' }),
  example('changes by name', 'Changes cannot be sorted', 'invalid_parameter', {
    query: 'updatedSince=2026-11-21T00:00:00Z&sort=name',
  }),
  example(
    'expired sync token',
    `A sync token that is older than ${durationIn('day', SYNC_TOKEN_MS)}`,
    'sync_token_expired',
    {
      query: 'updatedSince=WzEsMCwwXQ',
    },
  ),
];

export const createExamples = [
  example('a cat', 'An available cat', 201, { body: { name: 'Minka', categoryId: 2, status: 'available' } }),
  example('required fields only', 'Only the required members', 201, { body: { name: 'Bruno', categoryId: 1 } }),
  example('with a price', 'An animal with a price, and all its fields in the response', 201, {
    query: 'view=full',
    body: { name: 'Luna', categoryId: 2, price: { amount: 9000, currency: 'EUR' } },
  }),
  example('with a profile', 'A dog with a profile, and all its fields in the response', 201, {
    query: 'view=full',
    body: {
      name: 'Bella',
      categoryId: 1,
      externalId: 'A-2026-117',
      breeds: { primary: 'Labrador Retriever', mixed: true },
      colors: { primary: 'Black' },
      sex: 'female',
      birthDate: '2024-05-01',
      birthDatePrecision: 'estimated',
      size: 'large',
      weight: { value: 27.5, unit: 'kg' },
      goodWith: { children: 'yes', dogs: 'yes', cats: 'unknown' },
      traits: { houseTrained: 'yes', spayedNeutered: 'yes', specialNeeds: 'no' },
      tags: ['playful'],
      microchips: ['276098102345678'],
      description: 'Bella loves long walks.',
    },
  }),
  example('an unknown breed', 'A breed that is not known is kept, and the nearest one suggested', 201, {
    query: 'view=full',
    body: { name: 'Rex', categoryId: 1, breeds: { primary: 'Labrador Retreiver' } },
  }),
  example('taken external id', 'Another animal of the account has the externalId', 'external_id_taken', {
    given: ['createPet: with a profile'],
    body: { name: 'Bella', categoryId: 1, externalId: 'A-2026-117' },
  }),
  example('a new category', 'An unknown category gets a placeholder', 201, {
    body: { name: 'Pepe', categoryId: 9000 },
  }),
  example('invalid body', 'The response names every missing or invalid member', 'invalid_body', {
    body: { status: 'lost' },
  }),
  example('invalid JSON', 'A body that is not JSON', 'invalid_json', { body: '{"name": ' }),
];

export const updateExamples = [
  example('set aside', 'An animal goes into foster care', 200, {
    path,
    body: { status: 'pending', statusReason: 'in foster' },
  }),
  example('free of charge', 'Delete the price, if the version is still the expected one', 200, {
    path,
    headers: firstVersion,
    body: { price: null },
  }),
  example('bonded', 'An animal must not be separated from another one, which gets the same group', 200, {
    path,
    body: { group: { id: 'Minka and Moritz', kind: 'bonded' } },
  }),
  example('the other one', 'The full view names all animals of the group', 200, {
    given: ['updatePet: bonded'],
    path: { petId: '2' },
    query: 'view=full',
    body: { group: { id: 'Minka and Moritz', kind: 'bonded' } },
  }),
  example('without a name', 'A required member cannot be deleted', 'invalid_body', { path, body: { name: null } }),
  ...rejections({ body: { status: 'sold' } }),
];

export const replaceExamples = [
  example('a new name', 'Give the animal another name', 200, {
    path,
    body: { name: 'Minka the Second', categoryId: 2 },
  }),
  example('missing category', 'A required member is missing', 'invalid_body', {
    path,
    body: { name: 'Minka the Second' },
  }),
  ...rejections({ body: { name: 'Minka', categoryId: 2, status: 'sold' } }),
];

export const attributesExamples = [
  example('rabbits', 'The values of rabbits', 200, { path: { categoryId: '3' } }),
  example('unknown category', 'The category does not exist', 'no_such_category', { path: { categoryId: '999999999' } }),
];

export const removeExamples = [
  example('an animal', 'Delete the animal with the id 1', 204, { path }),
  example('another animal', 'Delete the animal only if nobody has changed it', 204, {
    path: { petId: '3' },
    headers: { 'If-Match': '"3.1"' },
  }),
  ...rejections({}),
];

export const getExamples = [
  example('one animal', 'The animal with the id 1', 200, { path }),
  example('all fields', 'The animal with all its fields', 200, { path, query: 'view=full' }),
  example('unknown animal', 'An id without an animal', 'pet_not_found', { path: missing }),
];

export const historyExamples = [
  example('set aside', 'An animal was added and went into foster care', 200, { given: changed, path }),
  example('on hold', 'Everyone sees that an animal is on hold; only some see who holds it', 200, {
    given: held,
    as: 'stranger',
    path: { petId: '2' },
  }),
  example('deleted animal', 'The history of a deleted animal', 200, {
    given: ['deletePet: another animal'],
    path: { petId: '3' },
  }),
  example('unknown animal', 'An id that was never assigned', 'pet_not_found', { path: missing }),
];

/** Returns the examples of rejected requests; `sent` is common to all of them. */
function rejections(sent: Pick<Example, 'body'>): Example[] {
  return [
    example('by another account', 'Only the owner or an admin can change an animal', 'not_owner', {
      ...sent,
      as: 'stranger',
      path,
    }),
    example('unknown animal', 'An id without an animal', 'pet_not_found', { ...sent, path: missing }),
    example('on hold', 'A hold reserves the animal', 'pet_reserved', { ...sent, given: held, path }),
    example('changed since', 'The animal has changed since the expected version', 'precondition_failed', {
      ...sent,
      given: changed,
      path,
      headers: firstVersion,
    }),
  ];
}
