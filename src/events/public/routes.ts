import Type from 'typebox';
import { nowOf, operation } from '../../deployment.ts';
import { pageHeaders } from '../../lib/http/pagination/page-links.ts';
import { listExamples } from './examples.ts';
import { listEvents } from './list-events.ts';
import { EventId, EventTypes, PublicEvents } from './public-event.ts';

/** A page of what happened. */
export const list = operation({
  summary: 'List what happened',
  description:
    'Returns a paginated list of events, in the one order of all events, oldest first; nothing ever appears behind a place ' +
    'that was read. Follow the `next` link of the `Link` header, or `x-next`, until there is none; the last page has an ' +
    '`X-Sync-Token`, which is the next `after`. Events of animals and categories are seen by everybody; those of a hold by ' +
    'the account that placed it and the owners of its animals, those of an order by the account that placed it and the ' +
    'owner of the animal; those of an account, its keys and their bans by that account, on production alone; all by ' +
    'admins. Events are told for 30 days. ' +
    'A page looks at 20,000 events: it may be short, even empty, and still have a next one.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of events returned.' }),
    ),
    types: Type.Optional(EventTypes),
    after: Type.Optional(
      Type.String({ ...EventId, description: 'Only what comes behind this event: an `id`, or an `X-Sync-Token`.' }),
    ),
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
      description: 'A page of events.',
      schema: PublicEvents,
      headers: {
        Link: 'Where else the list goes on: `first` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
        'X-Sync-Token': 'On the page without a next one: what to send as `after` next time.',
      },
    },
  ],
  errors: ['invalid_parameter', 'events_expired'],
  examples: listExamples,
  async handle({ context, caller, query, url, baseUrl }) {
    const { limit = 20, cursor, ...filter } = query;
    const { database, eventsKeptMs } = context;
    const { events, next, end } = await listEvents(
      database,
      caller,
      filter,
      limit,
      cursor,
      nowOf(context),
      eventsKeptMs,
    );
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    const headers = pageHeaders(`${baseUrl}/events${mark < 0 ? '' : url.slice(mark)}`, { next, previous: undefined });
    if (end !== undefined) headers.push('X-Sync-Token', end);
    return { body: events, headers };
  },
});
