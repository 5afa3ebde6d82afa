import type { ReferenceExpression, SelectQueryBuilder } from 'kysely';
import { type Params, sql } from './query.ts';

/** The range of ids that a page reads; see `Scan` of the pagination. */
export type KeysetParams = { fromId: number; endId: number; rows: number };

/**
 * Restricts a query to one page in the order of an id column: after `fromId`, up to `endId`, `rows` at most. An index on
 * the columns that the query compares, followed by the id, serves it without sorting.
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
