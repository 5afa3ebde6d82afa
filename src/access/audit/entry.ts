import type { CommandOrigin, RequestOrigin, SessionOrigin } from '../../lib/origin.ts';
import { idSchema, timeSchema } from '../../lib/schemas.ts';
import { formatTime } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import type { Event } from '../../model/log/event.ts';
import type { LoggedData } from '../../model/log/owners.ts';
import { nounEvents } from '../../model/nouns.ts';
import { eventIdAt } from '../../model/public-event.ts';

const ofRequest = (description: string) =>
  Type.Optional(Type.String({ description: `${description}; absent for a command of the operator.` }));

/** An entry of the audit log in the API: a change and its origin. */
export const AuditEntry = Type.Object(
  {
    id: idSchema('Identifier of the entry. Later changes have higher ids.'),
    time: timeSchema('When the change was recorded.'),
    type: Type.String({
      description: 'The type of the event of the change, such as `pet.updated`. More types may be added.',
      examples: ['pet.updated'],
    }),
    resourceId: Type.Union([Type.Integer({ format: 'int64' }), Type.String()], {
      description: 'The id of the resource that was changed.',
    }),
    eventId: Type.Optional(
      Type.String({ description: 'The event of the change in `GET /v1/events`; absent while it has no id yet.' }),
    ),
    accountId: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'The account that made the change, or for which the operator made it.',
      }),
    ),
    keyId: Type.Optional(
      Type.String({
        description:
          'The id of the API key of the request; absent for a change on a page and for a command of the operator.',
      }),
    ),
    sessionId: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'The id of the session of the browser, for a change on a page; absent for other changes.',
      }),
    ),
    personId: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'The id of the member of the account who made the change on a page; absent for other changes.',
      }),
    ),
    requestId: ofRequest('The `X-Request-Id` of the request'),
    address: ofRequest('The IP address that the request came from'),
    traceparent: Type.Optional(
      Type.String({
        description: 'The trace of the request, as a `traceparent` header; absent if the request has none.',
      }),
    ),
    command: Type.Optional(
      Type.String({ description: 'The command of the operator, such as `key revoke`; absent for a request.' }),
    ),
  },
  { title: 'AuditEntry', description: 'A change, and who made it.' },
);
export type AuditEntry = Static<typeof AuditEntry>;

export const AuditEntries = Type.Array(AuditEntry, { title: 'AuditEntries', description: 'Entries of the audit log.' });

/** The event of an entry. Its position is null until it is in the order of events (PostgreSQL). */
export interface AuditRow extends Event<LoggedData> {
  readonly position: number | null;
  readonly origin: Omit<RequestOrigin, 'accountId'> | Omit<SessionOrigin, 'accountId'> | CommandOrigin;
}

export function entryOf({ id, at, kind, action, subjectId, accountId, data, position, origin }: AuditRow): AuditEntry {
  const { id: resourceId = subjectId } = data[kind] as { readonly id?: string };
  return {
    id,
    time: formatTime(at),
    type: `${kind}.${action}`,
    resourceId: nounEvents[kind].shownId?.(subjectId) ?? resourceId,
    ...(position !== null && { eventId: eventIdAt(position) }),
    ...(accountId !== null && { accountId }),
    ...origin,
  };
}
