import type { Expression, ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import { problem } from '../errors.ts';
import type { Neighbours } from '../lib/http/pagination.ts';
import { type Params, type PetStatus, type Query, query, type Reader, type Tables } from '../schema.ts';
import type { Pet } from './pet.ts';
import { byName, type Cursor, decodeCursor, encodeCursor, type PetFilter, placeOf } from './pet-list.ts';

/** One page of a list of animals. */
export interface PetPage extends Neighbours {
  readonly pets: Pet[];
}

/**
 * One page of the animals that a filter lets through, in its order.
 *
 * Every list follows an index. Where the index alone does not decide (a filter beside a sort by name, a status beside
 * a category), the page ends after 20,000 rows looked at: it may then be short, even empty, and still have a next one.
 * @param limit how many animals at most, 1–100
 * @param cursor where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function listPets(
  reader: Reader,
  filter: PetFilter,
  limit: number,
  cursorText: string | undefined,
): Promise<PetPage> {
  const from = cursorText === undefined ? undefined : decodeCursor(filter, cursorText);
  if (cursorText !== undefined && from === undefined) {
    const message = 'Must be from a page with the same filters and sort; follow the next link as it is.';
    throw problem('invalid_parameter', `Invalid parameters. cursor: ${message}`, {
      errors: [{ path: 'cursor', code: 'invalid_value', message }],
    });
  }
  const shape = shapeOf(filter, from);
  const values = { ...valuesOf(filter, from), rows: limit + 1 };

  const { rows, edge } = await look(reader, shape, values, limit);

  const pets = rows.slice(0, limit);
  // Where the page reads on: behind its last animal, or behind the last row that was looked at.
  const onward = rows.length > limit ? pets.at(-1) : edge;
  const ahead = onward && placeOf(onward, shape.backward);
  const back = from && (pets[0] === undefined ? returning(from, shape) : placeOf(pets[0], !shape.backward));
  const cursorOf = (place: Cursor | undefined) => place && encodeCursor(filter, place);
  if (!shape.backward) return { pets, next: cursorOf(ahead), previous: cursorOf(back) };
  return { pets: pets.reverse(), next: cursorOf(back), previous: cursorOf(ahead) };
}

/** What was found of a page: one row more than it has, where there are so many, and where looking ended before the list. */
interface Found {
  readonly rows: Pet[];
  readonly edge: { id: number; name: string } | undefined;
}

async function look(reader: Reader, shape: Shape, values: Values, limit: number): Promise<Found> {
  if (shape.index === 'exact') return { rows: await reader.all(pageQuery(shape), values), edge: undefined };
  const found = await lookAt(reader, shape, values, FEW_ROWS);
  if (found.rows.length > limit || found.edge === undefined) return found;
  return lookAt(reader, shape, values, ROWS_LOOKED_AT_MAX);
}

async function lookAt(reader: Reader, shape: Shape, values: Values, rowsMax: number): Promise<Found> {
  const edge = await reader.first(edgeQuery(shape), { ...values, beforeEdge: rowsMax - 1 });
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

/** What decides the SQL of a page; pages of one shape share one prepared statement. */
interface Shape {
  readonly by: 'id' | 'name';
  readonly descending: boolean;
  readonly backward: boolean;
  readonly from: boolean;
  readonly ids: number;
  readonly statuses: number;
  readonly category: boolean;
  /** `exact`: an index (or the list of ids) leaves no row over that the page does not want. */
  readonly index: 'exact' | 'category' | 'sort';
  /** Whether the page must not read beyond the edge of the rows looked at. */
  readonly edged?: boolean;
}

function shapeOf({ id, status, categoryId, sort }: PetFilter, from: Cursor | undefined): Shape {
  const statuses = status === undefined || status.length === ALL_STATUSES ? 0 : status.length;
  const backward = from?.backward === true;
  const by = byName(sort) ? 'name' : 'id';
  const category = categoryId !== undefined;
  const alone = by === 'id' && !(statuses > 0 && category);
  return {
    by,
    descending: sort.startsWith('-') !== backward,
    backward,
    from: from !== undefined,
    ids: id?.length ?? 0,
    statuses,
    category,
    index: id !== undefined || alone || (statuses === 0 && !category) ? 'exact' : by === 'id' ? 'category' : 'sort',
  };
}

const ALL_STATUSES = 3;

function valuesOf({ id, status, categoryId }: PetFilter, from: Cursor | undefined): Values {
  const values: Record<string, unknown> = { fromId: from?.id, fromName: from?.name, category: categoryId };
  id?.forEach((one, index) => {
    values[`id${index}`] = one;
  });
  status?.forEach((one, index) => {
    values[`status${index}`] = one;
  });
  return values as unknown as Values;
}

/** The values of a run; ids and statuses are numbered. */
type Values = Record<`id${number}`, number> &
  Record<`status${number}`, PetStatus> & {
    fromId: number;
    fromName: string;
    category: number;
    rows: number;
    edgeId: number;
    edgeName: string;
    beforeEdge: number;
  };

const pageQueries = new Map<string, Query<Values, Pet>>();

function pageQuery(shape: Shape): Query<Values, Pet> {
  // An expression has no index: else the engine might read a whole category and sort it.
  const walksSort = shape.index === 'sort';
  return remember(pageQueries, shape, () =>
    query((db, p: Params<Values>) => {
      const page = (statuses: readonly number[]) => {
        let rows = db.selectFrom('pets').select(['id', 'name', 'category_id as categoryId', 'status']);
        if (shape.ids > 0)
          rows = rows.where(
            'id',
            'in',
            numbered(shape.ids).map(index => p[`id${index}`]!),
          );
        if (statuses.length > 0) {
          const among = statuses.map(index => p[`status${index}`]!);
          rows = rows.where(eb => eb(walksSort ? eb('status', '||', '' as PetStatus) : eb.ref('status'), 'in', among));
        }
        if (shape.category) {
          rows = rows.where(eb => eb(walksSort ? eb('category_id', '+', 0) : eb.ref('category_id'), '=', p.category));
        }
        if (shape.by === 'id') {
          if (shape.from) rows = rows.where('id', shape.descending ? '<' : '>', p.fromId);
          if (shape.edged) rows = rows.where('id', shape.descending ? '>=' : '<=', p.edgeId);
        } else {
          if (shape.from) rows = rows.where(beyond(shape.descending ? '<' : '>', p.fromName, p.fromId));
          if (shape.edged) rows = rows.where(beyond(shape.descending ? '>=' : '<=', p.edgeName, p.edgeId));
        }
        return ordered(rows, shape).limit(p.rows);
      };
      // Two statuses by id: one run along the index for each, merged.
      if (shape.statuses === 2 && shape.index === 'exact' && shape.ids === 0) {
        const merged = db
          .selectFrom(page([0]).as('one'))
          .selectAll()
          .unionAll(db.selectFrom(page([1]).as('other')).selectAll());
        return ordered(db.selectFrom(merged.as('pets')).selectAll(), shape).limit(p.rows);
      }
      return page(numbered(shape.statuses));
    }),
  );
}

const edgeQueries = new Map<string, Query<Values, { id: number; name: string }>>();

/** The last of the rows that a page may look at, where there are as many. */
function edgeQuery(shape: Shape): Query<Values, { id: number; name: string }> {
  return remember(edgeQueries, shape, () =>
    query((db, p: Params<Values>) => {
      let rows = db.selectFrom('pets').select(['id', 'name']);
      if (shape.index === 'category') {
        rows = rows.where('category_id', '=', p.category);
        if (shape.from) rows = rows.where('id', shape.descending ? '<' : '>', p.fromId);
      } else if (shape.from) rows = rows.where(beyond(shape.descending ? '<' : '>', p.fromName, p.fromId));
      return ordered(rows, shape).limit(1).offset(p.beforeEdge);
    }),
  );
}

/** Rows in the shape's order, ties by id. */
function ordered<Row>(
  rows: SelectQueryBuilder<Tables, 'pets', Row>,
  { by, descending }: Shape,
): SelectQueryBuilder<Tables, 'pets', Row> {
  const direction = descending ? 'desc' : 'asc';
  return by === 'id' ? rows.orderBy('id', direction) : rows.orderBy('name', direction).orderBy('id', direction);
}

/** Whether a row stands on one side of a place in the order by name. */
function beyond(side: '<' | '>' | '<=' | '>=', name: Expression<string>, id: Expression<number>) {
  return (eb: ExpressionBuilder<Tables, 'pets'>) => eb(eb.refTuple('name', 'id'), side, eb.tuple(name, id));
}

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
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
