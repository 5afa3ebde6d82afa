import { decimalsOf, majorUnits, minorUnits } from '../../lib/currency.ts';
import type { Html } from '../../lib/html/html.ts';
import type { FieldError, Problem } from '../../lib/http/problem.ts';
import { type FullPet, NewPet } from '../../model/pet.ts';
import { field, select } from '../forms.ts';
import type { FormErrors } from '../page.ts';
import { SchemaForm, type Texts, wordsOf } from '../schema-form.ts';
import { statusNames } from './parts.ts';
import { traitNames, valueName } from './trait-names.ts';

const petForm = new SchemaForm(NewPet, {
  labelOf,
  valueName: (value, path) =>
    (statusNames as Record<string, string>)[value] ?? (path.at(-1) === 'unit' ? value : wordsOf(valueName(value))),
  areas: ['description'],
  required: ['name', 'status'],
});

const AMOUNT = 'price/amount';
const CURRENCY = 'price/currency';

/** Returns the texts that the form shows of an animal. Its price is in whole units, such as 125.00. */
export function textsOf(pet: Partial<FullPet>): Texts {
  const { price } = pet;
  return { ...petForm.textsOf(pet), ...(price && { [AMOUNT]: majorUnits(price.amount, price.currency) }) };
}

export function textsIn(form: URLSearchParams): Texts {
  return petForm.textsIn(form);
}

/** Returns the changed values, as `SchemaForm` does. The amount of a price depends on the decimals of its currency. */
export function changesIn(sent: Texts, shown: Texts): Record<string, unknown> {
  const patch = petForm.changesIn(sent, shown);
  if (patch['price'] == null) return patch;
  const [text, currency] = [sent[AMOUNT]!.trim(), sent[CURRENCY]!.trim().toUpperCase()];
  const amount = isCurrency(currency) ? minorUnits(text, currency) : undefined;
  // An invalid amount is passed on as text, so that it is rejected beside its field.
  return { ...patch, price: { amount: amount ?? text, currency } };
}

/** Returns the errors of a form in the form in which the page lists them. */
export function errorsOf(texts: Texts, problem: Problem | undefined): FormErrors {
  return petForm.errorsOf(problem && { message: problem.message, errors: worded(texts, problem.errors) });
}

/** Returns the fields of an animal, each with its error beside it. @param categories the choices of its category */
export function petFieldsView(
  texts: Texts,
  categories: readonly { readonly id: number; readonly name: string }[],
  errors: readonly FieldError[] = [],
): Html {
  return petForm.fieldsView(texts, worded(texts, errors), {
    categoryId({ name, label, value, error }) {
      const choices = categories.map(one => ({
        value: String(one.id),
        label: one.name,
        checked: String(one.id) === value,
      }));
      // Without an empty choice, browsers would send the first category.
      const none = value === '' ? [{ value, label: 'Choose one' }] : [];
      return select({ name, label, error, choices: [...none, ...choices], required: true });
    },
    [AMOUNT]: shown => field({ ...shown, optional: true, hint: 'As people pay it: 125.00 or 125.' }),
    [CURRENCY]: shown => field({ ...shown, optional: true, hint: 'Three letters, such as EUR or USD.', maxLength: 3 }),
  });
}

/** Returns the errors in the terms of the form, if they differ from those of the API. */
function worded(texts: Texts, errors: readonly FieldError[] = []): FieldError[] {
  const currency = texts[CURRENCY] ?? '';
  const example = majorUnits(12_500, isCurrency(currency) ? currency : 'EUR');
  const decimals = isCurrency(currency) ? decimalsOf(currency) : 2;
  return errors.map(error => {
    if (error.path === '/categoryId' && texts['categoryId'] === '') return { ...error, message: 'Choose a category.' };
    if (error.path !== `/${AMOUNT}`) return error;
    return { ...error, message: `Must be an amount such as ${example}, with at most ${decimals} decimals.` };
  });
}

function isCurrency(text: string): boolean {
  return /^[A-Z]{3}$/.test(text);
}

function labelOf([name, member]: readonly string[]): string | undefined {
  if (member === undefined) return name === 'categoryId' ? 'Category' : traitNames[name!];
  const trait = traitNames[member] ?? traitNames[`${name}${member[0]!.toUpperCase()}${member.slice(1)}`];
  if (trait === undefined) return undefined;
  return name === 'traits' ? trait : `${wordsOf(name!)}: ${trait.toLowerCase()}`;
}
