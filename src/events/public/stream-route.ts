import Type from 'typebox';
import { nowOf, operation } from '../../deployment.ts';
import { problem } from '../../errors.ts';
import { eventStream } from './event-stream.ts';
import { streamExamples } from './examples.ts';
import { keptFrom, requireKept } from './list-events.ts';
import { openStream } from './open-streams.ts';
import { EventId, EventTypes, PublicEvent, placeIn } from './public-event.ts';

/** What happens, as it happens. */
export const stream = operation({
  summary: 'Follow what happens',
  description:
    'Answers with server-sent events that go on until either side ends them: the events of `listEvents`, as they come. Each ' +
    'message has the `id` of the event, its type as `event`, and the event as one line of JSON in `data`. With ' +
    '`Last-Event-ID` (or `after`) it begins behind that event, without a gap or a repetition; else with what happens from ' +
    'now on. Every 15 seconds without an event comes a comment, with an `id` to go on from. The stream counts as one request. It ends when the key ' +
    'is revoked, expires or is banned, when the service stops, and when next to nothing of what waits is read for 30 seconds.',
  query: Type.Object({
    types: Type.Optional(EventTypes),
    after: Type.Optional(
      Type.String({ ...EventId, description: 'Only what comes behind this event: an `id`, or an `X-Sync-Token`.' }),
    ),
  }),
  headers: {
    'Last-Event-ID':
      'The `id` of the last message that you got: the stream goes on behind it. Stands above `after`; clients of server-sent events send it by themselves.',
  },
  streams: true,
  successes: [
    {
      status: 200,
      description:
        'Server-sent events (WHATWG HTML, 9.2), until either side ends them; the `data` of each is an `Event`.',
      contentType: 'text/event-stream',
      schema: PublicEvent,
    },
  ],
  errors: ['invalid_parameter', 'events_expired', 'stream_limit_exceeded'],
  examples: streamExamples,
  async handle({ context, caller, query, header, isStillAuthorized }) {
    const { hub, database, eventsKeptMs, streamsMax } = context;
    const lastId = header('last-event-id') || undefined;
    if (lastId !== undefined && !isEventId(lastId)) throw notAnId();
    const after = lastId ?? query.after;
    const end = await hub.end();
    const place =
      after === undefined
        ? end
        : requireKept(placeIn(after), (await keptFrom(database, nowOf(context), eventsKeptMs)).place, end);
    const released = openStream(hub, caller.accountId, streamsMax);
    return {
      stream: eventStream({
        hub,
        actor: caller,
        types: query.types,
        place,
        stillAdmitted: isStillAuthorized,
        released,
      }),
    };
  },
});

const pattern = new RegExp(EventId.pattern);

function isEventId(text: string): boolean {
  return pattern.test(text);
}

function notAnId() {
  const message = 'Must be the id of an event, as it came in a message: evt_ and a number.';
  return problem('invalid_parameter', `Invalid parameters. Last-Event-ID: ${message}`, {
    errors: [{ path: 'Last-Event-ID', code: 'invalid_value', message }],
  });
}
