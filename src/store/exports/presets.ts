import { DAY_MS, parseDate } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import { asm3Columns, asm3DerivedColumns } from './asm3.ts';
import { cellOf, cellValue, type PetColumn, type PetValues, petColumnList } from './columns.ts';
import {
  type CellContext,
  CellError,
  type DerivedColumn,
  dateOf,
  derivedColumns,
  type PetContext,
  photoColumns,
} from './derived.ts';
import { answerIn, choiceIn, isNoChoice, isNothing, sexAndNeuteredIn } from './read-cells.ts';
import { siteColumns } from './site-columns.ts';

/** The names of the presets. */
export const presetNames = [
  'petstore',
  'petfinder',
  'asm3',
  'adoptapet',
  'rescuegroups',
  'rescuegroups-import',
] as const;

/** The columns of an export, and the format of their cells. */
export const ExportPreset = Type.Enum([...presetNames], {
  default: 'petstore',
  description:
    'The columns: `petstore` has every field that you can write, `petfinder` the columns of a Petfinder import, `asm3` the columns of a CSV import of Animal Shelter Manager, and `adoptapet` and `rescuegroups` the columns that Animal Shelter Manager sends to these sites. ' +
    '`rescuegroups-import` has the columns that RescueGroups documents for files of an organization.',
});
export type ExportPreset = Static<typeof ExportPreset>;

/** The common names of the presets. */
export const presetTitles: Readonly<Record<ExportPreset, string>> = {
  petstore: 'Pet Store (our own exports)',
  petfinder: 'Petfinder',
  asm3: 'Animal Shelter Manager (ASM3)',
  adoptapet: 'Adopt a Pet',
  rescuegroups: 'RescueGroups, as ASM3 writes it',
  'rescuegroups-import': 'RescueGroups',
};

/** A column of a preset. Exports print its cells, and imports parse them. */
export interface PresetColumn {
  readonly name: string;
  /** The name of a column of `petstore`, or of one in `derivedColumns`. */
  readonly from: string;
  /** The column of `petstore`, unless it is derived. */
  readonly own: PetColumn | undefined;
  readonly derived: DerivedColumn | undefined;
  /** The cell for each value; other values are empty. Without it, the cell is the value. */
  readonly values: Readonly<Record<string, string>> | undefined;
  /** Returns the value of a cell that exports never write; by default cells are read as people usually write them. */
  readonly read: ((cell: string) => string | undefined) | undefined;
  /** Other names of the column in files to import. */
  readonly aliases: readonly string[];
}

/** Petfinder and Adopt-a-Pet: 1 is yes, 0 is no, an empty cell is unknown. */
const oneZero = { yes: '1', no: '0' };
/** Its columns that begin with `No` ask the opposite. */
const zeroOne = { yes: '0', no: '1' };
/** RescueGroups: an empty cell means unknown. */
const yesNoWords = { yes: 'Yes', no: 'No' };
const sizeLetters = { small: 'S', medium: 'M', large: 'L', xlarge: 'XL' };
const ages = { baby: 'Baby', young: 'Young', adult: 'Adult', senior: 'Senior' };
/** For sites without animals on hold. A cell is read as the first value with this text. */
const availableOrAdopted = { available: 'Available', pending: 'Available', sold: 'Adopted' };

const ownColumns = new Map(petColumnList.map(column => [column.name, column]));

/** Leaves a cell unchanged for the column, which also reads ages such as `2 years`. */
const asWritten = (cell: string) => cell;

function column(name: string, from: string, values?: Readonly<Record<string, string>>, read?: PresetColumn['read']) {
  const derived = derivedColumns[from] ?? asm3DerivedColumns[from] ?? siteColumns[from];
  const own = derived === undefined ? ownColumns.get(from) : undefined;
  return { name, from, values, read, own, derived, aliases: [] as readonly string[] };
}

/** Common names of the columns of `petstore` in lists that people write. */
const ownAliases: Readonly<Record<string, readonly string[]>> = {
  externalId: ['animalId', 'code', 'number'],
  categoryId: ['category', 'species', 'type'],
  sex: ['gender'],
  birthDate: ['dob', 'dateOfBirth', 'birthday', 'born'],
  'breeds.primary': ['breed', 'primaryBreed', 'breed1'],
  'breeds.secondary': ['secondaryBreed', 'breed2'],
  'breeds.mixed': ['mixed', 'mix'],
  'colors.primary': ['color', 'colour', 'primaryColor'],
  'goodWith.children': ['goodWithKids', 'goodWChildren', 'goodWKids'],
  'goodWith.dogs': ['goodWDogs'],
  'goodWith.cats': ['goodWCats'],
  'traits.spayedNeutered': ['spayedNeutered', 'neutered', 'spayed', 'altered', 'fixed'],
  'traits.vaccinated': ['vaccinated', 'shots'],
  'traits.houseTrained': ['houseTrained', 'housebroken'],
  'traits.specialNeeds': ['specialNeeds'],
  'traits.declawed': ['declawed'],
  'intake.date': ['intake', 'arrivalDate', 'entryDate'],
  microchips: ['microchip', 'microchipNumber', 'chip'],
  weightLb: ['weightLbs', 'weightPounds', 'weightInPounds'],
  weightKg: ['weightKgs', 'weightInKg'],
};

const presets: Readonly<Record<ExportPreset, readonly PresetColumn[]>> = {
  petstore: [
    column('id', 'id'),
    ...petColumnList.map(({ name }) => column(name, name)),
    ...['weight', 'weightLb', 'weightKg'].map(name => column(name, name)),
  ].map(own => ({ ...own, aliases: ownAliases[own.name] ?? [] })),
  // github.com/sheltermanager/asm3, publishers/petfinder.py: Petfinder mandates these columns in this order.
  petfinder: [
    column('ID', 'ownId'),
    column('Internal', 'ownIdCopy'),
    column('AnimalName', 'name'),
    column('PrimaryBreed', 'breeds.primary'),
    column('SecondaryBreed', 'breeds.secondary'),
    column('Sex', 'sex', { female: 'F', male: 'M' }),
    column('Size', 'size', sizeLetters),
    column('Age', 'lifeStage', ages, asWritten),
    column('Desc', 'description'),
    column('Type', 'species'),
    column('Status', 'statusWithFound', { available: 'A', pending: 'H', sold: 'X', found: 'F' }),
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
    column('arrival_date', 'intakeDate'),
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
    column('display_adoption_fee', 'feeIsShown'),
    column('adoption_fee_waived', 'feeIsWaived'),
    column('special_needs_notes', 'specialNeedsNotes'),
    column('no_other', 'noOthers'),
    column('no_other_note', 'noOthersNote'),
    column('tags', 'tagList'),
  ],
  asm3: asm3Columns.map(([name, from, values, read]) => ({
    ...column(name, from, values, read),
    aliases: [name.replace(/^ANIMAL/, '')],
  })),
  // github.com/sheltermanager/asm3, publishers/adoptapet.py
  adoptapet: [
    column('Id', 'ownId'),
    column('Animal', 'species'),
    column('Breed', 'breeds.primary'),
    column('Breed2', 'breeds.secondary'),
    column('Purebred', 'breeds.mixed', { true: '0', false: '1' }),
    column('Age', 'lifeStage', ages, asWritten),
    column('Name', 'name'),
    column('Size', 'dogOrCatSize', sizeLetters),
    column('Sex', 'sex', { female: 'F', male: 'M' }),
    column('Color', 'colors.primary'),
    column('Description', 'html'),
    column('Status', 'status', availableOrAdopted),
    column('GoodWKids', 'goodWith.children', oneZero),
    column('GoodWCats', 'goodWith.cats', oneZero),
    column('GoodWDogs', 'goodWith.dogs', oneZero),
    column('SpayedNeutered', 'traits.spayedNeutered', oneZero),
    column('ShotsCurrent', 'traits.vaccinated', oneZero),
    column('Housetrained', 'traits.houseTrained', oneZero),
    column('Declawed', 'traits.declawed', oneZero),
    column('SpecialNeeds', 'traits.specialNeeds', oneZero),
    column('HairLength', 'hairLength', { hairless: 'Hairless', short: 'Short', medium: 'Medium', long: 'Long' }),
    column('YouTubeVideoURL', 'youTube'),
    column('Birthdate', 'birthDate'),
    column('Sizecurrent', 'weight.value'),
    column('SizeUOM', 'weight.unit'),
    column('AdoptionFee', 'fee'),
    column('Cratetrained', 'traits.crateTrained', oneZero),
    ...['HeartwormNegative', 'HeartwormPositive'].map(name => column(name, 'empty')),
    column('Leashtrained', 'traits.leashTrained', oneZero),
    ...['IndoorOnly', 'FIVPositive', 'SpecialDietaryNeeds'].map(name => column(name, 'empty')),
  ],
  // github.com/sheltermanager/asm3, publishers/rescuegroups.py
  rescuegroups: [
    column('animalID', 'ownIdCopy'),
    column('status', 'status', availableOrAdopted),
    column('rescueID', 'ownId'),
    column('name', 'name'),
    column('species', 'species'),
    column('primaryBreed', 'breeds.primary'),
    column('secondaryBreed', 'breeds.secondary'),
    column('sex', 'sex', { female: 'Female', male: 'Male', unknown: 'Unknown' }),
    column('mixed', 'breeds.mixed', { true: 'Yes', false: 'No' }),
    column('dogs', 'goodWith.dogs', yesNoWords),
    column('cats', 'goodWith.cats', yesNoWords),
    column('kids', 'goodWith.children', yesNoWords),
    column('declawed', 'traits.declawed', yesNoWords),
    column('housetrained', 'traits.houseTrained', yesNoWords),
    column('age', 'lifeStage', ages, asWritten),
    column('specialNeeds', 'traits.specialNeeds', { yes: '1' }),
    column('altered', 'traits.spayedNeutered', yesNoWords),
    column('size', 'size', sizeLetters),
    column('uptodate', 'traits.vaccinated', yesNoWords),
    column('color', 'colors.primary'),
    column('description', 'html'),
    ...photoColumns.slice(0, 4).map((name, index) => column(`pic${index + 1}`, name)),
  ],
  // userguide.rescuegroups.org, "Supported animal import fields"
  'rescuegroups-import': [
    column('externalID', 'ownId'),
    column('internalID', 'ownIdCopy'),
    column('rescueID', 'ownIdCopy'),
    column('name', 'name'),
    column('status', 'status', { available: 'Available', pending: 'Hold', sold: 'Adopted' }),
    column('type', 'species'),
    column('priBreed', 'breeds.primary'),
    column('secBreed', 'breeds.secondary'),
    column('mix', 'breeds.mixed', { true: 'Yes', false: 'No' }),
    column('sex', 'sex', { female: 'Female', male: 'Male' }),
    column('age', 'lifeStage', ages, asWritten),
    column('okwithdogs', 'goodWith.dogs', yesNoWords),
    column('okwithcats', 'goodWith.cats', yesNoWords),
    column('okwithkids', 'goodWith.children', yesNoWords),
    column('declawed', 'traits.declawed', yesNoWords),
    column('housebroken', 'traits.houseTrained', yesNoWords),
    column('specialNeeds', 'traits.specialNeeds', yesNoWords),
    column('altered', 'traits.spayedNeutered', yesNoWords),
    column('size', 'size', { small: 'Small', medium: 'Medium', large: 'Large', xlarge: 'X-Large' }),
    column('uptodate', 'traits.vaccinated', yesNoWords),
    column('color', 'colors.primary'),
    column('pattern', 'empty'),
    column('coatLength', 'coat', { short: 'Short', medium: 'Medium', long: 'Long' }),
    column('courtesy', 'empty'),
    column('dsc', 'html'),
    column('found', 'stray', { stray: 'Yes' }),
    column('foundDate', 'strayDate'),
    column('foundZipcode', 'empty'),
    ...photoColumns.slice(0, 4).map(name => column(name, name)),
    column('videoUrl', 'youTube'),
  ],
};

/** Returns the columns of a preset in order, including import-only columns. */
export function columnsOf(preset: ExportPreset): readonly PresetColumn[] {
  return presets[preset];
}

/** Returns the columns of an export with a preset, in order. */
export function exportedColumnsOf(preset: ExportPreset): readonly PresetColumn[] {
  return columnsOf(preset).filter(({ own, derived }) => own !== undefined || derived?.print !== undefined);
}

/** Reports whether the cells of a column are dates. */
export function hasDates({ own, derived }: PresetColumn): boolean {
  return own?.kind === 'date' || derived?.holds === 'date';
}

/** Returns the cell of a pet in a column. */
export function printCell({ own, derived, values }: PresetColumn, pet: PetValues, context: PetContext): string {
  const text = own === undefined ? (derived!.print?.(pet, context) ?? '') : cellOf(own, pet);
  return values === undefined ? text : (values[text] ?? '');
}

/**
 * Returns the fields that a cell sets, `null` for those that it deletes. Objects contain only the members of the
 * column.
 * @throws {CellError}
 */
export function parseCell(column: PresetColumn, cell: string, context: CellContext) {
  const { own, derived, values, read } = column;
  if (derived !== undefined && derived.parse === undefined) return {};
  const described = describedSex(column, cell, context);
  if (described !== undefined) return described;
  const isGiven = (values !== undefined || read !== undefined) && cell.trim() !== '';
  const text = isGiven ? valueWrittenAs(column, cell) : cell;
  if (own === undefined) return derived!.parse!(text, context);
  const value = own.kind === 'date' && !isNothing(text) ? pastDate(own, text, context) : cellValue(own, text);
  if (typeof value === 'string' && own.choices && !own.choices.includes(value)) {
    throw new CellError('invalid_value', `Must be one of ${own.choices.join(', ')}.`, value, own.choices);
  }
  if (own.member !== undefined) return { [own.field]: { [own.member]: value } };
  return { [own.field]: own.kind === 'json' ? replacing(context.pet?.[own.field], value) : value };
}

/** Returns the fields of a sex such as `F (spayed)`; then an empty cell for the second answer has no effect. */
function describedSex({ from }: PresetColumn, cell: string, context: CellContext): PetValues | undefined {
  if (from === 'traits.spayedNeutered') {
    return cell.trim() === '' && sexAndNeuteredIn(context.cell('sex')) ? {} : undefined;
  }
  const { sex, spayedNeutered } = (from === 'sex' && sexAndNeuteredIn(cell)) || {};
  if (sex === undefined) return undefined;
  const isAnswered = context.cell('traits.spayedNeutered').trim() !== '';
  return { sex, ...(!isAnswered && { traits: { spayedNeutered } }) };
}

/**
 * Returns a date.
 * @throws {CellError} also for a birth more than a day in the future, which allows for time zones
 */
function pastDate({ field }: PetColumn, cell: string, context: CellContext): string {
  const date = dateOf(cell, context);
  if (field !== 'birthDate' || parseDate(date)! <= context.now + DAY_MS) return date;
  throw new CellError('out_of_range', 'Must not be in the future.');
}

/** Returns a patch of an object that also deletes members that the new value lacks; other values unchanged. */
function replacing(stored: unknown, value: unknown): unknown {
  if (!isObject(stored) || !isObject(value)) return value;
  return { ...Object.fromEntries(Object.keys(stored).map(member => [member, null])), ...value };
}

function isObject(value: unknown): value is PetValues {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the value of a cell in a preset. An answer may also be written as in the cells of `yes` or `true`, which can
 * be `0`.
 */
function valueWrittenAs({ own, values = {}, read }: PresetColumn, cell: string): string {
  const folded = cell.trim().toLowerCase();
  const found =
    Object.entries(values).find(([, printed]) => printed.toLowerCase() === folded)?.[0] ?? read?.(cell.trim());
  if (found !== undefined) return found;
  const choices = own?.kind === 'boolean' ? ['true', 'false'] : (own?.choices ?? Object.keys(values));
  const positive = values['yes'] ?? values['true'];
  const answer = positive === undefined ? undefined : answerIn(cell, own?.name);
  if (answer === 'unknown') return own?.kind === 'boolean' ? '' : answer;
  const isYes = answer === answerIn(positive ?? '');
  const value =
    answer === undefined ? choiceIn(choices, cell) : choices.find(one => (answerIn(one) === 'yes') === isYes);
  if (value !== undefined) return value;
  if (isNoChoice(choices, cell)) return '';
  const printed = [...new Set(Object.values(values))];
  throw new CellError('invalid_value', `Must be one of ${printed.join(', ')}.`, cell, printed);
}
