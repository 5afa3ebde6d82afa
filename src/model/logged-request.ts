import { columnsFor } from '../lib/fields/columns.ts';
import { type Codec, field, type InsertRowOf, type RowOf, time } from '../lib/fields/field.ts';
import { fullSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { idSchema, timeSchema } from '../lib/schemas.ts';
import { Type } from '../lib/type.ts';

/** A duration: milliseconds in JSON, whole microseconds in the column. */
const microseconds: Codec<number, number> = { encode: ms => Math.round(ms * 1000), decode: us => us / 1000 };

/** The fields of a request in the request log. */
export const loggedRequestFields = {
  id: field(idSchema('Identifier of the entry. Later requests have higher ids.'), {
    column: 'id',
    generated: true,
    fixed: true,
  }),
  time: field(timeSchema('When the server responded.'), { column: 'at', codec: time, fixed: true }),
  requestId: field(Type.String({ description: 'The `X-Request-Id` of the response.' }), {
    column: 'request_id',
    fixed: true,
  }),
  method: field(Type.String({ description: 'The HTTP method.', examples: ['GET'] }), { column: 'method', fixed: true }),
  path: field(
    Type.String({
      description:
        'The path and the query parameters of the operation. Other parameters are left out. Absent if there is no operation ' +
        'at the path.',
      examples: ['/v1/pets?status=available'],
    }),
    { column: 'path', nullable: true, fixed: true },
  ),
  operation: field(Type.String({ description: 'The operation; absent if there is none with this path and method.' }), {
    column: 'operation',
    nullable: true,
    fixed: true,
  }),
  status: field(Type.Integer({ minimum: 100, maximum: 599, description: 'The status of the response.' }), {
    column: 'status',
    fixed: true,
  }),
  code: field(Type.String({ description: 'The error code of the response; absent for a success.' }), {
    column: 'code',
    nullable: true,
    fixed: true,
  }),
  durationMs: field(
    Type.Number({
      minimum: 0,
      description: 'How long the server took to respond, in milliseconds; for a stream, until the stream began.',
    }),
    { column: 'duration_us', codec: microseconds, fixed: true },
  ),
  keyId: field(Type.String({ description: 'The API key of the request.' }), { column: 'key_id', fixed: true }),
  accountId: field(Type.Integer(), { column: 'account_id', fixed: true, view: 'row' }),
  deployment: field(Type.Unsafe<'production' | 'staging'>(Type.String()), {
    column: 'deployment',
    fixed: true,
    view: 'row',
  }),
};

export const loggedRequestColumns = columnsFor(loggedRequestFields);

/** Returns a request as a response. */
export const loggedRequestOf = valuesFor(loggedRequestFields).fullOf;

/** A request as it is stored. */
export type LoggedRequestRow = RowOf<typeof loggedRequestFields>;

/** A request to be stored. */
export type NewLoggedRequest = InsertRowOf<typeof loggedRequestFields>;

const LoggedRequest = fullSchema(
  loggedRequestFields,
  'LoggedRequest',
  'A request in the request log: never its body, its headers or its key.',
);

export const LoggedRequests = Type.Array(LoggedRequest, { title: 'LoggedRequests', description: 'Requests.' });
