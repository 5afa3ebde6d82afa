import type { PageLinks } from '../lib/http/pagination/page-links.ts';
import type { Reader } from '../schema.ts';
import { categoriesOf } from './categories-of.ts';
import { byName, type Cursor, decodeCursor, encodeCursor, foreignCursor, type PetFilter, placeOf } from './filter.ts';
import { edgeQuery, type PageValues, pageQuery, RUNS_MAX, runsIn, type Shape } from './page-query.ts';
import type { FullPet, Pet, PetRow } from './pet.ts';
import { petValues } from './rows.ts';

/** The two ways in which animals are shown. */
export interface PetViews {
  plain: Pet;
  full: FullPet;
}

/** One page of a list of animals. */
export interface PetPage<Item = Pet> extends PageLinks {
  readonly pets: Item[];
}

/**
 * One page of the animals that a filter lets through, in its order. What a hold or an order that has run out says of an
 * animal counts no more, in the filter as in what is shown.
 *
 * Every list follows an index. Where the index alone does not decide (a filter beside a sort by name, a status beside
 * a category, a category with more than fifty below it), the page ends after 20,000 rows looked at: it may then be
 * short, even empty, and still have a next one.
 * @param limit how many animals at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @param now a hold or order that has run out by then counts as gone
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function listPets<View extends keyof PetViews = 'plain'>(
  reader: Reader,
  filter: PetFilter,
  limit: number,
  cursorText: string | undefined,
  now: number,
  view?: View,
): Promise<PetPage<PetViews[View]>> {
  const from = cursorText === undefined ? undefined : decodeCursor(filter, cursorText);
  if (cursorText !== undefined && from === undefined) throw foreignCursor();
  const categories = await categoriesOf(reader, filter);
  const shape = shapeOf(filter, categories?.length ?? 0, from, view === 'full');
  const values = { ...valuesOf(filter, categories, shape, from), rows: limit + 1, now };

  const { rows, edge } = await look(reader, shape, values, limit);

  const page = rows.slice(0, limit);
  // Where the page reads on: behind its last animal, or behind the last row that was looked at.
  const onward = rows.length > limit ? page.at(-1) : edge;
  const ahead = onward && placeOf(onward, shape.backward);
  const back = from && (page[0] === undefined ? returning(from, shape) : placeOf(page[0], !shape.backward));
  const cursorOf = (place: Cursor | undefined) => place && encodeCursor(filter, place);
  const pets = (shape.full ? (page as PetRow[]).map(petValues.fullOf) : page) as PetViews[View][];
  if (!shape.backward) return { pets, next: cursorOf(ahead), previous: cursorOf(back) };
  return { pets: pets.reverse(), next: cursorOf(back), previous: cursorOf(ahead) };
}

/** What was found of a page: one row more than it has, where there are so many, and where looking ended before the list. */
interface Found {
  readonly rows: Pet[];
  readonly edge: { id: number; name: string } | undefined;
}

async function look(reader: Reader, shape: Shape, values: PageValues, limit: number): Promise<Found> {
  if (shape.index === 'exact') return { rows: await reader.all(pageQuery(shape), values), edge: undefined };
  const found = await lookAt(reader, shape, values, FEW_ROWS);
  if (found.rows.length > limit || found.edge === undefined) return found;
  return lookAt(reader, shape, values, ROWS_LOOKED_AT_MAX);
}

async function lookAt(reader: Reader, shape: Shape, values: PageValues, rowsMax: number): Promise<Found> {
  const beforeEdge = Math.floor(rowsMax / runsIn(shape)) - 1;
  const edge = await reader.first(edgeQuery(shape), { ...values, beforeEdge });
  const rows = await reader.all(
    pageQuery({ ...shape, edged: edge !== undefined }),
    edge === undefined ? values : { ...values, edgeId: edge.id, edgeName: edge.name },
  );
  return { rows, edge };
}

/** The way back from a page on which there was nothing: the place that it began at, with what stands there. */
function returning({ backward, id, name }: Cursor, { descending }: Shape): Cursor {
  return { backward: !backward, id: descending ? id - 1 : id + 1, name };
}

/** The most rows that a page looks at, and how many it looks at first: enough for most filters, and soon done. */
const ROWS_LOOKED_AT_MAX = 20_000;
const FEW_ROWS = 500;

function shapeOf({ id, status, sort }: PetFilter, categories: number, from: Cursor | undefined, full: boolean): Shape {
  const statuses = status === undefined || status.length === ALL_STATUSES ? '' : [...status].sort().join(' ');
  const backward = from?.backward === true;
  const by = byName(sort) ? 'name' : 'id';
  const byOneIndex = by === 'id' && categories <= RUNS_MAX;
  const alone = byOneIndex && !(statuses !== '' && categories > 0);
  return {
    by,
    descending: sort.startsWith('-') !== backward,
    backward,
    from: from !== undefined,
    ids: id?.length ?? 0,
    statuses,
    categories: padded(categories),
    index:
      id !== undefined || alone || (statuses === '' && categories === 0) ? 'exact' : byOneIndex ? 'category' : 'sort',
    full,
  };
}

const ALL_STATUSES = 3;

/** Numbers of categories for which there is a query: else each number would have one of its own. */
const PADDED = [0, 1, 2, 4, 8, 16, 32, RUNS_MAX];

function padded(categories: number): number {
  return PADDED.find(size => size >= categories) ?? Number.POSITIVE_INFINITY;
}

function valuesOf(
  { id }: PetFilter,
  categories: readonly number[] | undefined,
  shape: Shape,
  from: Cursor | undefined,
): PageValues {
  const values: Record<string, unknown> = { fromId: from?.id, fromName: from?.name };
  id?.forEach((one, index) => {
    values[`id${index}`] = one;
  });
  if (categories === undefined) return values as unknown as PageValues;
  values['categories'] = JSON.stringify(categories);
  // No category has the id 0.
  for (let run = 0; run < Math.min(shape.categories, RUNS_MAX); run++) values[`category${run}`] = categories[run] ?? 0;
  return values as unknown as PageValues;
}
