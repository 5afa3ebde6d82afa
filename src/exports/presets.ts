import Type, { type Static } from 'typebox';
import { decimalsOf } from '../lib/currency.ts';
import { photoPath, type StoredPhoto } from '../photos/photo.ts';
import { cellOf, type PetValues, petColumnList } from './columns.ts';

/** The columns of an export, and how their cells are written. */
export const ExportPreset = Type.Enum(['petstore', 'petfinder', 'asm3'], {
  default: 'petstore',
  description:
    'The columns: `petstore` has every field that you can write, `petfinder` those of a Petfinder import, and `asm3` those of ' +
    'a CSV import of Animal Shelter Manager.',
});
export type ExportPreset = Static<typeof ExportPreset>;

/** What columns are written from besides the fields of a pet. */
export interface PetContext {
  /** The name of the root of its category. */
  readonly species: string;
  /** The public address that URLs begin with. */
  readonly publicUrl: string;
}

interface PresetColumn {
  readonly name: string;
  /** The column of `petstore` that it is written from, or a name of `derived`. */
  readonly from: string;
  /** The cell for each value; other values are empty. Without it, the cell is the value. */
  readonly values?: Readonly<Record<string, string>>;
}

/** Writes a cell from more than one field. */
type Derive = (pet: PetValues, context: PetContext) => string;

const photo =
  (index: number): Derive =>
  (pet, { publicUrl }) => {
    const stored = (pet['photos'] as readonly StoredPhoto[] | undefined)?.[index];
    return stored === undefined ? '' : publicUrl + photoPath(stored.id, 1280);
  };

/** Petfinder takes six photos. */
const photoColumns = ['photo1', 'photo2', 'photo3', 'photo4', 'photo5', 'photo6'];

const derived: Readonly<Record<string, Derive>> = {
  id: ({ id }) => String(id),
  ownId: ({ id, externalId }) => String(externalId ?? id),
  species: (_, { species }) => species,
  lifeStage: ({ age }) => String(age ?? ''),
  fee: ({ price }) => feeOf(price as { amount: number; currency: string } | undefined),
  tagList: ({ tags }) => ((tags as readonly string[] | undefined) ?? []).join(','),
  microchip: ({ microchips }) => (microchips as readonly string[] | undefined)?.[0] ?? '',
  ...Object.fromEntries(photoColumns.map((name, index) => [name, photo(index)])),
};

/** Returns the amount of a price in whole units of its currency: 125.00. */
function feeOf(price: { readonly amount: number; readonly currency: string } | undefined): string {
  if (price === undefined) return '';
  const { amount, currency } = price;
  const decimals = decimalsOf(currency);
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.length - decimals;
  return decimals === 0 ? digits : `${digits.slice(0, whole)}.${digits.slice(whole)}`;
}

/** Petfinder: 1 is yes, 0 is no, an empty cell is unknown. */
const oneZero = { yes: '1', no: '0' };
/** Its columns that begin with `No` ask the opposite. */
const zeroOne = { yes: '0', no: '1' };
/** Animal Shelter Manager. */
const yesNo = { yes: 'Y', no: 'N' };
const yesNoUnknown = { ...yesNo, unknown: 'U' };

const column = (name: string, from: string, values?: Readonly<Record<string, string>>): PresetColumn => ({
  name,
  from,
  ...(values && { values }),
});

const presets: Readonly<Record<ExportPreset, readonly PresetColumn[]>> = {
  petstore: [column('id', 'id'), ...petColumnList.map(({ name }) => column(name, name))],
  // github.com/sheltermanager/asm3, publishers/petfinder.py
  petfinder: [
    column('ID', 'ownId'),
    column('AnimalName', 'name'),
    column('PrimaryBreed', 'breeds.primary'),
    column('SecondaryBreed', 'breeds.secondary'),
    column('Sex', 'sex', { female: 'F', male: 'M' }),
    column('Size', 'size', { small: 'S', medium: 'M', large: 'L', xlarge: 'XL' }),
    column('Age', 'lifeStage', { baby: 'Baby', young: 'Young', adult: 'Adult', senior: 'Senior' }),
    column('Desc', 'description'),
    column('Type', 'species'),
    column('Status', 'status', { available: 'A', pending: 'H', sold: 'X' }),
    column('Shots', 'traits.vaccinated', oneZero),
    column('Altered', 'traits.spayedNeutered', oneZero),
    column('NoDogs', 'goodWith.dogs', zeroOne),
    column('NoCats', 'goodWith.cats', zeroOne),
    column('NoKids', 'goodWith.children', zeroOne),
    column('Housetrained', 'traits.houseTrained', oneZero),
    column('Declawed', 'traits.declawed', oneZero),
    column('specialNeeds', 'traits.specialNeeds', oneZero),
    column('Mix', 'breeds.mixed', { true: '1', false: '0' }),
    ...photoColumns.map(name => column(name, name)),
    column('arrival_date', 'intake.date'),
    column('birth_date', 'birthDate'),
    column('primaryColor', 'colors.primary'),
    column('secondaryColor', 'colors.secondary'),
    column('tertiaryColor', 'colors.tertiary'),
    column('coat_length', 'coat', {
      hairless: 'Hairless',
      short: 'Short',
      medium: 'Medium',
      long: 'Long',
      wire: 'Wire',
      curly: 'Curly',
    }),
    column('adoption_fee', 'fee'),
    column('special_needs_notes', 'specialNeedsNotes'),
    column('tags', 'tagList'),
  ],
  // github.com/sheltermanager/asm3, csvimport.py
  asm3: [
    column('ANIMALCODE', 'ownId'),
    column('NAME', 'name'),
    column('SEX', 'sex', { female: 'F', male: 'M', unknown: 'U' }),
    column('SPECIES', 'species'),
    column('COLOR', 'colors.primary'),
    column('BREED1', 'breeds.primary'),
    column('BREED2', 'breeds.secondary'),
    column('DOB', 'birthDate'),
    column('SIZE', 'size', { small: 'Small', medium: 'Medium', large: 'Large', xlarge: 'Very Large' }),
    column('LITTER', 'group.id'),
    column('DESCRIPTION', 'description'),
    column('ENTRYDATE', 'intake.date'),
    column('GOODWITHCATS', 'goodWith.cats', yesNoUnknown),
    column('GOODWITHDOGS', 'goodWith.dogs', yesNoUnknown),
    column('GOODWITHKIDS', 'goodWith.children', yesNoUnknown),
    column('GOODWITHELDERLY', 'goodWith.elderly', yesNoUnknown),
    column('GOODONLEAD', 'traits.leashTrained', yesNoUnknown),
    column('HOUSETRAINED', 'traits.houseTrained', yesNoUnknown),
    column('CRATETRAINED', 'traits.crateTrained', yesNoUnknown),
    column('ENERGYLEVEL', 'energy'),
    column('NEUTERED', 'traits.spayedNeutered', yesNo),
    column('MICROCHIP', 'microchip'),
    column('TATTOO', 'tattoo'),
    column('DECLAWED', 'traits.declawed', yesNo),
    column('HASSPECIALNEEDS', 'traits.specialNeeds', yesNo),
    column('HEALTHPROBLEMS', 'specialNeedsNotes'),
  ],
};

const ownColumns = new Map(petColumnList.map(column => [column.name, column]));

/** Returns the names of the columns of a preset, in their order. */
export function columnNames(preset: ExportPreset): readonly string[] {
  return presets[preset].map(({ name }) => name);
}

/** Returns the cells of a pet in the columns of a preset. */
export function cellsOf(preset: ExportPreset, pet: PetValues, context: PetContext): readonly string[] {
  return presets[preset].map(({ from, values }) => {
    const own = ownColumns.get(from);
    const text = own === undefined ? derived[from]!(pet, context) : cellOf(own, pet);
    return values === undefined ? text : (values[text] ?? '');
  });
}
