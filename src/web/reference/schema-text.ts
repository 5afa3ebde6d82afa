import { countText } from '../../lib/text.ts';
/** The parts of a JSON Schema of the OpenAPI document that the documentation shows. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly pattern?: string;
}

/** A function that returns the Markdown for the name of a schema. */
type NameText = (name: string) => string;

/** Returns the type of a schema of the OpenAPI document as Markdown, with its bounds. */
export function typeText(schema: JsonSchema, nameText: NameText = code): string {
  const { $ref, anyOf, allOf, enum: choices, items, type, default: byDefault } = schema;
  const fallback = byDefault === undefined ? '' : `, default ${code(byDefault)}`;
  const textOf = (one: JsonSchema) => typeText(one, nameText);
  if ($ref !== undefined) return nameText(nameOf($ref)) + fallback;
  if (choices !== undefined) return choicesText(choices) + fallback;
  if (anyOf !== undefined) return unionText(anyOf, textOf) + fallback;
  if (allOf !== undefined) return allOf.map(textOf).join(' and ');
  if (type === 'array') {
    const item = items === undefined ? 'any value' : textOf(items);
    return `array of ${item.includes(', ') ? `(${item})` : item}${boundsText(schema)}`;
  }
  return `${type ?? 'any value'}${boundsText(schema)}${fallback}`;
}

export function descriptionOf({ description, anyOf }: JsonSchema): string {
  // If a schema is nullable, the other alternative has the description.
  return description ?? anyOf?.map(descriptionOf).find(words => words !== '') ?? '';
}

/** Returns the name of a referenced component. */
export function nameOf($ref: string): string {
  return $ref.split('/').at(-1)!;
}

function unionText(anyOf: readonly JsonSchema[], textOf: (schema: JsonSchema) => string): string {
  const known = anyOf.find(one => one.enum !== undefined);
  const isOpen = known !== undefined && anyOf.some(one => one.type === 'string' && one.enum === undefined);
  return isOpen ? `string: ${choicesText(known.enum!)}, or another` : anyOf.map(textOf).join(' or ');
}

function choicesText(choices: readonly unknown[]): string {
  return choices.length === 1 ? code(choices[0]) : choices.map(code).join(', ');
}

function boundsText({
  type,
  format,
  minimum,
  maximum,
  minLength,
  maxLength,
  minItems,
  maxItems,
  uniqueItems,
  pattern,
}: JsonSchema) {
  const isShown = pattern !== undefined && pattern.length <= PATTERN_LENGTH_MAX;
  const fixesLength = format === 'date-time' || (isShown && !/[*+]/.test(pattern));
  const bounds = [
    type === 'integer' && rangeText(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    type === 'string' && format !== undefined && format,
    type === 'string' && !fixesLength && rangeText(minLength, maxLength, 'characters'),
    type === 'array' && rangeText(minItems, maxItems, 'items'),
    uniqueItems && 'without duplicates',
    isShown && code(pattern),
  ].filter(bound => typeof bound === 'string');
  return bounds.length === 0 ? '' : `, ${bounds.join(', ')}`;
}

/** For longer patterns, the description is clearer. */
const PATTERN_LENGTH_MAX = 40;

function rangeText(from: number | undefined, to: number | undefined, unit = ''): string | undefined {
  const after = unit === '' ? '' : ` ${unit}`;
  if (from === undefined) return to === undefined ? undefined : `at most ${countText(to)}${after}`;
  if (to === undefined) return `${countText(from)} or more${after}`;
  return from === to ? `${countText(from)}${after}` : `${countText(from)}–${countText(to)}${after}`;
}

function code(value: unknown): string {
  return `\`${value}\``;
}
