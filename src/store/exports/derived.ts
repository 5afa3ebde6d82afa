import { decimalsOf, majorUnits, minorUnits } from '../../lib/currency.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { nearestValue } from '../../lib/suggestion.ts';
import { foldedText } from '../../lib/text.ts';
import { DAY_MS, parseDate } from '../../lib/time.ts';
import { Age } from '../../model/age.ts';
import { photoPath, type RecordedPhoto } from '../../model/photo.ts';
import type { PetValues } from './columns.ts';
import { birthIn, chipsIn, choiceIn, type DateOrder, dateIn, isNothing, weightIn } from './read-cells.ts';

/** The data for cells besides the fields of a pet. */
export interface PetContext {
  /** The name of the root of its category. */
  readonly species: string;
  /** The public address at which URLs begin. */
  readonly publicUrl: string;
}

/** The data for reading a column besides its cell. */
export interface CellContext {
  /** The stored pet; absent for a new pet. */
  readonly pet: PetValues | undefined;
  /** The name of the root of the pet's category; '' for a new pet. */
  readonly species: string;
  /** The currency of prices, if the file does not contain it. */
  readonly currency: string | undefined;
  /** The order of the dates of the file, if it is known. */
  readonly dates: DateOrder | undefined;
  /** The time at which ages count. */
  readonly now: number;
  /** Returns another cell of the row, by the field of its column or by the name of the column; '' if there is none. */
  cell(name: string): string;
  /** Returns the id of the category with this name. */
  categoryNamed(name: string): MaybePromise<number | undefined>;
  /** Returns the names of the top-level categories, for suggestions. */
  topCategories(): MaybePromise<readonly string[]>;
}

/** An error in a cell. */
export class CellError extends Error {
  readonly code: string;
  readonly suggestion: string | undefined;

  /** @param choices the valid texts, if they are few */
  constructor(code: string, message: string, cell = '', choices: readonly string[] = []) {
    super(message);
    this.code = code;
    this.suggestion = nearestValue(cell, choices);
  }
}

/** A column that is not a field, or one of several columns of a field. */
export interface DerivedColumn {
  /** Returns the cell of a pet; absent if the column is only imported. */
  print?(pet: PetValues, context: PetContext): string;
  /** Returns the fields that a cell sets, `null` for those that it deletes; absent if the column is not imported. */
  parse?(cell: string, context: CellContext): MaybePromise<PetValues>;
  /** The kind of content, if imports treat the column specially. */
  readonly holds?: 'id' | 'identifier' | 'photo' | 'date';
  /** The required field whose only value is in this column, if any. */
  readonly field?: string;
}

/** Returns the date in a cell, as YYYY-MM-DD. @throws {CellError} */
export function dateOf(cell: string, { dates, now }: Pick<CellContext, 'dates' | 'now'>): string {
  const date = dateIn(cell, dates, now);
  if (date === 'unclear') {
    throw new CellError(
      'date_order_required',
      'The dates of the file do not say whether the day or the month is first: choose it under "Dates in the file", or send ' +
        '`dates`, such as `dates=mdy`.',
    );
  }
  if (date === undefined) throw new CellError('invalid_value', 'Must be a date, such as 2024-05-01.');
  return date;
}

/**
 * Returns the weight in a cell; null for '' and 0.
 * @param unit the unit of a number without a unit
 */
export function weightOf(cell: string, unit?: string): PetValues | null {
  if (isNothing(cell)) return null;
  const weight = weightIn(cell, unit);
  if (weight === undefined)
    throw new CellError('invalid_value', 'Must be a number and its unit, such as 12 lb or 5.4 kg.');
  return weight.value === 0 ? null : weight;
}

/**
 * Returns the fields that an age sets. A date of birth in the row, or a stored one that fits the age, has precedence.
 */
export function ageOf(cell: string, { pet, now, cell: other }: CellContext): PetValues {
  if (isNothing(cell)) return { age: null };
  const age = choiceIn(Age.enum, cell);
  if (age !== undefined) return { age };
  const birth = birthIn(cell, now);
  if (birth === undefined) {
    throw new CellError(
      'invalid_value',
      `Must be one of ${Age.enum.join(', ')}, or an age such as 2 years 3 months.`,
      cell,
      Age.enum,
    );
  }
  if (!isNothing(other('birthDate'))) return {};
  const stored = parseDate(String(pet?.['birthDate']));
  const isSame = stored !== undefined && Math.abs(stored - parseDate(birth.date)!) <= birth.days * DAY_MS;
  return isSame ? {} : { birthDate: birth.date, birthDatePrecision: 'estimated' };
}

type Price = { readonly amount: number; readonly currency: string };

const photo = (index: number): DerivedColumn => ({
  print(pet, { publicUrl }) {
    const stored = (pet['photos'] as readonly RecordedPhoto[] | undefined)?.[index];
    return stored === undefined ? '' : publicUrl + photoPath(stored.id, 1280);
  },
  holds: 'photo',
});

/** Petfinder accepts six photos. */
export const photoColumns = ['photo1', 'photo2', 'photo3', 'photo4', 'photo5', 'photo6'];

/** Returns the identifier of an animal in other programs. */
const ownIdOf = ({ id, externalId }: PetValues) => String(externalId ?? id);

/** The coats that Adopt-a-Pet accepts, by the type of the animal. */
const hairLengths: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['cat', ['short', 'medium', 'long']],
  ['rabbit', ['short', 'long']],
  ['small & furry', ['hairless', 'short', 'medium', 'long']],
]);

const species: DerivedColumn = {
  print: (_, { species }) => species,
  async parse(cell, { species, categoryNamed, topCategories, cell: other }) {
    const type = typeOf(cell);
    // The animal may be in a subcategory.
    if (isSameName(cell, species) || (type && isSameName(type, species))) return {};
    const categoryId = (await categoryNamed(cell)) ?? (type && (await categoryNamed(type)));
    // A puppy is a baby unless the row has a different age.
    const isBaby = isYoung(cell) && AGES.every(name => other(name).trim() === '');
    if (categoryId) return { categoryId, ...(isBaby && { age: 'baby' }) };
    throw new CellError('category_not_found', 'There is no category with this name.', cell, await topCategories());
  },
  field: 'categoryId',
};

const AGES = ['age', 'lifeStage', 'asm3Age', 'birthDate'];
const isYoung = (species: string) => choiceIn(['baby'], species) !== undefined;

function isSameName(one: string, other: string): boolean {
  const [first, second] = [one, other].map(name => foldedText(name).replaceAll(/[^\p{L}\p{N}]/gu, ''));
  return first === second && first !== '';
}

const lifeStage: DerivedColumn = { print: ({ age }) => String(age ?? ''), parse: ageOf };

/** The day of an intake. Its kind is `other` if the file has no other information. */
const intakeDate: DerivedColumn = {
  print: ({ intake }) => (intake as { date: string } | undefined)?.date ?? '',
  parse(cell, context) {
    if (isNothing(cell)) return { intake: null };
    const isKnown = context.pet?.['intake'] || context.cell('intake.kind').trim() !== '';
    return { intake: { date: dateOf(cell, context), ...(!isKnown && { kind: 'other' }) } };
  },
  holds: 'date',
};

/** The columns of presets that export several fields, or set several fields on import. */
export const derivedColumns: Readonly<Record<string, DerivedColumn>> = {
  externalId: {
    print: ({ externalId }) => String(externalId ?? ''),
    parse: cell => ({ externalId: cell.trim() || null }),
  },
  id: { print: ({ id }) => String(id), parse: () => ({}), holds: 'id' },
  ownId: {
    print: ownIdOf,
    parse(cell, { pet }) {
      const externalId = cell.trim();
      return String(pet?.['id']) === externalId ? {} : { externalId: externalId || null };
    },
    holds: 'identifier',
  },
  ownIdCopy: { print: ownIdOf },
  species,
  categoryId: {
    print: ({ categoryId }) => String(categoryId),
    parse(cell, context) {
      const id = cell.trim();
      if (!/^-?\d{0,16}$/.test(id)) return species.parse!(cell, context);
      return { categoryId: id === '' ? null : Number(id) };
    },
    field: 'categoryId',
  },
  age: lifeStage,
  lifeStage,
  weight: { parse: cell => ({ weight: weightOf(cell) }) },
  weightLb: { parse: cell => ({ weight: weightOf(cell, 'lb') }) },
  weightKg: { parse: cell => ({ weight: weightOf(cell, 'kg') }) },
  'weight.value': {
    print: ({ weight }) => String((weight as { value?: number } | undefined)?.value ?? ''),
    parse(cell) {
      if (/[a-z#]/i.test(cell)) return { weight: weightOf(cell) };
      return { weight: { value: isNothing(cell) ? null : Number(cell.replace(',', '.')) || cell } };
    },
    field: 'weight/value',
  },
  dogOrCatSize: {
    print: ({ size }, { species }) => (['dog', 'cat'].includes(species.toLowerCase()) ? String(size ?? '') : ''),
    parse: cell => ({ size: isNothing(cell) ? null : cell }),
  },
  hairLength: {
    print: ({ coat }, { species }) => (hairLengths.get(species.toLowerCase())?.includes(coat) ? String(coat) : ''),
    parse: cell => ({ coat: isNothing(cell) ? null : cell }),
  },
  html: {
    print: ({ description }) => String(description ?? '').replaceAll(/\r\n|\r|\n/g, '<br />'),
    parse: cell => ({ description: cell.replaceAll(/<br ?\/?>/gi, '\n') || null }),
  },
  fee: {
    print({ price }) {
      const { amount, currency } = (price as Price | undefined) ?? {};
      return amount === undefined ? '' : majorUnits(amount, currency!);
    },
    parse: (cell, { pet, currency }) => ({
      price: isNothing(cell) ? null : priceOf(cell, (pet?.['price'] as Price | undefined)?.currency ?? currency),
    }),
  },
  tagList: {
    print: ({ tags }) => ((tags as readonly string[] | undefined) ?? []).join(','),
    parse: cell => ({ tags: cell.trim() === '' ? null : cell.split(',') }),
  },
  microchip: {
    print: ({ microchips }) => (microchips as readonly string[] | undefined)?.[0] ?? '',
    parse(cell, { pet }) {
      const others = ((pet?.['microchips'] as readonly string[] | undefined) ?? []).slice(1);
      const [first] = chipsIn([cell.trim()]);
      const microchips = !first ? others : [first, ...others.filter(other => other !== first)];
      return { microchips: microchips.length === 0 ? null : microchips };
    },
  },
  litter: {
    print: ({ group }) => (group as { id: string } | undefined)?.id ?? '',
    parse: (id, { pet }) => ({ group: id === '' ? null : { id, ...(!pet?.['group'] && { kind: 'litter' }) } }),
  },
  intakeDate,
  'intake.date': { ...intakeDate, field: 'intake/date' },
  ...Object.fromEntries(photoColumns.map((name, index) => [name, photo(index)])),
};

function priceOf(cell: string, currency: string | undefined): Price {
  // The codes of dollar currencies end with D.
  const fee = (currency ?? 'USD').endsWith('D') ? cell.trim().replace(/^\$ ?/, '') : cell;
  if (!/^\d{1,12}(\.\d+)?$/.test(fee)) throw new CellError('invalid_value', 'Must be a number, such as 125.00.');
  if (currency === undefined) {
    throw new CellError(
      'currency_required',
      'The currency of the fee is unknown: enter it under "Currency of fees", or send `currency`, such as `currency=USD`.',
    );
  }
  const amount = minorUnits(fee, currency);
  if (amount !== undefined) return { amount, currency };
  throw new CellError('invalid_value', `Must have at most ${decimalsOf(currency)} decimals in ${currency}.`);
}

/**
 * The species that shelters use, by animal type: those of Animal Shelter Manager (github.com/sheltermanager/asm3,
 * dbupdate.py), and those in lists that shelters write themselves.
 */
const speciesOfTypes: Readonly<Record<string, readonly string[]>> = {
  Dog: ['dogs', 'canine', 'puppy', 'puppies'],
  Cat: ['cats', 'feline', 'kitten', 'kittens'],
  'Small & Furry': ['mouse', 'rat', 'hedgehog', 'ferret', 'chinchilla', 'gerbil', 'guinea pig', 'hamster'],
  Rabbit: ['rabbits', 'bunny', 'bunnies'],
  Bird: ['parrot', 'parakeet', 'dove', 'owl', 'goose', 'cockatiel'],
  'Scales, Fins & Other': ['snake', 'tortoise', 'terrapin', 'goldfish', 'reptile', 'fish'],
  Barnyard: ['chicken', 'goat', 'pig'],
  Horse: ['camel', 'pony', 'donkey', 'llama'],
};

/** Returns the animal type of a species: `Bird` for `Owl`; `undefined` if it is unknown. */
function typeOf(species: string): string | undefined {
  const name = species.trim().toLowerCase();
  return Object.keys(speciesOfTypes).find(type => speciesOfTypes[type]!.includes(name));
}
