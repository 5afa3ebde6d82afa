import { listOperation, nowOf, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import type { RouteResponse } from '../../lib/http/route.ts';
import { anyOfFilter, idParameter, idSchema } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { Hold, HoldExtension, HoldId, type HoldRow, HoldStatus, Holds, NewHold } from '../../model/hold.ts';
import { boundOf } from '../../model/plan.ts';
import { BONDED_MAX } from '../../model/profile.ts';
import { HOLD_DEFAULT_MS, HOLD_MAX_MS, HOLD_MIN_MS } from '../../model/rules.ts';
import { createExamples, extendExamples, getExamples, listExamples, releaseExamples } from './examples.ts';
import { createHold, extendHold, getHold, releaseHold } from './holds.ts';
import { listHolds } from './list.ts';
import { holdValues } from './rows.ts';

const holdId = idParameter('hold', HoldId);

export const create = operation({
  summary: 'Place a hold',
  description:
    `Reserves an animal for your account; or, with \`petIds\`, up to ${BONDED_MAX} animals: all of them, or none. Bonded animals must be held together. The animals are \`pending\` until the hold ends: ` +
    `nobody can hold them again, and only an order with this \`holdId\` can order them. The hold expires after ${durationIn('minute', HOLD_DEFAULT_MS)}, or at \`expiresAt\`, at most ${durationIn('day', HOLD_MAX_MS)} from ` +
    'now; from that moment the animals are `available` again. The number of animals that an account holds at a time is ' +
    'bounded by its plan.',
  body: NewHold,
  successes: [{ status: 201, description: 'The hold.', schema: Hold, headers: { Location: 'The URL of the hold.' } }],
  errors: ['pet_not_found', 'bonded_animals', 'pet_reserved', 'invalid_status_transition', 'hold_limit_exceeded'],
  examples: createExamples,
  handle(request) {
    const { context, caller, body, baseUrl } = request;
    return withIdempotency(request, async tx => {
      const hold = await createHold(tx, caller, body, boundOf(context.bounds, caller, 'heldPets'));
      return responseOf(hold, ['Location', `${baseUrl}/holds/${hold.id}`]);
    });
  },
});

export const list = listOperation({
  summary: 'List holds',
  description:
    'Returns the holds that your account placed and the holds on its animals, sorted by id; admins see all holds.',
  limits: `A page scans at most ${countText(SCAN_LIMIT)} holds, so it may be short or even empty and still have a next page.`,
  noun: 'holds',
  filters: {
    status: anyOfFilter(HoldStatus, 4, 'Only holds with one of these statuses.'),
    petId: Type.Optional(idSchema('Only holds of this animal, past ones included.')),
  },
  schema: Holds,
  examples: listExamples,
  async handle({ context, caller, filters, page }) {
    const { rows, ...links } = await listHolds(context.database, caller, filters, page, nowOf(context));
    return { rows: rows.map(holdValues.fullOf), ...links };
  },
});

export const get = operation({
  summary: 'Get a hold',
  description:
    'Returns a hold to the account that placed it, to the owners of its animals and to admins. For other accounts it ' +
    'does not exist.',
  parameters: { holdId },
  successes: [{ status: 200, description: 'The hold.', schema: Hold }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    return responseOf(await getHold(context.database, caller, path.holdId, nowOf(context)));
  },
});

export const extend = operation({
  summary: 'Change when a hold expires',
  description:
    `Changes when an active hold expires, to a later or an earlier time: at least ${durationIn('second', HOLD_MIN_MS, 'words')} from now, at most ${durationIn('day', HOLD_MAX_MS)} ` +
    'after it was placed. Only the account that placed the hold or an admin can do this.',
  parameters: { holdId },
  conditional: true,
  body: HoldExtension,
  successes: [{ status: 200, description: 'The hold after the change.', schema: Hold }],
  errors: ['not_owner', 'hold_ended'],
  examples: extendExamples,
  handle(request) {
    const { caller, path, body, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      responseOf(await extendHold(tx, caller, path.holdId, body, checkPreconditions)),
    );
  },
});

export const release = operation({
  summary: 'Release a hold',
  frees: true,
  description:
    'Ends an active hold before its expiry. Its animals are `available` again, except those that have been ordered from the hold. The account that placed it, an owner of its animals or an admin can do this.',
  parameters: { holdId },
  conditional: true,
  successes: [{ status: 200, description: 'The hold after the change.', schema: Hold }],
  errors: ['hold_ended'],
  examples: releaseExamples,
  handle(request) {
    const { caller, path, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      responseOf(await releaseHold(tx, caller, path.holdId, checkPreconditions)),
    );
  },
});

function responseOf(hold: HoldRow, headers: readonly string[] = []): RouteResponse {
  return { body: holdValues.fullOf(hold), headers: [...headers, 'ETag', etagOf(hold)] };
}
