import type { Expression, ExpressionBuilder, Kysely, SelectQueryBuilder } from 'kysely';
import { alongIndex, type KeysetParams, keysetEnd, keysetPage } from '../../lib/storage/keyset.ts';
import { type Pet, type PetStatus, petColumns } from '../../model/pet.ts';
import { amongNumbers, type Params, queriesByShape, query, type Reader, sql, type Tables } from '../../model/schema.ts';
import { hasTraits, type TraitValues, traitColumns } from '../profile/traits.ts';
import { type Runs, type RunsShape, type RunValues, selectMergedIds } from '../search/merged-ids.ts';

/** The parts of a filter that determine the SQL of a page; pages of one shape share a prepared statement. */
export interface PageQueryShape {
  readonly by: 'id' | 'name';
  /** Whether ids or names decrease in reading order. */
  readonly descending: boolean;
  /** In a list by name: whether the page begins after a position. */
  readonly after: boolean;
  /** In a list by name: whether the page ends at a position. */
  readonly upTo: boolean;
  /** Whether the list has a filter by ids. */
  readonly ids: boolean;
  /** Whether the list has only the pets of one account. */
  readonly owner: boolean;
  /** Whether the list has only the pets of several accounts. */
  readonly owners: boolean;
  /** The statuses of the filter, separated by spaces; empty for all. */
  readonly statuses: string;
  /** The names of the traits of the filter, separated by spaces; empty for none. */
  readonly traits: string;
  /** The number of categories, rounded up; 0 for all, infinite beyond `MERGED_MAX`. */
  readonly categories: number;
  /**
   * `exact`: an index, or the ids, cover the whole filter. `category`: a page scans each category along its index.
   * `sort`: a page scans all pets along the index of the sort, or by id those of the owner.
   */
  readonly index: 'exact' | 'category' | 'sort';
  /** Whether rows have the columns of the full view. */
  readonly full: boolean;
  /** The columns in which words are searched, besides those of the view. */
  readonly texts: '' | 'short' | 'described';
  /** Whether rows also have the traits. */
  readonly traited: boolean;
  /** The kind of runs of ids that the page merges; see `selectMergedIds`. */
  readonly runsBy: Runs['by'] | '';
  readonly runs: number;
  readonly runCategories: number;
}

export type PageValues = KeysetParams &
  TraitValues &
  RunValues & { readonly [Key in `category${number}`]: number } & {
    readonly fromName: string;
    readonly endName: string;
    /** JSON arrays of the ids, the categories and the accounts. */
    readonly ids: string;
    readonly categories: string;
    readonly ownerIds: string;
    readonly ownerId: number;
    readonly now: number;
    readonly scanLimit: number;
  };

type Eb = ExpressionBuilder<Tables, 'pets'>;
type Rows<Row = unknown> = SelectQueryBuilder<Tables, 'pets', Row>;

const shapeMembers = [
  'by',
  'descending',
  'after',
  'upTo',
  'ids',
  'owner',
  'owners',
  'statuses',
  'traits',
  'categories',
  'index',
  'full',
  'texts',
  'traited',
  'runsBy',
  'runs',
  'runCategories',
] as const;

export const pageQuery = queriesByShape(shapeMembers, (shape: PageQueryShape) =>
  query((db, p: Params<PageValues>, engine) => {
    const columns = columnsOf(shape, p.now);
    if (shape.runsBy !== '') return mergedPage(db, { ...shape, by: shape.runsBy }, p, engine).select(columns) as never;
    const pets: Rows = db.selectFrom('pets');
    const owned =
      shape.owner && !followsOwner(shape) ? pets.where(eb => eb(unindexed('account_id'), '=', p.ownerId)) : pets;
    const among = shape.owners ? owned.where(amongNumbers(unindexed('account_id'), p.ownerIds, engine)) : owned;
    const named = shape.ids ? among.where(({ ref }) => amongNumbers(ref('id'), p.ids, engine)) : among;
    const listed = shape.traits === '' ? named : named.where(hasTraits(shape.traits.split(' '), p, engine));
    const matching = (range: Range) => {
      const rows = withStatus(inCategory(listed, shape, range, p, engine), shape, range, p.now);
      return range.expired ? sortedPage(rows, shape, p) : page(rows, shape, p, engine);
    };
    const ranges = rangesOf(shape);
    if (ranges.length === 1) return matching(ranges[0]!).select(columns) as Rows<Pet>;
    // Merge the ids of the ranges, which only indexes provide; then read the rows of the first ids.
    const [first, ...others] = ranges.map((range, index) =>
      db.selectFrom(matching(range).select('id').as(`range${index}`)).select('id'),
    );
    const merged = others.reduce((all, other) => all.unionAll(other), first!);
    const ids = db.selectFrom(merged.as('merged')).select('id');
    const firstIds = ids.orderBy('id', shape.descending ? 'desc' : 'asc').limit(p.rows);
    return ordered(db.selectFrom('pets').where('id', 'in', firstIds), shape).select(columns) as Rows<Pet>;
  }),
);

/** Selects the pets of a page of merged runs. */
function mergedPage(db: Kysely<Tables>, shape: RunsShape, p: Params<PageValues>, engine: Reader['engine']) {
  const ids = selectMergedIds(db, shape, p, engine).as('ids');
  // SQLite reads a cross join in this order.
  const pets = db.selectFrom(ids).crossJoin('pets').whereRef('pets.id', '=', 'ids.pet_id');
  return pets.orderBy('ids.pet_id', shape.descending ? 'desc' : 'asc');
}

function columnsOf({ full, texts, traited }: PageQueryShape, now: Expression<number>) {
  const viewed = full ? petColumns.full(now) : petColumns.plain(now);
  return [...viewed, ...textColumns[texts], ...(traited ? traitColumns(now) : [])] as typeof viewed;
}

/** Long texts are read only if they are searched. */
const textColumns = {
  '': [],
  short: ['breeds', 'colors', 'tags', 'pattern', 'group_kind as groupKind'],
  described: ['breeds', 'colors', 'tags', 'pattern', 'group_kind as groupKind', 'description'],
} as const;

/** The query for the last row that a page may scan, if there is one; the first such row of merged ranges. */
export const endQuery = queriesByShape(
  ['by', 'descending', 'after', 'ids', 'owner', 'categories', 'index'],
  (
    shape: Omit<
      PageQueryShape,
      'upTo' | 'owners' | 'statuses' | 'traits' | 'full' | 'texts' | 'traited' | 'runs' | 'runsBy' | 'runCategories'
    >,
  ) =>
    query((db, p: Params<PageValues>, engine) => {
      const endOf = (rows: Rows<{ id: number; name: string }>) => {
        if (shape.by === 'id') return keysetEnd(rows, 'id', shape.descending, p);
        const from = shape.after ? rows.where(isBeyond(shape, p)) : rows;
        return ordered(from, shape).limit(1).offset(sql<number>`${p.scanLimit} - 1`);
      };
      const pets = db.selectFrom('pets').select(['id', 'name']);
      if (followsOwner(shape)) {
        return ofOwner(pets, shape, p, engine).limit(1).offset(sql<number>`${p.scanLimit} - 1`);
      }
      if (shape.index !== 'category') return endOf(pets);
      const [first, ...others] = numbers(shape.categories).map(index => {
        const end = endOf(pets.where('category_id', '=', p[`category${index}`]!));
        return db.selectFrom(end.as(`end${index}`)).selectAll();
      });
      const merged = others.reduce((all, other) => all.unionAll(other), first!);
      const rows = db.selectFrom(merged.as('pets')).selectAll() as unknown as Rows<{ id: number; name: string }>;
      return ordered(rows, shape).limit(1);
    }),
);

/** A range of an index: of a category, of a status, or of expired reservations; without these, of the sort. */
interface Range {
  readonly category?: number;
  readonly status?: PetStatus;
  readonly expired?: true;
}

function rangesOf(shape: PageQueryShape): Range[] {
  const { by, ids, statuses, categories, index } = shape;
  if (index === 'sort' || ids || by === 'name') return [{}];
  if (categories > 0) return numbers(categories).map(category => ({ category }));
  if (statuses === '') return [{}];
  const ranges: Range[] = statusesOf(shape).map(status => ({ status }));
  // The rows of expired reservations, which are few, are still `pending`.
  return includes(shape, 'available') && !includes(shape, 'pending') ? [...ranges, { expired: true }] : ranges;
}

/** Reports whether the list uses the index of the owner's pets, which is sorted by id. */
function followsOwner({ owner, by, ids }: Pick<PageQueryShape, 'owner' | 'by' | 'ids'>): boolean {
  return owner && by === 'id' && !ids;
}

/** Restricts rows to the category of a range; without one, to the categories of the list. */
function inCategory(
  rows: Rows,
  shape: PageQueryShape,
  { category }: Range,
  p: Params<PageValues>,
  engine: Reader['engine'],
) {
  if (category !== undefined) return rows.where('category_id', '=', p[`category${category}`]!);
  if (shape.categories === 1) return rows.where(eb => eb(unindexed('category_id'), '=', p.category0!));
  return shape.categories > 1 ? rows.where(amongNumbers(unindexed('category_id'), p.categories, engine)) : rows;
}

/** Restricts rows to the status of a range; without one, to the statuses of the list. */
function withStatus(rows: Rows, shape: PageQueryShape, { status, expired }: Range, now: Expression<number>): Rows {
  if (expired) return rows.where('reserved_until', '<=', now);
  if (status === undefined) return shape.statuses === '' ? rows : rows.where(hasStatus(shape, now));
  const stored = rows.where('status', '=', sql.lit(status));
  return status === 'pending' && !includes(shape, 'available') ? stored.where(isReserved(now)) : stored;
}

function statusesOf({ statuses }: PageQueryShape): PetStatus[] {
  return statuses.split(' ') as PetStatus[];
}

function includes(shape: PageQueryShape, status: PetStatus): boolean {
  return statusesOf(shape).includes(status);
}

/** The condition that a pet has one of the statuses, if no index covers it. */
function hasStatus(shape: PageQueryShape, now: Expression<number>) {
  const [available, pending] = [includes(shape, 'available'), includes(shape, 'pending')];
  const literals = statusesOf(shape).map(status => sql.lit(status));
  return (eb: Eb) => {
    const stored = eb(unindexedStatus, 'in', literals);
    if (available === pending) return stored;
    const isPending = eb(unindexedStatus, '=', sql.lit('pending'));
    return available
      ? eb.or([stored, eb.and([isPending, eb('reserved_until', '<=', now)])])
      : eb.and([stored, eb.or([eb.not(isPending), isReserved(now)(eb)])]);
  };
}

function isReserved(now: Expression<number>) {
  return (eb: Eb) => eb.or([eb('reserved_until', 'is', null), eb('reserved_until', '>', now)]);
}

/** An expression that no index serves: otherwise the engine might read and sort a large part of the table. */
function unindexed(column: 'id' | 'category_id' | 'account_id') {
  return sql<number>`(${sql.ref(column)} + 0)`;
}

const unindexedStatus = sql<PetStatus>`(status || '')`;

/** Restricts rows to a page, in the order of an index. */
function page(rows: Rows, shape: PageQueryShape, p: Params<PageValues>, engine: Reader['engine']): Rows {
  if (followsOwner(shape)) return ofOwner(rows, shape, p, engine).limit(p.rows);
  if (shape.by === 'id') return keysetPage(rows, 'id', shape.descending, p);
  const from = shape.after ? rows.where(isBeyond(shape, p)) : rows;
  return ordered(shape.upTo ? from.where(isWithin(shape, p)) : from, shape).limit(p.rows);
}

/** Restricts rows to those of the owner, within the bounds of the page. */
function ofOwner<Row>(
  rows: Rows<Row>,
  { descending }: Pick<PageQueryShape, 'descending'>,
  { ownerId, fromId, endId }: Params<PageValues>,
  engine: Reader['engine'],
): Rows<Row> {
  const range = { prefix: [['pets.account_id', ownerId]], key: ['pets.id'], after: [fromId], upTo: [endId] } as const;
  return alongIndex(engine, descending, rows, range);
}

/** Restricts the few rows of expired reservations to a page, and sorts them. */
function sortedPage(rows: Rows, { descending }: PageQueryShape, p: Params<PageValues>): Rows {
  const id = unindexed('id');
  return rows
    .where(id, descending ? '<' : '>', p.fromId)
    .orderBy(id, descending ? 'desc' : 'asc')
    .limit(p.rows);
}

/** The condition that a row is after the position at which the page begins, by name. */
function isBeyond({ descending }: Pick<PageQueryShape, 'descending'>, { fromId, fromName }: Params<PageValues>) {
  return (eb: Eb) => eb(eb.refTuple('name', 'id'), descending ? '<' : '>', eb.tuple(fromName, fromId));
}

/** The condition that a row is at or before the position at which the page ends, by name. */
function isWithin({ descending }: Pick<PageQueryShape, 'descending'>, { endId, endName }: Params<PageValues>) {
  return (eb: Eb) => eb(eb.refTuple('name', 'id'), descending ? '>=' : '<=', eb.tuple(endName, endId));
}

/** Sorts rows in the order of the shape, with ties by id. */
function ordered<Row>(rows: Rows<Row>, { by, descending }: Pick<PageQueryShape, 'by' | 'descending'>): Rows<Row> {
  const direction = descending ? 'desc' : 'asc';
  return by === 'id' ? rows.orderBy('id', direction) : rows.orderBy('name', direction).orderBy('id', direction);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
