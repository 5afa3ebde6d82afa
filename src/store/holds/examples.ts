import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';
import { durationIn } from '../../lib/time.ts';
import { HOLD_DEFAULT_MS, HOLD_MAX_MS } from '../../model/rules.ts';

const path = { holdId: '1' };
const held = { given: ['createHold: two cats'], path };
const released = { given: [...held.given, 'releaseHold: a hold'], path };
/** A hold on an animal of the caller. */
const byAnother = { given: ['createHold: by another account'], path };

const tooLong = { body: { petId: 1, expiresAt: '2027-11-21T12:00:00Z' } };

export const createExamples = [
  example('two cats', `Hold two cats that belong together for ${durationIn('minute', HOLD_DEFAULT_MS)}`, 201, {
    body: { petIds: [1, 2], note: 'They have always lived together.' },
  }),
  example('with an expiry', 'Hold an animal until a given time', 201, {
    body: { petId: 3, expiresAt: '2026-11-21T15:00:00Z' },
  }),
  example('by another account', 'Hold an animal of another account; its owner can see and release the hold', 201, {
    as: 'stranger',
    body: { petIds: [1] },
  }),
  example('already on hold', 'One of the animals is already on hold, so none is held', 'pet_reserved', {
    given: held.given,
    as: 'stranger',
    body: { petIds: [2, 3] },
  }),
  example('already sold', 'Only available animals can be held', 'invalid_status_transition', {
    body: { petIds: [3, 4] },
  }),
  example('one of bonded animals', 'The message names the others', 'bonded_animals', {
    given: ['updatePet: bonded', 'updatePet: the other one'],
    body: { petIds: [1] },
  }),
  example('unknown animal', 'One of the animals does not exist', 'pet_not_found', { body: { petIds: [1, 999] } }),
  example('too long', `A hold lasts at most ${durationIn('day', HOLD_MAX_MS)}`, 'invalid_body', tooLong),
];

const active = { given: byAnother.given, query: 'status=active&petId=1' };

export const listExamples = [
  example('first page', `List the first ${LIMIT_DEFAULT} holds`, 200, { given: held.given }),
  example('active holds of an animal', 'List the active holds of an animal that you own', 200, active),
  example('unknown status', 'This status does not exist', 'invalid_parameter', { query: 'status=gone' }),
];

export const getExamples = [
  example('one hold', 'Get the hold with id 1', 200, held),
  example('hold of another account', 'For accounts that are not involved, the hold does not exist', 'hold_not_found', {
    ...held,
    as: 'stranger',
  }),
];

const until = (hour: number) => ({ body: { expiresAt: `2026-11-21T${hour}:00:00Z` } });
const outdated = { given: [...held.given, 'extendHold: one hour'], path, headers: { 'if-match': '"1.1"' } };
const notPlacer = 'The owner of a held animal can release the hold, but not extend it';

export const extendExamples = [
  example('one hour', 'Extend the hold to an hour', 200, { ...held, ...until(13) }),
  example('in the past', 'The expiry must be in the future; to end the hold, release it', 'invalid_body', {
    ...held,
    ...until(11),
  }),
  example('hold of another account', notPlacer, 'not_owner', { ...byAnother, ...until(13) }),
  example('already ended', 'A hold that has ended cannot be extended', 'hold_ended', { ...released, ...until(13) }),
  example('changed since', 'The hold has changed since the caller read it', 'precondition_failed', {
    ...outdated,
    ...until(14),
  }),
];

export const releaseExamples = [
  example('a hold', 'Make the animals available again', 200, held),
  example('by the owner', 'The owner of an animal releases a hold of another account', 200, byAnother),
  example('already released', 'A hold ends only once', 'hold_ended', released),
];
