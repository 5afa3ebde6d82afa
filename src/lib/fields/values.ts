import type { Static } from 'typebox';
import type { FieldError } from '../http/problem.ts';
import { memberKey } from './columns.ts';
import {
  type Field,
  type Fields,
  isRecorded,
  type NewSchemaOf,
  type PatchSchemaOf,
  type PreviousOf,
  type RecordedRowOf,
  type RowOf,
  type StateOf,
  type ViewSchemaOf,
  type WrittenRowOf,
} from './field.ts';
import { isShown } from './schemas.ts';

type Values = Record<string, unknown>;

/**
 * Builds the functions that convert between JSON values and rows. Build them once, as constants of a module: they walk no
 * schema and allocate nothing but their results.
 */
export function valuesFor<F extends Fields>(fields: F) {
  const all = Object.entries(fields).map(([name, field]) => accessorOf(name, field));
  const written = all.filter(({ field }) => field.write !== undefined);
  const patched = written.filter(({ field }) => field.patch !== false);
  const recorded = all.filter(({ field }) => isRecorded(field));
  const plain = all.filter(({ field }) => isShown(field, 'plain'));
  const full = all.filter(({ field }) => isShown(field, 'full'));
  return {
    /** Returns the columns that a create or a replacement sets; what it leaves out gets its default or null. */
    toRow(body: Static<NewSchemaOf<F>>): WrittenRowOf<F> {
      const row: Values = {};
      for (const { name, field, write } of written) write(row, (body as Values)[name] ?? field.default ?? null);
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
      for (const accessor of patched) {
        const value = (patch as Values)[accessor.name];
        if (value !== undefined) accessor.merge(change, row as Values, value, errors);
      }
      if (errors.length > 0) throw reject(errors);
      return change as never;
    },
    /** Returns the recorded fields of a row, as events store them. */
    stateOf: (row: RecordedRowOf<F>) => readAll(recorded, row) as StateOf<F>,
    /** Returns the recorded fields that differ, as they were before; `undefined` where none does. */
    changesOf(before: RecordedRowOf<F>, after: RecordedRowOf<F>): PreviousOf<F> | undefined {
      let was: Values | undefined;
      for (const { name, keys, read } of recorded) {
        if (keys.every(key => (before as Values)[key] === (after as Values)[key])) continue;
        was ??= {};
        was[name] = read(before as Values) ?? null;
      }
      return was as never;
    },
    /** Returns the plain view of a row. */
    plainOf: (row: Pick<RowOf<F>, never>) => readAll(plain, row) as Static<ViewSchemaOf<F, 'plain'>>,
    /** Returns the full view of a row. */
    fullOf: (row: RowOf<F>) => readAll(full, row) as Static<ViewSchemaOf<F, 'full'>>,
  };
}

/** How a field reads and writes its columns in a row. */
interface Accessor {
  readonly name: string;
  readonly field: Field;
  readonly keys: readonly string[];
  /** Returns the JSON value; `undefined` where the field has none. */
  read(row: Values): unknown;
  /** Sets the columns to a JSON value, or to null. */
  write(row: Values, value: unknown): void;
  /** Sets the columns that a patch with this value changes. */
  merge(change: Values, row: Values, value: unknown, errors: FieldError[]): void;
}

function accessorOf(name: string, field: Field): Accessor {
  const { columns, derive, codec } = field as Field & {
    codec?: { encode(value: unknown): unknown; decode(stored: unknown): unknown };
  };
  if (columns !== undefined) return objectAccessor(name, field, Object.keys(columns));
  const write = (row: Values, value: unknown) => {
    row[name] = value === null || codec === undefined ? value : codec.encode(value);
  };
  return {
    name,
    field,
    keys: [name],
    read: derive
      ? row => derive(row as never)
      : codec
        ? row => (row[name] === null ? undefined : codec.decode(row[name]))
        : row => row[name] ?? undefined,
    write,
    merge: (change, _, value) => write(change, value),
  };
}

/** An object whose members are stored in columns of their own; all of them are null where there is no value. */
function objectAccessor(name: string, field: Field, members: readonly string[]): Accessor {
  const keys = members.map(member => memberKey(name, member));
  return {
    name,
    field,
    keys,
    read(row) {
      if (row[keys[0]!] === null) return undefined;
      const value: Values = {};
      for (let index = 0; index < keys.length; index++) value[members[index]!] = row[keys[index]!];
      return value;
    },
    write(row, value) {
      for (let index = 0; index < keys.length; index++)
        row[keys[index]!] = (value as Values | null)?.[members[index]!] ?? null;
    },
    merge(change, row, value, errors) {
      for (const [index, member] of members.entries()) {
        const merged = value === null ? null : ((value as Values)[member] ?? row[keys[index]!]);
        change[keys[index]!] = merged;
        if (merged !== null || value === null) continue;
        const message = `${member} is required where there is no ${name} yet.`;
        errors.push({ path: `/${name}/${member}`, code: 'required', message });
      }
    },
  };
}

function readAll(accessors: readonly Accessor[], row: object): Values {
  const values: Values = {};
  for (const { name, read } of accessors) {
    const value = read(row as Values);
    if (value !== undefined) values[name] = value;
  }
  return values;
}
