import type { Expression, ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import { type Params, type Query, query, sql, type Tables } from '../schema.ts';
import type { Pet, PetStatus } from './pet.ts';
import { among, petColumns } from './rows.ts';

/** What decides the SQL of a page; pages of one shape share one prepared statement. */
export interface Shape {
  readonly by: 'id' | 'name';
  readonly descending: boolean;
  readonly backward: boolean;
  readonly from: boolean;
  readonly ids: number;
  /** The statuses that are let through, one space between them; empty for all. */
  readonly statuses: string;
  /** How many categories are let through, 0 for all. Up to `RUNS_MAX` it is one of few numbers; beyond it is infinite. */
  readonly categories: number;
  /**
   * `exact`: an index (or the list of ids) leaves no row over that the page does not want. `category`: each category is
   * walked along its index, `sort`: all animals are, along the index of the sort.
   */
  readonly index: 'exact' | 'category' | 'sort';
  /** Whether there is everything to be said of each animal. */
  readonly full: boolean;
  /** Whether the page must not read beyond the edge of the rows looked at. */
  readonly edged?: boolean;
}

/** The values of a run; ids and categories are numbered. */
export type PageValues = Record<`id${number}` | `category${number}`, number> & {
  fromId: number;
  fromName: string;
  /** A JSON array of all categories. */
  categories: string;
  rows: number;
  now: number;
  edgeId: number;
  edgeName: string;
  beforeEdge: number;
};

/** Up to so many categories are read each along its own stretch of an index, and merged. */
export const RUNS_MAX = 50;

/** How many stretches of the index a page of this shape walks at once. */
export function runsIn({ index, categories }: Shape): number {
  return index === 'category' ? categories : 1;
}

const pageQueries = new Map<string, Query<PageValues, Pet>>();

/** The rows of a page, with all there is to say where the shape is `full`. */
export function pageQuery(shape: Shape): Query<PageValues, Pet> {
  return remember(pageQueries, shape, () =>
    query((db, p: Params<PageValues>, engine) => {
      const columns = shape.full ? petColumns.full : petColumns.plain;
      const rowsOf = (run: Run) => {
        let rows: Rows = db.selectFrom('pets');
        if (shape.ids > 0)
          rows = rows.where(
            'id',
            'in',
            numbered(shape.ids).map(index => p[`id${index}`]!),
          );
        if (run.category !== undefined) rows = rows.where('category_id', '=', p[`category${run.category}`]!);
        else if (shape.categories === 1) rows = rows.where(eb => eb(unindexed('category_id'), '=', p['category0']!));
        else if (shape.categories > 1) rows = rows.where(among(unindexed('category_id'), p.categories, engine));
        if (run.runOut) rows = rows.where('reserved_until', '<=', p.now);
        else if (run.status !== undefined) {
          rows = rows.where('status', '=', sql.lit(run.status));
          if (run.status === 'pending' && !lets(shape, 'available')) rows = rows.where(stillReserved(p.now));
        } else if (shape.statuses !== '') rows = rows.where(hasStatus(shape, p.now));
        return bounded(rows, shape, p, run);
      };
      const runs = runsOf(shape);
      if (runs.length === 1) return rowsOf(runs[0]!).select(columns(p.now)) as SelectQueryBuilder<Tables, 'pets', Pet>;
      // Each stretch gives ids, most of them from its index alone; rows are read for those that are left.
      const [first, ...others] = runs.map((run, index) =>
        db.selectFrom(rowsOf(run).select('id').as(`run${index}`)).select('id'),
      );
      const merged = db
        .selectFrom(others.reduce((all, other) => all.unionAll(other), first!).as('merged'))
        .select('id')
        .orderBy('id', shape.descending ? 'desc' : 'asc')
        .limit(p.rows);
      return ordered(db.selectFrom('pets').where('id', 'in', merged), shape).select(
        columns(p.now),
      ) as SelectQueryBuilder<Tables, 'pets', Pet>;
    }),
  );
}

const edgeQueries = new Map<string, Query<PageValues, { id: number; name: string }>>();

/** The last of the rows that a page may look at, where there are as many. Of several stretches the one that ends first. */
export function edgeQuery(shape: Shape): Query<PageValues, { id: number; name: string }> {
  return remember(edgeQueries, shape, () =>
    query((db, p: Params<PageValues>) => {
      const edges = numbered(runsIn(shape)).map(run => {
        let rows = db.selectFrom('pets').select(['id', 'name']);
        if (shape.index === 'category') rows = rows.where('category_id', '=', p[`category${run}`]!);
        if (shape.from) rows = rows.where(behind(shape, p));
        return ordered(rows, shape).limit(1).offset(p.beforeEdge);
      });
      if (edges.length === 1) return edges[0]!;
      const [first, ...others] = edges.map((edge, index) => db.selectFrom(edge.as(`edge${index}`)).selectAll());
      const merged = others.reduce((all, other) => all.unionAll(other), first!);
      return ordered<{ id: number; name: string }>(db.selectFrom(merged.as('pets')).selectAll() as never, shape).limit(
        1,
      );
    }),
  );
}

/** One stretch of an index: of a category, of a status, or of what has run out; without any, what the page walks anyway. */
interface Run {
  readonly category?: number;
  readonly status?: PetStatus;
  readonly runOut?: true;
}

function runsOf(shape: Shape): Run[] {
  const { by, ids, statuses, categories, index } = shape;
  if (index === 'sort' || ids > 0 || by === 'name') return [{}];
  if (categories > 0) return numbered(categories).map(category => ({ category }));
  if (statuses === '') return [{}];
  const runs: Run[] = (statuses.split(' ') as PetStatus[]).map(status => ({ status }));
  // Those that are available since what they were kept for ran out are few, and still stand among the pending ones.
  return lets(shape, 'available') && !lets(shape, 'pending') ? [...runs, { runOut: true }] : runs;
}

function lets({ statuses }: Shape, status: PetStatus): boolean {
  return statuses.split(' ').includes(status);
}

/** Whether an animal has one of the statuses, where that is looked at row by row. */
function hasStatus(shape: Shape, now: Expression<number>) {
  return (eb: ExpressionBuilder<Tables, 'pets'>) => {
    const stored = eb(
      unindexedStatus,
      'in',
      (shape.statuses.split(' ') as PetStatus[]).map(one => sql.lit(one)),
    );
    const [available, pending] = [lets(shape, 'available'), lets(shape, 'pending')];
    if (available === pending) return stored;
    const isPending = eb(unindexedStatus, '=', sql.lit('pending'));
    return available
      ? eb.or([stored, eb.and([isPending, eb('reserved_until', '<=', now)])])
      : eb.and([stored, eb.or([eb.not(isPending), stillReserved(now)(eb)])]);
  };
}

function stillReserved(now: Expression<number>) {
  return (eb: ExpressionBuilder<Tables, 'pets'>) =>
    eb.or([eb('reserved_until', 'is', null), eb('reserved_until', '>', now)]);
}

/** A column as an expression, which has no index: else the engine might read all there is of it and sort that. */
function unindexed(column: 'id' | 'category_id') {
  return sql<number>`(${sql.ref(column)} + 0)`;
}

const unindexedStatus = sql<PetStatus>`(status || '')`;

type Rows = SelectQueryBuilder<Tables, 'pets', unknown>;

/** Rows between where the page begins and the edge, in order, and no more than the page needs. */
function bounded(rows: Rows, shape: Shape, p: Params<PageValues>, { runOut }: Run): Rows {
  let within = rows;
  if (runOut) {
    // They are taken from the index of ends, and sorted as the few that they are.
    const id = unindexed('id');
    if (shape.from) within = within.where(id, shape.descending ? '<' : '>', p.fromId);
    return within.orderBy(id, shape.descending ? 'desc' : 'asc').limit(p.rows);
  }
  if (shape.from) within = within.where(behind(shape, p));
  if (shape.edged) within = within.where(upToEdge(shape, p));
  return ordered(within, shape).limit(p.rows);
}

/** Whether a row stands behind the place that the page begins at. */
function behind({ by, descending }: Shape, { fromId, fromName }: Params<PageValues>) {
  const side = descending ? '<' : '>';
  return (eb: ExpressionBuilder<Tables, 'pets'>) =>
    by === 'id' ? eb('id', side, fromId) : eb(eb.refTuple('name', 'id'), side, eb.tuple(fromName, fromId));
}

function upToEdge({ by, descending }: Shape, { edgeId, edgeName }: Params<PageValues>) {
  const side = descending ? '>=' : '<=';
  return (eb: ExpressionBuilder<Tables, 'pets'>) =>
    by === 'id' ? eb('id', side, edgeId) : eb(eb.refTuple('name', 'id'), side, eb.tuple(edgeName, edgeId));
}

/** Rows in the shape's order, ties by id. */
function ordered<Row>(
  rows: SelectQueryBuilder<Tables, 'pets', Row>,
  { by, descending }: Shape,
): SelectQueryBuilder<Tables, 'pets', Row> {
  const direction = descending ? 'desc' : 'asc';
  return by === 'id' ? rows.orderBy('id', direction) : rows.orderBy('name', direction).orderBy('id', direction);
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
