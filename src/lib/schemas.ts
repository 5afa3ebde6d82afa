import type { TSchema } from 'typebox';
import { countries, isCountry } from './countries.ts';
import { EMAIL_LENGTH_MAX, EMAIL_PATTERN, isEmail } from './email.ts';
import { countText, lineRules, NOTE_LENGTH_MAX, nameRules, noteRules, type TextRules } from './text.ts';
import { formatTime, parseTime, TIME_LENGTH_MAX } from './time.ts';
import { Type } from './type.ts';
import { WEB_URL_LENGTH_MAX, WEB_URL_PATTERN, webUrlError } from './web-url.ts';

/** Returns the schema of an id: a whole number from 1 upward. */
export function idSchema(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

/** Returns the schema of a time in a response: RFC 3339, in UTC. */
export function timeSchema(description: string) {
  return Type.String({ format: 'date-time', description });
}

/** Returns the schema of a time in a request: RFC 3339, with any offset. */
export function requestTimeSchema(description: string, example: string) {
  return Type.Refine(
    Type.String({
      format: 'date-time',
      description,
      examples: [example],
      ...documentedRule({ maxLength: TIME_LENGTH_MAX }),
    }),
    isRequestTime,
    () => 'must be an RFC 3339 time, such as 2026-11-24T09:00:00Z',
  );
}

/** Reports whether a text is a time that can be formatted again: in UTC, its year has four digits. */
function isRequestTime(text: string): boolean {
  const ms = parseTime(text);
  return ms !== undefined && formatTime(ms).length === '2026-11-24T09:00:00.000Z'.length;
}

/**
 * Returns schema keywords for documents only: a rule that a function checks, because its messages are clearer than
 * those of a validator.
 */
export function documentedRule(keywords: object) {
  return { '~document': keywords };
}

/**
 * Returns keywords for documents only: the rule that an object has exactly one of two members. Some tools do not accept
 * `oneOf` at the top of a body.
 */
export function eitherRule(one: string, other: string) {
  const absent = { not: {} };
  const neither = { properties: { [one]: absent, [other]: absent } };
  // Linters expect a schema to define the properties that it requires.
  const both = { required: [one, other], properties: { [one]: {}, [other]: {} } };
  return documentedRule({ not: { anyOf: [neither, both] } });
}

/** Returns the schema of a text with these rules. */
export function checkedText({ maxLength, pattern, errorOf }: TextRules, description: string) {
  return Type.Refine(
    Type.String({ minLength: 1, maxLength, description, ...documentedRule({ pattern }) }),
    text => errorOf(text) === undefined,
    text => errorOf(text) ?? '',
  );
}

/**
 * Returns the schema of a value in responses that later releases may extend: the known values, and any other text.
 * Requests accept only known values.
 */
export function openEnum(known: readonly string[] | TSchema, description: string) {
  const values = Array.isArray(known) ? Type.Enum([...known]) : (known as TSchema);
  return Type.Union([values, Type.String()], { description: `${description} ${MORE_MAY_FOLLOW}` });
}

const MORE_MAY_FOLLOW = 'More values may be added: ignore unknown ones.';

/**
 * Returns the schema of a name or another text of one line, with at most 255 code points by default: see `nameError`.
 */
export function lineSchema(description: string, maxLength?: number) {
  return checkedText(maxLength === undefined ? nameRules : lineRules(maxLength), description);
}

/** The schema of a note: see `noteRules`. */
export const Note = checkedText(
  noteRules,
  `A note, stored as sent: 1–${countText(NOTE_LENGTH_MAX)} characters, which may include line breaks.`,
);

/** Returns the schema of an e-mail address. */
export function emailSchema(description: string) {
  return Type.Refine(
    Type.String({
      maxLength: EMAIL_LENGTH_MAX,
      description,
      examples: ['jo@example.org'],
      ...documentedRule({ pattern: EMAIL_PATTERN }),
    }),
    isEmail,
    () => `must be an e-mail address like name@example.org, with at most ${EMAIL_LENGTH_MAX} characters`,
  );
}

/** Returns the schema of the URL of a web page, with at most 500 characters by default. */
export function webUrlSchema(description: string, maxLength = WEB_URL_LENGTH_MAX) {
  return Type.Refine(
    Type.String({
      minLength: 1,
      maxLength,
      description,
      examples: ['https://example.org/'],
      ...documentedRule({ format: 'iri', pattern: WEB_URL_PATTERN }),
    }),
    text => webUrlError(text) === undefined,
    text => webUrlError(text) ?? '',
  );
}

/**
 * The codes of all countries, by their first letters: `^(A[DEF]|B[ABD])$`. An enumeration would be too long for the
 * reference.
 */
const COUNTRY_PATTERN = `^(${Array.from(
  Map.groupBy(countries, code => code[0]),
  ([first, codes]) => `${first}[${codes.map(code => code[1]).join('')}]`,
).join('|')})$`;

/** Returns the schema of a country: its ISO 3166-1 alpha-2 code. */
export function countrySchema(description: string) {
  return Type.Refine(
    Type.String({ description, examples: ['US'], ...documentedRule({ maxLength: 2, pattern: COUNTRY_PATTERN }) }),
    isCountry,
    () => 'must be a country as two capital letters (ISO 3166-1 alpha-2), such as US',
  );
}

/** Returns the schema of a filter that accepts one or more values. */
export function anyOfFilter<Schema extends TSchema>(schema: Schema, maxItems: number, description: string) {
  return Type.Optional(Type.Array(schema, { minItems: 1, maxItems, description }));
}

/**
 * Returns the path parameter that is the id of a private resource; `noun_not_found` is the error code for an unknown
 * id, and for an id that the caller cannot see.
 */
export function idParameter<Schema extends TSchema>(noun: string, schema: Schema) {
  const description = `The identifier of the ${noun}.`;
  const errorMessage = `There is no ${noun} with this id.`;
  return { schema, description, errorCode: `${noun}_not_found`, errorMessage, isPrivate: true } as const;
}

/** Returns the schema of an optional id. */
export function optionalId(description: string) {
  return Type.Optional(Type.Integer({ format: 'int64', description }));
}

/** Returns the schema of an optional text. */
export function optionalText(description: string) {
  return Type.Optional(Type.String({ description }));
}
