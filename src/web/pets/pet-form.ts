import { createHash } from 'node:crypto';
import { decimalsOf, majorUnits } from '../../lib/currency.ts';
import type { FieldError, Problem } from '../../lib/http/problem.ts';
import { type FullPet, NewPet } from '../../model/pet.ts';
import type { FormErrors } from '../page.ts';
import { SchemaForm, type Texts, wordsOf } from '../schema-form.ts';
import { groupsOf, keptFields, placedLabel, TYPED_AGE } from './form-groups.ts';
import { statusNames } from './parts.ts';
import { valueName } from './trait-names.ts';
import { birthDateAt, parseFee, parseWeight, weightText } from './typed-values.ts';

/** The form of an animal: the fields that callers of the API write, and an age in words. */
export const petForm = new SchemaForm(
  { properties: { ...NewPet.properties, [TYPED_AGE]: { type: 'string' } } },
  {
    labelOf: path => placedLabel(path.join('/')),
    valueName: value => (statusNames as Record<string, string>)[value] ?? wordsOf(valueName(value)),
    codecs: { weight: { print: weightText, parse: parseWeight } },
    hints: {},
    unmarked: true,
    required: ['name', 'status'],
  },
);

const AMOUNT = 'price/amount';
const CURRENCY = 'price/currency';

/**
 * Returns the texts that the form shows of an animal. Its price is in whole units, such as 125.00.
 * @param currency the currency of an animal without a price
 */
export function textsOf(pet: Partial<FullPet>, currency = ''): Texts {
  const { price } = pet;
  const fee = price === undefined ? '' : majorUnits(price.amount, price.currency);
  return { ...petForm.textsOf(pet), [AMOUNT]: fee, [CURRENCY]: price?.currency ?? currency };
}

/** Returns the texts of the first form for another animal of the same litter. */
export function textsLike(pet: FullPet, currency: string): Texts {
  const texts = textsOf(pet, currency);
  const kept = keptFields.map(name => [name, texts[name] ?? ''] as const);
  return { ...textsOf({ status: 'available' }, texts[CURRENCY]), ...Object.fromEntries(kept) };
}

/** Returns the submitted texts. The notes about special needs are one line in the API. */
export function textsIn(form: URLSearchParams): Texts {
  const texts = petForm.textsIn(form);
  return { ...texts, specialNeedsNotes: (texts['specialNeedsNotes'] ?? '').replaceAll(/\s*\n\s*/g, ' ') };
}

/**
 * Returns the changed values, as `SchemaForm` does. An age replaces the date of birth, and a fee has its currency.
 * @param now in milliseconds since the Unix epoch
 */
export function changesIn(sent: Texts, shown: Texts, now: number): Record<string, unknown> {
  const { [TYPED_AGE]: age, price: _, ...patch } = petForm.changesIn(sent, shown);
  return { ...patch, ...(age != null && birthOf(sent, shown, now)), ...priceIn(sent, shown) };
}

/** Returns the date of birth of an age. An invalid age is passed on as text, so that it is rejected as a date. */
function birthOf(sent: Texts, shown: Texts, now: number) {
  const hasBoth = sent['birthDate'] !== '' && sent['birthDate'] !== shown['birthDate'];
  const birthDate = hasBoth ? undefined : birthDateAt(sent[TYPED_AGE]!, now);
  return { birthDate: birthDate ?? sent[TYPED_AGE], birthDatePrecision: 'estimated' };
}

/** Returns the price, if it has changed. Without an amount, there is none: the form suggests a currency. */
function priceIn(sent: Texts, shown: Texts): { price?: unknown } {
  const [text, currency] = [sent[AMOUNT]!.trim(), sent[CURRENCY]!.trim().toUpperCase()];
  if (text === shown[AMOUNT] && (text === '' || currency === shown[CURRENCY])) return {};
  if (text === '') return { price: null };
  const isKnown = isCurrency(currency);
  const fee = parseFee(text, isKnown ? currency : 'USD');
  // An invalid amount or currency is passed on, so that it is rejected beside its field.
  return { price: { amount: fee?.amount ?? text, currency: isKnown && fee ? fee.currency : currency } };
}

/** Returns the errors of a form in the order of its fields, as the page lists them. */
export function errorsOf(texts: Texts, problem: Problem | undefined): FormErrors {
  const errors = petForm.errorsOf(problem && { message: problem.message, errors: worded(texts, fieldErrors(problem)) });
  const order = groupsOf(petForm.names).flatMap(({ fields }) => fields.map(({ field }) => field));
  return Object.fromEntries(['', ...order].flatMap(name => (errors[name] ? [[name, errors[name]]] : [])));
}

/** The fields of errors that concern one field without naming it. */
const fieldsOfCodes: Readonly<Record<string, string>> = { pet_reserved: 'status' };

/** Returns the errors of single fields. */
export function fieldErrors({ code, message, errors }: Problem): readonly FieldError[] {
  const field = fieldsOfCodes[code];
  return errors ?? (field === undefined ? [] : [{ path: `/${field}`, code, message }]);
}

/** Returns the errors in the terms of the form, if they differ from those of the API. */
export function worded(texts: Texts, errors: readonly FieldError[] = []): FieldError[] {
  return errors.map(error => {
    const [, name = ''] = error.path.split('/');
    const { path, message } = (wordings[error.path.slice(1)] ?? wordings[name])?.(texts, error) ?? {};
    return { ...error, path: path ?? error.path, message: message ?? error.message };
  });
}

type Wording = (texts: Texts, error: FieldError) => Partial<Pick<FieldError, 'path' | 'message'>> | undefined;

/** The errors that a form explains in its own words, by field. */
const wordings: Readonly<Record<string, Wording>> = {
  categoryId: ({ categoryId }) => (categoryId === '' ? { message: 'Choose a kind.' } : undefined),
  externalId: (_, { code }) =>
    code === 'external_id_taken' ? { message: 'Another of your animals has this number.' } : undefined,
  weight: () => ({ message: 'Must be a weight with its unit, such as 12 lb or 5.5 kg, and more than zero.' }),
  birthDate: ({ [TYPED_AGE]: age = '', birthDate = '' }) => {
    if (age === '') return undefined;
    const isAge = birthDate !== '' && birthDateAt(age, 0) !== undefined;
    const message = isAge
      ? 'Enter the age or the date of birth, not both.'
      : 'Must be an age such as 2 years, 5 months or 8 weeks.';
    return { path: `/${TYPED_AGE}`, message };
  },
  [CURRENCY]: () => ({ message: 'Must be three letters, such as USD.' }),
  [AMOUNT]: ({ [CURRENCY]: currency = '' }) => {
    const known = isCurrency(currency) ? currency : 'USD';
    const decimals = decimalsOf(known);
    const shown = decimals === 0 ? 'without decimals' : `with at most ${decimals} decimals`;
    return { message: `Must be an amount such as ${majorUnits(12_500, known)}, ${shown}.` };
  },
};

function isCurrency(text: string): boolean {
  return /^[A-Z]{3}$/.test(text);
}

/**
 * Returns a short hash of each text that a form shows. The form sends it back, so that a later version of the animal can
 * be merged with the entries.
 */
export function hashesOf(texts: Texts): string {
  return petForm.names.flatMap(name => (texts[name] ? [`${name} ${hashOf(texts[name])}`] : [])).join(',');
}

/** The entries of a form that was opened with an older version of the animal. */
interface Merged {
  readonly texts: Texts;
  /** The fields that someone else changed too: the entry is kept, and the error names the other value. */
  readonly conflicts: readonly FieldError[];
}

/** Merges the entries of a form with the current version of the animal. @param shown the result of `hashesOf` */
export function mergedTexts(sent: Texts, current: Texts, shown: string | null): Merged {
  if (shown === null) return { texts: sent, conflicts: [] };
  const hashes = new Map(shown.split(',').map(one => one.split(' ') as [string, string]));
  const isChanged = (name: string, text = '') => (text === '' ? undefined : hashOf(text)) !== hashes.get(name);
  const texts: Record<string, string> = { ...current };
  const conflicts: FieldError[] = [];
  for (const name of petForm.names) {
    const [entry = '', other = ''] = [sent[name], current[name]];
    if (!isChanged(name, entry)) continue;
    texts[name] = entry;
    if (!isChanged(name, other) || hashOf(entry) === hashOf(other)) continue;
    const message =
      other === '' ? 'Someone else removed this.' : `Someone else changed this to “${petForm.shownText(name, other)}”.`;
    conflicts.push({ path: `/${name}`, code: 'conflict', message });
  }
  return { texts, conflicts };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text.replaceAll(/\r\n?/g, '\n')).digest('base64url').slice(0, 8);
}
