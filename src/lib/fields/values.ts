import type { Static } from 'typebox';
import type { FieldError } from '../http/problem.ts';
import { memberKey } from './columns.ts';
import {
  type Field,
  type Fields,
  isRecorded,
  isShown,
  type NewSchemaOf,
  type PatchSchemaOf,
  type PlainRowOf,
  type PreviousOf,
  type RecordedRowOf,
  type RowOf,
  type StateOf,
  type ViewSchemaOf,
  type WrittenRowOf,
} from './field.ts';

type Values = Record<string, unknown>;

/**
 * Builds the functions that convert between JSON values and rows. Build them once, as constants of a module: they walk no
 * schema and allocate nothing but their results.
 */
export function valuesFor<F extends Fields>(fields: F) {
  const all = Object.entries(fields).map(([name, field]) => accessorOf(name, field));
  const written = all.filter(({ field }) => field.write !== undefined);
  const empty = emptyRowOf(written);
  const patched = written.filter(({ field }) => field.patch !== false);
  const recorded = all.filter(({ field }) => isRecorded(field));
  const plain = readerOf(all.filter(({ field }) => isShown(field, 'plain')));
  const full = all.filter(({ field }) => isShown(field, 'full'));
  return {
    /** Returns the columns that a create or a replacement sets; what it leaves out gets its default or null. */
    toRow(body: Static<NewSchemaOf<F>>): WrittenRowOf<F> {
      const row = { ...empty };
      for (const { name, write } of written) {
        const value = (body as Values)[name];
        if (value !== undefined && value !== null) write(row, value);
      }
      return row as never;
    },
    /**
     * Returns the columns that a merge patch changes: `null` deletes a value, and the members that a patch of an object
     * leaves out stay.
     * @throws what `reject` makes of the members that are missing because there is no value yet
     */
    merge(
      row: WrittenRowOf<F>,
      patch: Static<PatchSchemaOf<F>>,
      reject: (errors: readonly FieldError[]) => Error,
    ): Partial<WrittenRowOf<F>> {
      const change: Values = {};
      const errors: FieldError[] = [];
      for (const { name, merge } of patched) {
        const value = (patch as Values)[name];
        if (value !== undefined) merge(change, row as Values, value, errors);
      }
      if (errors.length > 0) throw reject(errors);
      return change as never;
    },
    /** Returns the recorded fields of a row, as events store them. */
    stateOf: readerOf(recorded) as (row: RecordedRowOf<F>) => StateOf<F>,
    /** Returns the recorded fields that differ, as they were before; `undefined` where none does. */
    changesOf(before: RecordedRowOf<F>, after: RecordedRowOf<F>): PreviousOf<F> | undefined {
      let was: Values | undefined;
      for (const { name, keys, read } of recorded) {
        if (keys.every(key => before[key as never] === after[key as never])) continue;
        was ??= {};
        was[name] = (read ? read(before) : before[name as never]) ?? null;
      }
      return was as never;
    },
    /** Returns the plain view of a row. */
    plainOf: plain as (row: PlainRowOf<F>) => Static<ViewSchemaOf<F, 'plain'>>,
    /** Returns the full view of a row, as its owner sees it. */
    fullOf: readerOf(full) as FullView<F>,
    /** Returns the full view of a row without the fields that only its owner sees. */
    publicOf: readerOf(full.filter(({ field }) => field.visibleTo === undefined)) as FullView<F>,
    /** The names of the fields that only the owner sees. */
    ownersOnly: all.filter(({ field }) => field.visibleTo === 'owner').map(({ name }) => name) as readonly string[],
  };
}

type FullView<F> = (row: RowOf<F>) => Static<ViewSchemaOf<F, 'full'>>;

/**
 * Returns the row of a body without values. To clone it takes less time than to set each of its columns: the engine stores
 * an object from `JSON.parse` compactly, but turns one that gains many computed keys into a slower dictionary.
 */
function emptyRowOf(written: readonly Accessor[]): Values {
  const row: Values = {};
  for (const { field, write } of written) write(row, field.default ?? null);
  return JSON.parse(JSON.stringify(row));
}

/** How a field reads and writes its columns in a row. */
interface Accessor {
  readonly name: string;
  readonly field: Field;
  readonly keys: readonly string[];
  /** Returns the JSON value; undefined or null where the field has none. Absent where the column stores the JSON value. */
  readonly read: ((row: object) => unknown) | undefined;
  /** Sets the columns to a JSON value, or to null. */
  write(row: Values, value: unknown): void;
  /** Sets the columns that a patch with this value changes. */
  merge(change: Values, row: Values, value: unknown, errors: FieldError[]): void;
}

function accessorOf(name: string, field: Field): Accessor {
  const { columns, derive, codec } = field;
  if (columns !== undefined) return objectAccessor(name, field, Object.keys(columns));
  if ((field.schema as JsonSchema).type === 'object') return jsonObjectAccessor(name, field);
  const decode = codec && ((row: Values) => (row[name] === null ? null : codec.decode(row[name] as never)));
  const read = (derive ?? decode) as Accessor['read'];
  const write = (row: Values, value: unknown) => {
    row[name] = value === null || codec === undefined ? value : codec.encode(value as never);
  };
  return {
    name,
    field,
    keys: [name],
    read,
    write,
    merge: (change, _, value) => write(change, value),
  };
}

/** An object whose members are stored in columns of their own; all of them are null where there is no value. */
function objectAccessor(name: string, field: Field, members: readonly string[]): Accessor {
  const keys = members.map(member => memberKey(name, member));
  const { required = [] } = field.schema as JsonSchema;
  return {
    name,
    field,
    keys,
    read(row) {
      let value: Values | null = null;
      for (let index = 0; index < keys.length; index++) {
        const member: unknown = row[keys[index] as never];
        if (member === null) continue;
        value ??= {};
        value[members[index]!] = member;
      }
      return value;
    },
    write(row, value) {
      for (let index = 0; index < keys.length; index++)
        row[keys[index]!] = (value as Values | null)?.[members[index]!] ?? null;
    },
    merge(change, row, value, errors) {
      for (const [index, member] of members.entries()) {
        const sent = value === null ? null : (value as Values)[member];
        const merged = sent === undefined ? row[keys[index]!] : sent;
        change[keys[index]!] = merged;
        if (merged === null && value !== null && required.includes(member)) errors.push(isMissing(name, member));
      }
    },
  };
}

/** An object that is JSON text in one column. Members that its schema does not have are left out. */
function jsonObjectAccessor(name: string, field: Field): Accessor {
  const { properties, required = [] } = field.schema as JsonSchema;
  const members = properties && Object.keys(properties);
  const decode = (stored: unknown) => (stored === null ? {} : (JSON.parse(stored as string) as Values));
  const encode = (value: Values) => {
    const kept = Object.entries(value).filter(([member]) => members?.includes(member) ?? true);
    return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept));
  };
  return {
    name,
    field,
    keys: [name],
    read: row => (row[name as never] === null ? null : decode(row[name as never])),
    write(row, value) {
      row[name] = value === null ? null : encode(value as Values);
    },
    merge(change, row, value, errors) {
      const merged = value === null ? {} : { ...decode(row[name]), ...(value as Values) };
      for (const member of Object.keys(merged)) if (merged[member] === null) delete merged[member];
      change[name] = encode(merged);
      if (value === null) return;
      errors.push(...required.filter(member => !(member in merged)).map(member => isMissing(name, member)));
    },
  };
}

/** What accessors read of the schema of an object. */
interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

function isMissing(name: string, member: string): FieldError {
  const message = `${member} is required where there is no ${name} yet.`;
  return { path: `/${name}/${member}`, code: 'required', message };
}

/** Returns a function that reads fields of a row. Those without a value are absent from its result. */
function readerOf(accessors: readonly Accessor[]) {
  return (row: object): unknown => {
    const values: Values = {};
    for (const { name, read } of accessors) {
      const value: unknown = read === undefined ? row[name as never] : read(row);
      if (value !== undefined && value !== null) values[name] = value;
    }
    return values;
  };
}
