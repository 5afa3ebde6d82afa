import { formatTime } from '../../lib/time.ts';
import { type Option, UsageError } from '../command.ts';
import { parsePrice } from '../money.ts';
import { PAST, parseInteger, parsePast, parseWhen, WHEN } from '../values.ts';

/** The parts of a JSON Schema that options derive from. */
export interface OptionSchema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: OptionSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly anyOf?: readonly OptionSchema[];
  readonly properties?: Readonly<Record<string, OptionSchema>>;
  readonly required?: readonly string[];
  /** The option of the field, if it differs from the derived one. */
  readonly '~cli'?: { readonly flag?: string; readonly value?: string };
}

/** A member of a query or body, and the option that sets it. */
export interface BodyMember {
  readonly name: string;
  /** The name of the option, without its dashes. */
  readonly flag: string;
  readonly option: Option;
  /** Returns the member's value. `now` is in milliseconds since the Unix epoch. @throws {UsageError} */
  parse(text: string, now: number): unknown;
}

/** The word that removes the value of an optional member. */
const NONE = 'none';

/** Members of queries that commands set themselves. */
const implied = ['limit', 'cursor', 'view'];

/**
 * Derives the options of a query or body from its schema, so that a new member automatically has an option.
 * @param part whether it is a query, whose booleans are switches and whose durations count back, or a body, whose
 *   booleans are `yes` or `no`
 * @param flags option names that differ from the derived ones; `null` for members without an option
 */
export function membersOf(
  part: 'query' | 'body',
  schema: object | undefined,
  flags: Readonly<Record<string, string | null>>,
): BodyMember[] {
  const { properties = {}, required = [] } = (schema ?? {}) as OptionSchema;
  const times = part === 'query' ? past : future;
  return Object.entries(properties)
    .filter(([name]) => flags[name] !== null && !implied.includes(name))
    .map(([name, property]) => {
      const valueType = property.anyOf?.find(one => one.type !== 'null');
      const nullable = valueType !== undefined;
      const isFilter = part === 'query' && property.type === 'boolean';
      const type = { ...(isFilter && { default: false }), ...(valueType ?? property) };
      const flag = flags[name] ?? property['~cli']?.flag ?? flagOf(name, type);
      const value = property['~cli']?.value ?? valueName(flag, type);
      const choices = choicesOf(type);
      const text = descriptionOf(type) ?? property.description ?? '';
      const removal = nullable && !text.includes('`null`') ? ` \`${NONE}\` removes it.` : '';
      const option = {
        description: text.replaceAll('`null`', `\`${NONE}\``) + removal + whenText(type, times),
        ...(value !== undefined && { value }),
        ...(choices && { choices: nullable ? [...choices, NONE] : choices }),
        ...(type.items && { repeatable: true }),
        ...(required.includes(name) && { required: true }),
      };
      const parse = (text: string, now: number) =>
        nullable && text === NONE
          ? null
          : parseValue(`--${flag}`, type, text, time => times.parse(`--${flag}`, time, now));
      return { name, flag, option, parse };
    });
}

/** The formats of times in a query and in a body. */
const past = { when: PAST, parse: parsePast };
const future = { when: WHEN, parse: parseWhen };

function whenText({ format }: OptionSchema, { when }: typeof past): string {
  return format === 'date-time' ? ` ${when.charAt(0).toUpperCase()}${when.slice(1)}.` : '';
}

function descriptionOf({ type, properties, description }: OptionSchema): string | undefined {
  if (type !== 'object') return description;
  if (isPrice(properties)) return 'An amount and a currency, such as "125.00 EUR".';
  const members = Object.keys(properties ?? {});
  return `${description} A JSON object${members.length > 0 ? ` of ${members.join(', ')}` : ''}.`;
}

/**
 * Returns the option name of a member: `category` for `categoryId`, `reply-to` for `replyTo`, and `not-ready` for
 * `ready` if that is true by default.
 */
function flagOf(name: string, { default: byDefault }: OptionSchema): string {
  const words = name.replace(/Ids?$/, '').replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
  return byDefault === true ? `not-${words}` : words;
}

/** Returns the name of an option's value in help; `undefined` for a switch. A boolean with a default is a switch. */
function valueName(flag: string, schema: OptionSchema): string | undefined {
  const { format, type, default: byDefault } = schema.items ?? schema;
  if (type === 'boolean' && byDefault !== undefined) return undefined;
  if (type === 'integer') return format === 'int64' ? 'ID' : 'N';
  return format === 'date-time' ? 'WHEN' : flag.toUpperCase();
}

function choicesOf(schema: OptionSchema): readonly string[] | undefined {
  const { type, default: byDefault, enum: choices } = schema.items ?? schema;
  return type === 'boolean' && byDefault === undefined ? ['yes', 'no'] : choices;
}

function parseValue(name: string, schema: OptionSchema, text: string, timeOf: (text: string) => number): unknown {
  const { type, format, items, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, properties } = schema;
  if (type === 'boolean') return schema.default === undefined ? text === 'yes' : !schema.default;
  if (items !== undefined) return [...new Set(text.split(','))].map(one => parseValue(name, items, one, timeOf));
  if (type === 'integer') return parseInteger(name, text, minimum, maximum);
  if (type === 'number') return Number(text);
  if (format === 'date-time') return formatTime(timeOf(text));
  if (type !== 'object') return text;
  return isPrice(properties) ? priceOf(name, text) : objectOf(name, text);
}

/** Reports whether an object with these members is a price. */
function isPrice(properties: OptionSchema['properties']): boolean {
  return properties !== undefined && 'currency' in properties;
}

function priceOf(name: string, text: string): unknown {
  const price = parsePrice(text);
  if (price !== undefined) return price;
  throw new UsageError(`${name} must be an amount and a currency, such as "125.00 EUR" or "1500 JPY".`);
}

function objectOf(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${name} must be a JSON object, such as '{"name":"value"}'.`);
  }
}

/** Returns the options of a command by name: those of its members, changed or extended by `more`. */
export function optionsOf(
  members: readonly BodyMember[],
  more: Readonly<Record<string, Partial<Option>>>,
): Record<string, Option> {
  const options: Record<string, Option> = {};
  for (const { flag, option } of members) {
    const description = option.description.replace(/`(\w+)`/g, (quoted, word) => optionFor(word, members) ?? quoted);
    options[flag] = { ...option, description };
  }
  for (const [flag, changes] of Object.entries(more)) options[flag] = { ...options[flag], ...changes } as Option;
  return options;
}

/**
 * Returns the query or body that options describe, validated against its schema. Ignores members of other schemas.
 * @throws {UsageError} one sentence that names the first wrong option
 */
export async function parseMembers(
  schema: object,
  members: readonly BodyMember[],
  options: Readonly<Record<string, string>>,
  now: number,
): Promise<Record<string, unknown>> {
  const { properties = {} } = schema as OptionSchema;
  const given = members.filter(({ name, flag }) => name in properties && options[flag] !== undefined);
  // Without options, skip validation: loading the validator takes a tenth of a second.
  if (given.length === 0) return {};
  const value = Object.fromEntries(given.map(({ name, flag, parse }) => [name, parse(options[flag]!, now)]));
  const { BodyReader } = await import('../../lib/http/server/validation.ts');
  const reading = new BodyReader(schema).read(value, true);
  if ('value' in reading) return value;
  const { path, message } = reading.errors[0]!;
  throw new UsageError(sentenceOf(path, message, members));
}

/** Returns the error `Must be …` of a member as a sentence about its option. */
export function sentenceOf(path: string, message: string, members: readonly BodyMember[]): string {
  const name = path.split('/').find(part => part !== '') ?? '';
  const words = message.replace(/\b[a-z]+[A-Z]\w*/g, word => optionFor(word, members) ?? word);
  return `${optionFor(name, members) ?? name} ${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

function optionFor(name: string, members: readonly BodyMember[]): string | undefined {
  const member = members.find(one => one.name === name);
  return member && `--${member.flag}`;
}
