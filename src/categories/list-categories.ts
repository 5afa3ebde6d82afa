import type { SelectQueryBuilder } from 'kysely';
import { type CursorPosition, decodeCursor, encodeCursor, invalidCursor } from '../lib/http/pagination/cursor.ts';
import type { PageLinks } from '../lib/http/pagination/page-links.ts';
import { type Params, type Query, query, type Reader, type Tables } from '../schema.ts';
import type { Category } from './category.ts';
import { type CategoryRow, categoryColumns, categoryOf } from './category-rows.ts';

/** Which categories a list has. */
export interface CategoryFilter {
  /** Only those directly below this one. */
  readonly parentId?: number | undefined;
  /** Only placeholders, or only what is none. */
  readonly placeholder?: boolean | undefined;
  /** Only the one with this slug. */
  readonly slug?: string | undefined;
}

/** One page of a list of categories. */
export interface CategoryPage extends PageLinks {
  readonly categories: Category[];
}

/**
 * One page of the categories that a filter lets through, by id ascending.
 *
 * Follows an index. Placeholders are looked for among 20,000 rows a page: it may then be short, even empty, and still
 * have a next one.
 * @param limit how many categories at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function listCategories(
  reader: Reader,
  filter: CategoryFilter,
  limit: number,
  cursorText: string | undefined,
): Promise<CategoryPage> {
  const list = listOf(filter);
  const from = cursorText === undefined ? undefined : decodeCursor(list, cursorText);
  if (cursorText !== undefined && from === undefined) throw invalidCursor();
  const shape = shapeOf(filter, from);
  const { rows, edge } = await look(reader, shape, valuesOf(filter, from, limit + 1));
  const page = rows.slice(0, limit);
  // Where the page reads on: behind its last category, or behind the last row that was looked at.
  const onward = rows.length > limit ? page.at(-1) : edge;
  const ahead = onward && encodeCursor(list, { backward: shape.backward, id: onward.id });
  const begin = page[0]?.id ?? (from && from.id + (shape.backward ? -1 : 1));
  const back = from && encodeCursor(list, { backward: !shape.backward, id: begin! });

  const categories = page.map(categoryOf);
  if (!shape.backward) return { categories, next: ahead, previous: back };
  return { categories: categories.reverse(), next: back, previous: ahead };
}

/** What was found of a page: one row more than it has, where there are so many, and where looking ended before the list. */
interface Found {
  readonly rows: CategoryRow[];
  readonly edge: { id: number } | undefined;
}

async function look(reader: Reader, shape: Shape, values: Values): Promise<Found> {
  if (!shape.sifted) return { rows: await reader.all(pageQuery(shape), values), edge: undefined };
  const found = await lookAt(reader, shape, values, FEW_ROWS);
  if (found.rows.length === values.rows || found.edge === undefined) return found;
  return lookAt(reader, shape, values, ROWS_LOOKED_AT_MAX);
}

async function lookAt(reader: Reader, shape: Shape, values: Values, rowsMax: number): Promise<Found> {
  const edge = await reader.first(edgeQuery(shape), { ...values, beforeEdge: rowsMax - 1 });
  if (edge === undefined) return { rows: await reader.all(pageQuery(shape), values), edge };
  return { rows: await reader.all(pageQuery({ ...shape, edged: true }), { ...values, edgeId: edge.id }), edge };
}

/** The most rows that a page looks at, and how many it looks at first: enough for most, and soon done. */
const ROWS_LOOKED_AT_MAX = 20_000;
const FEW_ROWS = 500;

/** Says which list it is: a cursor is good for that one alone. */
function listOf({ parentId = 0, placeholder, slug = '' }: CategoryFilter): readonly unknown[] {
  return ['categories', parentId, placeholder ?? null, slug];
}

/** What decides the SQL of a page; pages of one shape share one prepared statement. */
interface Shape {
  readonly parent: boolean;
  readonly placeholder: boolean;
  readonly slug: boolean;
  readonly from: boolean;
  readonly backward: boolean;
  /** Whether no index leaves out what the page does not want, so that it looks at so many rows and no more. */
  readonly sifted: boolean;
  /** Whether the page must not read beyond the edge of the rows looked at. */
  readonly edged: boolean;
}

function shapeOf({ parentId, placeholder, slug }: CategoryFilter, from: CursorPosition | undefined): Shape {
  return {
    parent: parentId !== undefined,
    placeholder: placeholder !== undefined,
    slug: slug !== undefined,
    from: from !== undefined,
    backward: from?.backward === true,
    // A slug leaves one row at most.
    sifted: placeholder !== undefined && slug === undefined,
    edged: false,
  };
}

interface Values {
  readonly parentId: number;
  readonly placeholder: number;
  readonly slug: string;
  readonly fromId: number;
  readonly rows: number;
  readonly edgeId: number;
  readonly beforeEdge: number;
}

function valuesOf(
  { parentId, placeholder, slug }: CategoryFilter,
  from: CursorPosition | undefined,
  rows: number,
): Values {
  return { parentId, placeholder: placeholder === true ? 1 : 0, slug, fromId: from?.id, rows } as Values;
}

const pageQueries = new Map<string, Query<Values, CategoryRow>>();

function pageQuery(shape: Shape): Query<Values, CategoryRow> {
  return remember(pageQueries, shape, () =>
    query((db, p: Params<Values>) =>
      indexed(db.selectFrom('categories').select(categoryColumns), shape, p)
        .$if(shape.placeholder, rows => rows.where('placeholder', '=', p.placeholder))
        .$if(shape.edged, rows => rows.where('id', shape.backward ? '>=' : '<=', p.edgeId))
        .limit(p.rows),
    ),
  );
}

const edgeQueries = new Map<string, Query<Values, { id: number }>>();

/** The last of the rows that a page may look at, where there are as many. */
function edgeQuery(shape: Shape): Query<Values, { id: number }> {
  return remember(edgeQueries, shape, () =>
    query((db, p: Params<Values>) =>
      indexed(db.selectFrom('categories').select('id'), shape, p).limit(1).offset(p.beforeEdge),
    ),
  );
}

/** The rows along the index that the filters follow, in order. */
function indexed<Row>(
  rows: SelectQueryBuilder<Tables, 'categories', Row>,
  { parent, slug, from, backward }: Shape,
  p: Params<Values>,
): SelectQueryBuilder<Tables, 'categories', Row> {
  let found = rows;
  if (parent) found = found.where('parent_id', '=', p.parentId);
  if (slug) found = found.where('slug', '=', p.slug);
  if (from) found = found.where('id', backward ? '<' : '>', p.fromId);
  return found.orderBy('id', backward ? 'desc' : 'asc');
}

function remember<Q>(queries: Map<string, Q>, shape: Shape, make: () => Q): Q {
  const key = Object.values(shape).join();
  let found = queries.get(key);
  if (found === undefined) {
    found = make();
    queries.set(key, found);
  }
  return found;
}
