import Type from 'typebox';
import { nowOf, operation } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import { PetId } from '../pets/pet.ts';
import { createExamples, extendExamples, getExamples, listExamples, releaseExamples } from './examples.ts';
import { Hold, HoldExtension, HoldId, HoldStatus, Holds, NewHold } from './hold.ts';
import { createHold, extendHold, getHold, releaseHold } from './holds.ts';
import { listHolds } from './list.ts';
import { type HoldRow, holdEtag, holdOf } from './rows.ts';

const holdId = {
  schema: HoldId,
  description: 'The identifier of the hold.',
  notFound: 'hold_not_found',
  absent: 'There is no hold with this id.',
};

/** Keeps animals. */
export const create = operation({
  summary: 'Keep animals for a while',
  description:
    'Keeps one animal, or up to twenty that belong together, for the account of the key: all of them, or none. They are ' +
    '`pending` until the hold ends, and nobody else can hold or order them. It ends 15 minutes from now, or when you ' +
    'say, 30 days from now at most; from that very moment the animals are `available` again. The animals in all active ' +
    'holds of an account are limited (`PETSTORE_HELD_MAX`).',
  body: NewHold,
  successes: [{ status: 201, description: 'The hold.', schema: Hold, headers: { Location: 'The URL of the hold.' } }],
  errors: ['pet_not_found', 'pet_reserved', 'invalid_status_transition', 'hold_limit_exceeded'],
  examples: createExamples,
  handle(call) {
    const { context, caller, body, baseUrl } = call;
    return withIdempotency(call, async tx => {
      const hold = await createHold(tx, caller, body, context.heldMax);
      return { body: holdOf(hold), headers: ['Location', `${baseUrl}/holds/${hold.id}`, 'ETag', holdEtag(hold)] };
    });
  },
});

/** A page of holds. */
export const list = operation({
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
  examples: listExamples,
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
export const get = operation({
  summary: 'Get a hold',
  description:
    'Fetches one hold. It is seen by the account that placed it, by the owners of its animals and by admins; to anyone ' +
    'else it does not exist.',
  parameters: { holdId },
  successes: [{ status: 200, description: 'The hold.', schema: Hold }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    return answerOf(await getHold(context.database, caller, path.holdId, nowOf(context)));
  },
});

/** Moves the end of a hold. */
export const extend = operation({
  summary: 'Move the end of a hold',
  description:
    'Moves the end of an active hold, to a later or an earlier time: at least one second from now, at most 30 days after ' +
    'the hold was placed. Only the account that placed it, or an admin, may.',
  parameters: { holdId },
  conditional: true,
  body: HoldExtension,
  successes: [{ status: 200, description: 'The hold as it is now.', schema: Hold }],
  errors: ['not_owner', 'hold_ended'],
  examples: extendExamples,
  handle(call) {
    const { caller, path, body, expect } = call;
    return withIdempotency(call, async tx => answerOf(await extendHold(tx, caller, path.holdId, body, expect)));
  },
});

/** Ends a hold before its time. */
export const release = operation({
  summary: 'Release a hold',
  description:
    'Ends an active hold before its time; its animals are `available` again, but those that were ordered from it. The ' +
    'account that placed it, an owner of its animals, or an admin may.',
  parameters: { holdId },
  conditional: true,
  successes: [{ status: 200, description: 'The hold as it is now.', schema: Hold }],
  errors: ['hold_ended'],
  examples: releaseExamples,
  handle(call) {
    const { caller, path, expect } = call;
    return withIdempotency(call, async tx => answerOf(await releaseHold(tx, caller, path.holdId, expect)));
  },
});

function answerOf(hold: HoldRow): RouteResponse {
  return { body: holdOf(hold), headers: ['ETag', holdEtag(hold)] };
}
