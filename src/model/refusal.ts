import { columnsFor } from '../lib/fields/columns.ts';
import { type Codec, field, type RowOf, time } from '../lib/fields/field.ts';
import { fullSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { idSchema, timeSchema } from '../lib/schemas.ts';
import { DAY_MS, formatTime, parseTime } from '../lib/time.ts';
import { Type } from '../lib/type.ts';

/** A UTC day: `2026-11-21` in JSON, the days since the Unix epoch in the column. */
const utcDay: Codec<string, number> = {
  encode: text => parseTime(`${text}T00:00:00Z`)! / DAY_MS,
  decode: day => formatTime(day * DAY_MS).slice(0, 10),
};

/** The fields of the rejected requests of a key on one day with one error code. */
export const refusalFields = {
  id: field(idSchema('Assigned by the service.'), { column: 'id', generated: true, fixed: true }),
  accountId: field(idSchema('The account of the key.'), { column: 'account_id', fixed: true }),
  keyId: field(Type.String({ description: 'The key.' }), { column: 'key_id', fixed: true }),
  code: field(
    Type.String({ description: 'The error code of the responses.', examples: ['insufficient_scope', 'not_owner'] }),
    { column: 'code', fixed: true },
  ),
  day: field(Type.String({ format: 'date', description: 'The UTC day.' }), {
    column: 'day',
    codec: utcDay,
    fixed: true,
  }),
  requests: field(Type.Integer({ minimum: 1, description: 'The number of refused requests.' }), { column: 'requests' }),
  lastAt: field(timeSchema('The time of the last request.'), { column: 'last_at', codec: time }),
  lastRequestId: field(Type.String({ description: 'The `X-Request-Id` of the last request.' }), {
    column: 'last_request_id',
  }),
  lastAddress: field(Type.String({ description: 'The IP address that sent the last request.' }), {
    column: 'last_address',
  }),
};

export const refusalColumns = columnsFor(refusalFields);

/** Returns rejected requests as a response. */
export const refusalOf = valuesFor(refusalFields).fullOf;

export type RefusalRow = RowOf<typeof refusalFields>;

const Refusal = fullSchema(
  refusalFields,
  'Refusal',
  'The requests of one key on one day that were refused with one error code.',
);

export const Refusals = Type.Array(Refusal, { title: 'Refusals', description: 'Refused requests.' });
