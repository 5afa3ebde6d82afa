import Type, { type Static } from 'typebox';
import { CategoryId } from '../categories/category.ts';
import { type Deployment, nowOf, operation } from '../deployment.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { RouteRequest, RouteResponse } from '../lib/http/route.ts';
import { ResponseCache } from '../lib/http/server/response-cache.ts';
import type { Database } from '../schema.ts';
import { categoriesOf } from './categories-of.ts';
import { changedPets } from './changed.ts';
import { countPets } from './counts.ts';
import { listExamples } from './examples.ts';
import { invalidParameter, type PetFilter } from './filter.ts';
import { listPets } from './list.ts';
import { PetId, PetStatus, Pets, PetView } from './pet.ts';
import { nextExpiry } from './reservations.ts';

const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of animals returned.' }),
  ),
  status: Type.Optional(
    Type.Array(PetStatus, {
      minItems: 1,
      maxItems: 3,
      description: 'Filters by availability status; several values are alternatives.',
    }),
  ),
  id: Type.Optional(
    Type.Array(PetId, { minItems: 1, maxItems: 100, description: 'Only the animals with these ids, up to 100.' }),
  ),
  categoryId: Type.Optional(Type.Integer({ ...CategoryId, description: 'Only the animals of this category.' })),
  includeDescendants: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'With `categoryId`: the animals of every category below that one are in the list, too.',
    }),
  ),
  updatedSince: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only the animals that changed since then, each once, in the order of their last changes: an RFC 3339 time, or the ' +
        '`X-Sync-Token` of an earlier list, which misses nothing and is good for 30 days. Not together with `id` or `sort`.',
    }),
  ),
  includeRemoved: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'With `updatedSince`: animals that were taken out are in the list, too, as a `RemovedPet`.',
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['id', '-id', 'name', '-name'], {
      default: 'id',
      description: 'The order: by id or by name (by code point, ties by id); a minus turns it round.',
    }),
  ),
  view: Type.Optional(PetView),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'Where to read on: taken from a link, opaque, good only with the same filters and sort.',
    }),
  ),
});

type ListCall = RouteRequest<Deployment, Static<typeof ListQuery>, unknown, unknown>;

/** A page of animals, or of what changed of them. */
export const list = operation({
  summary: 'List all animals',
  description:
    'Returns a paginated list of animals, by id ascending where no sort is given. Follow the `next` link of the `Link` ' +
    'header, or `x-next`, until there is none. An animal whose hold or order has run out is `available` from that very ' +
    'moment. A list that no single index serves (by name with a filter, by status within a category) looks at 20,000 rows ' +
    'a page: such a page may be short, even empty, and still have a next one. ' +
    'With `updatedSince` it is a list for mirrors: of what changed since, whenever that was committed. It only goes on, ' +
    'without `prev`, and its last page has an `X-Sync-Token`, which is the next `updatedSince`.',
  query: ListQuery,
  headers: {
    Prefer:
      '`count=exact` asks for the total, without filters, by one status, or by a category, also with those below it; ' +
      '`handling=strict` refuses unknown parameters.',
  },
  successes: [
    {
      status: 200,
      description:
        'A page of animals: `Pet`, or `FullPet` with `view=full`; with `includeRemoved=true` `RemovedPet` among them.',
      schema: Pets,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
        'X-Sync-Token':
          'With `updatedSince`, on the page without a next one: what to send as `updatedSince` next time, for 30 days.',
        'X-Total-Count': 'How many animals there are in all pages together, where `count=exact` was applied.',
      },
    },
  ],
  errors: ['invalid_parameter', 'sync_token_expired'],
  examples: listExamples,
  handle(call) {
    return call.query.updatedSince === undefined ? page(call) : changes(call, call.query.updatedSince);
  },
});

function page({ context, query, prefer, url, baseUrl }: ListCall) {
  const { database } = context;
  const { includeDescendants = false } = query;
  const kept = (includeDescendants ? keptTrees : keptLists)(database);
  const counted = prefer.get('count') === 'exact';
  const question = `${baseUrl} ${url}${counted ? ' counted' : ''}`;
  const version = includeDescendants ? versionOf(database, 'pets', 'categories') : database.dataVersion('pets');
  const now = nowOf(context);
  return kept.get(version, now, question) ?? read();

  async function read(): Promise<RouteResponse> {
    const { limit = 20, cursor, sort = 'id', view, includeRemoved, ...rest } = query;
    requireCategory(query);
    if (includeRemoved) throw invalidParameter('includeRemoved', 'Must come with updatedSince.');
    const filter: PetFilter = { ...rest, sort };
    const { pets, ...neighbours } = await listPets(database, filter, limit, cursor, now, view);
    const total = counted
      ? await countPets(database, { ...rest, categoryId: await categoriesOf(database, filter) }, now)
      : undefined;
    const until = version === undefined ? undefined : await nextExpiry(database, now);
    const headers = pageHeaders(petsUrl(baseUrl, url), neighbours);
    if (total !== undefined) headers.push('X-Total-Count', String(total), 'Preference-Applied', 'count=exact');
    return kept.set(version, until, question, { body: pets, headers });
  }
}

async function changes({ context, query, url, baseUrl }: ListCall, updatedSince: string): Promise<RouteResponse> {
  const { limit = 20, cursor, view, id, sort, ...rest } = query;
  if (id !== undefined) throw invalidParameter('id', `Cannot be combined with updatedSince. ${inOrder}`);
  if (sort !== undefined) throw invalidParameter('sort', `Cannot be combined with updatedSince. ${inOrder}`);
  requireCategory(query);
  const now = nowOf(context);
  const { pets, next, token } = await changedPets(
    context.database,
    { ...rest, updatedSince },
    limit,
    cursor,
    now,
    view,
  );
  const headers = pageHeaders(petsUrl(baseUrl, url), { next, previous: undefined });
  if (token !== undefined) headers.push('X-Sync-Token', token);
  return { body: pets, headers };
}

const inOrder = 'Changes are listed in the order in which they were made.';

function requireCategory({ includeDescendants, categoryId }: Static<typeof ListQuery>): void {
  if (includeDescendants && categoryId === undefined) {
    throw invalidParameter('includeDescendants', 'Must come with categoryId.');
  }
}

/** The page's own address: its path may be spelled in other ways than the links are. */
function petsUrl(baseUrl: string, url: string): string {
  const mark = url.indexOf('?');
  return `${baseUrl}/pets${mark < 0 ? '' : url.slice(mark)}`;
}

/** A number that moves whenever one of the tables may have changed: the numbers that it adds up only rise. */
function versionOf(database: Database, ...tables: readonly string[]): number | undefined {
  let sum = 0;
  for (const table of tables) {
    const version = database.dataVersion(table);
    if (version === undefined) return undefined;
    sum += version;
  }
  return sum;
}

const keptLists = keptBy();
/** Those that depend on the tree of categories, too. */
const keptTrees = keptBy();

/** Kept answers for each database. */
function keptBy(): (database: Database) => ResponseCache {
  const kept = new WeakMap<Database, ResponseCache>();
  return database => {
    const found = kept.get(database) ?? new ResponseCache();
    kept.set(database, found);
    return found;
  };
}
