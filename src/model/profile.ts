import { date, field, json } from '../lib/fields/field.ts';
import { objectPatch } from '../lib/fields/schemas.ts';
import { checkedText, documentedRule, idSchema, lineSchema, webUrlSchema } from '../lib/schemas.ts';
import { countText, textRules } from '../lib/text.ts';
import { parseDate } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import { Age } from './age.ts';

/** The maximum length of an `externalId`. */
export const EXTERNAL_ID_LENGTH_MAX = 100;
/** The maximum number of tags of an animal, and of characters of a tag. */
export const TAGS_MAX = 20;
export const TAG_LENGTH_MAX = 40;
const VIDEOS_MAX = 10;
/** The maximum length of a video's URL, in characters. */
const VIDEO_LENGTH_MAX = 2000;
const DESCRIPTION_LENGTH_MAX = 10_000;
/** The maximum number of texts in `extra`. */
const EXTRA_MAX = 50;

/** The answer to a question about an animal. Shelters often do not know: `unknown` is not `no`. */
export const YesNoUnknown = Type.Enum(['yes', 'no', 'unknown'], { title: 'YesNoUnknown' });
export type YesNoUnknown = Static<typeof YesNoUnknown>;

const answer = (description: string) => Type.Optional(Type.Enum(['yes', 'no', 'unknown'], { description }));
const line = (description: string, maxLength = 100) => Type.Optional(lineSchema(description, maxLength));
const dateSchema = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: 10, description, examples: ['2024-05-01'], ...documentedRule({ format: 'date' }) }),
    text => parseDate(text) !== undefined,
    () => 'must be a date, such as 2024-05-01',
  );

export const Breeds = Type.Object(
  {
    primary: line('The breed; for a mixed animal, the most prominent one.'),
    secondary: line('The second breed of a mixed animal.'),
    mixed: Type.Optional(Type.Boolean({ description: 'Whether the animal is a mix.' })),
    unknown: Type.Optional(Type.Boolean({ description: 'Whether the breed is unknown.' })),
  },
  { title: 'Breeds', description: 'The breeds of an animal.' },
);
export type Breeds = Static<typeof Breeds>;

export const Colors = Type.Object(
  {
    primary: line('The main color.'),
    secondary: line('The second color.'),
    tertiary: line('The third color.'),
  },
  { title: 'Colors', description: 'The colors of an animal.' },
);
export type Colors = Static<typeof Colors>;

export const Coat = Type.Enum(['hairless', 'short', 'medium', 'long', 'wire', 'curly'], {
  title: 'Coat',
  description: 'The coat or hair length.',
});
export const Sex = Type.Enum(['female', 'male', 'unknown'], { title: 'Sex', description: 'The sex.' });
export const Size = Type.Enum(['small', 'medium', 'large', 'xlarge'], {
  title: 'Size',
  description: 'The size when grown.',
});

const Weight = Type.Object(
  {
    value: Type.Number({ exclusiveMinimum: 0, maximum: 100_000, description: 'The number of units.' }),
    unit: Type.Enum(['kg', 'g', 'lb', 'oz'], { description: 'The unit.' }),
  },
  { title: 'Weight', description: 'The weight.' },
);
type Weight = Static<typeof Weight>;

export const GoodWith = Type.Object(
  {
    children: answer('Whether it gets along with children.'),
    dogs: answer('Whether it gets along with other dogs.'),
    cats: answer('Whether it gets along with other cats.'),
    elderly: answer('Whether it gets along with elderly people.'),
    farmAnimals: answer('Whether it gets along with farm animals.'),
  },
  { title: 'GoodWith', description: 'Whom the animal gets along with.' },
);

export const Traits = Type.Object(
  {
    houseTrained: answer('Whether it is house-trained.'),
    crateTrained: answer('Whether it is crate-trained.'),
    leashTrained: answer('Whether it walks on a leash.'),
    spayedNeutered: answer('Whether it is spayed or neutered.'),
    vaccinated: answer('Whether its vaccinations are up to date.'),
    declawed: answer('Whether it is declawed.'),
    specialNeeds: answer('Whether it has special needs.'),
  },
  { title: 'Traits', description: 'Training and health.' },
);

export const intakeKinds = [
  'stray',
  'owner_surrender',
  'owner_intended_euthanasia',
  'transfer_in',
  'seized',
  'born_in_care',
  'returned',
  'other',
] as const;
const Intake = Type.Object(
  {
    date: dateSchema('The day on which the animal came in.'),
    kind: Type.Enum([...intakeKinds], { description: 'How it came in.' }),
    from: line('Where it came from: a person, a place or another organization.', 255),
  },
  { title: 'Intake', description: 'How the animal came into care. Only its owner sees it.' },
);
type Intake = Static<typeof Intake>;

export const outcomeKinds = [
  'adoption',
  'returned_to_owner',
  'transfer_out',
  'returned_to_field',
  'died_in_care',
  'lost_in_care',
  'shelter_euthanasia',
  'owner_intended_euthanasia',
  'other',
] as const;
const Outcome = Type.Object(
  {
    date: dateSchema('The day on which the animal left.'),
    kind: Type.Enum([...outcomeKinds], { description: 'How it left.' }),
    to: line('Where it went: a person, a place or another organization.', 255),
  },
  { title: 'Outcome', description: 'How the animal left care. Only its owner sees it.' },
);
type Outcome = Static<typeof Outcome>;

const GROUP = 'The litter of the animal, or the animals that it is bonded with.';
/** The maximum length of the id of a group, in characters. */
export const GROUP_ID_MAX = 100;
export const Group = Type.Object(
  {
    id: lineSchema('Your name for the group, the same for all its animals.', GROUP_ID_MAX),
    kind: Type.Enum(['litter', 'bonded'], {
      description:
        '`bonded` animals can only be held and ordered together; the animals of a `litter` can be held and ordered one by one.',
    }),
  },
  { title: 'Group', description: GROUP },
);
/** The maximum number of animals in a bonded group: as many as one hold can have. */
export const BONDED_MAX = 20;
const ShownGroup = Type.Object(
  {
    ...Group.properties,
    petIds: Type.Optional(
      Type.Array(idSchema('The id of an animal.'), {
        maxItems: BONDED_MAX,
        description:
          'For a `bonded` group: the ids of the animal and of the others that are not sold, sorted. Send them as `petIds` of a hold or an order.',
      }),
    ),
  },
  { title: 'ShownGroup', description: GROUP },
);

/** Every energy level. */
export const energies = [1, 2, 3, 4, 5] as const;

const Tags = Type.Array(lineSchema('A tag.', TAG_LENGTH_MAX), {
  maxItems: TAGS_MAX,
  uniqueItems: true,
  title: 'Tags',
  description: `Up to ${TAGS_MAX} words that describe the animal: playful, calm.`,
});

const MICROCHIP = '^([0-9A-Za-z]{9}|[0-9A-Za-z]{10}|[0-9]{15})$';
const microchipForm = new RegExp(MICROCHIP);
const Microchip = Type.Refine(
  Type.String({
    description: 'A number of 9, 10 or 15 characters.',
    ...documentedRule({ maxLength: 15, pattern: MICROCHIP }),
  }),
  text => microchipForm.test(text),
  () => 'must be 15 digits, or 9 or 10 letters and digits, such as 276098102345678',
);
const Microchips = Type.Array(Microchip, {
  maxItems: 5,
  uniqueItems: true,
  title: 'Microchips',
  description: 'The numbers of the microchips. Only the owner of the animal sees them.',
});
const Videos = Type.Array(
  webUrlSchema(`The URL of a video, up to ${countText(VIDEO_LENGTH_MAX)} characters.`, VIDEO_LENGTH_MAX),
  {
    maxItems: VIDEOS_MAX,
    uniqueItems: true,
    title: 'Videos',
    description: `The URLs of up to ${VIDEOS_MAX} videos.`,
  },
);
const extraName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$' });
const ExtraText = Type.String({ maxLength: 2000 });
const extraRules = { maxProperties: EXTRA_MAX, additionalProperties: false };
const Extra = Type.Record(extraName, ExtraText, {
  ...extraRules,
  title: 'Extra',
  description: `Up to ${EXTRA_MAX} texts of your own, each with a name; stored and returned as sent.`,
});
type Extra = Static<typeof Extra>;
const ExtraPatch = Type.Record(extraName, Type.Union([ExtraText, Type.Null()]), {
  ...extraRules,
  title: 'ExtraPatch',
  description: 'The texts to change; `null` removes a text, and the others stay.',
});

const Description = checkedText(
  textRules(DESCRIPTION_LENGTH_MAX),
  `What people should know about the animal, stored as sent: 1–${countText(DESCRIPTION_LENGTH_MAX)} characters, which may include line breaks.`,
);

const ExternalId = lineSchema('Your own identifier of the animal, unique within the account.', EXTERNAL_ID_LENGTH_MAX);

/**
 * The profile of a pet: optional fields of the full view, in the vocabulary of shelters and adoption sites. Answers
 * have three states; a field or an answer that was never given is absent.
 */
export const profileFields = {
  externalId: field(ExternalId, {
    column: 'external_id',
    write: 'optional',
    cli: { flag: 'external-id', value: 'ID' },
  }),
  breeds: field(Breeds, {
    column: 'breeds',
    codec: json<Breeds>(),
    write: 'optional',
    patch: objectPatch(Breeds, 'BreedsPatch'),
  }),
  colors: field(Colors, {
    column: 'colors',
    codec: json<Colors>(),
    write: 'optional',
    patch: objectPatch(Colors, 'ColorsPatch'),
  }),
  pattern: field(lineSchema('The pattern of the coat: brindle, tabby.', 100), { column: 'pattern', write: 'optional' }),
  coat: field(Coat, { column: 'coat', write: 'optional' }),
  sex: field(Sex, { column: 'sex', write: 'optional' }),
  birthDate: field(dateSchema('The date of birth. Not in the future.'), {
    column: 'birth_date',
    codec: date,
    write: 'optional',
  }),
  birthDatePrecision: field(
    Type.Enum(['exact', 'estimated'], { description: 'Whether the date of birth is exact or estimated.' }),
    { column: 'birth_date_precision', write: 'optional' },
  ),
  age: field(Age, { column: 'age', write: 'optional' }),
  size: field(Size, { column: 'size', write: 'optional' }),
  weight: field(Weight, {
    column: 'weight',
    codec: json<Weight>(),
    write: 'optional',
    patch: objectPatch(Weight, 'WeightPatch'),
  }),
  goodWith: field(GoodWith, {
    columns: {
      children: 'good_with_children',
      dogs: 'good_with_dogs',
      cats: 'good_with_cats',
      elderly: 'good_with_elderly',
      farmAnimals: 'good_with_farm_animals',
    },
    write: 'optional',
    patch: objectPatch(GoodWith, 'GoodWithPatch'),
  }),
  traits: field(Traits, {
    columns: {
      houseTrained: 'house_trained',
      crateTrained: 'crate_trained',
      leashTrained: 'leash_trained',
      spayedNeutered: 'spayed_neutered',
      vaccinated: 'vaccinated',
      declawed: 'declawed',
      specialNeeds: 'special_needs',
    },
    write: 'optional',
    patch: objectPatch(Traits, 'TraitsPatch'),
  }),
  energy: field(
    Type.Integer({
      minimum: energies[0],
      maximum: energies.at(-1)!,
      description: 'The energy level, from 1 (calm) to 5 (very active).',
    }),
    {
      column: 'energy',
      write: 'optional',
    },
  ),
  group: field(Group, {
    columns: { id: 'group_id', kind: 'group_kind' },
    write: 'optional',
    patch: objectPatch(Group, 'GroupPatch'),
    shown: ShownGroup,
  }),
  tags: field(Tags, { column: 'tags', codec: json<string[]>(), write: 'optional' }),
  videos: field(Videos, { column: 'videos', codec: json<string[]>(), write: 'optional' }),
  specialNeedsNotes: field(lineSchema('What the special needs are.', 1000), {
    column: 'special_needs_notes',
    write: 'optional',
  }),
  microchips: field(Microchips, {
    column: 'microchips',
    codec: json<string[]>(),
    write: 'optional',
    visibleTo: 'owner',
  }),
  tattoo: field(lineSchema('The tattoo. Only the owner of the animal sees it.', 100), {
    column: 'tattoo',
    write: 'optional',
    visibleTo: 'owner',
  }),
  shelterLocation: field(
    lineSchema(
      'Where in the shelter the animal is, such as a room and a kennel. Only the owner of the animal sees it.',
      100,
    ),
    { column: 'shelter_location', write: 'optional', visibleTo: 'owner' },
  ),
  intake: field(Intake, {
    column: 'intake',
    codec: json<Intake>(),
    write: 'optional',
    patch: objectPatch(Intake, 'IntakePatch'),
    visibleTo: 'owner',
  }),
  outcome: field(Outcome, {
    column: 'outcome',
    codec: json<Outcome>(),
    write: 'optional',
    patch: objectPatch(Outcome, 'OutcomePatch'),
    visibleTo: 'owner',
  }),
  extra: field(Extra, { column: 'extra', codec: json<Extra>(), write: 'optional', patch: ExtraPatch }),
  description: field(Description, { column: 'description', write: 'optional' }),
};
