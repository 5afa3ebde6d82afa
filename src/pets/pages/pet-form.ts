import type { TSchema } from 'typebox';
import { problem } from '../../errors.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { FieldError } from '../../lib/http/problem.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { field, select, textArea } from '../../web/forms.ts';
import type { Visit } from '../../web/page.ts';
import { NewPet } from '../pet.ts';
import { statusNames } from './parts.ts';
import { traitNames, valueName } from './trait-names.ts';

/** What of a schema decides how a form shows it. */
interface Shown {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly description?: string;
  readonly maxLength?: number;
}

interface Leaf extends Shown {
  /** The names of the member, and of the member in it. */
  readonly path: readonly string[];
}

/** The texts of a form by the paths of its fields, such as `goodWith/dogs`. */
export type Texts = Readonly<Record<string, string>>;

const LINE_MAX = 500;

/** The fields that a form shows: those of the API that callers write, without texts of their own by name. */
const leaves: readonly Leaf[] = Object.entries(NewPet.properties as Record<string, Shown>).flatMap(([name, schema]) => {
  const members = Object.entries(schema.properties ?? {});
  if (members.length > 0) return members.map(([member, inner]) => ({ ...(inner as Shown), path: [name, member] }));
  return schema.type === 'object' ? [] : [{ ...schema, path: [name] }];
});

/** Returns the texts in which a form shows an animal. */
export function textsOf(pet: object): Texts {
  return Object.fromEntries(leaves.map(leaf => [leaf.path.join('/'), textOf(valueAt(pet, leaf.path))]));
}

/** Returns the texts that were sent. Browsers send line breaks as CRLF; they are stored as people type them. */
export function textsIn(form: URLSearchParams): Texts {
  return Object.fromEntries(
    leaves.map(({ path }) => [path.join('/'), (form.get(path.join('/')) ?? '').replaceAll('\r\n', '\n')]),
  );
}

/**
 * Returns the values that differ from those of the animal that was shown, as a merge patch: what nobody touched stays byte
 * for byte. `null` stands for what was emptied.
 */
export function changesIn(sent: Texts, shown: Texts): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const leaf of leaves) {
    const key = leaf.path.join('/');
    if (sent[key] === shown[key]?.replaceAll(/\r\n?/g, '\n')) continue;
    const [name, member] = leaf.path as [string, string?];
    const value = valueIn(leaf, sent[key]!);
    if (member === undefined) patch[name] = value;
    else if (isEmptied(name, sent)) patch[name] = null;
    else patch[name] = { ...(patch[name] as object), [member]: value };
  }
  return patch;
}

/** Returns the check that the animal is still as the form showed it. The check throws `precondition_failed`. */
export function checkOf({ form }: Visit): PreconditionCheck {
  return etag => {
    if (etag !== form.get('etag')) throw problem('precondition_failed', 'The animal has changed since. Open it again.');
  };
}

/** Returns the fields of an animal, each with its error beside it. @param categories the choices of its category */
export function petFieldsView(
  texts: Texts,
  categories: readonly { readonly id: number; readonly name: string }[],
  errors: readonly FieldError[] = [],
): Html {
  return html`${leaves.map(leaf => {
    const name = leaf.path.join('/');
    const value = texts[name] ?? '';
    const error = errors.find(({ path }) => path === `/${name}` || path.startsWith(`/${name}/`))?.message;
    if (name === 'categoryId') {
      const options = categories.map(one => ({
        value: String(one.id),
        label: one.name,
        checked: String(one.id) === value,
      }));
      return select({ name, label: 'Category', error, choices: options });
    }
    return leafView(leaf, { name, label: labelOf(leaf), value, error, optional: true });
  })}`;
}

type LeafField = { name: string; label: string; value: string; error: string | undefined; optional: true };

function leafView(leaf: Leaf, shown: LeafField): Html {
  const values = leaf.type === 'boolean' ? ['true', 'false'] : leaf.enum;
  if (values !== undefined) {
    const names: Record<string, string> = { ...statusNames, true: 'Yes', false: 'No' };
    const choices = values.map(value => ({
      value,
      label: names[value] ?? (leaf.path.at(-1) === 'unit' ? value : wordsOf(valueName(value))),
      checked: value === shown.value,
    }));
    const { name, label, error } = shown;
    return select({ name, label, error, choices: [{ value: '', label: 'Not given' }, ...choices] });
  }
  if (leaf.items !== undefined || (leaf.maxLength ?? 0) > LINE_MAX || leaf.path[0] === 'description') {
    return textArea({ ...shown, ...(leaf.items !== undefined && { label: `${shown.label}, one a line` }) });
  }
  const { name, ...rest } = shown;
  if (name !== 'name') return field({ ...shown, hint: leaf.description });
  const { optional: _, ...required } = rest;
  return field({ name, ...required, hint: leaf.description });
}

function labelOf({ path }: Leaf): string {
  const [name, member] = path as [string, string?];
  if (member === undefined) return traitNames[name] ?? wordsOf(name);
  const trait = traitNames[member] ?? traitNames[`${name}${member[0]!.toUpperCase()}${member.slice(1)}`];
  if (name === 'traits' && trait !== undefined) return trait;
  return `${wordsOf(name)}: ${(trait ?? wordsOf(member)).toLowerCase()}`;
}

/** `birthDate` as `Birth date`, `owner_surrender` as `Owner surrender`. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/(?<=.)[A-Z]/g, letter => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}

function valueAt(pet: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], pet);
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

function valueIn({ type, items }: Leaf, text: string): unknown {
  if (text === '') return null;
  if (items !== undefined) return text.split('\n').filter(line => line !== '');
  if (type === 'boolean') return text === 'true';
  // Text that is no number stays text, which the schema refuses beside its field.
  return (type === 'integer' || type === 'number') && Number.isFinite(Number(text)) ? Number(text) : text;
}

function isEmptied(name: string, sent: Texts): boolean {
  return leaves.every(({ path }) => path[0] !== name || sent[path.join('/')] === '');
}
