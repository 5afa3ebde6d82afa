import { type Page, type PageRequest, paginate, type Scan } from '../lib/http/pagination/paginate.ts';
import type { MaybePromise, Reader } from '../schema.ts';
import { categoriesOf, type PetFilter, petList } from './filter.ts';
import { endQuery, MERGED_MAX, type PageValues, pageQuery, type Shape } from './page-query.ts';
import { anyone, type FullPet, fullPetOf, type Pet, type PetReader, type PetRow } from './pet.ts';
import { traitValues } from './traits.ts';

export interface PetViews {
  plain: Pet;
  full: FullPet;
}

/**
 * Returns one page of the pets that match a filter as of `now`.
 *
 * Every list follows an index. Where the index does not cover the filter (a filter with a sort by name, a status within a
 * category, a category with more than fifty descendants, traits, another filter with an owner), a page scans up to 20,000
 * rows: it may then be short or empty and still have a next page.
 * @param viewer the account that the pets are shown to: only owners see every field of the full view
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function listPets<View extends keyof PetViews = 'plain'>(
  reader: Reader,
  filter: PetFilter,
  page: PageRequest,
  now: number,
  view?: View,
  viewer: PetReader = anyone,
): Promise<Page<PetViews[View]>> {
  const categories = await categoriesOf(reader, filter, page.request);
  const large = categories !== undefined && categories.length > IN_SQL_MAX ? new Set(categories) : undefined;
  const shape = shapeOf(filter, categories?.length ?? 0, large !== undefined, view === 'full');
  const values = valuesOf(filter, categories, shape, now);
  const found = await paginate<Pet>({
    list: petList(filter),
    page,
    descending: filter.sort.startsWith('-'),
    ...(shape.by === 'name' && { sortKey: ({ name }) => name }),
    rows: large === undefined ? read : scan => readAmong(large, scan),
    ...(shape.index !== 'exact' && {
      async end(scan) {
        const merged = shape.index === 'category' ? shape.categories : 1;
        const scanLimit = Math.floor(scan.scanLimit / merged);
        const end = await reader.first(endQuery(shapeFor(shape, scan)), { ...values, ...valuesFor(scan), scanLimit });
        return end && { id: end.id, key: shape.by === 'name' ? end.name : undefined };
      },
    }),
  });
  const rows = shape.full ? (found.rows as PetRow[]).map(row => fullPetOf(row, viewer, now)) : found.rows;
  return { ...found, rows: rows as PetViews[View][] };

  function read(scan: Scan): MaybePromise<Pet[]> {
    return reader.all(pageQuery(shapeFor(shape, scan)), { ...values, ...valuesFor(scan) });
  }

  async function readAmong(categories: ReadonlySet<number>, scan: Scan): Promise<Pet[]> {
    const rows = await read({ ...scan, rows: scan.scanLimit });
    return rows.filter(({ categoryId }) => categories.has(categoryId)).slice(0, scan.rows);
  }
}

type ListShape = Omit<Shape, 'descending' | 'after' | 'upTo'>;

/** The most categories that a query compares with; among more, looking up each row that was read is faster. */
const IN_SQL_MAX = 1000;

/** @param large whether the query leaves the categories out */
function shapeOf(
  { id, status, ownerId, traits = {}, sort }: PetFilter,
  categories: number,
  large: boolean,
  full: boolean,
): ListShape {
  const statuses = status === undefined || status.length === STATUSES ? '' : [...status].sort().join(' ');
  const by = sort.endsWith('name') ? 'name' : 'id';
  const owner = ownerId !== undefined;
  const isMerged = by === 'id' && categories <= MERGED_MAX && !owner;
  const wanted = Object.keys(traits).sort().join(' ');
  const isFiltered = statuses !== '' || categories > 0 || wanted !== '' || (owner && by === 'name');
  const isCovered = isMerged && wanted === '' && (statuses === '' || categories === 0);
  const isMergedScan = isMerged && categories > 0;
  const index = id !== undefined || isCovered || !isFiltered ? 'exact' : isMergedScan ? 'category' : 'sort';
  return {
    by,
    ids: id !== undefined,
    owner,
    statuses,
    traits: wanted,
    categories: large ? 0 : padded(categories),
    index,
    full,
  };
}

const STATUSES = 3;

/** Rounds up a number of categories, so that few queries serve all of them. */
function padded(categories: number): number {
  return PADDED.find(size => size >= categories) ?? Number.POSITIVE_INFINITY;
}

const PADDED = [0, 1, 2, 4, 8, 16, 32, MERGED_MAX];

function valuesOf(
  { id, ownerId, traits }: PetFilter,
  categories: readonly number[] | undefined,
  shape: ListShape,
  now: number,
): Omit<PageValues, keyof ScanValues> {
  const values: Record<string, unknown> = { ids: id && JSON.stringify(id), ownerId, now, ...traitValues(traits) };
  if (categories !== undefined && shape.categories > 0) {
    values['categories'] = JSON.stringify(categories);
    // No category has the id 0.
    for (let run = 0; run < Math.min(shape.categories, MERGED_MAX); run++)
      values[`category${run}`] = categories[run] ?? 0;
  }
  return values as never;
}

type ScanValues = Pick<PageValues, 'fromId' | 'fromName' | 'endId' | 'endName' | 'rows' | 'scanLimit'>;

function valuesFor({ from, fromId, end, endId, rows, scanLimit }: Scan): ScanValues {
  return { fromId, fromName: from?.key ?? '', endId, endName: end?.key ?? '', rows, scanLimit };
}

/** A list by id always has both bounds; one by name has queries with and without them. */
function shapeFor(shape: ListShape, { descending, from, end }: Scan): Shape {
  const named = shape.by === 'name';
  return { ...shape, descending, after: named && from !== undefined, upTo: named && end !== undefined };
}
