import type { FieldLook } from '../schema-form.ts';

/** A field of the form of an animal, in the words of the people who fill it in. */
export interface PlacedField extends FieldLook {
  /** The path of the field in the schema, such as `goodWith/dogs`. */
  readonly field: string;
  readonly label: string;
  /** Whether “Save and add another” keeps its value: it is the same for all animals of a litter. */
  readonly kept?: true;
}

/** A section of the form. */
export interface FieldGroup {
  /** The fragment that leads to it. */
  readonly id: string;
  readonly title: string;
  readonly hint?: string;
  readonly fields: readonly PlacedField[];
}

/** An age in words, from which the form computes the date of birth. It is not a field of the schema. */
export const TYPED_AGE = 'typedAge';

const ONE_A_LINE = 'One per line.';

/** The sections of the form. A field of the schema that is in none of them appears in a last one, “More”. */
const placedGroups: readonly FieldGroup[] = [
  {
    id: 'basics',
    title: 'The basics',
    hint: 'Only the kind and the name are needed. The rest can follow.',
    fields: [
      { field: 'categoryId', label: 'Kind', kept: true },
      { field: 'name', label: 'Name' },
      { field: 'sex', label: 'Sex' },
      { field: 'size', label: 'Size when grown' },
      {
        field: 'breeds/primary',
        label: 'Breed',
        kept: true,
        list: 'known-breeds',
        hint: 'Choose from the list, or write your own.',
      },
      {
        field: 'breeds/secondary',
        label: 'Second breed',
        kept: true,
        list: 'known-breeds',
        hint: 'If you see two breeds.',
      },
      { field: 'breeds/mixed', label: 'Mixed breed', kept: true, as: 'check' },
      { field: 'breeds/unknown', label: 'Nobody knows the breed', kept: true, as: 'check' },
      { field: TYPED_AGE, label: 'Age', hint: 'Such as 2 years, 5 months or 8 weeks. A guess is fine.' },
      { field: 'birthDate', label: 'Date of birth', hint: 'Instead of the age, if you know the date.' },
      {
        ...{ field: 'birthDatePrecision', label: 'The date is', as: 'buttons', none: 'Not said' },
        names: { exact: 'Exact', estimated: 'A guess' },
      },
      { field: 'age', label: 'Stage of life', none: 'As the date of birth says' },
      { field: 'externalId', label: 'Your number for it', hint: 'Such as D2026-041, if you number your animals.' },
    ],
  },
  {
    id: 'looks',
    title: 'Looks',
    fields: [
      { field: 'colors/primary', label: 'Main color', list: 'known-colors' },
      { field: 'colors/secondary', label: 'Second color', list: 'known-colors' },
      { field: 'colors/tertiary', label: 'Third color', list: 'known-colors' },
      { field: 'pattern', label: 'Pattern', hint: 'Such as brindle or tabby.' },
      { field: 'coat', label: 'Coat' },
      { field: 'weight', label: 'Weight', hint: 'Such as 12 lb or 5.5 kg.' },
    ],
  },
  {
    id: 'health',
    title: 'Health and behavior',
    hint: 'Answer what you know. Leave the rest at “Unknown”.',
    fields: [
      { field: 'goodWith/children', label: 'Good with children' },
      { field: 'goodWith/dogs', label: 'Good with dogs' },
      { field: 'goodWith/cats', label: 'Good with cats' },
      { field: 'goodWith/elderly', label: 'Good with elderly people' },
      { field: 'goodWith/farmAnimals', label: 'Good with farm animals' },
      { field: 'traits/houseTrained', label: 'House-trained' },
      { field: 'traits/crateTrained', label: 'Crate-trained' },
      { field: 'traits/leashTrained', label: 'Walks on a leash' },
      { field: 'traits/spayedNeutered', label: 'Spayed or neutered' },
      { field: 'traits/vaccinated', label: 'Vaccinations up to date' },
      { field: 'traits/declawed', label: 'Declawed' },
      { field: 'traits/specialNeeds', label: 'Special needs' },
      { field: 'specialNeedsNotes', label: 'What it needs', as: 'lines', rows: 2, hint: 'Everyone sees this.' },
      {
        ...{ field: 'energy', label: 'Energy' },
        names: { 1: 'Very calm', 2: 'Calm', 3: 'In between', 4: 'Active', 5: 'Very active' },
      },
    ],
  },
  {
    id: 'story',
    title: 'Story',
    fields: [
      {
        ...{ field: 'description', label: 'Its story', as: 'lines', rows: 8 },
        hint: 'What would you tell someone who might take this animal home?',
      },
      { field: 'tags', label: 'In a few words', rows: 3, hint: `Such as playful or calm. ${ONE_A_LINE}` },
      {
        field: 'videos',
        label: 'Videos',
        rows: 2,
        hint: `Their addresses, such as https://example.org/video. ${ONE_A_LINE}`,
      },
      { field: 'group/id', label: 'Litter or pair', kept: true, hint: 'A name that is the same for all its animals.' },
      {
        ...{ field: 'group/kind', label: 'Its animals', kept: true },
        names: { litter: 'Are a litter, and leave one by one', bonded: 'Belong together, and leave together' },
      },
    ],
  },
  {
    id: 'adoption',
    title: 'Adoption',
    fields: [
      { field: 'status', label: 'Status' },
      { field: 'statusReason', label: 'Reason for the status', hint: 'Such as in foster, medical or adopted.' },
      { field: 'price/amount', label: 'Fee', inputMode: 'decimal', hint: 'Such as 125 or $125.50. If it is free: 0.' },
      { field: 'price/currency', label: 'Currency', list: 'currencies', hint: 'Three letters, such as USD.' },
    ],
  },
  {
    id: 'private',
    title: 'Only your shelter sees this',
    fields: [
      { field: 'microchips', label: 'Microchip', rows: 2, hint: `The number. ${ONE_A_LINE}` },
      { field: 'tattoo', label: 'Tattoo' },
      { field: 'shelterLocation', label: 'Place', kept: true, hint: 'Such as Dog house, kennel 4.' },
      { field: 'intake/date', label: 'Came in on', kept: true },
      { field: 'intake/kind', label: 'Came in as', kept: true },
      { field: 'intake/from', label: 'Came from', kept: true, hint: 'A person, a place or another shelter.' },
      { field: 'outcome/date', label: 'Left on' },
      { field: 'outcome/kind', label: 'Left by' },
      { field: 'outcome/to', label: 'Went to', hint: 'A person, a place or another shelter.' },
    ],
  },
];

const placed = new Map(placedGroups.flatMap(({ fields }) => fields).map(one => [one.field, one]));

/** The names of the fields that “Save and add another” keeps. */
export const keptFields: readonly string[] = Array.from(placed.values()).flatMap(({ field, kept }) =>
  kept ? [field] : [],
);

/** Returns the label of a field; `undefined` if no group has it. */
export function placedLabel(field: string): string | undefined {
  return placed.get(field)?.label;
}

/**
 * Returns the groups of a form. Fields that no group has are in “More”.
 * @param names the fields of the form
 */
export function groupsOf(names: readonly string[]): readonly (Omit<FieldGroup, 'fields'> & {
  readonly fields: readonly (FieldLook & Pick<PlacedField, 'field'>)[];
})[] {
  const more = names.filter(name => !placed.has(name)).map(field => ({ field, hint: false as const }));
  return more.length === 0 ? placedGroups : [...placedGroups, { id: 'more', title: 'More', fields: more }];
}
