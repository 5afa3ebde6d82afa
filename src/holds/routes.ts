import Type from 'typebox';
import { type Deployment, nowOf, route } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route, RouteResponse } from '../lib/http/route.ts';
import { PetId } from '../pets/pet.ts';
import { Hold, HoldExtension, HoldId, HoldStatus, Holds, NewHold } from './hold.ts';
import { type HoldRow, holdEtag, holdOf } from './hold-rows.ts';
import { createHold, extendHold, getHold, releaseHold } from './holds.ts';
import { listHolds } from './list-holds.ts';

const holdId = {
  schema: HoldId,
  description: 'The identifier of the hold.',
  notFound: 'hold_not_found',
  absent: 'There is no hold with this id.',
};

/** Keeps animals. */
const create = route({
  operation: 'createHold',
  method: 'POST',
  path: '/holds',
  access: { key: true, scope: 'orders:write' },
  tag: 'Holds',
  stability: 'beta',
  summary: 'Keep animals for a while',
  description:
    'Keeps one animal, or up to twenty that belong together, for the account of the key: all of them, or none. They are ' +
    '`pending` until the hold ends, and nobody else can hold or order them. It ends 15 minutes from now, or when you ' +
    'say, 30 days from now at most; from that very moment the animals are `available` again. The animals in all active ' +
    'holds of an account are limited (`PETSTORE_HELD_MAX`).',
  body: NewHold,
  successes: [{ status: 201, description: 'The hold.', schema: Hold, headers: { Location: 'The URL of the hold.' } }],
  errors: ['pet_not_found', 'pet_reserved', 'invalid_status_transition', 'hold_limit_exceeded'],
  examples: [
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
  ],
  handle(call) {
    const { context, caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const hold = await createHold(tx, caller, body, context.heldMax);
      return { body: holdOf(hold), headers: ['Location', `${baseUrl}/holds/${hold.id}`, 'ETag', holdEtag(hold)] };
    });
  },
});

/** A page of holds. */
const list = route({
  operation: 'listHolds',
  method: 'GET',
  path: '/holds',
  access: { key: true, scope: 'orders:read' },
  tag: 'Holds',
  stability: 'beta',
  summary: 'List holds',
  description:
    'Returns the holds of the account of the key and those on its animals, by id ascending; admins see all. A page ends after 20,000 ' +
    'holds looked at: it may then be short, even empty, and still have a next one.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of holds returned.' }),
    ),
    status: Type.Optional(
      Type.Array(HoldStatus, {
        minItems: 1,
        maxItems: 4,
        description: 'Filters by how a hold is; several values are alternatives.',
      }),
    ),
    petId: Type.Optional(Type.Integer({ ...PetId, description: 'Only the holds that this animal is or was in.' })),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Where to read on: taken from a link, opaque, good only with the same filters.',
      }),
    ),
  }),
  successes: [
    {
      status: 200,
      description: 'A page of holds.',
      schema: Holds,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: [],
  examples: [
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
  ],
  async handle({ context, caller, query, url, baseUrl }) {
    const { limit = 20, cursor, ...filter } = query;
    const page = await listHolds(context.database, caller, filter, limit, cursor, nowOf(context));
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: page.rows.map(holdOf),
      headers: pageHeaders(`${baseUrl}/holds${mark < 0 ? '' : url.slice(mark)}`, page),
    };
  },
});

/** One hold by its id. */
const get = route({
  operation: 'getHold',
  method: 'GET',
  path: '/holds/{holdId}',
  access: { key: true, scope: 'orders:read' },
  tag: 'Holds',
  stability: 'beta',
  summary: 'Get a hold',
  description:
    'Fetches one hold. It is seen by the account that placed it, by the owners of its animals and by admins; to anyone ' +
    'else it does not exist.',
  parameters: { holdId },
  successes: [{ status: 200, description: 'The hold.', schema: Hold }],
  errors: [],
  examples: [
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
  ],
  async handle({ context, caller, path }) {
    return answerOf(await getHold(context.database, caller, path.holdId, nowOf(context)));
  },
});

/** Moves the end of a hold. */
const extend = route({
  operation: 'extendHold',
  method: 'POST',
  path: '/holds/{holdId}/extension',
  access: { key: true, scope: 'orders:write' },
  tag: 'Holds',
  stability: 'beta',
  summary: 'Move the end of a hold',
  description:
    'Moves the end of an active hold, to a later or an earlier time: at least one second from now, at most 30 days after ' +
    'the hold was placed. Only the account that placed it, or an admin, may.',
  parameters: { holdId },
  conditional: true,
  body: HoldExtension,
  successes: [{ status: 200, description: 'The hold as it is now.', schema: Hold }],
  errors: ['not_owner', 'hold_ended'],
  examples: [
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
  ],
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx => answerOf(await extendHold(tx, caller, path.holdId, body, expect)));
  },
});

/** Ends a hold before its time. */
const release = route({
  operation: 'releaseHold',
  method: 'POST',
  path: '/holds/{holdId}/release',
  access: { key: true, scope: 'orders:write' },
  tag: 'Holds',
  stability: 'beta',
  summary: 'Release a hold',
  description:
    'Ends an active hold before its time; its animals are `available` again, but those that were ordered from it. The ' +
    'account that placed it, an owner of its animals, or an admin may.',
  parameters: { holdId },
  conditional: true,
  successes: [{ status: 200, description: 'The hold as it is now.', schema: Hold }],
  errors: ['hold_ended'],
  examples: [
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
  ],
  handle(call) {
    const { caller, path, expect } = call;
    return withIdempotency(call, async tx => answerOf(await releaseHold(tx, caller, path.holdId, expect)));
  },
});

/** Every operation on holds. */
export const holdRoutes: readonly Route<Deployment>[] = [list, create, get, extend, release];

function answerOf(hold: HoldRow): RouteResponse {
  return { body: holdOf(hold), headers: ['ETag', holdEtag(hold)] };
}
