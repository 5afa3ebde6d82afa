import type { Generated, RawBuilder } from 'kysely';
import type { Static, TNull, TObject, TOptional, TSchema, TUnion } from 'typebox';
import { formatDate, formatTime, parseDate, parseTime } from '../time.ts';

/** Converts between the JSON value of a field and the value in its column. */
export interface Codec<Value, Stored> {
  encode(value: Value): Stored;
  decode(stored: Stored): Value;
}

/** A time: RFC 3339 in JSON, milliseconds since the Unix epoch in the column. */
export const time: Codec<string, number> = { encode: text => parseTime(text)!, decode: formatTime };

/** A date: `2026-11-20` in JSON, the milliseconds of its start in UTC in the column. */
export const date: Codec<string, number> = { encode: text => parseDate(text)!, decode: formatDate };

/** A boolean: 0 or 1 in the column. */
export const booleanAsInteger: Codec<boolean, number> = { encode: Number, decode: stored => stored === 1 };

/** A list or an object: JSON text in the column. */
export function json<Value>(): Codec<Value, string> {
  return { encode: value => JSON.stringify(value), decode: stored => JSON.parse(stored) };
}

/** Everything about a field except its schema. */
interface FieldOptions {
  readonly column?: string;
  /** For a value that is an object: its members and the columns that store them. An optional member may be null. */
  readonly columns?: Readonly<Record<string, string>>;
  /** How the column stores the value; without it, the column stores the JSON value. */
  readonly codec?: { encode(value: never): unknown; decode(stored: never): unknown };
  /**
   * Whether callers write the field: `required` in a create and a replacement, or `optional`. An optional field without
   * a `default` is nullable: `null` in a patch and absence in a replacement delete its value. Without `write`, the
   * service sets the field.
   */
  readonly write?: 'required' | 'optional';
  /** The value of an optional field that is missing in a create or a replacement. */
  readonly default?: unknown;
  /** The schema of the value in a patch, if it differs; `false` if patches cannot change the field. */
  readonly patch?: TSchema | false;
  /** Whether the column of a field that the service sets may be null. */
  readonly nullable?: true;
  /**
   * The smallest view that shows the field; `full` by default. Fields of `row` are read with the full view but not
   * shown. Fields of `lock` are only read by locks.
   */
  readonly view?: 'plain' | 'full' | 'row' | 'lock';
  /** `owner`: only the owner of the pet reads the field in the full view, in events and in the history. */
  readonly visibleTo?: 'owner';
  /** The schema in responses, if it differs. */
  readonly shown?: TSchema;
  /** Whether events record changes of the field; by default, only of fields that callers write. */
  readonly recorded?: boolean;
  /** The SQL value as of `now`, if the value changes with time without a write. Locks read the column itself. */
  readonly at?: (now: unknown) => RawBuilder<unknown>;
  /** Computes the value of a field without a column from the row. */
  readonly derive?: (row: never) => unknown;
  /** Whether the database assigns the value on insert. */
  readonly generated?: true;
  /** Whether updates leave the value alone. */
  readonly fixed?: true;
  /** The command-line flag, without dashes, and its placeholder in help; by default derived from the name. */
  readonly cli?: { readonly flag?: string; readonly value?: string };
}

/** One field of a resource. Schemas, columns, queries and views derive from it. */
export type Field = FieldOptions & { readonly schema: TSchema };

/** The fields of a resource by their JSON names, in the order of responses. */
export type Fields = Readonly<Record<string, Field>>;

export function field<Schema extends TSchema, const Options extends FieldOptions>(
  schema: Schema,
  options: Options,
): { readonly schema: Schema } & Options {
  return { schema, ...options };
}

/** Reports whether a field may have no value. */
export function isNullable({ write, nullable, ...options }: Field): boolean {
  return nullable === true || (write === 'optional' && !('default' in options));
}

/** Reports whether events record changes of a field. */
export function isRecorded({ write, recorded }: Field): boolean {
  return recorded ?? write !== undefined;
}

/** Reports whether a view shows a field. */
export function isShown({ view = 'full' }: Field, shown: 'plain' | 'full'): boolean {
  return view === 'plain' || (shown === 'full' && view === 'full');
}

type KeysWith<F, Option> = { [K in keyof F]: F[K] extends Option ? K : never }[keyof F];
type Without<F, Option> = Omit<F, KeysWith<F, Option>>;
type Written<F> = Pick<F, KeysWith<F, { write: string }>>;
type Recorded<F> = Without<Pick<F, KeysWith<F, { write: string } | { recorded: true }>>, { recorded: false }>;
type Plain<F> = Pick<F, KeysWith<F, { view: 'plain' }>>;
type Shown<F, View> = View extends 'plain' ? Plain<F> : Without<F, { view: 'row' | 'lock' }>;

/** `null` for a field that may have no value. */
type NullOf<F> = F extends { nullable: true }
  ? null
  : F extends { default: unknown }
    ? never
    : F extends { write: 'optional' }
      ? null
      : never;

type SchemaOf<F, Option extends string = 'schema'> = F extends { [_ in Option]: infer Schema extends TSchema }
  ? Schema
  : F extends { schema: infer Schema extends TSchema }
    ? Schema
    : never;
type OptionalIfNull<F, Schema extends TSchema> = [NullOf<F>] extends [never] ? Schema : TOptional<Schema>;
type NullableSchema<F, Schema extends TSchema> = [NullOf<F>] extends [never] ? Schema : TUnion<[Schema, TNull]>;
type StoredOf<F> = F extends { codec: { encode(value: never): infer Stored } } ? Stored : Static<SchemaOf<F>>;

/** The type of a member's column: nullable for an optional member. */
type MemberOf<Stored, M> = M extends keyof Stored
  ? undefined extends Stored[M]
    ? NonNullable<Stored[M]> | null
    : Stored[M]
  : never;

/** The columns of the fields: each with its key in a row and its type. */
type ColumnOf<F> = {
  [K in keyof F & string]: F[K] extends { column: infer Column extends string }
    ? { key: K; column: Column; value: StoredOf<F[K]> | NullOf<F[K]>; field: F[K] }
    : F[K] extends { columns: infer Columns extends Record<string, string> }
      ? {
          [M in keyof Columns & string]: {
            key: `${K}${Capitalize<M>}`;
            column: Columns[M];
            value: MemberOf<StoredOf<F[K]>, M> | NullOf<F[K]>;
            field: F[K];
          };
        }[keyof Columns & string]
      : never;
}[keyof F & string];

/** The columns of a table, as Kysely describes them. */
export type TableOf<F> = {
  [C in ColumnOf<F> as C['column']]: C['field'] extends { generated: true } ? Generated<C['value']> : C['value'];
};

/** A row as a lock reads it: every column by its key. */
export type ColumnValuesOf<F> = { readonly [C in ColumnOf<F> as C['key']]: C['value'] };

/** A row as the full view reads it. An object's members have keys of their own: `priceAmount`. */
export type RowOf<F> = ColumnValuesOf<Without<F, { view: 'lock' }>>;

/** A row as the plain view reads it. */
export type PlainRowOf<F> = ColumnValuesOf<Plain<F>>;

/** The fields whose columns an insert sets: all but those that the database assigns. */
export type Inserted<F> = Without<F, { generated: true } | { view: 'lock' }>;

export type InsertRowOf<F> = ColumnValuesOf<Inserted<F>>;

/** The columns that callers write. */
export type WrittenRowOf<F> = ColumnValuesOf<Written<F>>;

/** The columns that events record. */
export type RecordedRowOf<F> = ColumnValuesOf<Recorded<F>>;

/** The schema of a create or a replacement. */
export type NewSchemaOf<F> = TObject<{
  [K in keyof Written<F>]: F[K] extends { write: 'required' } ? SchemaOf<F[K]> : TOptional<SchemaOf<F[K]>>;
}>;

export type PatchSchemaOf<F> = TObject<{
  [K in keyof Without<Written<F>, { patch: false }>]: TOptional<NullableSchema<F[K], SchemaOf<F[K], 'patch'>>>;
}>;

export type ViewSchemaOf<F, View extends 'plain' | 'full', Members = Record<never, never>> = TObject<
  { [K in Exclude<keyof Shown<F, View>, keyof Members>]: OptionalIfNull<F[K], SchemaOf<F[K], 'shown'>> } & Members
>;

/** The schema of the changes in a history: each recorded field with its value before and after. */
export type ChangesSchemaOf<F> = TObject<{
  [K in keyof Recorded<F>]: TOptional<
    TObject<{ from: TOptional<SchemaOf<F[K], 'shown'>>; to: TOptional<SchemaOf<F[K], 'shown'>> }>
  >;
}>;

/** The recorded fields as events store them; absent where a field has no value. */
export type StateOf<F> = Readonly<Static<TObject<{ [K in keyof Recorded<F>]: OptionalIfNull<F[K], SchemaOf<F[K]>> }>>>;

/** The recorded fields that changed, as they were before; `null` for a field that had no value. */
export type PreviousOf<F> = { readonly [K in keyof StateOf<F>]?: StateOf<F>[K] | null };
