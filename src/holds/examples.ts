import type { Example } from '../lib/http/route.ts';

export const createExamples: readonly Example[] = [
  {
    name: 'two cats',
    summary: 'Two cats that belong together, for a quarter of an hour',
    body: { petIds: [1, 2], note: 'They have always lived together.' },
    status: 201,
  },
  {
    name: 'one dog until three',
    summary: 'An animal until a time of your choice',
    body: { petIds: [3], expiresAt: '2026-11-21T15:00:00Z' },
    status: 201,
  },
  {
    name: 'by another account',
    summary: 'Another account keeps an animal, whose owner sees it',
    as: 'stranger',
    body: { petIds: [1] },
    status: 201,
  },
  {
    name: 'already on hold',
    summary: 'One of the animals is kept already: none is',
    given: ['createHold: two cats'],
    as: 'stranger',
    body: { petIds: [2, 3] },
    status: 409,
    code: 'pet_reserved',
  },
  {
    name: 'already sold',
    summary: 'Only an available animal can be kept',
    body: { petIds: [3, 4] },
    status: 409,
    code: 'invalid_status_transition',
  },
  {
    name: 'no such animal',
    summary: 'One of the animals is not there',
    body: { petIds: [1, 999] },
    status: 404,
    code: 'pet_not_found',
  },
  {
    name: 'too long',
    summary: 'A hold lasts 30 days at most',
    body: { petIds: [1], expiresAt: '2027-11-21T12:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The first twenty holds', given: ['createHold: two cats'], status: 200 },
  {
    name: 'active ones on an animal',
    summary: 'Who keeps the animal 1 now, as its owner sees it',
    given: ['createHold: by another account'],
    query: 'status=active&petId=1',
    status: 200,
  },
  {
    name: 'no such status',
    summary: 'A status that there is not',
    query: 'status=gone',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const getExamples: readonly Example[] = [
  {
    name: 'one hold',
    summary: 'The hold with the id 1',
    given: ['createHold: two cats'],
    path: { holdId: '1' },
    status: 200,
  },
  {
    name: 'somebody else',
    summary: 'To an account that has nothing to do with it the hold does not exist',
    given: ['createHold: two cats'],
    as: 'stranger',
    path: { holdId: '1' },
    status: 404,
    code: 'hold_not_found',
  },
];

export const extendExamples: readonly Example[] = [
  {
    name: 'one hour',
    summary: 'The hold lasts an hour instead of a quarter',
    given: ['createHold: two cats'],
    path: { holdId: '1' },
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 200,
  },
  {
    name: 'in the past',
    summary: 'A hold cannot end before now; to end it, release it',
    given: ['createHold: two cats'],
    path: { holdId: '1' },
    body: { expiresAt: '2026-11-21T11:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'hold of another account',
    summary: 'The owner of an animal may release a hold on it, and not extend it',
    given: ['createHold: by another account'],
    path: { holdId: '1' },
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 403,
    code: 'not_owner',
  },
  {
    name: 'too late',
    summary: 'A hold that has ended stays ended',
    given: ['createHold: two cats', 'releaseHold: a hold'],
    path: { holdId: '1' },
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 409,
    code: 'hold_ended',
  },
  {
    name: 'changed meanwhile',
    summary: 'The hold is not the version that the caller has seen',
    given: ['createHold: two cats', 'extendHold: one hour'],
    path: { holdId: '1' },
    headers: { 'if-match': '"1.1"' },
    body: { expiresAt: '2026-11-21T14:00:00Z' },
    status: 412,
    code: 'precondition_failed',
  },
];

export const releaseExamples: readonly Example[] = [
  {
    name: 'a hold',
    summary: 'The animals are free again',
    given: ['createHold: two cats'],
    path: { holdId: '1' },
    status: 200,
  },
  {
    name: 'by the owner',
    summary: 'The owner of an animal takes it back from another account',
    given: ['createHold: by another account'],
    path: { holdId: '1' },
    status: 200,
  },
  {
    name: 'released before',
    summary: 'A hold ends once',
    given: ['createHold: two cats', 'releaseHold: a hold'],
    path: { holdId: '1' },
    status: 409,
    code: 'hold_ended',
  },
];
