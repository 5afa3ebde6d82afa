import type { Expression, SelectQueryBuilder } from 'kysely';
import { type ListSource, type Page, paginate, type Scan } from '../lib/http/pagination/paginate.ts';
import type { Builder, EngineName } from '../lib/storage/query.ts';
import {
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  type Tables,
} from './schema.ts';

/** A list of the rows of a table in the order of their ids. */
interface DeclaredList<Table extends keyof Tables, Row extends { readonly id: number }, Values> {
  readonly table: Table;
  /** Returns all rows of the list, with their columns. */
  rows(db: Builder<Tables>, engine: EngineName): SelectQueryBuilder<Tables, Table, Row>;
  /**
   * Restricts rows to those with a value. A page without the value omits the filter. The names of the parameters of
   * every page are taken.
   */
  readonly filters: {
    readonly [Name in keyof Values]: Name extends keyof Scan
      ? never
      : <Selected>(
          rows: SelectQueryBuilder<Tables, Table, Selected>,
          value: Expression<Values[Name]>,
          engine: EngineName,
        ) => SelectQueryBuilder<Tables, Table, Selected>;
  };
  /** Whether a row need match only one of the filters. A page then merges a range of each filter's index. */
  readonly merged?: boolean;
  /** The filters that an index covers, if it does not cover all; with other filters, a page scans up to 20,000 rows. */
  readonly indexed?: readonly (keyof Values & string)[];
}

/** The identity of a list in its cursors, and the order of one page. */
type PageSource<Row extends { readonly id: number }> = Pick<
  ListSource<Row>,
  'list' | 'page' | 'descending' | 'cursorId'
> & {
  /** Whether the page scans rows that it does not return; by default true if an index does not cover all filters. */
  readonly scans?: boolean;
};

/** Returns the function that reads pages of a list. It throws `invalid_parameter` for a cursor of another list. */
export function declareList<Table extends keyof Tables, Row extends { readonly id: number }, Values extends object>({
  table,
  rows,
  filters,
  merged = false,
  indexed,
}: DeclaredList<Table, Row, Values>) {
  type Shape = { readonly [Name in keyof Values | 'descending']: boolean };
  type Name = keyof Values & string;
  const names = Object.keys(filters) as Name[];
  const restricted = <Selected>(
    all: SelectQueryBuilder<Tables, Table, Selected>,
    by: readonly Name[],
    shape: Shape,
    p: Params<Values>,
    engine: EngineName,
  ) => by.filter(name => shape[name]).reduce((left, name) => filters[name](left, p[name] as never, engine), all);
  const pageQuery = queriesByShape([...names, 'descending'], (shape: Shape) =>
    query((db, p: Params<Values & KeysetParams>, engine) => {
      const pageBy = (by: readonly Name[]) =>
        keysetPage(restricted(rows(db, engine), by, shape, p, engine), 'id' as never, shape.descending, p);
      const given = names.filter(name => shape[name]);
      if (!merged || given.length < 2) return pageBy(given);
      const runs = given.map(name => db.selectFrom(pageBy([name]).as('rows')).selectAll());
      // A row that matches several filters is in each of their runs.
      const once = runs.reduce((left, right) => left.union(right));
      return keysetPage(db.selectFrom(once.as('rows')).selectAll(), 'id' as never, shape.descending, p);
    }),
  );
  const endQuery = queriesByShape([...(indexed ?? []), 'descending'], (shape: Shape) =>
    query((db, p: Params<Values & { fromId: number; scanLimit: number }>, engine) => {
      // Every table of such a list has an id.
      const ids = db.selectFrom(table as 'holds').select('id') as never as SelectQueryBuilder<
        Tables,
        Table,
        { id: number }
      >;
      return keysetEnd(restricted(ids, indexed ?? [], shape, p, engine), 'id' as never, shape.descending, p);
    }),
  );
  return (
    reader: Reader,
    values: { readonly [Name in keyof Values]?: Values[Name] | undefined },
    { scans = indexed !== undefined, ...source }: PageSource<Row>,
  ): Promise<Page<Row>> => {
    const given = Object.fromEntries(names.map(name => [name, values[name] !== undefined])) as Shape;
    return paginate({
      ...source,
      rows: scan => reader.all(pageQuery({ ...given, ...scan }), { ...(values as Values), ...scan }),
      ...(scans && { end: scan => reader.first(endQuery({ ...given, ...scan }), { ...(values as Values), ...scan }) }),
    });
  };
}
