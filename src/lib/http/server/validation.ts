import type { TObject, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import Format from 'typebox/format';
import type { FieldError } from '../problem.ts';

/** A valid value, or its errors. */
export type Reading<T> = { readonly value: T } | { readonly errors: readonly FieldError[] };

/** Longer than any time. The validator splits a text at each T, which is slow for long ones. */
const TIME_LENGTH_MAX = 64;
Format.Set('date-time', text => text.length <= TIME_LENGTH_MAX && Format.IsDateTime(text));

/** Validates JSON values by one schema. Types are never coerced. */
export class BodyReader {
  readonly #validator: Validator;
  readonly #schema: TSchema;
  readonly #lists: readonly List[];

  constructor(schema: TSchema) {
    this.#schema = schema;
    this.#validator = Compile(withoutUniqueItems(schema)) as Validator;
    this.#lists = listsOf(schema);
  }

  /**
   * Returns the value, or one error for each invalid field, by JSON Pointer.
   * @param strict whether unknown members are errors; otherwise they are ignored
   */
  read(value: unknown, strict: boolean): Reading<unknown> {
    const tooLong = this.#lists.flatMap(list => list.tooLong(value));
    const wrong = [...tooLong, ...this.#lists.flatMap(list => list.repeated(value))];
    // The items of a list that is too long are not validated: there may be very many.
    const judged = tooLong.length === 0 ? value : without(value, tooLong);
    if (wrong.length > 0 || !this.#validator.Check(judged)) {
      const found = this.#validator.Errors(judged).filter(error => !saysOnlyNotNull(error));
      const errors = [...wrong, ...found.flatMap(error => fieldErrors(error, this.#schema))];
      return { errors: onePerField(errors).slice(0, FIELD_ERRORS_MAX) };
    }
    const unknown = strict ? unknownMembers(this.#schema, value) : [];
    return unknown.length === 0 ? { value } : { errors: unknown };
  }
}

/** The checks of a list member that the validator does not make. */
interface List {
  tooLong(body: unknown): FieldError[];
  /** Not for lists that are too long. */
  repeated(body: unknown): FieldError[];
}

function listsOf(schema: TSchema): List[] {
  const { properties = {} } = schema as Partial<TObject>;
  return Object.entries(properties).flatMap(([name, property]) => {
    const list = asNotNull(property, 'items') as { items?: TSchema; maxItems?: number; uniqueItems?: boolean };
    if (list.items === undefined) return [];
    const { maxItems = Number.POSITIVE_INFINITY, uniqueItems = false } = list;
    const judge = (body: unknown, isWrong: (items: readonly unknown[]) => boolean, message: string) => {
      const items = typeof body === 'object' && body !== null && (body as Record<string, unknown>)[name];
      return Array.isArray(items) && isWrong(items) ? [{ path: `/${name}`, code: 'invalid_value', message }] : [];
    };
    const isTooLong = (items: readonly unknown[]) => items.length > maxItems;
    // Items are numbers or strings.
    const isRepeated = (items: readonly unknown[]) => !isTooLong(items) && new Set(items).size < items.length;
    return {
      tooLong: body => judge(body, isTooLong, `Must not have more than ${maxItems} items.`),
      repeated: body => (uniqueItems ? judge(body, isRepeated, 'Must not have duplicate items.') : []),
    };
  });
}

/** Returns the body without the members that these errors name. */
function without(body: unknown, errors: readonly FieldError[]): unknown {
  const names = new Set(errors.map(({ path }) => path.slice(1)));
  return Object.fromEntries(Object.entries(body as object).filter(([name]) => !names.has(name)));
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

/** Returns the schema with this keyword of a member that may be `null`, too. */
function asNotNull(schema: TSchema, keyword: string): TSchema {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  return anyOf?.find(one => keyword in one) ?? schema;
}

/** Returns the first error of each field; the others often follow from it. */
function onePerField(errors: readonly FieldError[]): FieldError[] {
  const paths = new Set<string>();
  return errors.filter(({ path }) => !paths.has(path) && paths.add(path));
}

/** Limits the size of error responses. */
const FIELD_ERRORS_MAX = 50;

type SchemaError = ReturnType<Validator['Errors']>[number];

/**
 * Reports whether an error only says that a nullable member is not `null`. Another error says why it is not valid
 * otherwise, which is what the caller meant.
 */
function saysOnlyNotNull({ keyword, schemaPath, params }: SchemaError): boolean {
  if (keyword === 'anyOf') return true;
  return (
    keyword === 'type' && /\/anyOf\/\d+$/.test(schemaPath) && (params as Record<string, unknown>)['type'] === 'null'
  );
}

function fieldErrors(error: SchemaError, schema: TSchema): FieldError[] {
  const path = error.instancePath;
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return (params['requiredProperties'] as string[]).map(name => ({
        path: `${path}/${escapePointer(name)}`,
        code: 'required',
        message: `${name} is required.`,
      }));
    case 'type':
      return [{ path, code: 'invalid_type', message: `Must be ${article(String(params['type']))}.` }];
    case 'enum':
      return [
        {
          path,
          code: 'invalid_value',
          message: `Must be one of ${(params['allowedValues'] as unknown[]).join(', ')}.`,
        },
      ];
    case 'minimum':
    case 'maximum':
      return [{ path, code: 'out_of_range', message: `Must be ${params['comparison']} ${params['limit']}.` }];
    case 'minLength':
      return [{ path, code: 'too_short', message: `Must have at least ${characters(params['limit'])}.` }];
    case 'maxLength':
      return [{ path, code: 'too_long', message: `Must have at most ${characters(params['limit'])}.` }];
    case 'format':
      return [{ path, code: 'invalid_value', message: formatMessage(String(params['format'])) }];
    case 'pattern':
      return [{ path, code: 'invalid_value', message: patternMessage(params['pattern'], schemaAt(schema, error)) }];
    default:
      return [{ path, code: 'invalid_value', message: sentence(error.message) }];
  }
}

function formatMessage(format: string): string {
  return format === 'date-time'
    ? 'Must be an RFC 3339 time, such as 2026-11-24T09:00:00Z.'
    : `Must have the format ${format}.`;
}

function patternMessage(pattern: unknown, schema: { readonly examples?: readonly unknown[] } | undefined): string {
  const [example] = schema?.examples ?? [];
  return `Must match the pattern ${pattern}${example === undefined ? '' : `, as ${example} does`}.`;
}

/** Returns the part of a schema that an error comes from. */
function schemaAt(schema: TSchema, { schemaPath }: SchemaError): TSchema | undefined {
  const way = schemaPath.split('/').slice(1);
  return way.reduce((part: unknown, step) => (part as Record<string, unknown> | undefined)?.[step], schema) as TSchema;
}

function unknownMembers(schema: TSchema, value: unknown, path = '', errors: FieldError[] = []): FieldError[] {
  const { properties } = asNotNull(schema, 'properties') as Partial<TObject>;
  if (properties === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return errors;
  for (const name in value) {
    if (errors.length >= FIELD_ERRORS_MAX) break;
    const place = `${path}/${escapePointer(name)}`;
    if (Object.hasOwn(properties, name)) {
      unknownMembers(properties[name]!, (value as Record<string, unknown>)[name], place, errors);
    } else errors.push({ path: place, code: 'unknown_member', message: 'Unknown member.' });
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
    for (const [name, parts] of partsByName(text)) {
      const parameter = this.#parameters.get(name);
      const read =
        parameter === undefined
          ? this.#unknown(name, strict && errors.length < FIELD_ERRORS_MAX)
          : parameter.read(parts);
      if ('value' in read) value[name] = read.value;
      else errors.push(...read.errors);
    }
    return errors.length === 0 ? { value } : { errors };
  }

  #unknown(name: string, report: boolean): { readonly errors: readonly FieldError[] } {
    if (!report) return { errors: [] };
    const known = [...this.#parameters.keys()].join(', ') || 'none';
    const message = `Unknown parameter. Known parameters: ${known}.`;
    return { errors: [{ path: name.slice(0, 100).toWellFormed(), code: 'unknown_parameter', message }] };
  }
}

function partsByName(text: string): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (const [name, part] of new URLSearchParams(text)) {
    const given = parts.get(name);
    if (given === undefined) parts.set(name, [part]);
    else given.push(part);
  }
  return parts;
}

class Parameter {
  readonly #name: string;
  readonly #many: boolean;
  readonly #valuesMax: number;
  readonly #value: TSchema;
  readonly #validator: Validator;

  constructor(name: string, schema: TSchema) {
    const { items, maxItems } = schema as { items?: TSchema; maxItems?: number };
    this.#name = name;
    this.#many = items !== undefined;
    this.#valuesMax = maxItems ?? Number.POSITIVE_INFINITY;
    this.#value = items ?? schema;
    this.#validator = Compile(this.#value) as Validator;
  }

  read(parts: readonly string[]): Reading<unknown> {
    if (!this.#many) {
      if (parts.length > 1) return this.#error('given_twice', 'Must be given once.');
      return this.#readOne(parts[0]!);
    }
    const texts = parts.flatMap(part => part.split(','));
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
    if (value !== undefined && this.#validator.Check(value)) return { value };
    return this.#error('invalid_value', this.#expectation(value));
  }

  /** Returns a sentence that says what is valid. */
  #expectation(value: unknown): string {
    const { type, minimum, maximum } = this.#value as Record<string, unknown>;
    const allowed = (this.#value as { enum?: readonly unknown[] }).enum;
    if (allowed !== undefined) return `Must be one of ${allowed.join(', ')}.`;
    if (type === 'boolean') return 'Must be true or false.';
    if (type === 'integer') {
      const range = minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`;
      return `Must be a whole number${range} in decimal digits.`;
    }
    return fieldErrors(this.#validator.Errors(value)[0]!, this.#value)[0]!.message;
  }

  #error(code: string, message: string): { errors: FieldError[] } {
    return { errors: [{ path: this.#name, code, message }] };
  }
}

/**
 * Parses plain decimal digits, without leading zeros and with no sign but a minus. Returns `undefined` for other texts and
 * for integers that JavaScript cannot represent exactly.
 */
export function integerOf(text: string): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function booleanOf(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

/** Returns the value of a path parameter, or `undefined` if it does not match the schema. */
export function readPathParameter(validator: Validator, schema: TSchema, text: string): unknown {
  const value = (schema as { type?: string }).type === 'integer' ? integerOf(text) : text;
  return value !== undefined && validator.Check(value) ? value : undefined;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function characters(count: unknown): string {
  return count === 1 ? '1 character' : `${count} characters`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function escapePointer(name: string): string {
  return name.slice(0, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}
