import { type Page, type PageRequest, paginate, SCAN_LIMIT, type Scan } from '../../lib/http/pagination/paginate.ts';
import {
  anyone,
  cardOf,
  type FullPet,
  fullPetOf,
  type Pet,
  type PetCard,
  type PetReader,
  type PetRow,
  petValues,
  shownPet,
} from '../../model/pet.ts';
import type { MaybePromise } from '../../model/schema.ts';
import { type TraitFilter, traitValues } from '../profile/traits.ts';
import { relevanceOf, type TestedRow } from '../search/matching.ts';
import {
  type FoundIds,
  MERGED_MAX,
  mergedIds,
  padded,
  type Runs,
  runCount,
  runsInQuery,
  runValues,
} from '../search/merged-ids.ts';
import { type Search, type SearchedReader, searchOf } from '../search/search.ts';
import { categoriesOf, type PetFilter, petList } from './filter.ts';
import { withBonds } from './groups.ts';
import { endQuery, type PageQueryShape, type PageValues, pageQuery } from './page-query.ts';

export interface PetViews {
  plain: Pet;
  full: FullPet;
  card: PetCard;
}

/**
 * Returns one page of the pets that match a filter as of `now`.
 *
 * Every list uses an index. If the index does not cover the filter (a filter with a sort by name, a status within a
 * category, a category with more than fifty descendants, traits, another filter with an owner or several, more than
 * fifty owners, words with another filter, several words, the beginning of more than fifty words), a page scans up to
 * 20,000 rows: it may then be short or empty and still have a next page.
 * @param viewer the account that sees the pets: only owners see every field of the full view
 * @throws {Problem} `invalid_parameter` for a cursor of another list; `search_not_ready`; `overloaded`
 */
export async function listPets<View extends keyof PetViews = 'plain'>(
  reader: SearchedReader,
  filter: PetFilter,
  page: PageRequest,
  now: number,
  view?: View,
  viewer: PetReader = anyone,
): Promise<Page<PetViews[View]>> {
  const isPlain = view === undefined || view === 'plain';
  const found = await findRows(reader, filter, page, now, isPlain ? 'plain' : 'full');
  const pets = found.rows as PetRow[];
  let rows: PetViews[keyof PetViews][];
  if (isPlain) rows = pets.map(petValues.plainOf);
  else if (view === 'card') rows = pets.map(row => shownPet(cardOf(row), row, now));
  else {
    const full = pets.map(row => fullPetOf(row, viewer, now));
    rows = await withBonds(reader, full);
  }
  return { ...found, rows: rows as PetViews[View][] };
}

/** A row with the traits of a pet, by their names. */
export type TraitRow = Pet & Readonly<Record<string, unknown>>;

/**
 * Returns the traits of the matching pets among the first 20,000 that it reads, or as many as the budget of `scan`.
 * @returns `next` if there may be more
 * @throws {Problem} like `listPets`
 */
export async function findTraits(
  reader: SearchedReader,
  filter: Omit<PetFilter, 'sort'>,
  scan: Pick<PageRequest, 'request' | 'budget'>,
  now: number,
): Promise<Page<TraitRow>> {
  const page = { limit: SCAN_LIMIT, ...scan };
  return (await findRows(reader, { ...filter, sort: 'id' }, page, now, 'traits')) as Page<TraitRow>;
}

/** A pet that matches a search, with its relevance; see `relevanceOf`. */
export interface RankedPet {
  readonly id: number;
  readonly relevance: number;
}

/**
 * Returns the pets that match a filter with words, with their relevance, among the first 20,000 that it reads.
 * @returns `next` if there may be more
 * @throws {Problem} like `listPets`
 */
export async function findRanked(
  reader: SearchedReader,
  filter: PetFilter,
  page: Omit<PageRequest, 'limit'>,
  now: number,
): Promise<Page<RankedPet>> {
  return findRows(reader, filter, { ...page, limit: SCAN_LIMIT }, now, 'ranked') as Promise<Page<RankedPet>>;
}

type FoundRow = Pet | RankedPet;

/** The columns of rows. */
type Columns = 'plain' | 'full' | 'traits' | 'ranked';

/**
 * @param columns the columns of a view, of the traits, or those that a search tests, with the relevance; the last two
 *   are read in turns of the scan queue
 */
async function findRows(
  reader: SearchedReader,
  filter: PetFilter,
  page: PageRequest,
  now: number,
  columns: Columns,
): Promise<Page<FoundRow>> {
  const categories = await categoriesOf(reader, filter, page.request);
  const large = categories !== undefined && categories.length > IN_SQL_MAX ? new Set(categories) : undefined;
  const accounts = mergesAccounts(filter) ? filter.ownerIds : undefined;
  const merges = accounts === undefined && mergesIds(filter);
  const search = filter.words && (await searchOf(reader, filter.words, merges, now));
  const merged = runsOf(accounts, search);
  const tested = { ...filter, traits: withTraits(filter.traits, search?.traits) };
  const viewed = shapeOf(tested, categories?.length ?? 0, large !== undefined, columns, search, merged);
  // The query of the page merges runs if the list has no other restriction.
  const inQuery = viewed.index === 'exact' ? merged : undefined;
  const shape = { ...viewed, ...runsShape(inQuery) };
  const values = { ...valuesOf(tested, categories, shape, now), ...(inQuery && runValues(inQuery)) };
  /** The latest ids from a scan of merged runs. */
  let found: FoundIds = { ids: [], end: undefined };
  const readRows = columns === 'ranked' ? readRanked : readMatching;
  return paginate<FoundRow>({
    list: petList(filter),
    page,
    descending: filter.sort.startsWith('-'),
    range: filter.range,
    ...(shape.by === 'name' && { sortKey: row => (row as Pet).name }),
    rows: merged === undefined || inQuery !== undefined ? readRows : readMerged,
    ...(shape.index !== 'exact' && { end: merged === undefined ? endOf : endOfMerged }),
  });

  function read(scan: Scan, ids?: readonly number[]): MaybePromise<Pet[]> {
    const among = ids && { ids: JSON.stringify(ids) };
    return reader.all(pageQuery(shapeFor(shape, scan)), { ...values, ...among, ...valuesFor(scan) });
  }

  /** Reads rows, and omits those that fail the tests outside of SQL. */
  async function readMatching(scan: Scan, ids?: readonly number[]): Promise<Pet[]> {
    const matches = testOf(large, search);
    if (matches === undefined) return read(scan, ids);
    const rows = await read({ ...scan, rows: scan.scanLimit }, ids);
    return rows.filter(matches).slice(0, scan.rows);
  }

  /** Reads rows and ranks them immediately, so that their texts are kept only for a turn. */
  async function readRanked(scan: Scan, ids?: readonly number[]): Promise<RankedPet[]> {
    const rows = await read({ ...scan, rows: scan.scanLimit }, ids);
    const listed = large === undefined ? rows : rows.filter(row => large.has(row.categoryId));
    const relevance = (row: Pet) => relevanceOf(row as unknown as TestedRow, search!.ranking);
    return listed.map(row => ({ id: row.id, relevance: relevance(row) })).filter(row => row.relevance > 0);
  }

  async function readMerged(scan: Scan): Promise<FoundRow[]> {
    return found.ids.length === 0 ? [] : readRows(scan, found.ids);
  }

  async function endOf(scan: Scan) {
    const ranges = shape.index === 'category' ? shape.categories : 1;
    const scanLimit = Math.floor(scan.scanLimit / ranges);
    const end = await reader.first(endQuery(shapeFor(shape, scan)), { ...values, ...valuesFor(scan), scanLimit });
    return end && { id: end.id, key: shape.by === 'name' ? end.name : undefined };
  }

  async function endOfMerged(scan: Scan) {
    found = await mergedIds(reader, merged!, scan, Math.ceil(scan.scanLimit / Math.max(1, runCount(merged!))));
    return found.end === undefined ? undefined : { id: found.end };
  }
}

/** Returns the intersection of two trait filters. */
function withTraits(one: TraitFilter = {}, other: TraitFilter = {}): TraitFilter {
  const both = Object.entries(other).map(([name, values]) => {
    return [name, one[name]?.filter(value => values.includes(value)) ?? values] as const;
  });
  return { ...one, ...Object.fromEntries(both) };
}

/** Returns the test of rows for criteria that no query tests; `undefined` if there are none. */
function testOf(
  categories: ReadonlySet<number> | undefined,
  search: Search | undefined,
): ((row: Pet) => boolean) | undefined {
  const tests = isTested(search) ? search.tests : undefined;
  if (categories === undefined && tests === undefined) return undefined;
  return row =>
    (categories === undefined || categories.has(row.categoryId)) &&
    (tests === undefined || relevanceOf(row as unknown as TestedRow, tests) > 0);
}

function isTested(search: Search | undefined): search is Search {
  return search !== undefined && search.tests.terms.length > 0;
}

/** Reports whether a list can merge runs of ids: it is sorted by id, and not restricted to a few pets. */
function mergesIds({ id, ownerId, sort }: PetFilter): boolean {
  return !sort.endsWith('name') && id === undefined && ownerId === undefined;
}

/**
 * Reports whether a list merges the pets of its accounts. With many accounts, rows are tested instead. A search without
 * words merges none.
 */
function mergesAccounts(filter: PetFilter): boolean {
  if (filter.words?.length === 0) return false;
  return filter.ownerIds !== undefined && filter.ownerIds.length <= MERGED_MAX && mergesIds(filter);
}

function runsOf(accounts: readonly number[] | undefined, search: Search | undefined): Runs | undefined {
  if (accounts !== undefined) return { by: 'account', keys: accounts };
  return search?.merged;
}

type ListShape = Omit<PageQueryShape, 'descending' | 'after' | 'upTo'>;

/**
 * The maximum number of categories that a query compares with; with more, looking up each row that was read is faster.
 */
const IN_SQL_MAX = 1000;

/**
 * @param large whether the query omits the categories
 * @param search how to find pets by words
 * @param merged the runs of ids that the list merges, if any
 */
function shapeOf(
  { id, status, ownerId, ownerIds, traits = {}, sort }: PetFilter,
  categories: number,
  large: boolean,
  columns: Columns,
  search: Search | undefined,
  merged: Runs | undefined,
): ListShape {
  const statuses = status === undefined || status.length === STATUSES ? '' : [...status].sort().join(' ');
  const by = sort.endsWith('name') ? 'name' : 'id';
  const owner = ownerId !== undefined;
  const wanted = Object.keys(traits).sort().join(' ');
  const tested = isTested(search);
  const inTurns = columns === 'traits' || columns === 'ranked';
  const isMerged = merged !== undefined;
  const owners = ownerIds !== undefined && merged?.by !== 'account';
  const members = { by, ids: id !== undefined || isMerged, owner, owners, statuses, traits: wanted } as const;
  const index = id === undefined ? indexOf(members, categories, isMerged, tested) : 'exact';
  return {
    ...members,
    categories: large ? 0 : padded(categories),
    index: inTurns && index === 'exact' ? 'sort' : index,
    full: columns === 'full',
    texts: (tested && columns !== 'full') || columns === 'ranked' ? textsOf(search) : '',
    traited: inTurns || (tested && columns === 'plain'),
    ...runsShape(undefined),
  };
}

function textsOf(search: Search | undefined): PageQueryShape['texts'] {
  return search?.tests.described ? 'described' : 'short';
}

function runsShape(merged: Runs | undefined): Pick<PageQueryShape, 'runsBy' | 'runs' | 'runCategories'> {
  if (merged === undefined) return { runsBy: '', runs: 0, runCategories: 0 };
  const { by, runs, runCategories } = runsInQuery(merged);
  return { runsBy: by, runs, runCategories };
}

/**
 * @param merged whether the list merges runs of ids
 * @param tested whether words of each row are tested
 */
function indexOf(
  { by, owner, owners, statuses, traits }: Pick<PageQueryShape, 'by' | 'owner' | 'owners' | 'statuses' | 'traits'>,
  categories: number,
  merged: boolean,
  tested: boolean,
): PageQueryShape['index'] {
  const isScanned = traits !== '' || owners || tested;
  if (statuses === '' && categories === 0 && !isScanned && !(owner && by === 'name')) return 'exact';
  if (merged || by === 'name' || owner || categories > MERGED_MAX) return 'sort';
  if (!isScanned && (statuses === '' || categories === 0)) return 'exact';
  return categories > 0 ? 'category' : 'sort';
}

const STATUSES = 3;

function valuesOf(
  { id, ownerId, ownerIds, traits }: PetFilter,
  categories: readonly number[] | undefined,
  shape: ListShape,
  now: number,
): Omit<PageValues, keyof ScanValues> {
  const lists = { ids: id && JSON.stringify(id), ownerIds: ownerIds && JSON.stringify(ownerIds) };
  const values: Record<string, unknown> = { ...lists, ownerId, now, ...traitValues(traits) };
  if (categories !== undefined && shape.categories > 0) {
    values['categories'] = JSON.stringify(categories);
    // The id 0 matches no category.
    for (let run = 0; run < Math.min(shape.categories, MERGED_MAX); run++)
      values[`category${run}`] = categories[run] ?? 0;
  }
  return values as never;
}

type ScanValues = Pick<PageValues, 'fromId' | 'fromName' | 'endId' | 'endName' | 'rows' | 'scanLimit'>;

function valuesFor({ from, fromId, end, endId, rows, scanLimit }: Scan): ScanValues {
  return { fromId, fromName: from?.key ?? '', endId, endName: end?.key ?? '', rows, scanLimit };
}

/** A list by id always has both bounds; a list by name has queries with and without them. */
function shapeFor(shape: ListShape, { descending, from, end }: Scan): PageQueryShape {
  const named = shape.by === 'name';
  return { ...shape, descending, after: named && from !== undefined, upTo: named && end !== undefined };
}
