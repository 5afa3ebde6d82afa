import { hashNumber } from '../../lib/hash-number.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { NewPet } from '../../model/pet.ts';
import type { YesNoUnknown } from '../../model/profile.ts';
import kindData from './kinds.json' with { type: 'json' };
import type { SamplePet } from './pets.ts';
import profileData from './profiles.json' with { type: 'json' };

/** The common properties of sample animals with one look. */
export interface Kind {
  /** The name of its photo, in `photos/`. */
  readonly photo: string;
  /** The description of the photo. */
  readonly alt: string;
  /** The breeds; each animal has one. `mix` after a breed marks mixed ones. */
  readonly breeds: readonly string[];
  readonly colors: NonNullable<NewPet['colors']>;
  readonly pattern?: string;
  readonly coat?: NonNullable<NewPet['coat']>;
  readonly size: NonNullable<NewPet['size']>;
  /** The range of weights, with its unit. */
  readonly weight: readonly [number, number, 'kg' | 'g'];
  /**
   * The names of animals of this kind, if a name suggests the kind. Animals with other names have a kind without names.
   */
  readonly names?: readonly string[];
}

/** The kinds of each built-in category. Their order within it is part of the sample data. */
const kinds = Map.groupBy(kindData, ({ categoryId }) => categoryId) as unknown as ReadonlyMap<number, readonly Kind[]>;

const { characters, specialNeeds, wishes } = profileData;

/** A sample pet with its profile, and its kind. */
interface ProfiledPet {
  readonly pet: NewPet;
  readonly kind: Kind;
}

/**
 * Returns the profile of a sample pet: always the same for its name, except the birth date, which derives from `now`,
 * so that a puppy is young when it is created. All parts are consistent: the photo with the colors, the description
 * with the answers.
 */
export function profileOf(sample: SamplePet, now: number): ProfiledPet {
  const kind = kindOf(sample);
  const draw = drawsOf(sample);
  const species = speciesOf[sample.categoryId]!;
  const days = ageInDays(species, draw);
  const isBaby = days < 180;
  const sex = species.sexes && (feminine.has(sample.name) ? 'female' : 'male');
  const answers = answersOf(species, draw, isBaby);
  const character = characters[draw('character', characters.length)]!;
  const breed = kind.breeds[draw('breed', kind.breeds.length)]!;
  const [from, to, unit] = kind.weight;
  const grown = from + ((to - from) * draw('weight', 100)) / 100;
  const weight = isBaby ? grown / 3 : grown;
  const needs = answers.traits.specialNeeds === 'yes' ? specialNeeds[draw('needs', specialNeeds.length)]! : undefined;
  const pet: NewPet = {
    ...sample,
    price: { amount: Math.round(species.fee * (1 + draw('fee', 5) / 5) * (isBaby ? 1.5 : 1)), currency: 'USD' },
    breeds: { primary: breed.replace(/ mix$/, ''), ...(breed.endsWith(' mix') && { mixed: true }) },
    colors: kind.colors,
    ...(kind.pattern !== undefined && { pattern: kind.pattern }),
    ...(kind.coat !== undefined && { coat: kind.coat }),
    ...(sex && { sex }),
    birthDate: new Date(now - days * DAY_MS).toISOString().slice(0, 10),
    birthDatePrecision: draw('precision', 3) === 0 ? 'exact' : 'estimated',
    ...(species.ages && { age: stagesOf[species.ages](days) }),
    size: kind.size,
    weight: { value: unit === 'g' || weight > 30 ? Math.round(weight) : Math.round(weight * 10) / 10, unit },
    ...answers,
    energy: character.energy,
    tags: character.tags,
    ...(needs !== undefined && { specialNeedsNotes: needs }),
    description: [
      `${sample.name} ${character.text}`,
      species.sentences[draw('sentence', species.sentences.length)],
      answersText(answers.goodWith),
      needs,
      wishes[draw('wish', wishes.length)],
    ]
      .filter(text => text !== undefined)
      .join(' '),
  };
  return { pet, kind };
}

/** Returns a number below a bound for a part of one profile. */
type Draw = (part: string, below: number) => number;

function drawsOf({ name, categoryId }: SamplePet): Draw {
  return (part, below) => hashNumber(`${part} ${categoryId} ${name}`) % below;
}

function kindOf({ name, categoryId }: SamplePet): Kind {
  const all = kinds.get(categoryId)!;
  const named = all.find(({ names }) => names?.includes(name));
  if (named !== undefined) return named;
  const unnamed = all.filter(({ names }) => names === undefined);
  return unnamed[hashNumber(`kind ${categoryId} ${name}`) % unnamed.length]!;
}

interface Species {
  /** The maximum age of its animals. */
  readonly years: number;
  /** Whether visitors can tell females from males. */
  readonly sexes: boolean;
  /** The adoption fee, in cents. */
  readonly fee: number;
  /** The answers that differ between animals, and the answers that all animals share. */
  readonly asked: readonly (keyof NonNullable<NewPet['traits']>)[];
  readonly sentences: readonly string[];
  /** The length of the stages of life, if it differs from that of dogs and cats. */
  readonly ages?: 'short' | 'long';
}

const stagesOf = {
  short: (days: number) => (days < 60 ? 'baby' : days < 150 ? 'young' : days < 550 ? 'adult' : 'senior'),
  long: (days: number) => (days < 365 ? 'baby' : days < 4 * 365 ? 'young' : days < 16 * 365 ? 'adult' : 'senior'),
};

const speciesOf = profileData.species as unknown as Readonly<Record<number, Species>>;

function ageInDays({ years }: Species, draw: Draw): number {
  // More young than old animals, as in shelters.
  const share = (draw('age', 1000) / 1000) ** 1.8;
  return Math.round(45 + share * (years * 365 - 45));
}

/** Names that mostly females have; all other names are male. */
const feminine = new Set(profileData.feminine);

function answersOf({ asked }: Species, draw: Draw, isBaby: boolean) {
  const likely = (part: string, yes: number, no: number): YesNoUnknown => {
    const number = draw(part, 100);
    return number < yes ? 'yes' : number < yes + no ? 'no' : 'unknown';
  };
  const shares: Readonly<Record<string, readonly [yes: number, no: number]>> = {
    houseTrained: isBaby ? [10, 80] : [75, 12],
    crateTrained: [40, 25],
    leashTrained: isBaby ? [10, 80] : [70, 15],
    spayedNeutered: isBaby ? [15, 85] : [88, 10],
    vaccinated: [96, 2],
    declawed: [0, 96],
    specialNeeds: [8, 90],
  };
  return {
    goodWith: {
      children: likely('children', 60, 15),
      dogs: likely('dogs', 45, 20),
      cats: likely('cats', 40, 25),
      elderly: likely('elderly', 60, 5),
    },
    traits: Object.fromEntries(asked.map(name => [name, likely(name, ...shares[name]!)])) as NonNullable<
      NewPet['traits']
    >,
  };
}

/** Returns a sentence about the homes that suit an animal, and those that do not. */
function answersText(goodWith: Readonly<Record<'children' | 'dogs' | 'cats', YesNoUnknown>>): string | undefined {
  const named = (answer: YesNoUnknown) =>
    (['children', 'dogs', 'cats'] as const).filter(name => goodWith[name] === answer);
  const [yes, no] = [named('yes'), named('no')];
  const parts = [
    ...(yes.length > 0 ? [`Gets along with ${listText(yes, 'and')}.`] : []),
    ...(no.length > 0 ? [`Needs a home without ${listText(no, 'or')}.`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(' ');
}

function listText(words: readonly string[], conjunction: string): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`;
}
