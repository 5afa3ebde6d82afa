import { DAY_MS, formatDate, parseDate } from '../../lib/time.ts';

/** The maximum length of a date, weight or age, so that regular expressions for them are fast. */
const LENGTH_MAX = 64;

const words = (text: string) => new Set(text.split(' '));
const yes = words('y yes true t 1 x ✓ ✔ ☑ ✅');
const no = words('n no false f 0 ☐');
const unknown = new Set(['u', 'unknown', 'unk', '?', 'n/a', 'na', 'not sure', 'not known', 'not tested', 'untested']);

const noText = new Set(['', '-', '–', '—', '--', '---']);

/** Reports whether a cell is empty or contains a word for no value. Only for columns that are not free text. */
export function isNothing(cell: string): boolean {
  const word = cell.trim().toLowerCase();
  return noText.has(word) || unknown.has(word);
}

const answers = (yes: readonly string[], no: readonly string[] = []): ReadonlyMap<string, 'yes' | 'no'> =>
  new Map([...yes.map(word => [word, 'yes'] as const), ...no.map(word => [word, 'no'] as const)]);
const neutered = answers(
  ['spayed', 'neutered', 'altered', 'fixed', 'castrated'],
  ['intact', 'entire', 'unaltered', 'not fixed', 'not spayed', 'not neutered'],
);

/** Words that answer the question of a single column. */
const answerWords: Readonly<Record<string, ReadonlyMap<string, 'yes' | 'no'>>> = {
  'traits.vaccinated': answers(['utd', 'up to date', 'up-to-date', 'current']),
  'traits.spayedNeutered': neutered,
};

/**
 * Returns the answer in a cell, in any case: `yes` for Y, TRUE, 1 and x; `undefined` if it is not an answer.
 * @param column the name of the column of `petstore`, whose specific words count too
 */
export function answerIn(cell: string, column = ''): 'yes' | 'no' | 'unknown' | undefined {
  const word = cell.trim().toLowerCase();
  const own = answerWords[column]?.get(word);
  if (own !== undefined) return own;
  return yes.has(word) ? 'yes' : no.has(word) ? 'no' : unknown.has(word) ? 'unknown' : undefined;
}

/** Synonyms of choices. Only choices of the column are considered, so `m` is `male` or `medium`. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  female: ['f', 'fem', 'girl'],
  male: ['m', 'boy'],
  small: ['s'],
  medium: ['m', 'med'],
  large: ['l'],
  xlarge: ['xl', 'x-large', 'extra large', 'extra-large', 'very large'],
  baby: ['puppy', 'kitten', 'infant'],
  young: ['juvenile'],
  // Like Animal Shelter Manager, which advertises animals in foster homes.
  available: ['adoptable', 'foster', 'in foster', 'in foster care'],
  pending: [
    ...['hold', 'on hold', 'stray hold', 'medical hold', 'reserved', 'adoption pending', 'pending adoption', 'found'],
  ],
  sold: [
    ...['adopted', 'transferred', 'transferred out', 'reclaimed', 'returned to owner', 'returned to field', 'rehomed'],
    ...['deceased', 'died', 'euthanized', 'euthanised', 'escaped', 'stolen'],
  ],
  lb: ['lbs', 'pound', 'pounds'],
  kg: ['kgs', 'kilogram', 'kilograms'],
};

/** Returns the choice that a cell names in any case, or by a synonym; `undefined` if it names none. */
export function choiceIn(choices: readonly string[], cell: string, column?: string): string | undefined {
  const word = cell.trim().toLowerCase();
  if (choices.includes(word)) return word;
  const answer = choices.includes('unknown') ? answerIn(word, column) : undefined;
  if (answer !== undefined && choices.includes(answer)) return answer;
  const name = word.replaceAll(/[ -]/g, '_');
  return choices.find(choice => choice === name || synonyms[choice]?.includes(word));
}

/**
 * Reports whether a cell means that no choice is known. Always false for a status, because `n/a` could mean *not
 * available*.
 */
export function isNoChoice(choices: readonly string[], cell: string): boolean {
  return isNothing(cell) && !choices.includes('sold');
}

const femaleSpayed = { sex: 'female', spayedNeutered: 'yes' };
const maleNeutered = { sex: 'male', spayedNeutered: 'yes' };
/** Abbreviations of veterinarians: F/S, MN. */
const sexCodes = new Map([
  ['fs', femaleSpayed],
  ['sf', femaleSpayed],
  ['mn', maleNeutered],
  ['nm', maleNeutered],
]);

/**
 * Returns both answers of a cell such as `F (spayed)` or `neutered male`; `undefined` unless it has exactly these two.
 */
export function sexAndNeuteredIn(cell: string): { readonly sex: string; readonly spayedNeutered: string } | undefined {
  const parts = cell.length > LENGTH_MAX ? [] : cell.toLowerCase().match(/[a-z]+/g);
  const code = sexCodes.get(parts?.join('') ?? '');
  if (code !== undefined) return code;
  if (parts?.length !== 2) return undefined;
  for (const [one, other] of [parts, parts.toReversed()]) {
    const sex = choiceIn(['female', 'male'], one!);
    const spayedNeutered = neutered.get(other!);
    if (sex !== undefined && spayedNeutered !== undefined) return { sex, spayedNeutered };
  }
  return undefined;
}

/** The orders of the day, the month and the year in dates such as 5/1/2024. */
export const dateOrders = ['mdy', 'dmy', 'ymd'] as const;
export type DateOrder = (typeof dateOrders)[number];

/** The key of a date with one reading: its year of four digits is first, or its month has a name. */
const CERTAIN = 'certain';

/** Returns the dates (YYYY-MM-DD) that a cell can mean, by order. Ignores a time after the date. */
function datesIn(cell: string, now: number): ReadonlyMap<DateOrder | typeof CERTAIN, string> {
  if (cell.length > LENGTH_MAX) return new Map();
  const date = cell.trim().replace(/[ T]\d{1,2}:\d\d.*$/, '');
  const named = namedMonth(date, now);
  if (named !== undefined) return new Map([[CERTAIN, named]]);
  const [, first, separator, second, third] = /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})$/.exec(date) ?? [];
  if (first === undefined) return new Map();
  const found: [DateOrder | typeof CERTAIN, string | undefined][] =
    first.length === 4
      ? [[CERTAIN, isoDate(first, second!, third!, now)]]
      : [
          ['mdy', isoDate(third!, first, second!, now)],
          ['dmy', isoDate(third!, second!, first, now)],
          // In dates with slashes, the year is rarely first.
          ['ymd', first.length === 2 && separator === '-' ? isoDate(first, second!, third!, now) : undefined],
        ];
  return new Map(found.filter((reading): reading is [DateOrder, string] => reading[1] !== undefined));
}

/** Returns the date in a cell; `unclear` if it depends on an unknown order, `undefined` if the cell has no date. */
export function dateIn(cell: string, order: DateOrder | undefined, now: number): string | 'unclear' | undefined {
  const dates = datesIn(cell, now);
  if (dates.has(CERTAIN)) return dates.get(CERTAIN);
  if (order !== undefined) return dates.get(order);
  const different = new Set(dates.values());
  return different.size > 1 ? 'unclear' : [...different][0];
}

/** A cell with a date, and its line. */
interface SeenDate {
  readonly line: number;
  readonly cell: string;
}

/** Recognizes the order of dates from all date cells of a file. */
export class DateOrders {
  readonly #possible = new Set<DateOrder>(dateOrders);
  #isSeen = false;
  #isCertain = false;
  /** The last date that excluded an order. */
  #last: SeenDate | undefined;

  /**
   * Returns the earlier date whose order contradicts this one; `undefined` if there is none, or a contradiction was
   * already found.
   */
  see(date: SeenDate, now: number): SeenDate | undefined {
    const dates = datesIn(date.cell, now);
    if (dates.has(CERTAIN)) this.#isCertain = true;
    if (dates.has(CERTAIN) || dates.size === 0) return undefined;
    this.#isSeen = true;
    const excluded = [...this.#possible].filter(order => !dates.has(order));
    if (excluded.length === 0) return undefined;
    for (const order of excluded) this.#possible.delete(order);
    if (this.#possible.size === 0) return this.#last;
    this.#last = date;
    return undefined;
  }

  /** The order; `undefined` if the file has no dates, or only ambiguous ones. */
  get order(): DateOrder | undefined {
    if (!this.#isSeen) return this.#isCertain ? 'ymd' : undefined;
    const [order] = this.#possible;
    return this.#possible.size === 1 ? order : undefined;
  }
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

/** Returns the date of a text such as `1 May 2024`, `1-May-24` or `May 1, 2024`. */
function namedMonth(text: string, now: number): string | undefined {
  const [, day, month, year] =
    /^(\d{1,2})[ .-]+([a-z]{3,9})\.?[ ,-]+(\d{2}|\d{4})$/i.exec(text) ??
    reordered(/^([a-z]{3,9})\.? +(\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})$/i.exec(text));
  const index = months.indexOf((month ?? '').slice(0, 3).toLowerCase());
  return index < 0 ? undefined : isoDate(year!, String(index + 1), day!, now);
}

function reordered(match: RegExpExecArray | null): (string | undefined)[] {
  return match === null ? [] : ['', match[2], match[1], match[3]];
}

function isoDate(year: string, month: string, day: string, now: number): string | undefined {
  if (year.length !== 2 && year.length !== 4) return undefined;
  const text = `${fullYear(year, now)}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return parseDate(text) === undefined ? undefined : text;
}

/**
 * Returns a year with four digits. A year of two digits is at most next year, because births and intakes are in the
 * past.
 */
function fullYear(year: string, now: number): string {
  if (year.length === 4) return year;
  const next = new Date(now).getUTCFullYear() + 1;
  const century = Math.floor(next / 100) - (Number(year) > next % 100 ? 1 : 0);
  return `${century}${year}`;
}

const units: readonly (readonly [pattern: RegExp, unit: string])[] = [
  [/^(lbs?|pounds?|#)$/, 'lb'],
  [/^(kgs?|kilos?|kilograms?)$/, 'kg'],
  [/^(oz|ounces?)$/, 'oz'],
  [/^(g|grams?)$/, 'g'],
];

/**
 * Returns the weight in a cell such as `12 lb`, `5,4 kg` or `8 lb 4 oz`; `undefined` if there is none or its unit is
 * unknown.
 */
export function weightIn(cell: string, unit?: string): { readonly value: number; readonly unit: string } | undefined {
  if (cell.length > LENGTH_MAX) return undefined;
  const text = cell.trim().toLowerCase();
  const [, pounds, ounces] =
    /^(\d{1,6}) *(?:lbs?|pounds?)\.?,? *(\d{1,2}(?:\.\d+)?) *(?:oz|ounces?)\.?$/.exec(text) ?? [];
  if (pounds !== undefined)
    return { value: Number(pounds) + Math.round((Number(ounces) / 16) * 1000) / 1000, unit: 'lb' };
  const [, number, name] = /^(\d{1,6}(?:[.,]\d{1,6})?) *([a-z#]*)\.?$/.exec(text) ?? [];
  if (number === undefined || /,\d{3}$/.test(number)) return undefined;
  const named = name === '' ? unit : units.find(([pattern]) => pattern.test(name!))?.[1];
  return named === undefined ? undefined : { value: Number(number.replace(',', '.')), unit: named };
}

const spans = { y: 365.25 * DAY_MS, mo: 30.4375 * DAY_MS, w: 7 * DAY_MS, d: DAY_MS };

/**
 * Returns the day of birth (YYYY-MM-DD) of an age such as `2 years 3 months`, `about 8 wks`, `2y3m` or `4` (years), and
 * its precision in days; `undefined` if the cell has no age.
 */
export function birthIn(cell: string, now: number): { readonly date: string; readonly days: number } | undefined {
  if (cell.length > LENGTH_MAX) return undefined;
  const text = cell
    .trim()
    .toLowerCase()
    .replace(ABOUT, '')
    .replace(/(?<=\d)(?: ?½| 1\/2(?!\d))/, '.5');
  const parts = /^\d{1,2}([.,]\d{1,2})?$/.test(text) ? [[text, text, 'y']] : [...text.matchAll(AGE_PART)];
  const isWhole = parts.map(([part]) => part).join('').length === text.length;
  if (parts.length === 0 || !isWhole) return undefined;
  const lengths = parts.map(([, , unit]) => spans[unit!.startsWith('m') ? 'mo' : (unit![0] as 'y')]);
  const age = parts.reduce((sum, [, number], index) => sum + Number(number!.replace(',', '.')) * lengths[index]!, 0);
  if (age > AGE_MAX_MS) return undefined;
  return { date: formatDate(now - age), days: Math.min(...lengths) / DAY_MS };
}

const AGE_PART =
  /(\d{1,4}(?:[.,]\d{1,2})?) *(y\/?o|y|yrs?|years?|m|mos?|mths?|months?|w|wks?|weeks?|d|days?)(?![a-z])\.?(?: old)?(?:,? *(?:and *)?)/g;
const ABOUT = /^(?:~|(?:about|around|approx|approximately|ca|circa|est|estimated)\b\.?) */;
const AGE_MAX_MS = 200 * spans.y;

/** Returns a list without words for no microchip, and with numbers without spaces and hyphens between digits. */
export function chipsIn(items: readonly string[]): string[] {
  const chips = items.filter(item => !isNothing(item) && !/^(no|none)$/i.test(item));
  return chips.map(item => (/^[\d -]+$/.test(item) ? item.replaceAll(/[ -]/g, '') : item));
}
