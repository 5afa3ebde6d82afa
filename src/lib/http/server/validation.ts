import type { TObject, TSchema } from 'typebox';
import { countText } from '../../text.ts';
import { FIELD_ERRORS_MAX, type FieldError } from '../problem.ts';
import { compileSchema, type Validator } from './schema-validator.ts';

export type Reading<T> = { readonly value: T } | { readonly errors: readonly FieldError[] };

/** Validates JSON values by one schema, which is compiled for the first of them. Types are never coerced. */
export class BodyReader {
  #validator: Validator | undefined;
  readonly #schema: TSchema;
  readonly #lists: readonly List[];

  constructor(schema: TSchema) {
    this.#schema = schema;
    this.#lists = listsOf(schema);
  }

  /**
   * Returns the value, or one error for each invalid field, by JSON Pointer.
   * @param strict whether unknown members are errors; otherwise they are ignored
   */
  read(value: unknown, strict: boolean): Reading<unknown> {
    const tooLong: List[] = [];
    const repeated: List[] = [];
    for (const list of this.#lists) {
      const items = (value as Record<string, unknown> | null | undefined)?.[list.name];
      if (!Array.isArray(items)) continue;
      if (items.length > list.maxItems) tooLong.push(list);
      // The items are numbers or strings.
      else if (list.uniqueItems && new Set(items).size < items.length) repeated.push(list);
    }
    const wrong = [
      ...tooLong.map(({ name, maxItems }) => invalid(`/${name}`, `Must have at most ${maxItems} items.`)),
      ...repeated.map(({ name }) => invalid(`/${name}`, 'Must not have duplicate items.')),
    ];
    // The items of a list that is too long are not validated, because there may be very many.
    const judged = tooLong.length === 0 ? value : { ...(value as object) };
    for (const { name } of tooLong) delete (judged as Record<string, unknown>)[name];
    this.#validator ??= compileSchema(withoutUniqueItems(this.#schema));
    if (wrong.length > 0 || !this.#validator.Check(judged)) {
      const [, found] = this.#validator.Errors(judged);
      const named = found.filter(error => !saysOnlyNotNull(error));
      const errors = [...wrong, ...named.flatMap(error => fieldErrors(error, this.#schema))];
      return { errors: onePerField(errors).slice(0, FIELD_ERRORS_MAX) };
    }
    const unknown = strict ? unknownMembers(this.#schema, value) : [];
    return unknown.length === 0 ? { value } : { errors: unknown };
  }
}

/** A member that is a list. The validator checks neither its length nor its duplicates. */
interface List {
  readonly name: string;
  readonly maxItems: number;
  readonly uniqueItems: boolean;
}

function listsOf(schema: TSchema): List[] {
  return Object.entries((schema as Partial<TObject>).properties ?? {}).flatMap(([name, property]) => {
    const list = asNotNull(property, 'items') as Partial<List> & { items?: TSchema };
    const { items, maxItems = Number.POSITIVE_INFINITY, uniqueItems = false } = list;
    return items === undefined ? [] : [{ name, maxItems, uniqueItems }];
  });
}

function invalid(path: string, message: string): FieldError {
  return { path, code: 'invalid_value', message };
}

/**
 * Returns a schema without `uniqueItems`. The validator would hash every item recursively and copy all items for each,
 * which takes seconds for small bodies.
 */
function withoutUniqueItems<Value>(schema: Value): Value {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutUniqueItems) as Value;
  const { uniqueItems: _, ...members } = Object.getOwnPropertyDescriptors(schema) as Record<string, PropertyDescriptor>;
  for (const member of Object.values(members)) if (member.enumerable) member.value = withoutUniqueItems(member.value);
  return Object.create(Object.getPrototypeOf(schema), members) as Value;
}

/** Returns the schema of a nullable member's keyword, so that it also accepts `null`. */
function asNotNull(schema: TSchema, keyword: string): TSchema {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  return anyOf?.find(one => keyword in one) ?? schema;
}

/** Returns the first error of each field; the others often follow from it. */
function onePerField(errors: readonly FieldError[]): FieldError[] {
  const paths = new Set<string>();
  return errors.filter(({ path }) => !paths.has(path) && paths.add(path));
}

type SchemaError = ReturnType<Validator['Errors']>[1][number];

/**
 * Reports whether an error only says that a nullable member is not `null`. Another error gives the actual reason, which
 * concerns the caller more.
 */
function saysOnlyNotNull({ keyword, schemaPath, params }: SchemaError): boolean {
  if (keyword === 'anyOf') return true;
  return (
    keyword === 'type' && /\/anyOf\/\d+$/.test(schemaPath) && (params as Record<string, unknown>)['type'] === 'null'
  );
}

function fieldErrors({ instancePath: path, ...error }: SchemaError, schema: TSchema): FieldError[] {
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return (params['requiredProperties'] as string[]).map(name => ({
        path: `${path}/${escapePointer(name)}`,
        code: 'required',
        message: `${name} is required.`,
      }));
    case 'type': {
      const article = /^[aeiou]/.test(String(params['type'])) ? 'an' : 'a';
      return [{ path, code: 'invalid_type', message: `Must be ${article} ${params['type']}.` }];
    }
    // Another error names the member.
    case 'boolean':
      return [];
    case 'enum':
      return [invalid(path, `Must be one of ${(params['allowedValues'] as unknown[]).join(', ')}.`)];
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return [{ path, code: 'out_of_range', message: `Must be ${rangeText(schemaAt(schema, error.schemaPath)!)}.` }];
    case 'minLength':
      return [{ path, code: 'too_short', message: `Must have at least ${characters(params['limit'] as number)}.` }];
    case 'maxLength':
      return [{ path, code: 'too_long', message: `Must have at most ${characters(params['limit'] as number)}.` }];
    case 'format':
      return [invalid(path, formatMessage(String(params['format'])))];
    case 'pattern': {
      const [example] = schemaAt(schema, error.schemaPath)?.examples ?? [];
      const asExample = example === undefined ? '' : `, as ${example} does`;
      return [invalid(path, `Must match the pattern ${params['pattern']}${asExample}.`)];
    }
    case 'additionalProperties': {
      const [pattern] = Object.keys(schemaAt(schema, error.schemaPath)?.patternProperties ?? {});
      return (params['additionalProperties'] as string[]).map(name =>
        invalid(`${path}/${escapePointer(name)}`, `Must have a name that matches the pattern ${pattern}.`),
      );
    }
    default:
      return [invalid(path, `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)];
  }
}

function formatMessage(format: string): string {
  return format === 'date-time'
    ? 'Must be an RFC 3339 time, such as 2026-11-24T09:00:00Z.'
    : `Must have the format ${format}.`;
}

/** Returns the bounds of a number: `from 1 to 100`. */
function rangeText({ minimum, exclusiveMinimum, maximum }: SchemaPart): string {
  if (minimum !== undefined && maximum !== undefined) return `from ${minimum} to ${maximum}`;
  const least = exclusiveMinimum === undefined ? minimum && `at least ${minimum}` : `more than ${exclusiveMinimum}`;
  return [least, maximum && `at most ${maximum}`].filter(Boolean).join(' and ');
}

interface SchemaPart {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
  readonly patternProperties?: object;
}

/** Returns the part of a schema that an error comes from. */
function schemaAt(schema: object, schemaPath: string): SchemaPart | undefined {
  const steps = schemaPath.split('/').slice(1);
  return steps.reduce((part: object | undefined, step) => (part as Record<string, object> | undefined)?.[step], schema);
}

function unknownMembers(schema: TSchema, value: unknown, path = '', errors: FieldError[] = []): FieldError[] {
  const { properties } = asNotNull(schema, 'properties') as Partial<TObject>;
  if (properties === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return errors;
  for (const name in value) {
    if (errors.length >= FIELD_ERRORS_MAX) break;
    const memberPath = `${path}/${escapePointer(name)}`;
    if (Object.hasOwn(properties, name)) {
      unknownMembers(properties[name]!, (value as Record<string, unknown>)[name], memberPath, errors);
    } else errors.push({ path: memberPath, code: 'unknown_member', message: 'Unknown member.' });
  }
  return errors;
}

/**
 * Parses the query strings of one operation. Each property of the schema is a parameter.
 *
 * Integers are plain decimal digits, booleans are `true` or `false`, arrays take several values, separated by commas or
 * repeated. A parameter that is repeated or empty is an error; values out of range are not clamped.
 */
export class QueryReader {
  readonly #parameters: ReadonlyMap<string, Parameter>;

  constructor(schema: TObject) {
    this.#parameters = new Map(
      Object.entries(schema.properties).map(([name, property]) => [name, new Parameter(name, property)]),
    );
  }

  /**
   * @param text the query without its question mark
   * @param strict whether unknown parameters are errors; otherwise they are ignored
   */
  read(text: string, strict: boolean): Reading<Record<string, unknown>> {
    const value: Record<string, unknown> = {};
    if (text === '') return { value };
    const errors: FieldError[] = [];
    for (const [name, given] of Map.groupBy(new URLSearchParams(text), ([name]) => name)) {
      const parameter = this.#parameters.get(name);
      if (parameter !== undefined) {
        const read = parameter.read(given);
        if ('value' in read) value[name] = read.value;
        else errors.push(...read.errors);
      } else if (strict && errors.length < FIELD_ERRORS_MAX) {
        const known = [...this.#parameters.keys()].join(', ') || 'none';
        const message = `Unknown parameter. Known parameters: ${known}.`;
        errors.push({ path: name.slice(0, 100).toWellFormed(), code: 'unknown_parameter', message });
      }
    }
    return errors.length === 0 ? { value } : { errors: errors.slice(0, FIELD_ERRORS_MAX) };
  }
}

class Parameter {
  readonly #name: string;
  readonly #many: boolean;
  readonly #valuesMax: number;
  readonly #value: TSchema;
  #validator: Validator | undefined;

  constructor(name: string, schema: TSchema) {
    const { items, maxItems } = schema as { items?: TSchema; maxItems?: number };
    this.#name = name;
    this.#many = items !== undefined;
    this.#valuesMax = maxItems ?? Number.POSITIVE_INFINITY;
    this.#value = items ?? schema;
  }

  /** @param given each occurrence of the parameter in the query */
  read(given: readonly (readonly [name: string, text: string])[]): Reading<unknown> {
    if (!this.#many) {
      return given.length > 1 ? this.#error('given_twice', 'Must be given once.') : this.#readOne(given[0]![1]);
    }
    const texts = given.flatMap(([, text]) => text.split(','));
    if (texts.length > this.#valuesMax) {
      return this.#error('too_many', `Must have at most ${this.#valuesMax} values.`);
    }
    const values = new Set<unknown>();
    for (const text of texts) {
      const one = this.#readOne(text);
      if ('errors' in one) return one;
      values.add(one.value);
    }
    return { value: [...values] };
  }

  #readOne(text: string): Reading<unknown> {
    const { type } = this.#value as { type?: string };
    const value = type === 'integer' ? integerOf(text) : type === 'boolean' ? booleanOf(text) : text;
    this.#validator ??= compileSchema(this.#value);
    if (value !== undefined && this.#validator.Check(value)) return { value };
    return this.#error('invalid_value', this.#expectation(value, this.#validator));
  }

  /** Returns a sentence that describes valid values. */
  #expectation(value: unknown, validator: Validator): string {
    const { type, minimum, maximum } = this.#value as SchemaPart & { readonly type?: string };
    const allowed = (this.#value as { enum?: readonly unknown[] }).enum;
    if (allowed !== undefined) return `Must be one of ${allowed.join(', ')}.`;
    if (type === 'boolean') return 'Must be true or false.';
    if (type === 'integer') {
      const range = minimum === undefined || maximum === undefined ? '' : ` ${rangeText({ minimum, maximum })}`;
      return `Must be a whole number${range} in decimal digits.`;
    }
    const [, [error]] = validator.Errors(value);
    return fieldErrors(error!, this.#value)[0]!.message;
  }

  #error(code: string, message: string): { errors: FieldError[] } {
    return { errors: [{ path: this.#name, code, message }] };
  }
}

/**
 * Parses plain decimal digits, with an optional minus and without leading zeros. Returns `undefined` for other texts
 * and for integers that JavaScript cannot represent exactly.
 */
export function integerOf(text: string): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function booleanOf(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${countText(count)} characters`;
}

function escapePointer(name: string): string {
  return name.slice(0, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}
