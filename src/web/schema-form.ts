import type { TSchema } from 'typebox';
import { type Html, html, sentence } from '../lib/html/html.ts';
import type { FieldError, Problem } from '../lib/http/problem.ts';
import type { BodyReader } from '../lib/http/server/validation.ts';
import { capitalized } from '../lib/text.ts';
import { invalidMembers } from '../model/errors.ts';
import { field, select, textArea } from './forms.ts';
import type { FormErrors } from './page.ts';

/** The parts of a schema that determine how a form shows it. */
interface Shown {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly description?: string;
  readonly maxLength?: number;
}

interface Leaf extends Shown {
  /** The names of the member and, if nested, of its own member. */
  readonly path: readonly string[];
}

/** The texts of a form by the paths of its fields, such as `goodWith/dogs`. */
export type Texts = Readonly<Record<string, string>>;

/** A field in a form, with its error. */
interface ShownField {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly error: string | undefined;
}

/** The parts of a form that do not derive from its schema. */
interface Options {
  /** Returns the label of a field; by default its name in words. */
  readonly labelOf?: (path: readonly string[]) => string | undefined;
  /** Returns the name of a value of a field with choices. */
  readonly valueName?: (value: string, path: readonly string[]) => string;
  /** The hints of fields; by default their descriptions. */
  readonly hints?: Readonly<Record<string, string>>;
  /** The objects whose members are shown as a group, one per line, by name. */
  readonly groups?: Readonly<Record<string, { readonly legend: string; readonly hint: string }>>;
  /** The fields with several lines, in addition to those for long texts. */
  readonly areas?: readonly string[];
  /** The fields that must not be empty. */
  readonly required: readonly string[];
}

const LINE_MAX = 500;

/**
 * The maximum size of a form with the long texts of a schema, in bytes: up to 40,000 characters of up to twelve bytes.
 */
export const LONG_FORM_BYTES_MAX = 512 * 1024;

/** A form with the fields that callers of the API write, except objects whose members have arbitrary names. */
export class SchemaForm {
  readonly #leaves: readonly Leaf[];
  readonly #options: Options;

  /** @param schema an object whose members are values, lists of texts, or objects of values */
  constructor(schema: { readonly properties: object }, options: Options) {
    this.#leaves = leavesOf(schema.properties as Record<string, Shown>);
    this.#options = options;
  }

  /** Returns the texts that the form shows of a value. */
  textsOf(value: object): Texts {
    return Object.fromEntries(this.#leaves.map(({ path }) => [path.join('/'), textOf(valueAt(value, path))]));
  }

  /** Returns the submitted texts. Browsers send line breaks as CRLF; they are stored as LF. */
  textsIn(form: URLSearchParams): Texts {
    const names = this.#leaves.map(({ path }) => path.join('/'));
    return Object.fromEntries(names.map(name => [name, (form.get(name) ?? '').replaceAll('\r\n', '\n')]));
  }

  /**
   * Returns the values that differ from those that were shown, as a merge patch. Unchanged values stay identical byte
   * for byte; `null` stands for an emptied field.
   */
  changesIn(sent: Texts, shown: Texts): Record<string, unknown> {
    const patch: Record<string, unknown> = {};
    for (const leaf of this.#leaves) {
      const key = leaf.path.join('/');
      if (sent[key] === shown[key]?.replaceAll(/\r\n?/g, '\n')) continue;
      const [name, member] = leaf.path as [string, string?];
      const value = sent[key] === '' && this.#options.required.includes(key) ? '' : valueIn(leaf, sent[key]!);
      if (member === undefined) patch[name] = value;
      else if (this.#isEmptied(name, sent)) patch[name] = null;
      else patch[name] = { ...(patch[name] as object), [member]: value };
    }
    return patch;
  }

  /** Returns the fields, each with its error beside it. @param custom fields with a custom view, by name */
  fieldsView(
    texts: Texts,
    errors: readonly FieldError[] = [],
    custom: Readonly<Record<string, (shown: ShownField) => Html>> = {},
  ): Html {
    const view = (leaf: Leaf): Html => {
      const name = leaf.path.join('/');
      const error = errors.find(error => isOf(error, name))?.message;
      const shown = { name, label: this.#labelOf(leaf), value: texts[name] ?? '', error };
      return custom[name]?.(shown) ?? this.#leafView(leaf, shown);
    };
    const { groups = {} } = this.#options;
    const members = Map.groupBy(this.#leaves, ({ path }) => path[0]!);
    return html`${[...members].map(([name, leaves]) => {
      const group = groups[name];
      return group === undefined
        ? leaves.map(view)
        : html`<fieldset class="field rows"><legend>${group.legend} <span class="quiet">(optional)</span></legend>
<p class="hint">${group.hint}</p>
${leaves.map(view)}</fieldset>`;
    })}`;
  }

  /**
   * Returns the errors by field, each after the label of its field. @param problem the reason why the form was
   * rejected, if it was
   */
  errorsOf(problem: Pick<Problem, 'message' | 'errors'> | undefined): FormErrors {
    if (problem === undefined) return {};
    const { message, errors = [] } = problem;
    const names = this.#leaves.map(({ path }) => path.join('/'));
    const labelled = this.#leaves.flatMap((leaf, index) => {
      const error = errors.find(error => isOf(error, names[index]!));
      return error === undefined ? [] : [[names[index]!, this.#labelledError(leaf, error)] as const];
    });
    const others = errors.filter(error => !names.some(name => isOf(error, name)));
    const rest = errors.length === 0 ? message : others.map(({ message }) => message).join(' ');
    return { ...Object.fromEntries(labelled), '': rest };
  }

  /** `Name: Must have …`, but `Name is required.`, because some messages begin with the member. */
  #labelledError(leaf: Leaf, { message }: FieldError): string {
    const member = `${leaf.path.at(-1)} `;
    const label = this.#labelOf(leaf);
    return message.startsWith(member) ? `${label} ${message.slice(member.length)}` : `${label}: ${message}`;
  }

  #labelOf({ path }: Leaf): string {
    return this.#options.labelOf?.(path) ?? labelOf(path);
  }

  #leafView(leaf: Leaf, shown: ShownField): Html {
    const { valueName = wordsOf, hints, areas = [], required } = this.#options;
    const isRequired = required.includes(shown.name);
    const values = leaf.type === 'boolean' ? ['true', 'false'] : leaf.enum;
    if (values !== undefined) {
      const names: Record<string, string> = { true: 'Yes', false: 'No' };
      const choices = values.map(value => ({
        value,
        label: names[value] ?? valueName(value, leaf.path),
        checked: value === shown.value,
      }));
      const { name, label, error } = shown;
      const none = isRequired ? [] : [{ value: '', label: 'Not given' }];
      return select({ name, label, error, choices: [...none, ...choices] });
    }
    const optional = !isRequired && ({ optional: true } as const);
    if (leaf.items !== undefined || (leaf.maxLength ?? 0) > LINE_MAX || areas.includes(shown.name)) {
      return textArea({
        ...shown,
        ...optional,
        ...(leaf.items !== undefined && { label: `${shown.label}, one a line` }),
      });
    }
    return field({
      ...shown,
      ...optional,
      hint: hints ? hints[shown.name] : leaf.description && sentence(leaf.description),
    });
  }

  #isEmptied(name: string, sent: Texts): boolean {
    return this.#leaves.every(({ path }) => path[0] !== name || sent[path.join('/')] === '');
  }
}

/**
 * Validates a value of a form like a request of the API.
 * @throws {Problem} `invalid_body` with one error for each invalid field
 */
export function readChecked<T>(reader: BodyReader, value: unknown): T {
  const reading = reader.read(value, true);
  if ('errors' in reading) throw invalidMembers(reading.errors);
  return reading.value as T;
}

/** Returns a name as words: `birthDate` as `Birth date`, `owner_surrender` as `Owner surrender`. */
export function wordsOf(name: string): string {
  const words = name.replaceAll(/(?<=.)[A-Z]/g, letter => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');
  return capitalized(words);
}

/** Reports whether an error is that of a field, or of a value in it. */
function isOf({ path }: FieldError, name: string): boolean {
  return path === `/${name}` || path.startsWith(`/${name}/`);
}

function leavesOf(properties: Readonly<Record<string, Shown>>): Leaf[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const members = Object.entries(schema.properties ?? {});
    if (members.length > 0) return members.map(([member, inner]) => ({ ...(inner as Shown), path: [name, member] }));
    return schema.type === 'object' ? [] : [{ ...schema, path: [name] }];
  });
}

function labelOf([name, member]: readonly string[]): string {
  return member === undefined ? wordsOf(name!) : `${wordsOf(name!)}: ${wordsOf(member).toLowerCase()}`;
}

function valueAt(value: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

function valueIn({ type, items }: Leaf, text: string): unknown {
  if (text === '') return null;
  if (items !== undefined) return text.split('\n').filter(line => line !== '');
  if (type === 'boolean') return text === 'true';
  // Text that is not a number stays text, so that the schema rejects it beside its field.
  return (type === 'integer' || type === 'number') && Number.isFinite(Number(text)) ? Number(text) : text;
}
