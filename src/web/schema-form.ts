import type { TSchema } from 'typebox';
import { type Html, type HtmlValue, html, sentence } from '../lib/html/html.ts';
import type { FieldError, Problem } from '../lib/http/problem.ts';
import type { BodyReader } from '../lib/http/server/validation.ts';
import { capitalized } from '../lib/text.ts';
import { invalidMembers } from '../model/errors.ts';
import { answerButtons, type Choice, checkbox, field, select, textArea } from './forms.ts';
import type { FormErrors } from './page.ts';

/** The parts of a schema that determine how a form shows it. */
interface Shown {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly description?: string;
  readonly maxLength?: number;
  readonly '~document'?: { readonly format?: string };
}

interface Leaf extends Shown {
  /** The names of the member and, if nested, of its own member. */
  readonly path: readonly string[];
  readonly codec?: TextCodec | undefined;
}

/** Converts an object to one text, as people type it. */
interface TextCodec {
  print(value: never): string;
  /** Returns the object; `undefined` if the text is invalid. */
  parse(text: string): object | undefined;
}

/** How a form shows a field, besides what follows from its schema. */
export interface FieldLook {
  readonly label?: string | undefined;
  /** What to enter, in the words of people who use the form. */
  readonly hint?: HtmlValue;
  /** A row of buttons instead of a select, or several lines instead of one; a boolean can be a checkbox. */
  readonly as?: 'buttons' | 'lines' | 'check';
  /** The names of its values, in place of those of the form. A number becomes a choice of these. */
  readonly names?: Readonly<Record<string, string>>;
  /** The name of the choice without a value. */
  readonly none?: string;
  readonly inputMode?: 'decimal' | 'numeric';
  /** The id of the `datalist` with suggestions. */
  readonly list?: string | undefined;
  readonly rows?: number;
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
  /** The objects that the form shows as one text, by name. */
  readonly codecs?: Readonly<Record<string, TextCodec>>;
  /** Whether labels do not say that a field is optional. */
  readonly unmarked?: true;
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
    this.#leaves = leavesOf(schema.properties as Record<string, Shown>, options.codecs);
    this.#options = options;
  }

  /** The names of the fields, in the order of the schema. */
  get names(): readonly string[] {
    return this.#leaves.map(nameOf);
  }

  /** Returns the texts that the form shows of a value. */
  textsOf(value: object): Texts {
    return Object.fromEntries(this.#leaves.map(leaf => [nameOf(leaf), textOf(leaf, valueAt(value, leaf.path))]));
  }

  /**
   * Returns the submitted texts. Browsers send line breaks as CRLF; they are stored as LF. A text of white space only is
   * empty. A checked checkbox follows the value that it has otherwise.
   */
  textsIn(form: URLSearchParams): Texts {
    const textIn = (name: string) => (form.getAll(name).at(-1) ?? '').replaceAll('\r\n', '\n');
    return Object.fromEntries(this.names.map(name => [name, textIn(name).trim() === '' ? '' : textIn(name)]));
  }

  /**
   * Returns the values that differ from those that were shown, as a merge patch. Unchanged values stay identical byte
   * for byte; `null` stands for an emptied field.
   */
  changesIn(sent: Texts, shown: Texts): Record<string, unknown> {
    const patch: Record<string, unknown> = {};
    for (const leaf of this.#leaves) {
      const key = nameOf(leaf);
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
      const shown = this.#shown(leaf, texts, errors);
      return custom[shown.name]?.(shown) ?? this.#leafView(leaf, shown, {});
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

  /** Returns one field, with its error beside it. */
  fieldView(name: string, texts: Texts, errors: readonly FieldError[], look: FieldLook): Html {
    const leaf = this.#leaves.find(leaf => nameOf(leaf) === name)!;
    const { label = this.#labelOf(leaf) } = look;
    return this.#leafView(leaf, { ...this.#shown(leaf, texts, errors), label }, look);
  }

  /** Returns the text of a field as the form shows it: the name of a choice, otherwise the text itself. */
  shownText(name: string, text: string): string {
    const leaf = this.#leaves.find(leaf => nameOf(leaf) === name)!;
    return leaf.enum?.includes(text) ? (this.#options.valueName ?? wordsOf)(text, leaf.path) : text;
  }

  /**
   * Returns the errors by field, each after the label of its field. @param problem the reason why the form was
   * rejected, if it was
   */
  errorsOf(problem: Pick<Problem, 'message' | 'errors'> | undefined): FormErrors {
    if (problem === undefined) return {};
    const { message, errors = [] } = problem;
    const { names } = this;
    const labelled = this.#leaves.flatMap((leaf, index) => {
      const error = errors.find(error => isOf(error, names[index]!));
      return error === undefined ? [] : [[names[index]!, this.#labelledError(leaf, error)] as const];
    });
    const others = errors.filter(error => !names.some(name => isOf(error, name)));
    const rest = errors.length === 0 ? message : others.map(({ message }) => message).join(' ');
    return { ...Object.fromEntries(labelled), '': rest };
  }

  /** `Name: Must have …`, but `Name is required.`, because some messages begin with the label. */
  #labelledError(leaf: Leaf, error: FieldError): string {
    const label = this.#labelOf(leaf);
    const message = plainMessage(error, label);
    return message.startsWith(`${label} `) ? message : `${label}: ${message}`;
  }

  #labelOf({ path }: Leaf): string {
    return this.#options.labelOf?.(path) ?? labelOf(path);
  }

  #shown(leaf: Leaf, texts: Texts, errors: readonly FieldError[]): ShownField {
    const [name, label] = [nameOf(leaf), this.#labelOf(leaf)];
    const error = errors.find(error => isOf(error, name));
    return { name, label, value: texts[name] ?? '', error: error && plainMessage(error, label) };
  }

  #leafView(leaf: Leaf, shown: ShownField, look: FieldLook): Html {
    const listed = leaf.type === 'boolean' ? ['true', 'false'] : leaf.enum;
    const values = listed ?? (look.names && Object.keys(look.names));
    return values === undefined ? this.#textView(leaf, shown, look) : this.#choiceView(leaf, values, shown, look);
  }

  #choiceView(leaf: Leaf, values: readonly string[], shown: ShownField, look: FieldLook): Html {
    const { valueName = wordsOf, required } = this.#options;
    const names: Readonly<Record<string, string>> = { true: 'Yes', false: 'No', ...look.names };
    if (look.as === 'check') {
      return checkbox({
        ...shown,
        value: 'true',
        off: shown.value === 'false' ? 'false' : '',
        checked: shown.value === 'true',
      });
    }
    const labelled = values.map(value => ({ value, label: names[value] ?? valueName(value, leaf.path) }));
    const none = required.includes(shown.name) ? [] : [{ value: '', label: look.none ?? 'Not given' }];
    const isAnswer = values.includes('unknown');
    const choices = (isAnswer ? answersFor(labelled, shown.value) : [...none, ...labelled]).map(
      (choice): Choice => ({ ...choice, checked: choice.value === shown.value }),
    );
    const view = isAnswer || look.as === 'buttons' ? answerButtons : select;
    return view({ ...shown, hint: look.hint, choices });
  }

  #textView(leaf: Leaf, shown: ShownField, look: FieldLook): Html {
    const { hints, areas = [], required, unmarked } = this.#options;
    const isOptional = !required.includes(shown.name);
    const optional = isOptional && { optional: unmarked ? ('unmarked' as const) : (true as const) };
    const isList = leaf.items !== undefined;
    if (isList || (leaf.maxLength ?? 0) > LINE_MAX || areas.includes(shown.name) || look.as === 'lines') {
      const label = isList && look.label === undefined ? `${shown.label}, one a line` : shown.label;
      return textArea({ ...shown, ...optional, label, hint: look.hint, ...(look.rows && { rows: look.rows }) });
    }
    const { hint = hints ? hints[shown.name] : leaf.description && sentence(leaf.description) } = look;
    const isDate = leaf['~document']?.format === 'date';
    const input = isDate
      ? { type: 'date' as const }
      : { inputMode: look.inputMode, list: look.list, enterKeyHint: 'next' as const, dir: 'auto' as const };
    return field({ ...shown, ...optional, hint, ...input } as Parameters<typeof field>[0]);
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

/** Returns an error in words for people who have never seen the API. @param label that of the field */
function plainMessage({ code, message }: FieldError, label: string): string {
  if (code === 'required' || /^[a-z]\w* is required\.$/.test(message)) return `${label} is required.`;
  return plainMessages.reduce((text, [pattern, plain]) => text.replace(pattern, plain), message);
}

/** The messages that are about characters and schemas, with what to write in their place. */
const plainMessages: readonly (readonly [pattern: RegExp, plain: string])[] = [
  [/^.*not white space.*$/, 'Must have at least one letter or digit.'],
  [/^.*control characters other.*$/, 'Has a hidden character: type the text instead of pasting it.'],
  [/^.*control characters.*$/, 'Has a line break or a hidden character: type the text in one line.'],
  [/^Must be an integer\.$/, 'Must be a whole number.'],
  [/^Must be an? (?:object|string|array|boolean)\.$/, 'Must have another form.'],
  [/^Must not have duplicate items\.$/, 'Has the same entry twice.'],
  [/^Must have at most (\d+) items\.$/, 'Must have at most $1 entries.'],
];

/**
 * Returns the answers of which exactly one is chosen: without a value, the answer is unknown. That stays different from
 * the value `unknown`, so that a form which nobody has changed changes nothing.
 */
function answersFor(labelled: readonly { readonly value: string; readonly label: string }[], value: string) {
  return labelled.map(one => (one.value === 'unknown' && value === '' ? { ...one, value: '' } : one));
}

function nameOf({ path }: Pick<Leaf, 'path'>): string {
  return path.join('/');
}

/** Reports whether an error is that of a field, or of a value in it. */
function isOf({ path }: FieldError, name: string): boolean {
  return path === `/${name}` || path.startsWith(`/${name}/`);
}

function leavesOf(properties: Readonly<Record<string, Shown>>, codecs: Options['codecs'] = {}): Leaf[] {
  return Object.entries(properties).flatMap(([name, schema]): Leaf[] => {
    const codec = codecs[name];
    if (codec !== undefined) return [{ path: [name], codec }];
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

function textOf({ codec }: Leaf, value: unknown): string {
  if (codec !== undefined && value !== undefined) return codec.print(value as never);
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

function valueIn({ type, items, codec }: Leaf, text: string): unknown {
  if (text === '') return null;
  // Text that is not valid stays text, so that the schema rejects it beside its field.
  if (codec !== undefined) return codec.parse(text) ?? text;
  if (items !== undefined) return text.split('\n').filter(line => line.trim() !== '');
  if (type === 'boolean') return text === 'true';
  return (type === 'integer' || type === 'number') && Number.isFinite(Number(text)) ? Number(text) : text;
}
