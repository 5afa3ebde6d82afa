import type { Static, TObject } from 'typebox';
import { type Deployment, listOperation, nowOf } from '../../access/deployment.ts';
import { type PageRequest, SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { Caller } from '../../lib/http/route.ts';
import { ResponseCache } from '../../lib/http/server/response-cache.ts';
import { onePer } from '../../lib/one-per.ts';
import { anyOfFilter, lineSchema } from '../../lib/schemas.ts';
import { countText, wordsIn } from '../../lib/text.ts';
import { DAY_MS, durationIn } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { CategoryId } from '../../model/category.ts';
import { OrganizationId } from '../../model/organization.ts';
import { PetId, type PetReader, PetStatus, Pets, PetView } from '../../model/pet.ts';
import { EXTERNAL_ID_LENGTH_MAX } from '../../model/profile.ts';
import { SYNC_TOKEN_MS } from '../../model/rules.ts';
import type { Database, Reader } from '../../model/schema.ts';
import { petIdsOf } from '../profile/profile-rules.ts';
import { type TraitFilter, traitFilterOf, traitParameters } from '../profile/traits.ts';
import { MERGED_MAX } from '../search/merged-ids.ts';
import { SEARCH_LENGTH_MAX } from '../search/words.ts';
import { type ChangeFilter, changedPets } from './changed.ts';
import { countPets } from './counts.ts';
import { listExamples } from './examples.ts';
import { categoriesOf, ownersOf } from './filter.ts';
import { findPets } from './find.ts';
import { nearbyOf, nearParameters } from './near.ts';
import { nextExpiry } from './reservations.ts';

const IDS_MAX = 100;

export const listFilters = {
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: SEARCH_LENGTH_MAX,
      description:
        'Only animals that match each of these words: it begins a word of the name, the breeds, the colors, the tags, or the ' +
        'names of the category and those above it, or is the sex, the age, the size or a trait that is `yes`. Singulars and ' +
        'synonyms count too: `puppies` finds young dogs, `good with kids` finds animals that get along with children. Case and accents ' +
        'do not matter. A text without letters and digits finds nothing.',
      examples: ['bel lab', 'puppy', 'dog good with kids'],
    }),
  ),
  status: anyOfFilter(PetStatus, 3, 'Only animals with one of these statuses.'),
  id: anyOfFilter(PetId, IDS_MAX, `Only the animals with these ids, up to ${IDS_MAX}.`),
  categoryId: Type.Optional(Type.Integer({ ...CategoryId, description: 'Only the animals of this category.' })),
  includeDescendants: Type.Optional(
    Type.Boolean({ default: false, description: 'With `categoryId`: includes the descendants of that category.' }),
  ),
  owner: Type.Optional(Type.Enum(['me'], { description: '`me`: only the animals of your account.', examples: ['me'] })),
  externalId: Type.Optional(
    lineSchema('Only the animal of your account with this `externalId`.', EXTERNAL_ID_LENGTH_MAX),
  ),
  organizationId: Type.Optional(
    Type.Array(OrganizationId, {
      minItems: 1,
      maxItems: MERGED_MAX,
      description: `Only the animals of these organizations, up to ${MERGED_MAX}.`,
      examples: [[1]],
    }),
  ),
  ...nearParameters,
  updatedSince: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Only the animals that changed since this point, each once, in the order of their last changes: an RFC 3339 time, or the ' +
        `\`X-Sync-Token\` of an earlier list, which is complete and valid for ${durationIn('day', SYNC_TOKEN_MS)}. Not together with \`id\` or \`sort\`. ` +
        'Empty for all animals.',
      examples: ['', '2026-11-21T00:00:00Z'],
    }),
  ),
  includeRemoved: Type.Optional(
    Type.Boolean({ default: false, description: 'With `updatedSince`: includes deleted animals, as `RemovedPet`.' }),
  ),
  sort: Type.Optional(
    Type.Enum(['id', '-id', 'name', '-name', 'recent', 'random', 'distance', 'relevance'], {
      default: 'id',
      description:
        'The order: by id, or by name (by code point, then by id); a minus sign reverses it. `recent`: the newest first, as ' +
        '`-id`. `random`: by id, from a random animal to the last, then from the first. `distance`, with `near`: the nearest organization ' +
        'first, then by id. `relevance`, with `q`: the best match first, then the newest; a page ranks the newest matches among ' +
        `up to ${countText(SCAN_LIMIT)} rows, and older matches follow. Lists with \`random\`, \`distance\` or \`relevance\` have no links to previous pages.`,
    }),
  ),
  view: Type.Optional(PetView),
};
type Filters = Static<TObject<typeof listFilters>>;
const allFilters: typeof listFilters = { ...listFilters, ...traitParameters };

export const list = listOperation({
  summary: 'List all animals',
  description:
    'Returns a paginated list of animals, sorted by id unless `sort` says otherwise. An animal whose hold or order expires is `available` ' +
    'from that moment. With `updatedSince`, the list contains the changes since then, for clients that keep a copy. This list has no links to previous pages, and its last page has an `X-Sync-Token`, the `updatedSince` of the next list.',
  limits:
    'A list that no single index covers (by name with a filter, by status within a category, another filter with ' +
    `\`owner\`, \`q\` with several words or another filter) scans ${countText(SCAN_LIMIT)} rows per page: such a page may be short or empty and still have a next page.`,
  noun: 'animals',
  filters: allFilters,
  schema: Pets,
  response: 'A page of animals: `Pet`, or `FullPet` with `view=full`; with `includeRemoved=true` also `RemovedPet`.',
  total: 'It applies without filters, with one status, or with a category with or without its descendants.',
  responseHeaders: {
    'X-Sync-Token': `With \`updatedSince\`, on the last page: the next \`updatedSince\`, valid for ${durationIn('day', SYNC_TOKEN_MS)}.`,
  },
  errors: ['sync_token_expired', 'search_not_ready'],
  examples: listExamples,
  async handle({ context, caller, publicUrl, filters, page, wantsTotal }) {
    const reader = { ...caller, publicUrl };
    const { updatedSince, includeRemoved, view, sort = 'id', externalId, ...others } = filters;
    const { database } = context;
    const id = externalId === undefined ? others.id : await idsAmong(database, caller.accountId, externalId, others.id);
    if (sort === 'distance' && others.near === undefined) {
      throw invalidParameter('sort', NEEDS_NEAR, 'invalid_combination');
    }
    if (sort === 'relevance' && others.q === undefined) {
      throw invalidParameter('sort', 'Requires q.', 'invalid_combination');
    }
    const { filter: matching, nearby } = await filterOf(database, caller, others);
    const filter = { ...matching, id };
    if (updatedSince)
      return changes(context, { ...filter, includeRemoved, updatedSince }, filters, filter.traits, page, reader);
    if (includeRemoved) throw invalidParameter('includeRemoved', 'Requires updatedSince.', 'invalid_combination');
    const now = nowOf(context);
    const found = await findPets(database, { ...filter, sort, nearby }, page, now, view, reader);
    if (!wantsTotal) return found;
    const categoryId = await categoriesOf(database, filter, page.request);
    return { ...found, total: await countPets(database, { ...filter, categoryId }, now) };
  },
  /** Caches responses in memory until a pet or the tree changes, or a reservation expires. */
  intercept({ context, caller, query, prefer, url, baseUrl }, respond) {
    const { database } = context;
    if (query.updatedSince || query.sort === 'random') return respond();
    const isJoined = query.includeDescendants === true || query.q !== undefined || query.near !== undefined;
    const cache = (isJoined ? joinedCacheOf : cacheOf)(database);
    const tables = isJoined ? joinedTables : (['pets'] as const);
    const version = sum(tables.map(table => database.dataVersion(table)));
    const now = nowOf(context);
    // Fields that only owners see differ between accounts.
    const isPersonal = query.owner !== undefined || query.externalId !== undefined || query.view === 'full';
    const reader = isPersonal ? ` ${caller.accountId}${caller.admin ? ' admin' : ''}` : '';
    const key = `${baseUrl} ${url}${prefer.get('count') === 'exact' ? ' counted' : ''}${reader}`;
    return cache.get(version, now, key) ?? load();

    async function load() {
      const response = await respond();
      const until = version === undefined ? undefined : cachedUntil(await expiryAfter(database, now), now, query.view);
      return cache.set(version, until, key, response);
    }
  },
});

const NEEDS_NEAR = 'Requires near.';

/** The filters that lists and facets share. */
type SharedFilters = Pick<
  Filters,
  'q' | 'status' | 'categoryId' | 'includeDescendants' | 'owner' | 'organizationId' | 'near' | 'within'
>;

/**
 * Returns the filter of the parameters, and the organizations near a place.
 * @throws {Problem} `invalid_parameter`
 */
export async function filterOf(database: Database, caller: Pick<Caller, 'accountId'>, parameters: SharedFilters) {
  const { q, status, categoryId, includeDescendants, owner, organizationId, near, within } = parameters;
  if (includeDescendants && categoryId === undefined) {
    throw invalidParameter('includeDescendants', 'Requires categoryId.', 'invalid_combination');
  }
  if (within !== undefined && near === undefined) throw invalidParameter('within', NEEDS_NEAR, 'invalid_combination');
  const ownerId = owner && caller.accountId;
  const nearby = near === undefined ? undefined : await nearbyOf(database, near, within);
  const filter = {
    ...{ status, categoryId, includeDescendants },
    ...ownersOf([own(ownerId), organizationId, nearby?.organizations.map(({ id }) => id)]),
    place: near === undefined ? undefined : [near, within, organizationId, ownerId],
    traits: traitFilterOf(parameters),
    words: q === undefined ? undefined : wordsIn(q),
  };
  return { filter, nearby };
}

/** Returns the account that a list is restricted to, in a list. */
function own(ownerId: number | undefined): readonly number[] | undefined {
  return ownerId === undefined ? undefined : [ownerId];
}

/** Returns the id of the owner's pet with this `externalId`, restricted to `ids` if they are given. */
async function idsAmong(
  reader: Reader,
  ownerId: number,
  externalId: string,
  ids: readonly number[] | undefined,
): Promise<readonly number[]> {
  const found = await petIdsOf(reader, ownerId, externalId);
  return ids === undefined ? found : found.filter(id => ids.includes(id));
}

async function changes(
  context: Deployment,
  filter: ChangeFilter,
  { q, id, sort, view, externalId, organizationId, near }: Filters,
  traits: TraitFilter | undefined,
  page: PageRequest,
  reader: PetReader,
) {
  const [rejected] =
    Object.entries({ q, id, sort, externalId, organizationId, near, ...traits }).find(
      ([, value]) => value !== undefined,
    ) ?? [];
  if (rejected !== undefined) {
    const message = 'Cannot be combined with updatedSince: changes are listed in the order in which they were made.';
    throw invalidParameter(rejected, message, 'invalid_combination');
  }
  const found = await changedPets(context.database, filter, page, nowOf(context), view, reader);
  return {
    rows: found.rows,
    next: found.next,
    ...(found.token !== undefined && { headers: ['X-Sync-Token', found.token] }),
  };
}

/** Returns `nextExpiry`, which it reads once for each version of the animals and each expiry. */
async function expiryAfter(database: Database, now: number): Promise<number | undefined> {
  const known = expiryOf(database);
  const version = database.dataVersion('pets');
  if (version === undefined || known.version !== version || known.at! <= now) {
    Object.assign(known, { version, at: await nextExpiry(database, now) });
  }
  return known.at;
}

const expiryOf = onePer<Database, { version?: number; at?: number | undefined }>(() => ({}));

/** Returns the time until which a list may be cached: ages in the full view change with the day. */
function cachedUntil(expiry: number | undefined, now: number, view: Filters['view']): number | undefined {
  if (view !== 'full') return expiry;
  const midnight = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  return Math.min(expiry ?? midnight, midnight);
}

/** Adds versions that only increase, so that the sum changes with each of them. */
function sum(versions: readonly (number | undefined)[]): number | undefined {
  return versions.reduce((all, one) => (all === undefined || one === undefined ? undefined : all + one), 0);
}

const cacheOf = onePer(() => new ResponseCache<string>());
/** The cache of lists that depend on tables besides the animals, and those tables. */
const joinedCacheOf = onePer(() => new ResponseCache<string>());
const joinedTables = ['pets', 'categories', 'pet_words', 'organizations', 'postal_codes'] as const;
