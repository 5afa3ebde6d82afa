import { type Deployment, listOperation, nowOf, operation } from '../../access/deployment.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { Example } from '../../lib/http/route.ts';
import { onePer } from '../../lib/one-per.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { boundOf } from '../../model/plan.ts';
import { EventId, EventTypes, positionOf } from '../../model/public-event.ts';
import { settingTree } from '../../model/settings.ts';
import { Event, Events } from './event-schemas.ts';
import { BLOCKED_MAX_MS, HEARTBEAT_MS, OpenStreams } from './event-stream.ts';
import { listEvents, requireRetained, retentionStart } from './list-events.ts';

const firstPage = {
  summary: 'The events of a small store: an animal was set aside, and an order was placed',
  given: ['updatePet: set aside', 'placeOrder: a dog with a date'],
};
const ofHolds = { given: ['createHold: two cats', 'releaseHold: a hold'], query: 'types=hold.*&limit=2' };
const unknownType = { query: 'types=pet.sold', status: 400, code: 'invalid_parameter' };
const newer = {
  ...{ name: 'newer than the store', status: 410, code: 'events_expired' },
  summary: 'An id that the store has not reached, because an older backup was restored',
};

const listExamples: readonly Example[] = [
  { name: 'first page', ...firstPage, query: 'after=evt_9', status: 200 },
  { name: 'holds', summary: 'Only events of holds', ...ofHolds, status: 200 },
  { name: 'account', summary: 'Events of the account of the key', query: 'types=account.*', status: 200 },
  { ...newer, query: 'after=evt_999999999' },
  { name: 'unknown type', summary: 'A type that does not exist', ...unknownType },
];

const streamExamples: readonly Example[] = [
  { name: 'continue', summary: 'The events after a known one', query: 'after=evt_9', status: 200 },
  { ...newer, headers: { 'Last-Event-ID': 'evt_999999999' } },
];

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
    `their bans to that account, on production only; all events to admins. Events are readable for ${settingTree.eventsDays.default} days.`,
  limits: `A page scans up to ${countText(SCAN_LIMIT)} events, so it can be short or empty and still have a next page.`,
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
    `\`after\`, the stream starts after that event, without gaps or duplicates; otherwise with new events. Every ${durationIn('second', HEARTBEAT_MS)} ` +
    'without an event, the stream sends a comment with an `id` to continue from. The stream counts as one request. It ends when the ' +
    'key is revoked, expires or is banned, when the permissions of the account change, when the service stops, and when the ' +
    `client falls behind and reads almost nothing for ${durationIn('second', BLOCKED_MAX_MS)}. At the limit of streams, a new stream replaces the oldest ` +
    'stream whose client has acknowledged nothing for two of these intervals.',
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
  async handle({ context, caller, query, headers, isStillAuthorized }) {
    const { eventBus, database, eventsKeptMs } = context;
    const after = lastEventId(headers['last-event-id']) ?? query.after;
    const end = await eventBus.lastPosition();
    let position = end;
    if (after !== undefined) {
      const retained = await retentionStart(database, nowOf(context), eventsKeptMs);
      position = requireRetained(positionOf(after), retained.position, end);
    }
    const { types } = query;
    const max = boundOf(context.bounds, caller, 'streams');
    const options = { eventBus, actor: caller, types, position, isStillAuthorized };
    return { stream: await openStreamsOf(context).open(caller.accountId, max, options) };
  },
});

const eventIdPattern = new RegExp(EventId.pattern);

/** @throws {Problem} `invalid_parameter` for a header that is not the id of an event */
function lastEventId(header: string | undefined): string | undefined {
  if (!header || eventIdPattern.test(header)) return header || undefined;
  throw invalidParameter('Last-Event-ID', 'Must be the id of an event, as sent in a message: evt_ and a number.');
}

const openStreamsOf = onePer<Deployment, OpenStreams>(() => new OpenStreams());

/** Returns the number of streams that an account has open on this node. */
export function countStreams(deployment: Deployment, accountId: number): number {
  return openStreamsOf(deployment).count(accountId);
}
