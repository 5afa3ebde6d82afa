import type Typebox from 'typebox';
import type { TProperties, TSchema } from 'typebox';

export type { Static } from 'typebox';

/**
 * The functions of TypeBox that schemas are written with, with its types: each returns what TypeBox returns. Importing
 * TypeBox itself would load 373 modules at each start, most of them for types that are computed from others.
 */
export const Type = {
  Array: (items: TSchema, options?: object) => create('Array', { type: 'array', items }, options),
  Boolean: (options?: object) => create('Boolean', { type: 'boolean' }, options),
  Enum: (values: readonly unknown[], options?: object) => create('Enum', { enum: values }, options),
  Integer: (options?: object) => create('Integer', { type: 'integer' }, options),
  Literal: (value: unknown, options?: object) => create('Literal', { type: typeof value, const: value }, options),
  Null: (options?: object) => create('Null', { type: 'null' }, options),
  Number: (options?: object) => create('Number', { type: 'number' }, options),
  Object: createObject,
  Optional: optional,
  Partial(schema: { readonly properties: TProperties }, options?: object) {
    const properties = Object.entries(schema.properties).map(([name, property]) => [name, optional(property)]);
    return Object.assign(createObject(Object.fromEntries(properties)), options);
  },
  Record(key: { readonly pattern?: string }, value: TSchema, options?: object) {
    const { pattern = '^.*$' } = key;
    return create('Record', { type: 'object', patternProperties: { [pattern]: value } }, options);
  },
  Refine(schema: { readonly '~refine'?: readonly unknown[] }, check: unknown, error: unknown) {
    return withHidden(copyOf(schema), '~refine', [...(schema['~refine'] ?? []), { check, error }]);
  },
  String: (options?: object) => create('String', { type: 'string' }, options),
  Union: (anyOf: readonly TSchema[], options?: object) => create('Union', { anyOf }, options),
  Unknown: (options?: object) => create('Unknown', {}, options),
  Unsafe: (schema: TSchema) => withHidden(copyOf(schema), '~unsafe', null),
} as unknown as Pick<
  typeof Typebox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'Refine'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;

function createObject(properties: TProperties, options?: object): TSchema {
  const required = Object.keys(properties).filter(name => !('~optional' in properties[name]!));
  const members = { type: 'object', ...(required.length > 0 && { required }), properties };
  return create('Object', members, options);
}

function optional(schema: TSchema): TSchema {
  return withHidden(copyOf(schema), '~optional', true);
}

function create(kind: string, keywords: object, options?: object): TSchema {
  return withHidden({ ...keywords, ...options }, '~kind', kind);
}

/** Adds a member that JSON leaves out. */
function withHidden(schema: TSchema, name: string, value: unknown): TSchema {
  return Object.defineProperty(schema, name, { value, configurable: true, writable: true });
}

/** Copies a schema with its hidden members. */
function copyOf(schema: TSchema): TSchema {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
}
