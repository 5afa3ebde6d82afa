import Type from 'typebox';
import { type Deployment, listOperation, nowOf, operation } from '../../deployment.ts';
import { problem } from '../../errors.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { Caller } from '../../lib/http/route.ts';
import { onePer } from '../../lib/one-per.ts';
import { boundOf } from '../../plans/plan.ts';
import { Event, Events } from './event-schemas.ts';
import { EventStream } from './event-stream.ts';
import { listExamples, streamExamples } from './examples.ts';
import { listEvents, requireRetained, retentionStart } from './list-events.ts';
import { EventId, EventTypes, positionOf } from './public-event.ts';

const filters = {
  types: Type.Optional(EventTypes),
  after: Type.Optional(
    Type.String({
      ...EventId,
      description: 'Returns only events after this one: an event `id`, or an `X-Sync-Token`.',
    }),
  ),
};

export const list = listOperation({
  summary: 'List events',
  description:
    'Returns the events that you can see, oldest first, in the total order of all events: no event is ever inserted before ' +
    'one that you have read. The last page has an `X-Sync-Token`; pass it as `after` to continue later. Everyone can see events ' +
    'of animals and categories. Events of a hold are visible to the account that placed it and to the owners of its animals; ' +
    'events of an order to the account that placed it and to the owner of the animal; events of an account, its keys and ' +
    'their bans to that account, on production only; all events to admins. Events are readable for 30 days. A page scans up to ' +
    '20,000 events, so it can be short or empty and still have a next page.',
  noun: 'events',
  forwardOnly: true,
  filters,
  schema: Events,
  responseHeaders: { 'X-Sync-Token': 'On the last page: the value of `after` that continues from there.' },
  errors: ['events_expired'],
  examples: listExamples,
  async handle({ context, caller, filters, page }) {
    const { database, eventsKeptMs } = context;
    const { events, next, end } = await listEvents(database, caller, filters, page, nowOf(context), eventsKeptMs);
    return { rows: events, next, ...(end !== undefined && { headers: ['X-Sync-Token', end] }) };
  },
});

export const stream = operation({
  summary: 'Stream events',
  description:
    'Streams the events of `listEvents` as server-sent events until either side closes the connection. Each message has ' +
    'the `id` of the event, its type as `event`, and the event as one line of JSON in `data`. With `Last-Event-ID` or ' +
    '`after`, the stream starts after that event, without gaps or duplicates; otherwise with new events. Every 15 seconds ' +
    'without an event, it sends a comment with an `id` to continue from. The stream counts as one request. It ends when the ' +
    'key is revoked, expires or is banned, when the permissions of the account change, when the service stops, and when the ' +
    'client falls behind and reads almost nothing for 30 seconds.',
  query: Type.Object(filters),
  headers: {
    'Last-Event-ID':
      'The `id` of the last message that you received: the stream continues after it. Takes precedence over `after`; clients of server-sent events send it automatically.',
  },
  streams: true,
  successes: [
    {
      status: 200,
      description: 'Server-sent events (WHATWG HTML, 9.2); the `data` of each message is an `Event`.',
      contentType: 'text/event-stream',
      schema: Event,
    },
  ],
  errors: ['events_expired', 'stream_limit_exceeded'],
  examples: streamExamples,
  async handle({ context, caller, query, header, isStillAuthorized }) {
    const { eventBus, database, eventsKeptMs } = context;
    const after = lastEventId(header('last-event-id')) ?? query.after;
    const end = await eventBus.lastPosition();
    let position = end;
    if (after !== undefined) {
      const retained = await retentionStart(database, nowOf(context), eventsKeptMs);
      position = requireRetained(positionOf(after), retained.position, end);
    }
    const onClose = openStream(context, caller);
    const { types } = query;
    return { stream: new EventStream({ eventBus, actor: caller, types, position, isStillAuthorized, onClose }) };
  },
});

const eventIdPattern = new RegExp(EventId.pattern);

/** @throws {Problem} `invalid_parameter` for a header that is not the id of an event */
function lastEventId(header: string | undefined): string | undefined {
  if (!header || eventIdPattern.test(header)) return header || undefined;
  throw invalidParameter('Last-Event-ID', 'Must be the id of an event, as sent in a message: evt_ and a number.');
}

/** The number of open streams of each account with any. */
const openStreamsOf = onePer<Deployment, Map<number, number>>(() => new Map());

/** Returns the number of streams that an account has open on this node. */
export function countStreams(deployment: Deployment, accountId: number): number {
  return openStreamsOf(deployment).get(accountId) ?? 0;
}

/**
 * Counts an open stream of an account, and returns a function that counts it as closed.
 * @throws {Problem} `stream_limit_exceeded`
 */
function openStream(deployment: Deployment, caller: Caller): () => void {
  const { accountId } = caller;
  const max = boundOf(deployment.bounds, caller, 'streams');
  const open = countStreams(deployment, accountId);
  if (open >= max) {
    const message = `The account already has ${max} open event streams; close one of them, or share it.`;
    throw problem('stream_limit_exceeded', message);
  }
  const streams = openStreamsOf(deployment);
  streams.set(accountId, open + 1);
  return () => {
    const left = streams.get(accountId)! - 1;
    if (left > 0) streams.set(accountId, left);
    else streams.delete(accountId);
  };
}
