// biome-ignore lint/suspicious/noExplicitAny: JSON Schema is read as it comes
type Schema = any;

/** Returns the type of a schema of the OpenAPI document as Markdown: its bounds, and links to the sections of named schemas. */
export function typeText(schema: Schema): string {
  const { $ref, anyOf, allOf, enum: choices, items, type, default: byDefault } = schema;
  const fallback = byDefault === undefined ? '' : `, default ${code(byDefault)}`;
  if ($ref !== undefined) return linkTo($ref) + fallback;
  if (choices !== undefined) return choicesText(choices) + fallback;
  if (anyOf !== undefined) return unionText(anyOf) + fallback;
  if (allOf !== undefined) return allOf.map(typeText).join(' and ');
  if (type === 'array') {
    const item = typeText(items);
    return `array of ${item.includes(', ') ? `(${item})` : item}${boundsText(schema)}`;
  }
  return `${type ?? 'any value'}${boundsText(schema)}${fallback}`;
}

/** Returns a table row for each member of an object; none for other schemas. */
export function memberRows({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).map(([name, member]) => {
    const mark = required.includes(name) ? 'yes' : '';
    return `| \`${name}\` | ${typeText(member)} | ${mark} | ${descriptionOf(member)} |`;
  });
}

export function descriptionOf({ description, anyOf }: Schema): string {
  // A nullable schema has its description in the other alternative.
  return description ?? anyOf?.map(descriptionOf).find((words: string) => words !== '') ?? '';
}

function unionText(anyOf: readonly Schema[]): string {
  const known = anyOf.find(one => one.enum !== undefined);
  const isOpen = known !== undefined && anyOf.some(one => one.type === 'string' && one.enum === undefined);
  return isOpen ? `string: ${choicesText(known.enum)}, or another` : anyOf.map(typeText).join(' or ');
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
}: Schema) {
  const bounds = [
    type === 'integer' && rangeText(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    type === 'string' && format !== undefined && format,
    type === 'string' && rangeText(minLength, maxLength, 'characters'),
    type === 'array' && rangeText(minItems, maxItems, 'items'),
    uniqueItems && 'without duplicates',
    pattern !== undefined && pattern.length <= PATTERN_LENGTH_MAX && code(pattern.replaceAll('|', '\\|')),
  ].filter(bound => typeof bound === 'string');
  return bounds.length === 0 ? '' : `, ${bounds.join(', ')}`;
}

/** Longer patterns say what the description says better. */
const PATTERN_LENGTH_MAX = 40;

function rangeText(from: number | undefined, to: number | undefined, unit = ''): string | undefined {
  const after = unit === '' ? '' : ` ${unit}`;
  if (from === undefined) return to === undefined ? undefined : `at most ${countText(to)}${after}`;
  if (to === undefined) return `${countText(from)} or more${after}`;
  return from === to ? `${countText(from)}${after}` : `${countText(from)}–${countText(to)}${after}`;
}

function countText(count: number): string {
  return count.toLocaleString('en');
}

function linkTo($ref: string): string {
  const name = $ref.split('/').at(-1)!;
  return `[\`${name}\`](#${name.toLowerCase()})`;
}

function code(value: unknown): string {
  return `\`${value}\``;
}
