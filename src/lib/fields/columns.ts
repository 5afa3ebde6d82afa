import type { AliasedExpression, Expression } from 'kysely';
import {
  type ColumnValuesOf,
  type Field,
  type Fields,
  type Inserted,
  type InsertRowOf,
  isNullable,
  isShown,
  type PlainRowOf,
  type RowOf,
  type TableOf,
} from './field.ts';

/** A list of columns to select, each under its key in the row. */
type Selected<Row> = readonly { [K in keyof Row]: AliasedExpression<Row[K], K & string> }[keyof Row][];

/** The values of an insert or update: an expression for each column. */
export type Assigned<Row> = { [K in keyof Row]: Expression<NonGenerated<Row[K]>> };
type NonGenerated<Value> = Value extends { readonly __select__: infer Selected } ? Selected : Value;

interface Column {
  /** The column's key in a row: the name of the field, followed by the member's name if the value is an object. */
  readonly key: string;
  readonly name: string;
  readonly field: Field;
}

/** Returns the columns of a field called `name`; none for a derived field. */
function columnsOf(name: string, field: Field): Column[] {
  if (field.column !== undefined) return [{ key: name, name: field.column, field }];
  return Object.entries(field.columns ?? {}).map(([member, column]) => ({
    key: memberKey(name, member),
    name: column,
    field,
  }));
}

/** The key of a member's column in a row: `priceAmount` for the `amount` of `price`. */
export function memberKey(name: string, member: string): string {
  return `${name}${member.charAt(0).toUpperCase()}${member.slice(1)}`;
}

/**
 * Builds the column lists of queries over a table. Queries are compiled once, so this code does not run per request.
 */
export function columnsFor<F extends Fields>(fields: F) {
  const columns = Object.entries(fields).flatMap(([name, field]) => columnsOf(name, field));
  const stored = (one: Column) => (one.name === one.key ? one.key : `${one.name} as ${one.key}`);
  const asOf = (now: unknown) => (one: Column) => one.field.at?.(now).as(one.key) ?? stored(one);
  const assigned = (chosen: readonly Column[], p: object) =>
    Object.fromEntries(chosen.map(({ key, name }) => [name, p[key as keyof object]]));
  const inserted = columns.filter(({ field }) => !field.generated && field.view !== 'lock');
  const optional = new Set(Object.keys(fields).filter(name => isNullable(fields[name]!)));
  return {
    /** The columns of the plain view as of `now`, which is an SQL expression. */
    plain: (now?: unknown) =>
      columns.filter(({ field }) => isShown(field, 'plain')).map(asOf(now)) as unknown as Selected<PlainRowOf<F>>,
    /** The columns of the full view as of `now`, with those of `row`. */
    full: (now?: unknown) =>
      columns.filter(({ field }) => field.view !== 'lock').map(asOf(now)) as unknown as Selected<RowOf<F>>,
    /** Every column as it is stored. */
    stored: () => columns.map(stored) as unknown as Selected<ColumnValuesOf<F>>,
    /** The values of an insert, from the parameters of a query. With `brief`, without the columns that may be null. */
    inserted: (
      p: { readonly [K in keyof InsertRowOf<F>]: Expression<InsertRowOf<F>[K]> },
      length: 'brief' | 'whole' = 'whole',
    ) =>
      assigned(
        length === 'whole' ? inserted : inserted.filter(({ field }) => !isNullable(field)),
        p,
      ) as never as Assigned<TableOf<Inserted<F>>>,
    /** Reports whether a brief insert has all values of a body. */
    isBrief: (body: object) => Object.keys(body).every(name => !optional.has(name)),
    /**
     * The assignments of an update, from the parameters of a query: of `keys`, or of all columns that updates can
     * change.
     */
    updated: (p: object, keys?: readonly (keyof ColumnValuesOf<F>)[]) =>
      assigned(
        columns.filter(({ key, field }) =>
          keys ? keys.includes(key as never) : !field.fixed && field.view !== 'lock',
        ),
        p,
      ) as never as Partial<Assigned<TableOf<F>>>,
  };
}
