import fc from 'fast-check';
import { Compile, type Validator } from 'typebox/compile';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema is read as it comes
type Schema = any;

/** Reports whether a value is valid by a schema without references. */
export function isValid(schema: Schema, value: unknown): boolean {
  return matches(schema, value) && lengthsFit(schema, value);
}

const validators = new WeakMap<object, Validator>();

function matches(schema: Schema, value: unknown): boolean {
  const validator = validators.get(schema) ?? (Compile(schema) as Validator);
  validators.set(schema, validator);
  return validator.Check(value);
}

/** Times around this moment are generated, because the service accepts only those within reach of its clock for some members. */
const NOW = Date.parse('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;

/** Returns an arbitrary of valid values of a schema without references. */
export function validValues(schema: Schema): fc.Arbitrary<unknown> {
  return values(schema).filter(value => isValid(schema, value));
}

function values(schema: Schema): fc.Arbitrary<unknown> {
  const { type, enum: choices, anyOf, format, items, examples } = schema;
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(values));
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 100, 100) }),
        fc.maxSafeInteger().map(number => Math.min(Math.max(number, schema.minimum ?? 0), schema.maximum ?? number)),
      );
    case 'number':
      return fc
        .integer({
          min: Math.ceil((schema.minimum ?? 0.25) * 4),
          max: Math.floor(Math.min(schema.maximum ?? 1000, 1000) * 4),
        })
        .map(quarters => quarters / 4);
    case 'string':
      if (format === 'date') return times.map(text => text.slice(0, 10));
      if (format === 'date-time') return times;
      if (format === 'uri' || format === 'iri')
        return fc.webUrl({ validSchemes: ['https'], withQueryParameters: true });
      return fc.oneof(texts(schema), ...(examples?.length > 0 ? [fc.constantFrom(...examples)] : []));
    case 'array': {
      const { minItems: minLength = 0, maxItems = 20 } = schema;
      const constraints = { minLength, maxLength: Math.min(maxItems, minLength + 10) };
      return schema.uniqueItems ? fc.uniqueArray(values(items), constraints) : fc.array(values(items), constraints);
    }
    default:
      return objects(schema);
  }
}

const times = fc
  .tuple(fc.integer({ min: -DAY_MS, max: DAY_MS }), fc.constantFrom('Z', 'z', '+00:00', '-00:00'), fc.boolean())
  .map(([ms, zone, fraction]) => {
    const text = new Date(NOW + ms).toISOString();
    return (fraction ? text.slice(0, -1) : text.slice(0, 19)) + zone;
  });

function texts({ pattern, minLength = 0, maxLength = 300 }: Schema): fc.Arbitrary<string> {
  const any = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 40) });
  const long = fc.integer({ min: minLength, max: maxLength }).map(length => 'ä'.repeat(length));
  const byPattern = pattern === undefined ? [] : [matching(pattern)];
  const fits = pattern === undefined ? () => true : (text: string) => new RegExp(pattern, 'u').test(text);
  return fc
    .oneof(
      ...byPattern,
      any,
      fc.constantFrom(...oddTexts),
      any.map(text => ` ${text}\u{1F600}`),
      long,
    )
    .filter(text => fits(text) && lengthOf(text) >= minLength && lengthOf(text) <= maxLength);
}

/** Texts at the edges of what names and notes may be. */
const oddTexts = [
  ' ',
  '\u0000',
  'a\u007Fb',
  '\n',
  'a\tb',
  ' a\r\nb ',
  '\u0085',
  ' \u00A0\u2003',
  '\uFEFF',
  '\u200B',
  '@',
  '-',
];

/** Class escapes within negated classes are beyond fast-check. */
function matching(pattern: string): fc.Arbitrary<string> {
  return /\[\^\\S/.test(pattern) ? fc.string({ minLength: 1 }) : fc.stringMatching(new RegExp(pattern));
}

function objects({ properties = {}, required = [], patternProperties }: Schema): fc.Arbitrary<unknown> {
  if (patternProperties !== undefined) {
    const [[pattern, one]] = Object.entries(patternProperties) as [[string, Schema]];
    return fc.dictionary(fc.stringMatching(new RegExp(pattern)), values(one), { maxKeys: 5 });
  }
  const members = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, values(one)]));
  // The service ignores members that it does not know.
  return fc.record({ ...members, 'x-unknown': fc.jsonValue() }, { requiredKeys: required });
}

/** An invalid value, and where it is wrong: a JSON Pointer, '' for the whole value. */
export interface Mutant {
  readonly value: unknown;
  readonly path: string;
}

/** Returns an arbitrary of values that are wrong in one place. */
export function invalidValues(schema: Schema): fc.Arbitrary<Mutant> {
  return mutants(schema).filter(({ value }) => !isValid(schema, value));
}

function mutants(schema: Schema): fc.Arbitrary<Mutant> {
  const here = wrongValues(schema).map(value => ({ value, path: '' }));
  const { properties, anyOf, items, required = [] } = schema;
  if (schema.patternProperties !== undefined) return here;
  if (anyOf !== undefined) {
    const [first] = anyOf.filter(({ type }: Schema) => type !== 'null');
    return mutants(first);
  }
  if (properties !== undefined) {
    const inMembers = Object.keys(properties).map(name =>
      fc.tuple(validValues(schema), mutants(properties[name])).map(([value, { value: wrong, path }]) => ({
        value: { ...(value as object), [name]: wrong },
        path: `/${name}${path}`,
      })),
    );
    const without: fc.Arbitrary<Mutant>[] = required.map((name: string) =>
      validValues(schema).map(value => ({ value: { ...(value as object), [name]: undefined }, path: `/${name}` })),
    );
    return fc.oneof(here, ...inMembers, ...without).map(({ value, path }) => ({ value: plain(value), path }));
  }
  if (items === undefined) return here;
  const inItem = fc.tuple(values(schema), mutants(items)).map(([value, { value: wrong }]) => ({
    value: [...(value as unknown[]).slice(1), wrong],
    path: '',
  }));
  return fc.oneof(here, inItem);
}

/** Returns an arbitrary of texts that are no valid value of a query parameter. */
export function invalidTexts(schema: Schema): fc.Arbitrary<string> {
  const { items, maxItems } = schema;
  if (items !== undefined) {
    const tooMany = validValues(items).map(value => Array.from({ length: maxItems + 1 }, () => value).join());
    return fc.oneof(invalidTexts(items), tooMany);
  }
  const { type, minimum = 0, maximum } = schema;
  if (type === 'boolean') return fc.constantFrom('', '1', 'yes', 'TRUE', 'null');
  if (type === 'integer') {
    return fc.constantFrom('', '1.5', '+5', '0x10', '1e3', '01', ' 1', 'x', `${minimum - 1}`, `${maximum}0`);
  }
  const wrong = wrongValues(schema).filter(value => typeof value === 'string') as fc.Arbitrary<string>;
  return fc.oneof(fc.string({ unit: 'grapheme' }), wrong).filter(text => !isValid(schema, text));
}

/** Returns an arbitrary of values that break one rule of a schema itself. */
function wrongValues(schema: Schema): fc.Arbitrary<unknown> {
  const {
    type,
    enum: choices,
    minimum,
    maximum,
    minLength = 0,
    maxLength,
    minItems = 0,
    maxItems,
    uniqueItems,
  } = schema;
  const otherTypes = fc.constantFrom<unknown>(null, true, 0.5, '', 'x', [], {}, [[]], -1, '1');
  const wrong: fc.Arbitrary<unknown>[] = [otherTypes];
  if (choices !== undefined) wrong.push(fc.string());
  if (type === 'integer') wrong.push(fc.constant((minimum ?? 0) - 1), fc.constant((maximum ?? 0) + 0.5));
  if (maximum < Number.MAX_SAFE_INTEGER) wrong.push(fc.constant(maximum + 1));
  if (type === 'string') {
    wrong.push(fc.string(), fc.constantFrom(...oddTexts));
    if (minLength > 0) wrong.push(fc.constant('x'.repeat(minLength - 1)));
    // Combined characters count as many code points as they have.
    if (maxLength < 20_000)
      wrong.push(fc.constant('x'.repeat(maxLength + 1)), fc.constant('e\u0301'.repeat(maxLength / 2 + 1)));
  }
  if (type === 'array') {
    const item = values(schema.items);
    if (minItems > 0) wrong.push(fc.constant([]));
    if (maxItems <= 100) wrong.push(fc.array(item, { minLength: maxItems + 1, maxLength: maxItems + 1 }));
    if (uniqueItems) wrong.push(item.map(one => [one, one]));
  }
  return fc.oneof(...wrong);
}

/** Returns a value as JSON carries it, without undefined members. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Checks lengths in code points, as JSON Schema counts them; the validator counts graphemes. */
function lengthsFit(schema: Schema, value: unknown): boolean {
  const { properties = {}, items, maxLength, anyOf } = schema;
  if (anyOf !== undefined) return anyOf.some((one: Schema) => isValid(one, value));
  if (typeof value === 'string') return maxLength === undefined || lengthOf(value) <= maxLength;
  if (Array.isArray(value)) return items === undefined || value.every(item => lengthsFit(items, item));
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => !(name in properties) || lengthsFit(properties[name], member));
}

function lengthOf(text: string): number {
  return [...text].length;
}
