import type { PetValues } from './columns.ts';
import { ageOf, type CellContext, CellError, type DerivedColumn, dateOf, weightOf } from './derived.ts';
import { answerIn, isNothing } from './read-cells.ts';

/**
 * The columns of Animal Shelter Manager in its imports and exports (github.com/sheltermanager/asm3, csvimport.py,
 * 625abaf).
 */
export const asm3Columns: readonly (readonly [
  name: string,
  from: string,
  values?: Readonly<Record<string, string>>,
  read?: (cell: string) => string | undefined,
])[] = [
  ['ANIMALCODE', 'ownId'],
  ['ANIMALLITTER', 'litter'],
  ['ANIMALNAME', 'name'],
  ['ANIMALSEX', 'sex', { female: 'F', male: 'M', unknown: 'U' }, readSex],
  ['ANIMALWEIGHT', 'asm3Weight'],
  ['ANIMALCOLOR', 'colors.primary'],
  ['ANIMALCOATTYPE', 'coat', coatTypes()],
  ['ANIMALBREED1', 'breeds.primary'],
  ['ANIMALBREED2', 'asm3Breed2'],
  ['ANIMALDOB', 'birthDate'],
  ['ANIMALAGE', 'asm3Age'],
  ['ANIMALSPECIES', 'species'],
  ['ANIMALSIZE', 'size', { small: 'Small', medium: 'Medium', large: 'Large', xlarge: 'Very Large' }],
  ['ANIMALDESCRIPTION', 'description'],
  ['ANIMALHEALTHPROBLEMS', 'specialNeedsNotes'],
  [
    'ANIMALNEUTERED',
    'traits.spayedNeutered',
    yesNo(),
    cell => answerIn(cell, 'traits.spayedNeutered') ?? readFlag(cell),
  ],
  ['ANIMALNEUTEREDDATE', 'asm3NeuteredDate'],
  ['ANIMALMICROCHIP', 'microchip'],
  ['ANIMALTATTOO', 'tattoo'],
  ['ANIMALDECLAWED', 'traits.declawed', yesNo(), readFlag],
  ['ANIMALHASSPECIALNEEDS', 'traits.specialNeeds', yesNo(), readFlag],
  ['ANIMALLOCATION', 'asm3Location'],
  ['ANIMALUNIT', 'asm3Unit'],
  ['ANIMALENTRYDATE', 'asm3Intake'],
  ['ANIMALGOODWITHCATS', 'goodWith.cats', yesNoUnknown(), readAnswer],
  ['ANIMALGOODWITHDOGS', 'goodWith.dogs', yesNoUnknown(), readAnswer],
  ['ANIMALGOODWITHKIDS', 'goodWith.children', yesNoUnknown(), readAnswer],
  ['ANIMALGOODWITHELDERLY', 'goodWith.elderly', yesNoUnknown(), readAnswer],
  ['ANIMALGOODONLEAD', 'traits.leashTrained', yesNoUnknown(), readAnswer],
  ['ANIMALHOUSETRAINED', 'traits.houseTrained', yesNoUnknown(), readAnswer],
  ['ANIMALCRATETRAINED', 'traits.crateTrained', yesNoUnknown(), readAnswer],
  ['ANIMALENERGYLEVEL', 'energy'],
  ['ANIMALIMAGE', 'photo1'],
  ['ANIMALDECEASEDDATE', 'asm3Deceased'],
  ['ANIMALEUTHANIZED', 'asm3Euthanized'],
  ['ANIMALNOTFORADOPTION', 'asm3NotForAdoption'],
  ['ANIMALNONSHELTER', 'asm3NonShelter'],
  ['MOVEMENTTYPE', 'asm3Movement'],
  ['MOVEMENTDATE', 'asm3MovementDate'],
];

const notImported = new Set(
  (
    'ID TYPE JURISDICTION PICKUPLOCATION PICKUPADDRESS DECEASEDREASON DECEASEDNOTES COMMENTS MARKINGS ' +
    'MICROCHIPDATE TATTOODATE ENTRYTIME ENTRYCATEGORY ENTRYTYPE FLAGS WARNING REASONFORENTRY HIDDENDETAILS TRANSFER ' +
    'GOODTRAVELLER PDFNAME PDFDATA HTMLNAME HTMLDATA'
  ).split(' '),
);
const OTHER_RECORDS =
  /^(ACCOUNTS|ANIMALADDITIONAL|CITATION|CLINIC|COST|CURRENTVET|DEPOSIT|DIARY|DISPATCH|DONATION|FINE|INCIDENT|INVESTIGATION|LICENSE|LOAN|LOG|MEDICAL|MOVEMENT|ORIGINALOWNER|PAYMENT|PERSON|RETURN|STOCKLEVEL|TEST|TRAP|VACCINATION|VOUCHER)/;

/** Reports whether asm3 has a column of this name for which our animals have no field. */
export function isAsm3Column(name: string): boolean {
  const upper = name.trim().toUpperCase();
  return OTHER_RECORDS.test(upper) || (upper.startsWith('ANIMAL') && notImported.has(upper.slice('ANIMAL'.length)));
}

/** asm3 writes this text for a value that its database lacks. */
export const ASM3_NOTHING = 'None';

function yesNo() {
  return { yes: 'Y', no: 'N' };
}

function yesNoUnknown() {
  return { ...yesNo(), unknown: 'U' };
}

function coatTypes() {
  return { hairless: 'Hairless', short: 'Short', medium: 'Medium', long: 'Long', wire: 'Rough', curly: 'Curly' };
}

/** asm3's `gksx`: the first letter counts. */
function readSex(cell: string): string | undefined {
  const letter = cell[0]!.toLowerCase();
  return ['female', 'male', 'unknown'].find(sex => sex.startsWith(letter));
}

/** asm3's `gkynu`: 0 is yes, and 1 is no. All other values are unknown, such as `Over 5` and `Selective`. */
function readAnswer(cell: string): string {
  if (cell === '0' || /^y/i.test(cell)) return 'yes';
  return cell === '1' || /^n/i.test(cell) ? 'no' : 'unknown';
}

/** asm3's `gkb`: 0 and texts that begin with N are no, all others are yes. Other usual answers are accepted too. */
function readFlag(cell: string): string {
  return answerIn(cell) ?? (/^n/i.test(cell) ? 'no' : 'yes');
}

/** The location of an animal that has left the shelter or is not for adoption. */
interface Whereabouts {
  readonly status: 'available' | 'pending' | 'sold';
  readonly reason: string;
  readonly outcome?: string;
}

const adopted: Whereabouts = { status: 'sold', reason: 'Adopted', outcome: 'adoption' };
const reserved: Whereabouts = { status: 'pending', reason: 'Reserved' };
const released: Whereabouts = { status: 'sold', reason: 'Released', outcome: 'returned_to_field' };
const died: Whereabouts = { status: 'sold', reason: 'Died', outcome: 'died_in_care' };
const euthanized: Whereabouts = { status: 'sold', reason: 'Euthanized', outcome: 'shelter_euthanasia' };
const notForAdoption: Whereabouts = { status: 'pending', reason: 'Not for adoption' };
const nonShelter: Whereabouts = { status: 'pending', reason: 'Not an animal of the shelter' };

/** asm3's movements by number and name. It advertises animals in foster homes and at retailers. */
const movements: readonly (readonly [number: string, name: string, whereabouts: Whereabouts | undefined])[] = [
  ['0', 'none', undefined],
  ['1', 'adoption', adopted],
  ['2', 'foster', { status: 'available', reason: 'In foster' }],
  ['3', 'transfer', { status: 'sold', reason: 'Transferred', outcome: 'transfer_out' }],
  ['4', 'escaped', { status: 'sold', reason: 'Escaped', outcome: 'lost_in_care' }],
  ['5', 'reclaimed', { status: 'sold', reason: 'Reclaimed', outcome: 'returned_to_owner' }],
  ['6', 'stolen', { status: 'sold', reason: 'Stolen', outcome: 'lost_in_care' }],
  ['7', 'released to wild', released],
  ['8', 'retailer', { status: 'available', reason: 'At a retailer' }],
  ['9', 'reservation', reserved],
  ['10', 'cancelled reservation', undefined],
  ['11', 'trial adoption', { status: 'pending', reason: 'Trial adoption' }],
  ['12', 'permanent foster', { status: 'pending', reason: 'Permanent foster' }],
  ['13', 'tnr', released],
];

const reasons: ReadonlySet<unknown> = new Set(
  [died, euthanized, notForAdoption, nonShelter, ...movements.flatMap(([, , one]) => one ?? [])].map(
    ({ reason }) => reason,
  ),
);

/**
 * Returns the status, and how the animal left, from all columns about them. If an earlier import set another status, an
 * animal in the shelter becomes available again; a status set in this service stays.
 */
function whereaboutsIn(context: CellContext): PetValues {
  const { pet, cell } = context;
  const found = whereaboutsOf(cell);
  const reason = pet?.['statusReason'];
  const isImported = pet === undefined || reasons.has(reason);
  if (found === undefined) return pet && isImported ? { status: 'available', statusReason: null, outcome: null } : {};
  const { status, reason: statusReason, outcome: kind } = found;
  const isOther = pet !== undefined && pet['status'] !== status;
  // A hold or an order in this service has no reason; it reserves the animal regardless of the reason in the file.
  const isNamed = isImported || isOther || (reason === undefined && status !== 'pending');
  const date =
    kind && dateIn(cell(found === died || found === euthanized ? 'asm3Deceased' : 'asm3MovementDate'), context);
  return {
    status,
    ...(isNamed && { statusReason }),
    ...(kind === undefined ? { outcome: null } : date && { outcome: { kind, date } }),
  };
}

function whereaboutsOf(cell: CellContext['cell']): Whereabouts | undefined {
  const isGiven = (name: string) => !isNothing(cell(name));
  const isTrue = (name: string) => isGiven(name) && readFlag(cell(name).trim()) === 'yes';
  if (isTrue('asm3Euthanized')) return euthanized;
  if (isGiven('asm3Deceased')) return died;
  const movement = movementOf(cell('asm3Movement'), isGiven('asm3MovementDate'));
  if (movement?.status === 'sold') return movement;
  if (isTrue('asm3NonShelter')) return nonShelter;
  return isTrue('asm3NotForAdoption') ? notForAdoption : movement;
}

/** Returns the meaning of a movement. With a date, movement 0 is a reservation, and an empty type is an adoption. */
function movementOf(cell: string, hasDate: boolean): Whereabouts | undefined {
  const type = cell.trim().toLowerCase();
  if (type === '') return hasDate ? adopted : undefined;
  if (type === '0' && hasDate) return reserved;
  const found = movements.find(([number, name]) => number === type || name === type);
  if (found !== undefined) return found[2];
  throw new CellError('invalid_value', 'Must be a type of movement, such as 1 for an adoption.');
}

/** Returns the date in a cell of another column; `undefined` if the cell is empty. An error belongs to that column. */
function dateIn(cell: string, context: CellContext): string | undefined {
  try {
    return dateOf(cell, context);
  } catch {
    return undefined;
  }
}

/** Reports an error in the date, and then reads the whole row. */
function datedWhereabouts(cell: string, context: CellContext): PetValues {
  if (!isNothing(cell)) dateOf(cell, context);
  return whereaboutsIn(context);
}

const outcomeOf = ({ outcome }: PetValues) => outcome as { kind: string; date: string } | undefined;
const isDead = (pet: PetValues) => /died|euthanasia/.test(outcomeOf(pet)?.kind ?? '');
const hasLeft = (pet: PetValues) => pet['status'] === 'sold' && !isDead(pet);

/** Splits the text of `placeIn` at its last comma. */
function placeOf({ shelterLocation = '' }: PetValues): readonly [location: string, unit: string] {
  const [, location = '', unit = ''] = /^(.*?)(?:, ([^,]*))?$/.exec(shelterLocation as string) ?? [];
  return [location, unit];
}

/** Returns the location and the unit in it as one text, such as `Dog runs, 3`. */
function placeIn({ cell }: CellContext): PetValues {
  const parts = [cell('asm3Location'), cell('asm3Unit')].filter(part => !isNothing(part));
  return { shelterLocation: parts.length === 0 ? null : parts.map(part => part.trim()).join(', ') };
}

function kindOfIntake(cell: CellContext['cell']): string {
  const entry = `${cell('ANIMALENTRYTYPE')} ${cell('ANIMALENTRYCATEGORY')}`;
  const [, kind] = intakes.find(([pattern]) => pattern.test(entry)) ?? [];
  return kind ?? (cell('ANIMALTRANSFER').trim() === '1' ? 'transfer_in' : 'other');
}

const intakes: readonly (readonly [entry: RegExp, kind: string])[] = [
  [/transfer/i, 'transfer_in'],
  [/euthanasia/i, 'owner_intended_euthanasia'],
  [/surrender/i, 'owner_surrender'],
  [/stray/i, 'stray'],
  [/seized/i, 'seized'],
  [/born/i, 'born_in_care'],
];

/** Rounded, because kilograms are rarely whole pounds. */
const poundsIn: Readonly<Record<string, number>> = { lb: 1, oz: 1 / 16, kg: 2.204_623, g: 0.002_204_623 };

/** The columns that only asm3 has. */
export const asm3DerivedColumns: Readonly<Record<string, DerivedColumn>> = {
  asm3Weight: {
    print({ weight }) {
      const { value, unit } = (weight ?? {}) as { value?: number; unit?: string };
      return value === undefined ? '' : String(Math.round(value * poundsIn[unit!]! * 100) / 100);
    },
    parse: (cell, { dates }) => ({ weight: weightOf(cell, dates === 'dmy' ? 'kg' : 'lb') }),
  },
  asm3Breed2: {
    print: ({ breeds }) => (breeds as { secondary?: string } | undefined)?.secondary ?? '',
    parse(cell, { cell: other }) {
      // For a purebred animal, both breed columns are equal.
      const isMixed = cell !== '' && cell !== other('breeds.primary');
      return { breeds: isMixed ? { secondary: cell, mixed: true } : { secondary: null } };
    },
  },
  asm3Age: { parse: (cell, context) => (isNothing(cell) ? {} : ageOf(cell, context)) },
  asm3NeuteredDate: {
    parse(cell, context) {
      if (isNothing(cell)) return {};
      dateOf(cell, context);
      return { traits: { spayedNeutered: 'yes' } };
    },
    holds: 'date',
  },
  asm3Location: { print: pet => placeOf(pet)[0], parse: (_, context) => placeIn(context) },
  asm3Unit: { print: pet => placeOf(pet)[1], parse: (_, context) => placeIn(context) },
  asm3Intake: {
    print: ({ intake }) => (intake as { date: string } | undefined)?.date ?? '',
    parse(cell, context) {
      if (isNothing(cell)) return { intake: null };
      const kind = !context.pet?.['intake'] && { kind: kindOfIntake(context.cell) };
      return { intake: { date: dateOf(cell, context), ...kind } };
    },
    holds: 'date',
  },
  asm3Deceased: {
    print: pet => (isDead(pet) ? outcomeOf(pet)!.date : ''),
    parse: datedWhereabouts,
    holds: 'date',
  },
  asm3Euthanized: {
    print: pet => (/euthanasia/.test(outcomeOf(pet)?.kind ?? '') ? '1' : ''),
    parse: (_, context) => whereaboutsIn(context),
  },
  asm3NotForAdoption: {
    print: pet => (pet['status'] === 'available' || isDead(pet) ? '' : '1'),
    parse: (_, context) => whereaboutsIn(context),
  },
  asm3NonShelter: { parse: (_, context) => whereaboutsIn(context) },
  asm3Movement: {
    print(pet) {
      if (!hasLeft(pet)) return '';
      const kind = outcomeOf(pet)?.kind ?? adopted.outcome;
      return movements.find(([, , one]) => one?.outcome === kind)?.[0] ?? '1';
    },
    parse: (_, context) => whereaboutsIn(context),
  },
  // asm3 rejects most movements without a person, which we do not know, and skips movements without a date.
  asm3MovementDate: { print: () => '', parse: datedWhereabouts, holds: 'date' },
};
