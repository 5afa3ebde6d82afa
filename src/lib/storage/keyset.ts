import type { Expression, ReferenceExpression, SelectQueryBuilder } from 'kysely';
import { type EngineName, type Params, sql } from './query.ts';

/** The range of ids that a page reads; see `Scan` of the pagination. */
export type KeysetParams = { fromId: number; endId: number; rows: number };

/**
 * Restricts a query to one page in the order of an id column: after `fromId`, up to `endId`, `rows` at most. An index
 * on the columns that the query compares, followed by the id, serves it without sorting.
 */
export function keysetPage<Tables, Table extends keyof Tables, Row>(
  rows: SelectQueryBuilder<Tables, Table, Row>,
  column: ReferenceExpression<Tables, Table> & string,
  descending: boolean,
  p: Params<KeysetParams>,
): SelectQueryBuilder<Tables, Table, Row> {
  const [beyond, within] = descending ? (['<', '>='] as const) : (['>', '<='] as const);
  return rows
    .where(column, beyond, p.fromId as never)
    .where(column, within, p.endId as never)
    .orderBy(column as never, descending ? 'desc' : 'asc')
    .limit(p.rows as never);
}

/** Restricts a query to the row number `scanLimit` after `fromId`: the last one that a page may scan. */
export function keysetEnd<Tables, Table extends keyof Tables, Row>(
  rows: SelectQueryBuilder<Tables, Table, Row>,
  column: ReferenceExpression<Tables, Table> & string,
  descending: boolean,
  p: Params<{ fromId: number; scanLimit: number }>,
): SelectQueryBuilder<Tables, Table, Row> {
  return rows
    .where(column, descending ? '<' : '>', p.fromId as never)
    .orderBy(column as never, descending ? 'desc' : 'asc')
    .limit(1)
    .offset(sql<number>`${p.scanLimit} - 1` as never);
}

/**
 * A range of an index, whose columns are those of `prefix` and then those of `key`. Columns have their table:
 * `pets.id`.
 */
export interface IndexRange {
  /** Columns with the value that all rows of the range have. */
  readonly prefix: readonly (readonly [column: string, value: Expression<unknown>])[];
  /** The columns that sort the range. */
  readonly key: readonly string[];
  /** The values of `key` after which the range begins, and up to which it reads; by default unbounded. */
  readonly after?: readonly Expression<unknown>[];
  readonly upTo?: readonly Expression<unknown>[];
}

/**
 * Restricts rows to a range of an index, in its order.
 *
 * PostgreSQL might scan another index instead and discard rows with other values. Bounds that compare all columns as a
 * tuple prevent that; with such bounds, however, SQLite would begin at the first row.
 */
export function alongIndex<Tables, Table extends keyof Tables, Row>(
  engine: EngineName,
  descending: boolean,
  rows: SelectQueryBuilder<Tables, Table, Row>,
  { prefix, key, after = [], upTo = [] }: IndexRange,
): SelectQueryBuilder<Tables, Table, Row> {
  const [beyond, from, to] = descending ? ['<', '<=', '>='] : ['>', '>=', '<='];
  const inTuple = engine === 'postgres' ? prefix : [];
  const columns = [...inTuple.map(([column]) => column), ...key];
  const isBound = (operator: string, position: readonly Expression<unknown>[]) => {
    const values = [...inTuple.map(([, value]) => value), ...position];
    const tuple = columns.slice(0, values.length).map(column => sql.ref(column));
    return sql<boolean>`(${sql.join(tuple)}) ${sql.raw(operator)} (${sql.join(values)})`;
  };
  const equal = prefix.slice(inTuple.length).map(([column, value]) => sql<boolean>`${sql.ref(column)} = ${value}`);
  const isBounded = (position: readonly unknown[]) => inTuple.length + position.length > 0;
  const conditions = [
    ...equal,
    ...(isBounded(after) ? [isBound(after.length > 0 ? beyond! : from!, after)] : []),
    ...(isBounded(upTo) ? [isBound(to!, upTo)] : []),
  ];
  const matching = conditions.reduce((rows, condition) => rows.where(condition), rows);
  return columns.reduce((rows, column) => rows.orderBy(sql.ref(column), descending ? 'desc' : 'asc'), matching);
}
