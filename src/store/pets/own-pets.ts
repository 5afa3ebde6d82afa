import type { Expression, RawBuilder, SelectQueryBuilder } from 'kysely';
import { type Page, type PageRequest, paginate, SCAN_LIMIT, type Scan } from '../../lib/http/pagination/paginate.ts';
import { alongIndex } from '../../lib/storage/keyset.ts';
import { foldedText } from '../../lib/text.ts';
import { formatDate } from '../../lib/time.ts';
import { type FullPet, type PetRow, PetStatus, petFields } from '../../model/pet.ts';
import {
  amongNumbers,
  amongTexts,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
  type Tables,
} from '../../model/schema.ts';
import { listPets } from './list.ts';

/** The order of a list of own pets: the newest first, by name, or those first that are in care the longest. */
export type OwnSort = 'newest' | 'name' | 'longest';

/** The criteria of a list of an account's own pets. */
export interface OwnFilter {
  readonly ownerId: number;
  /** A part of the name, the `externalId` or a microchip, whatever its case and accents. */
  readonly text?: string | undefined;
  /** A tag or the id of a group, whatever its case and accents. */
  readonly label?: string | undefined;
  readonly status?: readonly PetStatus[] | undefined;
  readonly categoryIds?: readonly number[] | undefined;
  readonly lacks?: 'photo' | 'description' | undefined;
  readonly ids?: readonly number[] | undefined;
  /** Only pets with smaller ids. */
  readonly before?: number | undefined;
}

/** A pet that matches, and the text that its list is sorted by. */
export interface OwnMatch {
  readonly id: number;
  readonly key: string;
}

export interface OwnMatches {
  readonly rows: readonly OwnMatch[];
  /** If the account has more pets: the value of `before` with which the search continues. */
  readonly before: number | undefined;
}

/** A page of a list of own pets. */
export interface OwnPage extends Page<FullPet>, Pick<OwnMatches, 'before'> {
  /** The number of matches. */
  readonly total: number;
}

/**
 * Returns one page of an account's own pets as their owner sees them, with the number of all that match.
 * @throws {Problem} `invalid_parameter` for a cursor of another list; `overloaded`
 */
export async function listOwnPets(
  reader: Reader,
  filter: OwnFilter,
  sort: OwnSort,
  page: PageRequest,
  now: number,
): Promise<OwnPage> {
  const { rows: matches, before } = await findOwnPets(reader, filter, sort, now, page.request);
  // The ids of animals with messages change between two pages.
  const { ids, ...bound } = filter;
  const found = await paginate<OwnMatch>({
    list: ['own pets', sort, ids !== undefined, bound],
    page,
    descending: sort === 'newest',
    ...(sort !== 'newest' && { sortKey: ({ key }: OwnMatch) => key }),
    rows: scan => matchesIn(matches, sort, scan),
  });
  const pets = await petsAmong(
    reader,
    filter.ownerId,
    found.rows.map(({ id }) => id),
    now,
  );
  return { ...found, rows: found.rows.flatMap(({ id }) => pets.get(id) ?? []), total: matches.length, before };
}

/** Returns those of the pets that belong to the account, as it sees them, by id. */
export async function petsAmong(
  reader: Reader,
  ownerId: number,
  ids: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, FullPet>> {
  if (ids.length === 0) return new Map();
  const viewer = { accountId: ownerId, admin: false };
  const { rows } = await listPets(reader, { id: ids, sort: 'id' }, { limit: ids.length }, now, 'full', viewer);
  return new Map(rows.filter(({ accountId }) => accountId === ownerId).map(pet => [pet.id, pet]));
}

function matchesIn(matches: readonly OwnMatch[], sort: OwnSort, { backward, from, rows }: Scan): readonly OwnMatch[] {
  const ordered = backward ? matches.toReversed() : matches;
  if (from === undefined) return ordered.slice(0, rows);
  const { id, key = '' } = from;
  const start = ordered.findIndex(row => comparators[sort](row, { id, key }) * (backward ? -1 : 1) > 0);
  return start < 0 ? [] : ordered.slice(start, start + rows);
}

/**
 * Returns the matching pets among the newest 20,000 of an account, sorted. No index has these criteria and orders
 * within an account, so this reads a few columns of each pet, in turns of the scan queue.
 * @throws {Problem} `overloaded`
 */
export async function findOwnPets(
  reader: Reader,
  filter: OwnFilter,
  sort: OwnSort,
  now: number,
  request?: PageRequest['request'],
): Promise<OwnMatches> {
  const { ownerId, text, label, status, categoryIds, lacks = '', ids, before = Number.MAX_SAFE_INTEGER } = filter;
  const shape: Shape = {
    ...{ sort, lacks, text: text !== undefined, label: label !== undefined },
    ...{
      status: status !== undefined && status.length < PetStatus.enum.length,
      categories: categoryIds !== undefined,
      ids: ids !== undefined,
    },
  };
  const [statuses, categories, among] = [status, categoryIds, ids].map(list => JSON.stringify(list ?? []));
  const values = { ownerId, now, statuses: statuses!, categoryIds: categories!, ids: among! };
  const isMatch = testOf(filter);
  let end: { readonly id: number } | undefined;
  const { rows, next } = await paginate<OwnMatch>({
    list: [],
    page: { limit: SCAN_LIMIT, request },
    descending: true,
    range: { after: 0, upTo: before },
    async rows({ fromId, endId }) {
      const read = await reader.all(ownPets(shape), { ...values, fromId, endId });
      return read.filter(isMatch).map(row => ({ id: row.id, key: keys[sort](row) }));
    },
    async end({ fromId, scanLimit }) {
      end = await reader.first(endOfScan, { ownerId, fromId, scanLimit });
      return end;
    },
  });
  const sorted = sort === 'newest' ? rows : rows.sort(comparators[sort]);
  return { rows: sorted, before: next === undefined ? undefined : end?.id };
}

/** The columns that tests and orders need; absent unless the list needs them. */
type OwnRow = Pick<PetRow, 'id' | 'name' | 'externalId' | 'microchips' | 'tags' | 'groupId' | 'intake' | 'createdAt'>;

function testOf({ text, label }: OwnFilter): (row: OwnRow) => boolean {
  const [wantedText, wantedLabel] = [foldedText(text ?? ''), foldedText(label ?? '')];
  return row => (text === undefined || hasText(row, wantedText)) && (label === undefined || hasLabel(row, wantedLabel));
}

function hasText({ name, externalId, microchips }: OwnRow, wanted: string): boolean {
  const texts: readonly (string | null)[] = [name, externalId, ...listOf(microchips)];
  return texts.some(text => text !== null && foldedText(text).includes(wanted));
}

function hasLabel({ tags, groupId }: OwnRow, wanted: string): boolean {
  return listOf(tags).some(tag => foldedText(tag) === wanted) || (groupId !== null && foldedText(groupId) === wanted);
}

function listOf(json: string | null): readonly string[] {
  return json === null ? [] : JSON.parse(json);
}

const keys: Readonly<Record<OwnSort, (row: OwnRow) => string>> = {
  newest: () => '',
  name: ({ name }) => foldedText(name),
  longest: ({ intake, createdAt }) =>
    intake === null ? formatDate(createdAt) : (JSON.parse(intake) as NonNullable<FullPet['intake']>).date,
};

/** Returns the day on which a pet came in, otherwise that on which it was added: `2026-11-22`. */
export function arrivalOf({ intake, createdAt }: Pick<FullPet, 'intake' | 'createdAt'>): string {
  return intake?.date ?? createdAt.slice(0, '2026-11-22'.length);
}

const byKey = (one: OwnMatch, other: OwnMatch) =>
  one.key === other.key ? one.id - other.id : one.key < other.key ? -1 : 1;

const comparators = {
  newest: (one: OwnMatch, other: OwnMatch) => other.id - one.id,
  name: byKey,
  longest: byKey,
};

interface Shape {
  readonly sort: OwnSort;
  readonly lacks: 'photo' | 'description' | '';
  readonly text: boolean;
  readonly label: boolean;
  readonly status: boolean;
  readonly categories: boolean;
  readonly ids: boolean;
}

type Values = { ownerId: number; fromId: number; endId: number; now: number } & {
  readonly [Name in 'statuses' | 'categoryIds' | 'ids']: string;
};

const ownPets = queriesByShape(['sort', 'lacks', 'text', 'label', 'status', 'categories', 'ids'], (shape: Shape) =>
  query((db, p: Params<Values>, engine) => {
    const { sort, lacks, text, label } = shape;
    const rows = db
      .selectFrom('pets')
      .select('id')
      .$if(sort === 'name' || text, one => one.select('name'))
      .$if(sort === 'longest', one => one.select(['intake', 'created_at as createdAt']))
      .$if(text, one => one.select(['external_id as externalId', 'microchips']))
      .$if(label, one => one.select(['tags', 'group_id as groupId']))
      .$if(lacks !== '', one => one.where(lacks === 'photo' ? 'photos' : 'description', 'is', null))
      .$if(shape.status, one => one.where(amongTexts(statusAt(p.now), p.statuses, engine)))
      .$if(shape.categories, one => one.where(amongNumbers(unindexed('category_id'), p.categoryIds, engine)))
      .$if(shape.ids, one => one.where(amongNumbers(unindexed('id'), p.ids, engine)));
    const range = { ...ofOwner(p), upTo: [p.endId] };
    return alongIndex(engine, true, rows as SelectQueryBuilder<Tables, 'pets', OwnRow>, range);
  }),
);

/** The last row that a read may scan, if the account has so many. */
const endOfScan = query((db, p: Params<Pick<Values, 'ownerId' | 'fromId'> & { scanLimit: number }>, engine) =>
  alongIndex(engine, true, db.selectFrom('pets').select('id'), ofOwner(p))
    .limit(1)
    .offset(sql<number>`${p.scanLimit} - 1`),
);

function ofOwner({ ownerId, fromId }: Pick<Params<Values>, 'ownerId' | 'fromId'>) {
  return { prefix: [['pets.account_id', ownerId]], key: ['pets.id'], after: [fromId] } as const;
}

function statusAt(now: Expression<number>) {
  return petFields.status.at!(now) as RawBuilder<string>;
}

/** An expression that no index serves, so that the engine follows that of the owner. */
function unindexed(column: 'id' | 'category_id') {
  return sql<number>`(${sql.ref(column)} + 0)`;
}
