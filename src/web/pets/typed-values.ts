import { decimalsOf, minorUnits } from '../../lib/currency.ts';
import { DAY_MS, formatDate } from '../../lib/time.ts';
import type { FullPet, Price } from '../../model/pet.ts';

/** The words for units of weight that people write, by the unit that is stored. */
const weightUnits = {
  kg: ['kg', 'kgs', 'kilo', 'kilos', 'kilogram', 'kilograms'],
  g: ['g', 'gr', 'gram', 'grams'],
  lb: ['lb', 'lbs', 'pound', 'pounds'],
  oz: ['oz', 'ounce', 'ounces'],
} as const;
type Weight = NonNullable<FullPet['weight']>;

/** The maximum length of a text to parse, in characters. Long texts of digits would take quadratic time. */
const TYPED_LENGTH_MAX = 60;

/** Parses a weight such as `12 lb`, `5.5 kg` or `2 lb 4 oz`; `undefined` for other texts. */
export function parseWeight(text: string): Weight | undefined {
  const parts = partsOf(text)?.map(([number, word]) => ({ value: numberOf(number), unit: unitOf(weightUnits, word) }));
  const [first, second, ...more] = parts ?? [];
  if (first?.value === undefined || first.unit === undefined || more.length > 0) return undefined;
  if (second === undefined) return { value: first.value, unit: first.unit };
  if (first.unit !== 'lb' || second.unit !== 'oz' || second.value === undefined) return undefined;
  return { value: first.value + second.value / 16, unit: 'lb' };
}

/** Returns a weight as people write it: `12 lb`. `parseWeight` returns the same weight for it. */
export function weightText({ value, unit }: Weight): string {
  return `${value} ${unit}`;
}

const ageUnits = {
  years: ['y', 'yr', 'yrs', 'year', 'years'],
  months: ['m', 'mo', 'mos', 'mth', 'mths', 'month', 'months'],
  weeks: ['w', 'wk', 'wks', 'week', 'weeks'],
  days: ['d', 'day', 'days'],
} as const;
const MONTHS_MAX = 12 * 200;

/**
 * Returns the estimated date of birth for an age such as `about 2 years`, `8 weeks` or `1 year 3 months`; `undefined`
 * for other texts.
 * @param now in milliseconds since the Unix epoch
 */
export function birthDateAt(text: string, now: number): string | undefined {
  if (text.length > TYPED_LENGTH_MAX) return undefined;
  const age = text
    .toLowerCase()
    .replace(/^\s*(about|around|approximately|approx\.?|circa|ca\.?|c\.|~)\s*/, '')
    .replace(/\s*\bold\s*$/, '')
    .replace(/^(an?|one)(?=\s)/, '1')
    .replaceAll('½', '.5');
  const parts = partsOf(age)?.map(([number, word]) => [unitOf(ageUnits, word), numberOf(number)] as const);
  if (parts === undefined || parts.some(([unit, value]) => unit === undefined || value === undefined)) return undefined;
  const sums = { years: 0, months: 0, weeks: 0, days: 0 };
  for (const [unit, value] of parts) sums[unit!] += value!;
  const months = Math.round(sums.years * 12 + sums.months);
  const days = Math.round(sums.weeks * 7 + sums.days);
  if (months + days / 30 > MONTHS_MAX) return undefined;
  return formatDate(monthsBefore(now, months) - days * DAY_MS);
}

/** Returns the same day some months earlier, or the last day of that month if it is shorter. */
function monthsBefore(now: number, months: number): number {
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, last));
}

/** The currencies of symbols that are not those of the chosen currency. */
const symbols: Readonly<Record<string, string>> = { $: 'USD', US$: 'USD', '€': 'EUR', '£': 'GBP', '¥': 'JPY' };

/**
 * Parses a fee such as `125`, `$125`, `125.50`, `1,250`, `125 EUR` or `free`; `undefined` for other texts.
 * @param chosen the currency of a fee without a symbol, and of a symbol that several currencies have
 */
export function parseFee(text: string, chosen: string): Price | undefined {
  if (text.length > TYPED_LENGTH_MAX) return undefined;
  const fee = text.trim();
  if (/^(free|none|no fee)$/i.test(fee)) return { amount: 0, currency: chosen };
  const [, before = '', number = '', after = ''] =
    /^([^\d\s.,]*)\s*(\d[\d.,'’\s]*?)(?:[.,][-–—])?\s*([^\d\s.,]*)$/.exec(fee) ?? [];
  if (before !== '' && after !== '') return undefined;
  const currency = currencyOf(before || after, chosen);
  const digits = plainNumber(number);
  if (currency === undefined || digits === undefined) return undefined;
  // Nobody pays fractions of the smallest unit: 1.250 is an amount of thousands with another separator.
  if ((digits.split('.')[1] ?? '').length > decimalsOf(currency)) return undefined;
  const amount = minorUnits(digits, currency);
  return amount === undefined ? undefined : { amount, currency };
}

function currencyOf(mark: string, chosen: string): string | undefined {
  if (mark === '' || mark === symbolOf(chosen)) return chosen;
  return /^[a-z]{3}$/i.test(mark) ? mark.toUpperCase() : Object.hasOwn(symbols, mark) ? symbols[mark] : undefined;
}

function symbolOf(currency: string): string | undefined {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value;
}

/** Splits `1 year 3 months` into numbers with their words; `undefined` if the text has anything else. */
function partsOf(text: string): readonly (readonly [number: string, word: string])[] | undefined {
  if (text.length > TYPED_LENGTH_MAX) return undefined;
  const parts = Array.from(text.trim().matchAll(PART), ([whole, number = '', word = '']) => ({ whole, number, word }));
  const isAll = parts.map(({ whole }) => whole).join('') === text.trim() && parts.length > 0;
  return isAll && parts.length <= PARTS_MAX ? parts.map(({ number, word }) => [number, word.toLowerCase()]) : undefined;
}

const PART = /(\d[\d.,]*|\.\d+)\s*([a-z]+)\.?\s*,?\s*(?:(?:and\b|&)\s*)?/gi;
const PARTS_MAX = 4;

function unitOf<Unit extends string>(units: Readonly<Record<Unit, readonly string[]>>, word: string): Unit | undefined {
  return Object.entries<readonly string[]>(units).find(([, words]) => words.includes(word))?.[0] as Unit | undefined;
}

function numberOf(text: string): number | undefined {
  const digits = plainNumber(text);
  return digits === undefined ? undefined : Number(digits);
}

/**
 * Returns a number as programs write it: `1250.5` for `1,250.50`, `1.250,50` or `1 250.5`; `undefined` for other texts.
 * A comma before three digits separates thousands; otherwise it is a decimal comma.
 */
function plainNumber(text: string): string | undefined {
  const digits = text.trim().replaceAll(/(?<=\d)['’\s](?=\d{3}(?!\d))/g, '');
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(digits)) return digits.replaceAll(',', '');
  if (/^\d{1,3}(\.\d{3})+,\d+$/.test(digits) || /^\d{1,3}(\.\d{3}){2,}$/.test(digits)) {
    return digits.replaceAll('.', '').replace(',', '.');
  }
  return /^(\d+([.,]\d+)?|\.\d+)$/.test(digits) ? digits.replace(',', '.') : undefined;
}
