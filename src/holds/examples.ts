import type { Example } from '../lib/http/route.ts';

/** The hold of 'createHold: two cats'. */
const path = { holdId: '1' };
const twoCats = ['createHold: two cats'];

export const createExamples: readonly Example[] = [
  {
    name: 'two cats',
    summary: 'Hold two cats that belong together for 15 minutes',
    body: { petIds: [1, 2], note: 'They have always lived together.' },
    status: 201,
  },
  {
    name: 'with an expiry',
    summary: 'Hold an animal until a given time',
    body: { petIds: [3], expiresAt: '2026-11-21T15:00:00Z' },
    status: 201,
  },
  {
    name: 'by another account',
    summary: 'Hold an animal of another account; its owner can see and release the hold',
    as: 'stranger',
    body: { petIds: [1] },
    status: 201,
  },
  {
    name: 'already on hold',
    summary: 'One of the animals is already on hold, so none is held',
    given: twoCats,
    as: 'stranger',
    body: { petIds: [2, 3] },
    status: 409,
    code: 'pet_reserved',
  },
  {
    name: 'already sold',
    summary: 'Only available animals can be held',
    body: { petIds: [3, 4] },
    status: 409,
    code: 'invalid_status_transition',
  },
  {
    name: 'unknown animal',
    summary: 'One of the animals does not exist',
    body: { petIds: [1, 999] },
    status: 404,
    code: 'pet_not_found',
  },
  {
    name: 'too long',
    summary: 'A hold lasts at most 30 days',
    body: { petIds: [1], expiresAt: '2027-11-21T12:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
];

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'List the first 20 holds', given: twoCats, status: 200 },
  {
    name: 'active holds of an animal',
    summary: 'List the active holds of an animal that you own',
    given: ['createHold: by another account'],
    query: 'status=active&petId=1',
    status: 200,
  },
  {
    name: 'unknown status',
    summary: 'This status does not exist',
    query: 'status=gone',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const getExamples: readonly Example[] = [
  { name: 'one hold', summary: 'Get the hold with id 1', given: twoCats, path, status: 200 },
  {
    name: 'hold of another account',
    summary: 'For accounts that are not involved, the hold does not exist',
    given: twoCats,
    as: 'stranger',
    path,
    status: 404,
    code: 'hold_not_found',
  },
];

export const extendExamples: readonly Example[] = [
  {
    name: 'one hour',
    summary: 'Extend the hold to an hour',
    given: twoCats,
    path,
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 200,
  },
  {
    name: 'in the past',
    summary: 'The expiry must be in the future; to end the hold, release it',
    given: twoCats,
    path,
    body: { expiresAt: '2026-11-21T11:00:00Z' },
    status: 400,
    code: 'invalid_body',
  },
  {
    name: 'hold of another account',
    summary: 'The owner of a held animal can release the hold, but not extend it',
    given: ['createHold: by another account'],
    path,
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 403,
    code: 'not_owner',
  },
  {
    name: 'already ended',
    summary: 'A hold that has ended cannot be extended',
    given: [...twoCats, 'releaseHold: a hold'],
    path,
    body: { expiresAt: '2026-11-21T13:00:00Z' },
    status: 409,
    code: 'hold_ended',
  },
  {
    name: 'changed since',
    summary: 'The hold has changed since the caller read it',
    given: [...twoCats, 'extendHold: one hour'],
    path,
    headers: { 'if-match': '"1.1"' },
    body: { expiresAt: '2026-11-21T14:00:00Z' },
    status: 412,
    code: 'precondition_failed',
  },
];

export const releaseExamples: readonly Example[] = [
  { name: 'a hold', summary: 'Make the animals available again', given: twoCats, path, status: 200 },
  {
    name: 'by the owner',
    summary: 'The owner of an animal releases a hold of another account',
    given: ['createHold: by another account'],
    path,
    status: 200,
  },
  {
    name: 'already released',
    summary: 'A hold ends only once',
    given: [...twoCats, 'releaseHold: a hold'],
    path,
    status: 409,
    code: 'hold_ended',
  },
];
