import { decimalsOf, majorUnits, minorUnits } from '../lib/currency.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import { nearest } from '../lib/suggestion.ts';
import { photoPath, type RecordedPhoto } from '../photos/photo.ts';
import type { PetValues } from './columns.ts';

/** What columns are written from besides the fields of a pet. */
export interface PetContext {
  /** The name of the root of its category. */
  readonly species: string;
  /** The public address that URLs begin with. */
  readonly publicUrl: string;
}

/** What columns are read with besides their cells. */
export interface CellContext {
  /** The pet as it is stored; absent for a new one. */
  readonly pet: PetValues | undefined;
  /** The currency of prices, if the file does not say it. */
  readonly currency: string | undefined;
  /** Returns the id of the category with this name. */
  categoryNamed(name: string): MaybePromise<number | undefined>;
  /** Returns the names of the categories at the top of the tree, to suggest one of them. */
  topCategories(): MaybePromise<readonly string[]>;
}

/** An error in a cell. */
export class CellError extends Error {
  readonly code: string;
  readonly suggestion: string | undefined;

  /** @param choices the texts that would be valid, if they are few */
  constructor(code: string, message: string, cell = '', choices: readonly string[] = []) {
    super(message);
    this.code = code;
    this.suggestion = nearest(cell, choices);
  }
}

/** A column that is no field, or not the only one of a field. */
export interface DerivedColumn {
  /** Returns the cell of a pet. */
  print(pet: PetValues, context: PetContext): string;
  /** Returns the fields that a cell sets, `null` for those that it deletes; absent if the column is not imported. */
  parse?(cell: string, context: CellContext): MaybePromise<PetValues>;
  /** What the column holds, where that decides how an import treats it. */
  readonly holds?: 'id' | 'identifier' | 'photo';
}

type Price = { readonly amount: number; readonly currency: string };

const photo = (index: number): DerivedColumn => ({
  print(pet, { publicUrl }) {
    const stored = (pet['photos'] as readonly RecordedPhoto[] | undefined)?.[index];
    return stored === undefined ? '' : publicUrl + photoPath(stored.id, 1280);
  },
  holds: 'photo',
});

/** Petfinder takes six photos. */
export const photoColumns = ['photo1', 'photo2', 'photo3', 'photo4', 'photo5', 'photo6'];

/** Returns the identifier that other programs know an animal by. */
const ownIdOf = ({ id, externalId }: PetValues) => String(externalId ?? id);

/** The coats that Adopt-a-Pet takes, by the type of the animal. */
const hairLengths: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['cat', ['short', 'medium', 'long']],
  ['rabbit', ['short', 'long']],
  ['small & furry', ['hairless', 'short', 'medium', 'long']],
]);

/** The columns of presets that are written from more than one field, or read into more than one. */
export const derivedColumns: Readonly<Record<string, DerivedColumn>> = {
  id: { print: ({ id }) => String(id), parse: () => ({}), holds: 'id' },
  ownId: {
    print: ownIdOf,
    parse: (cell, { pet }) => (String(pet?.['id']) === cell ? {} : { externalId: cell || null }),
    holds: 'identifier',
  },
  ownIdCopy: { print: ownIdOf },
  species: {
    print: (_, { species }) => species,
    async parse(cell, { categoryNamed, topCategories }) {
      const categoryId = await categoryNamed(cell);
      if (categoryId !== undefined) return { categoryId };
      throw new CellError('category_not_found', 'There is no category with this name.', cell, await topCategories());
    },
  },
  lifeStage: {
    print: ({ age }) => String(age ?? ''),
    parse: cell => ({ age: cell || null }),
  },
  dogOrCatSize: {
    print: ({ size }, { species }) => (['dog', 'cat'].includes(species.toLowerCase()) ? String(size ?? '') : ''),
    parse: cell => ({ size: cell || null }),
  },
  hairLength: {
    print: ({ coat }, { species }) => (hairLengths.get(species.toLowerCase())?.includes(coat) ? String(coat) : ''),
    parse: cell => ({ coat: cell || null }),
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
      price: cell === '' ? null : priceOf(cell, (pet?.['price'] as Price | undefined)?.currency ?? currency),
    }),
  },
  tagList: {
    print: ({ tags }) => ((tags as readonly string[] | undefined) ?? []).join(','),
    parse: cell => ({ tags: cell === '' ? null : cell.split(',') }),
  },
  microchip: {
    print: ({ microchips }) => (microchips as readonly string[] | undefined)?.[0] ?? '',
    parse(cell, { pet }) {
      const others = ((pet?.['microchips'] as readonly string[] | undefined) ?? []).slice(1);
      const microchips = cell === '' ? others : [cell, ...others.filter(other => other !== cell)];
      return { microchips: microchips.length === 0 ? null : microchips };
    },
  },
  litter: {
    print: ({ group }) => (group as { id: string } | undefined)?.id ?? '',
    parse: (id, { pet }) => ({ group: id === '' ? null : { id, ...(!pet?.['group'] && { kind: 'litter' }) } }),
  },
  intakeDate: {
    print: ({ intake }) => (intake as { date: string } | undefined)?.date ?? '',
    parse: (date, { pet }) => ({ intake: date === '' ? null : { date, ...(!pet?.['intake'] && { kind: 'other' }) } }),
  },
  ...Object.fromEntries(photoColumns.map((name, index) => [name, photo(index)])),
};

function priceOf(fee: string, currency: string | undefined): Price {
  if (!/^\d{1,12}(\.\d+)?$/.test(fee)) throw new CellError('invalid_value', 'Must be a number, such as 125.00.');
  if (currency === undefined) {
    throw new CellError(
      'currency_required',
      'Its currency is unknown: send the parameter `currency`, such as currency=USD.',
    );
  }
  const amount = minorUnits(fee, currency);
  if (amount !== undefined) return { amount, currency };
  throw new CellError('invalid_value', `Must have at most ${decimalsOf(currency)} decimals in ${currency}.`);
}
