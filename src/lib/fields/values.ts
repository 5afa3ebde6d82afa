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
 * Builds the functions that convert between JSON values and rows. Build them once, as constants of a module: they do
 * not traverse schemas, and allocate only their results.
 */
export function valuesFor<F extends Fields>(fields: F) {
  const all = Object.entries(fields).map(([name, field]) => accessorOf(name, field));
  const written = all.filter(({ field }) => field.write !== undefined);
  const empty = emptyRowOf(written);
  const patched = written.filter(({ field }) => field.patch !== false);
  const recorded = all.filter(({ field }) => isRecorded(field));
  const changedIn = comparerOf(recorded);
  const plain = readerOf(all.filter(({ field }) => isShown(field, 'plain')));
  const full = all.filter(({ field }) => isShown(field, 'full'));
  return {
    /** Returns the columns that a create or a replacement sets. A missing field gets its default or null. */
    toRow(body: Static<NewSchemaOf<F>>): WrittenRowOf<F> {
      const row = { ...empty };
      for (const { name, write } of written) {
        const value = (body as Values)[name];
        if (value === undefined || value === null) continue;
        if (write === undefined) row[name] = value;
        else write(row, value);
      }
      return row as never;
    },
    /**
     * Returns the columns that a merge patch changes. `null` deletes a value; members that are missing in a patch of an
     * object keep their values.
     * @throws the error that `reject` returns, if a patch of an object without a value lacks required members
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
    /** Returns the earlier values of the recorded fields that changed; `undefined` if none changed. */
    changesOf(before: RecordedRowOf<F>, after: RecordedRowOf<F>): PreviousOf<F> | undefined {
      let was: Values | undefined;
      for (const { name, read } of changedIn(before, after)) {
        was ??= {};
        const stored: unknown = before[name as never];
        was[name] = (read && stored !== null ? read(before) : stored) ?? null;
      }
      return was as never;
    },
    /** Returns the plain view of a row. */
    plainOf: plain as (row: PlainRowOf<F>) => Static<ViewSchemaOf<F, 'plain'>>,
    /** Returns the full view of a row, as its owner sees it. */
    fullOf: readerOf(full) as FullView<F>,
    /** Returns the full view of a row without the fields that only its owner sees. */
    publicOf: readerOf(full.filter(({ field }) => field.visibleTo === undefined)) as FullView<F>,
    /** Returns a function that returns some fields of the full view of a row. */
    readerFor<Name extends keyof Static<ViewSchemaOf<F, 'full'>>>(names: readonly Name[]) {
      const chosen = full.filter(({ name }) => names.includes(name as Name));
      return readerOf(chosen) as (row: RowOf<F>) => Pick<Static<ViewSchemaOf<F, 'full'>>, Name>;
    },
    /** The names of the fields that only the owner sees. */
    ownersOnly: all.filter(({ field }) => field.visibleTo === 'owner').map(({ name }) => name) as readonly string[],
  };
}

type FullView<F> = (row: RowOf<F>) => Static<ViewSchemaOf<F, 'full'>>;

/**
 * Returns an empty row of a body. Cloning it is faster than setting each column: the engine stores an object from
 * `JSON.parse` compactly, but turns an object that gains many computed keys into a slower dictionary.
 */
function emptyRowOf(written: readonly Accessor[]): Values {
  const row: Values = {};
  for (const { name, field, write } of written) {
    if (write === undefined) row[name] = field.default ?? null;
    else write(row, field.default ?? null);
  }
  return JSON.parse(JSON.stringify(row));
}

/** Functions that read and write the columns of one field in a row. */
interface Accessor {
  readonly name: string;
  readonly field: Field;
  readonly keys: readonly string[];
  /**
   * Returns the JSON value; undefined or null if the field has no value. Absent if the column stores the JSON value. Do not
   * call it if the column of the field is null.
   */
  readonly read: ((row: object) => unknown) | undefined;
  /** Sets the columns to a JSON value, or to null. Absent if the column stores the JSON value. */
  readonly write: ((row: Values, value: unknown) => void) | undefined;
  /** Sets the columns that a patch with this value changes. */
  merge(change: Values, row: Values, value: unknown, errors: FieldError[]): void;
}

function accessorOf(name: string, field: Field): Accessor {
  const { columns, derive, codec } = field;
  if (columns !== undefined) return objectAccessor(name, field, Object.keys(columns));
  if ((field.schema as JsonSchema).type === 'object') return jsonObjectAccessor(name, field);
  const decode = codec && ((row: Values) => codec.decode(row[name] as never));
  const read = (derive ?? decode) as Accessor['read'];
  const encode = (value: unknown) => (value === null || codec === undefined ? value : codec.encode(value as never));
  return {
    name,
    field,
    keys: [name],
    read,
    write:
      codec &&
      ((row, value) => {
        row[name] = encode(value);
      }),
    merge(change, _, value) {
      change[name] = encode(value);
    },
  };
}

/** An object whose members are stored in columns of their own. All of them are null if the field has no value. */
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

/** An object that is stored as JSON text in one column. Members that its schema lacks are omitted. */
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
    read: row => JSON.parse(row[name as never]),
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

/** The part of an object's schema that accessors read. */
interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

function isMissing(name: string, member: string): FieldError {
  const message = `${member} is required, because there is no ${name} yet.`;
  return { path: `/${name}/${member}`, code: 'required', message };
}

/** Returns a function that reads fields of a row. It omits fields without a value. */
function readerOf(accessors: readonly Accessor[]) {
  return (row: object): unknown => {
    const values: Values = {};
    for (const { name, read } of accessors) {
      const stored: unknown = row[name as never];
      if (stored === null) continue;
      const value = read === undefined ? stored : read(row);
      if (value !== undefined && value !== null) values[name] = value;
    }
    return values;
  };
}

/** Returns a function that compares two rows, and returns the accessors of the fields that changed, in their order. */
function comparerOf(accessors: readonly Accessor[]) {
  const indexes = new Map(accessors.flatMap(({ keys }, index) => keys.map(key => [key, index] as const)));
  return (before: object, after: object): Accessor[] => {
    const changed = new Set<number>();
    // The engine reads the next property of an object several times as fast as one by a name that varies.
    for (const key in after) {
      if (before[key as never] === after[key as never]) continue;
      const index = indexes.get(key);
      if (index !== undefined) changed.add(index);
    }
    return [...changed].sort((one, other) => one - other).map(index => accessors[index]!);
  };
}
