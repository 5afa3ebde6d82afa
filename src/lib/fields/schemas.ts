import type { TNull, TObject, TObjectOptions, TOptional, TProperties, TSchema, TUnion } from 'typebox';
import { Type } from '../type.ts';
import {
  type ChangesSchemaOf,
  type Field,
  type Fields,
  isNullable,
  isRecorded,
  isShown,
  type NewSchemaOf,
  type PatchSchemaOf,
  type ViewSchemaOf,
} from './field.ts';

/** Returns the schema of a create or a replacement: the fields that callers write. */
export function newSchema<F extends Fields>(fields: F, title: string, description: string): NewSchemaOf<F> {
  return objectOf(fields, { title, description }, ({ write, schema, cli }) => {
    if (write === undefined) return undefined;
    return withCli(write === 'required' ? schema : Type.Optional(schema), cli);
  }) as never;
}

/** Returns the schema of a merge patch (RFC 7396): every field is optional, and `null` deletes a nullable one. */
export function patchSchema<F extends Fields>(fields: F, title: string): PatchSchemaOf<F> {
  const description = 'The fields to change; `null` removes an optional field.';
  return objectOf(fields, { title, description }, field => {
    const { write, patch, schema, cli } = field;
    if (write === undefined || patch === false) return undefined;
    const value = patch ?? schema;
    return withCli(Type.Optional(isNullable(field) ? Type.Union([value, Type.Null()]) : value), cli);
  }) as never;
}

/** Returns the schema of a merge patch of an object: every member is optional, and `null` deletes it. */
export function objectPatch<Members extends TProperties>(object: TObject<Members>, title: string) {
  const members = Object.entries(object.properties as TProperties).map(([name, schema]) => [
    name,
    Type.Optional(Type.Union([schema, Type.Null()])),
  ]);
  return Type.Object(Object.fromEntries(members) as { [M in keyof Members]: TOptional<TUnion<[Members[M], TNull]>> }, {
    title,
    description: 'The members to change; `null` removes a member, and the others stay.',
  });
}

/**
 * Returns the schema of a resource in responses: the fields of the full view. The argument `members` replaces fields,
 * and adds members that are not fields.
 */
export const fullSchema = viewSchema('full');

/** Returns the schema of the plain view; see `fullSchema`. */
export const plainSchema = viewSchema('plain');

function viewSchema<View extends 'plain' | 'full'>(view: View) {
  const shownBy = (field: Field) => {
    if (!isShown(field, view)) return undefined;
    const shown = field.shown ?? field.schema;
    return isNullable(field) ? Type.Optional(shown) : shown;
  };
  return <F extends Fields, Members extends TProperties = Record<never, never>>(
    fields: F,
    title: string,
    description: string,
    members?: Members,
  ): ViewSchemaOf<F, View, Members> => objectOf(fields, { title, description }, shownBy, members) as never;
}

/** Returns the schema of changes: each recorded field with its values before (`from`) and after (`to`). */
export function changesSchema<F extends Fields>(fields: F, description: string): ChangesSchemaOf<F> {
  return objectOf(fields, { description }, field => {
    if (!isRecorded(field)) return undefined;
    const value = Type.Optional(field.shown ?? field.schema);
    return Type.Optional(Type.Object({ from: value, to: value }));
  }) as never;
}

/** Returns the schema of a resource in events: `members`, then its recorded fields. */
export function recordedSchema(fields: Fields, title: string, description: string, members: TProperties): TObject {
  const { properties } = objectOf(fields, {}, field => {
    if (!isRecorded(field)) return undefined;
    const shown = field.shown ?? field.schema;
    return isNullable(field) ? Type.Optional(shown) : shown;
  });
  return Type.Object({ ...members, ...properties }, { title, description });
}

function objectOf(
  fields: Fields,
  options: TObjectOptions,
  schemaOf: (field: Field) => TSchema | undefined,
  members?: TProperties,
) {
  const properties = Object.entries(fields).flatMap(([name, field]) => {
    const schema = schemaOf(field);
    return schema === undefined ? [] : [[name, schema] as const];
  });
  return Type.Object({ ...Object.fromEntries(properties), ...members }, options);
}

/**
 * Returns a copy of a schema that carries the field's command-line flag as `~cli`, which no document or validator
 * reads.
 */
function withCli<Schema extends TSchema>(schema: Schema, cli: Field['cli']): Schema {
  if (cli === undefined) return schema;
  const members = Object.getOwnPropertyDescriptors(schema);
  return Object.defineProperties({} as Schema, { ...members, '~cli': { value: cli } } as PropertyDescriptorMap);
}
