import type { Expression, SelectQueryBuilder } from 'kysely';
import type { Actor } from '../events/event.ts';
import type { CursorPosition } from '../lib/http/pagination/cursor.ts';
import { type OrderStatus, type Params, type Query, query, sql, type Tables } from '../schema.ts';
import type { OrderFilter } from './filter.ts';
import { orderStatuses } from './order.ts';
import { type OrderRow, orderColumns, statusAt } from './rows.ts';

/** What decides the SQL of a page; pages of one shape share one prepared statement. */
export interface Shape {
  /** Whether the reader sees all there is. */
  readonly all: boolean;
  readonly ofPet: boolean;
  /** Which statuses, in one order; none where every one will do. */
  readonly statuses: readonly OrderStatus[];
  readonly backward: boolean;
  /** Whether the page must not read beyond the edge of the rows looked at. */
  readonly edged?: boolean;
}

/** The shape of a page of what somebody may see. */
export function shapeOf({ admin }: Actor, { status, petId }: OrderFilter, from: CursorPosition | undefined): Shape {
  const wanted = orderStatuses.filter(one => status?.includes(one));
  return {
    all: admin,
    ofPet: petId !== undefined,
    statuses: wanted.length === orderStatuses.length ? [] : wanted,
    backward: from?.backward === true,
  };
}

/** The values of a page. */
export interface PageValues {
  /** Who reads; the operator has none, and sees everything. */
  readonly accountId: number | null;
  readonly petId: number;
  /** The first id that the page may have; where it is read backward, the last one. */
  readonly startId: number;
  /** How many orders at most. */
  readonly rows: number;
  /** Twice as many. */
  readonly twice: number;
  readonly now: number;
  readonly edgeId?: number;
  readonly beforeEdge?: number;
}

const pageQueries = new Map<string, Query<PageValues, OrderRow>>();

/** The orders of a page in the order in which they are read; an order that two runs have comes twice. */
export function pageQuery(shape: Shape): Query<PageValues, OrderRow> {
  return remember(pageQueries, shape, () =>
    query((db, p: Params<PageValues>, engine) => {
      const direction = shape.backward ? 'desc' : 'asc';
      const selected = () => db.selectFrom('orders').select(orderColumns(p.now));
      const along = (rows: Rows<OrderRow>, of: IndexPart | undefined) => alongIndex(engine, shape, rows, of, p);
      if (shape.ofPet) return ofPet().limit(p.rows);
      const runs = runsOf(shape).map(one => run(one).limit(p.rows));
      if (runs.length === 1) return runs[0]!;
      const merged = runs
        .map((one, index) => db.selectFrom(one.as(`run${index}`)).selectAll())
        .reduce((all, one) => all.unionAll(one));
      // Each order at most twice: once for who placed it, once for the owner of the animal.
      return db.selectFrom(merged.as('orders')).selectAll().orderBy('id', direction).limit(p.twice);

      function run({ who, status }: Run) {
        if (status === 'run out') return runOut(who);
        const state = status && sql.lit(status);
        const rows =
          who === undefined
            ? along(selected(), state && ['status', state])
            : along(state ? selected().where('status', '=', state) : selected(), [who, p.accountId]);
        return status === 'placed' ? rows.where(eb => eb(eb('expires_at', '+', 0), '>', p.now)) : rows;
      }

      /** What has run out and does not say so yet: few, and found by their end. */
      function runOut(who: Run['who']) {
        let rows = selected().where('status', '=', sql.lit('placed')).where('expires_at', '<=', p.now);
        if (who !== undefined) rows = rows.where(eb => eb(eb(who, '+', 0), '=', p.accountId as never));
        return rows
          .where(eb => eb(eb('id', '+', 0), shape.backward ? '<=' : '>=', p.startId))
          .orderBy(eb => eb('id', '+', 0), direction);
      }

      function ofPet() {
        let rows = along(selected(), ['pet_id', p.petId]);
        if (!shape.all)
          rows = rows.where(({ eb, or }) =>
            or([
              eb(eb('account_id', '+', 0), '=', p.accountId as never),
              eb(eb('owner_id', '+', 0), '=', p.accountId as never),
            ]),
          );
        return shape.statuses.length > 0 ? rows.where(statusAt(p.now), 'in', shape.statuses) : rows;
      }
    }),
  );
}

const edgeQueries = new Map<string, Query<PageValues, { id: number }>>();

/** The last of the orders of an animal that a page may look at, where there are as many. */
export function edgeQuery({ backward }: Shape): Query<PageValues, { id: number }> {
  const shape: Shape = { all: true, ofPet: true, statuses: [], backward };
  return remember(edgeQueries, shape, () =>
    query((db, p: Params<PageValues>, engine) =>
      alongIndex(engine, shape, db.selectFrom('orders').select('id'), ['pet_id', p.petId], p)
        .limit(1)
        .offset(p.beforeEdge as never),
    ),
  );
}

/** A run along an index: of the orders that somebody placed, of those of his animals, or of all, in one state. */
interface Run {
  readonly who: 'account_id' | 'owner_id' | undefined;
  /** As stored; what has run out and does not say so yet is a state of its own here. */
  readonly status: OrderStatus | 'run out' | undefined;
}

function runsOf({ all, statuses }: Shape): Run[] {
  const whos = all ? [undefined] : (['account_id', 'owner_id'] as const);
  const stored = statuses.flatMap(status => (status === 'expired' ? (['expired', 'run out'] as const) : [status]));
  return whos.flatMap(who => (stored.length === 0 ? [undefined] : stored).map(status => ({ who, status })));
}

type Rows<Row> = SelectQueryBuilder<Tables, 'orders', Row>;

/** The first column of an index that ends with the id, and its value. */
type IndexPart = readonly ['account_id' | 'owner_id' | 'pet_id' | 'status', Expression<unknown>];

/**
 * Rows by id within the page: all, or the part of an index in which a column has a value.
 *
 * PostgreSQL might walk along all ids instead and leave out what does not fit, which takes long where what fits stands
 * far behind; it cannot where the place is one of both columns. The embedded engine would begin at the first id then.
 */
function alongIndex<Row>(
  engine: 'sqlite' | 'postgres',
  { backward, edged }: Shape,
  rows: Rows<Row>,
  of: IndexPart | undefined,
  p: Params<PageValues>,
): Rows<Row> {
  const direction = backward ? 'desc' : 'asc';
  const [from, to] = backward ? (['<=', '>='] as const) : (['>=', '<='] as const);
  const edge = edged ? (p.edgeId as Expression<number>) : undefined;
  if (of === undefined || engine === 'sqlite') {
    const part = (of === undefined ? rows : rows.where(of[0], '=', of[1] as never)).where('id', from, p.startId);
    return (edge === undefined ? part : part.where('id', to, edge)).orderBy('id', direction);
  }
  const [column, value] = of;
  // Both bounds have their end in them: how much lies between is estimated by the column alone.
  const end = edge ?? sql.lit(backward ? 0 : ID_END);
  return rows
    .where(eb => eb(eb.refTuple(column, 'id'), from, eb.tuple(value as Expression<number>, p.startId)))
    .where(eb => eb(eb.refTuple(column, 'id'), to, eb.tuple(value as Expression<number>, end)))
    .orderBy(`orders.${column}`, direction)
    .orderBy('id', direction);
}

/** No id is above it. */
const ID_END = Number.MAX_SAFE_INTEGER;

function remember<Q>(queries: Map<string, Q>, shape: Shape, make: () => Q): Q {
  const key = Object.values(shape).join();
  let found = queries.get(key);
  if (found === undefined) {
    found = make();
    queries.set(key, found);
  }
  return found;
}
