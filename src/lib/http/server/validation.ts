import { isUtf8 } from 'node:buffer';
import type { TObject, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import Format from 'typebox/format';
import type { FieldError } from '../problem.ts';

/** What reading a value came to: the value, or everything that is wrong with it. */
export type Reading<T> = { readonly value: T } | { readonly errors: readonly FieldError[] };

/** Why a body is no JSON at all, as a sentence. */
export class NotJson extends Error {}

/**
 * The JSON value of a body's bytes.
 *
 * As RFC 8259 has it, with JavaScript's numbers; of a member that is given twice the last counts.
 * @throws {NotJson} for an empty body, one that is not UTF-8, begins with a byte order mark, is not JSON, or is larger than
 *   64 KiB and holds more than anything that is taken here: 10,000 levels, 20,000 values
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new NotJson('The body is empty; it must be one JSON value.');
  if (!isUtf8(bytes)) throw new NotJson('The body is not UTF-8.');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new NotJson('The body begins with a byte order mark; JSON has none.');
  }
  if (bytes.length > LARGE_BYTES_MIN) requireReadable(bytes);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // The parser's message quotes the body, which may hold a secret; only the place is worth passing on.
    const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
    throw new NotJson(place === undefined ? 'The body is not valid JSON.' : `The body is not valid JSON ${place}.`);
  }
}

/** Only so large a body can be nested so deeply, or have so many values, that reading it holds up everyone else. */
const LARGE_BYTES_MIN = 64 * 1024;
const NESTING_MAX = 10_000;
const VALUES_MAX = 20_000;

/** Looks over a body without reading it: a few milliseconds for the largest. */
function requireReadable(bytes: Buffer): void {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (inString) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) {
      if (++values > VALUES_MAX) throw new NotJson(`The body has more than ${VALUES_MAX.toLocaleString('en')} values.`);
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > NESTING_MAX) {
        throw new NotJson(`The body is nested more than ${NESTING_MAX.toLocaleString('en')} levels deep.`);
      }
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
  }
}

const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\,[]{}');

/** Longer than any time; the validator takes a text apart at each T in it. */
const TIME_LENGTH_MAX = 64;
Format.Set('date-time', text => text.length <= TIME_LENGTH_MAX && Format.IsDateTime(text));

/** Judges JSON values by one schema. Types are never coerced. */
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
   * The value, or one error for each field that is wrong, by JSON Pointer.
   * @param strict whether members that the schema does not know are errors; else they are ignored
   */
  read(value: unknown, strict: boolean): Reading<unknown> {
    const tooLong = this.#lists.flatMap(list => list.tooLong(value));
    const wrong = [...tooLong, ...this.#lists.flatMap(list => list.repeated(value))];
    // Nobody looks at the items of a list that is too long: they may be all that a body can hold.
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

/** A list among the members of a body, with what the validator is not asked about. */
interface List {
  tooLong(body: unknown): FieldError[];
  /** Where it is not too long. */
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
    // Lists are of numbers or texts.
    const isRepeated = (items: readonly unknown[]) => !isTooLong(items) && new Set(items).size < items.length;
    return {
      tooLong: body => judge(body, isTooLong, `Must not have more than ${maxItems} items.`),
      repeated: body => (uniqueItems ? judge(body, isRepeated, 'Must not have duplicate items.') : []),
    };
  });
}

/** A body without the members that these errors name. */
function without(body: unknown, errors: readonly FieldError[]): unknown {
  const names = new Set(errors.map(({ path }) => path.slice(1)));
  return Object.fromEntries(Object.entries(body as object).filter(([name]) => !names.has(name)));
}

/**
 * A schema but for `uniqueItems`. To judge that, the validator makes a hash of every item, going down into each, and a
 * copy of all of them for every one: seconds for what is small as a body.
 */
function withoutUniqueItems<Value>(schema: Value): Value {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutUniqueItems) as Value;
  const { uniqueItems: _, ...members } = Object.getOwnPropertyDescriptors(schema) as Record<string, PropertyDescriptor>;
  for (const member of Object.values(members)) if (member.enumerable) member.value = withoutUniqueItems(member.value);
  return Object.create(Object.getPrototypeOf(schema), members) as Value;
}

/** What a member is that may also be `null`: the schema with this keyword. */
function asNotNull(schema: TSchema, keyword: string): TSchema {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  return anyOf?.find(one => keyword in one) ?? schema;
}

/** Of the errors of one field the first: the others often only follow from it. */
function onePerField(errors: readonly FieldError[]): FieldError[] {
  const paths = new Set<string>();
  return errors.filter(({ path }) => !paths.has(path) && paths.add(path));
}

/** Enough to mend a request by, and no more than an answer should hold. */
const FIELD_ERRORS_MAX = 50;

type SchemaError = ReturnType<Validator['Errors']>[number];

/**
 * Whether an error only says that a member which may be `null`, too, is not `null`.
 *
 * What is wrong with the member as anything else is among the other errors: that is what the caller meant.
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
    ? 'Must be a time as RFC 3339 has it, such as 2026-11-24T09:00:00Z.'
    : `Must have the format ${format}.`;
}

function patternMessage(pattern: unknown, schema: { readonly examples?: readonly unknown[] } | undefined): string {
  const [example] = schema?.examples ?? [];
  return `Must match the pattern ${pattern}${example === undefined ? '' : `, as ${example} does`}.`;
}

/** The part of a schema that an error comes from. */
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
    } else errors.push({ path: place, code: 'unknown_member', message: 'There is no such member.' });
  }
  return errors;
}

/**
 * Reads the query strings of one operation: one property of the schema a parameter.
 *
 * Values are text: integers are plain decimal digits, booleans `true` or `false`, arrays take several values by comma or
 * by repetition, everything else is taken as it stands. A parameter that is given twice, or empty, is an error; nothing is clamped.
 */
export class QueryReader {
  readonly #parameters: ReadonlyMap<string, Parameter>;

  constructor(schema: TObject) {
    this.#parameters = new Map(
      Object.entries(schema.properties).map(([name, property]) => [name, new Parameter(name, property)]),
    );
  }

  /**
   * @param text the URL's query without its question mark
   * @param strict whether parameters that the operation does not know are errors; else they are ignored
   */
  read(text: string, strict: boolean): Reading<Record<string, unknown>> {
    const value: Record<string, unknown> = {};
    if (text === '') return { value };
    const errors: FieldError[] = [];
    const given = new Map<string, string[]>();
    for (const [name, part] of new URLSearchParams(text)) {
      const parts = given.get(name);
      if (parts === undefined) given.set(name, [part]);
      else parts.push(part);
    }
    for (const [name, parts] of given) {
      const parameter = this.#parameters.get(name);
      if (parameter !== undefined) {
        const read = parameter.read(parts);
        if ('value' in read) value[name] = read.value;
        else errors.push(...read.errors);
      } else if (strict && errors.length < FIELD_ERRORS_MAX) {
        errors.push({
          path: name.slice(0, 100).toWellFormed(),
          code: 'unknown_parameter',
          message: `There is no such parameter; there are ${[...this.#parameters.keys()].join(', ') || 'none'}.`,
        });
      }
    }
    return errors.length === 0 ? { value } : { errors };
  }
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

  /** What would be right instead of a value, or of none. */
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
 * The integer that a text spells plainly: decimal digits, no sign but a minus, no leading zero, exact in JavaScript.
 * `undefined` for every other text.
 */
export function integerOf(text: string): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function booleanOf(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

/** Whether a text that stands in the path is a value of the schema. */
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
