import { hashNumber } from '../lib/hash-number.ts';
import { DAY_MS } from '../lib/time.ts';
import type { NewPet } from '../pets/pet.ts';
import type { YesNoUnknown } from '../pets/profile.ts';
import { type Kind, kinds } from './kinds.ts';
import type { SamplePet } from './pets.ts';

/** A sample pet with its profile, and its kind. */
export interface ProfiledPet {
  readonly pet: NewPet;
  readonly kind: Kind;
}

/**
 * Returns the profile of a sample pet: always the same for its name, but for the birth date, which follows from `now`, so
 * that a puppy is a puppy when it is created. Everything in it agrees: the photo with the colors, the description with the
 * answers.
 */
export function profileOf(sample: SamplePet, now: number): ProfiledPet {
  const kind = kindOf(sample);
  const draw = drawsOf(sample);
  const species = speciesOf[sample.categoryId]!;
  const days = ageInDays(species, draw);
  const isBaby = days < 180;
  const sex = species.sexes && sexOf(sample.name);
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
    ...(species.ages && { age: species.ages(days) }),
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

/** Returns numbers below a bound for the parts of one profile. */
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
  /** The most years that animals live here. */
  readonly years: number;
  /** Whether visitors can tell females from males. */
  readonly sexes: boolean;
  /** The adoption fee, in cents. */
  readonly fee: number;
  /** The answers that differ from animal to animal, and that are the same for all. */
  readonly asked: readonly (keyof NonNullable<NewPet['traits']>)[];
  readonly sentences: readonly string[];
  /** The stage of life, where it is another one than that of dogs and cats. */
  ages?(days: number): NonNullable<NewPet['age']>;
}

const short = (days: number) => (days < 60 ? 'baby' : days < 150 ? 'young' : days < 550 ? 'adult' : 'senior');
const long = (days: number) => (days < 365 ? 'baby' : days < 4 * 365 ? 'young' : days < 16 * 365 ? 'adult' : 'senior');

const speciesOf: Readonly<Record<number, Species>> = {
  1: {
    years: 12,
    sexes: true,
    fee: 15_000,
    asked: ['houseTrained', 'crateTrained', 'leashTrained', 'spayedNeutered', 'vaccinated', 'specialNeeds'],
    sentences: [
      'Walks on a loose leash and sits for a treat.',
      'Rides well in the car and loves to look out of the window.',
      'Knows sit, stay and, on good days, come.',
      'Carries a favorite toy from room to room.',
      'Sleeps through the night, preferably on your feet.',
      'Would chase a ball until the sun goes down.',
    ],
  },
  2: {
    years: 14,
    sexes: true,
    fee: 9_000,
    asked: ['houseTrained', 'spayedNeutered', 'vaccinated', 'declawed', 'specialNeeds'],
    sentences: [
      'Purrs like a small tractor.',
      'Watches birds from the window sill for hours.',
      'Believes that every box is for cats.',
      'Comes running at the sound of a can.',
      'Sleeps in the sun, and moves with it.',
      'Head-butts everyone who sits still for long enough.',
    ],
  },
  3: {
    years: 7,
    sexes: true,
    fee: 5_000,
    asked: ['houseTrained', 'spayedNeutered', 'vaccinated', 'specialNeeds'],
    sentences: [
      'Jumps for joy when the parsley arrives.',
      'Uses a litter box and keeps a tidy home.',
      'Needs room to run, and something to chew.',
      'Flops over sideways when all is well.',
    ],
  },
  4: {
    years: 2,
    sexes: true,
    fee: 2_000,
    asked: ['specialNeeds'],
    sentences: [
      'Runs a marathon in the wheel every night.',
      'Hides seeds for bad times, then forgets where.',
      'Takes food gently from the hand.',
      'Builds the most beautiful nests of paper.',
    ],
    ages: short,
  },
  5: {
    years: 22,
    sexes: true,
    fee: 90_000,
    asked: ['vaccinated', 'specialNeeds'],
    sentences: [
      'Stands quietly for the farrier and loads well.',
      'Needs a friend on the same pasture.',
      'Has carried many beginners safely.',
      'Follows people around the field, in case of apples.',
    ],
    ages: long,
  },
  6: {
    years: 12,
    sexes: false,
    fee: 6_000,
    asked: ['specialNeeds'],
    sentences: [
      'Greets the morning with a song.',
      'Steps up on a finger and likes to be talked to.',
      'Imitates the telephone very well.',
      'Needs a large cage and an hour of flying a day.',
    ],
  },
  7: {
    years: 9,
    sexes: false,
    fee: 4_000,
    asked: ['specialNeeds'],
    sentences: [
      'Comes with a complete home and a list of favorite foods.',
      'Is calm, and easy for beginners who read a little first.',
      'Watches the room with great interest.',
      'Is used to being looked at, and looks back.',
    ],
  },
  8: {
    years: 8,
    sexes: true,
    fee: 7_000,
    asked: ['vaccinated', 'specialNeeds'],
    sentences: [
      'Needs company of the same kind, and a dry shed.',
      'Comes to the gate when the bucket rattles.',
      'Enjoys being scratched behind the ears.',
      'Is an excellent judge of compost.',
    ],
  },
};

function ageInDays({ years }: Species, draw: Draw): number {
  // More young than old ones, as in shelters.
  const share = (draw('age', 1000) / 1000) ** 1.8;
  return Math.round(45 + share * (years * 365 - 45));
}

/** The names that mostly females have; the others are of males. */
const feminine = new Set(
  (
    'Bella Luna Daisy Sadie Molly Lola Stella Penny Rosie Ruby Willow Nala Ellie Maggie Piper Hazel Gracie Athena Roxy Josie ' +
    'Millie Juniper Maple Olive Freya Poppy Ginger Pippa Indie Tilly Clementine Flora Sable Xena Bonnie Amélie Łatka Greta Nutmeg ' +
    'Beatrix Dolly Echo Iris Jolene Kiwi Cleo Lily Chloe Nova Callie Mittens Sophie Pepper Ivy Misty Minnie Zelda Phoebe Kiki ' +
    'Duchess Pebbles Opal Juliet Tabitha Cinnamon Yuki 小雪 Mačka Minou Bastet Matcha Inky Velvet Onyx Jade Saffron Sage Wren ' +
    'Dinah Crumpet Bramble Fig Flopsy Mopsy Cottontail Clover Parsley Honeybun Snowdrop Lavender Hazelnut Thistle Velveteen Sorrel ' +
    'Tansy Bluebell Cocoa Miffy Usagi Almond Gingersnap Quinoa Mocha Star Cheyenne Buttercup Starlight Belle Juno Sugar Halla ' +
    'Ebony Marigold Henrietta Clarabelle Nanny Agnes Bessie Goldie Maude Gertie Rosemary Esmeralda Winnie Dumpling Petunia Hilda ' +
    'Pecky'
  ).split(' '),
);
const feminineNames = new Set(['Princess Buttercup', 'Lady Jane', 'Misty Morning', 'Daisy May', 'Lady Cluck']);

function sexOf(name: string): 'female' | 'male' {
  return feminine.has(name) || feminineNames.has(name) ? 'female' : 'male';
}

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

/** Says for whom an animal is, and for whom not. */
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

const characters = [
  { text: 'is a bundle of energy with a big heart.', energy: 5, tags: ['playful', 'active', 'affectionate'] },
  { text: 'takes life one nap at a time.', energy: 1, tags: ['calm', 'easygoing'] },
  {
    text: 'is curious about everything: visitors, shopping bags and, above all, dinner.',
    energy: 4,
    tags: ['curious', 'friendly'],
  },
  { text: 'is shy at first, and a loyal friend after a week.', energy: 2, tags: ['shy', 'loyal'] },
  { text: 'wants to be wherever you are.', energy: 3, tags: ['affectionate', 'sociable'] },
  { text: 'learns fast and likes to show it.', energy: 4, tags: ['clever', 'active'] },
  { text: 'has a gentle soul and very good manners.', energy: 2, tags: ['gentle', 'calm'] },
  { text: 'is the clown of the shelter.', energy: 5, tags: ['funny', 'playful'] },
  { text: 'has a mind of its own, and a soft spot for quiet people.', energy: 3, tags: ['independent', 'gentle'] },
] as const satisfies readonly { text: string; energy: number; tags: string[] }[];

const specialNeeds = [
  'Takes a small pill with breakfast every day.',
  'Sees little, hears everything, and finds the way by memory.',
  'Is deaf, and reads hand signals well.',
  'Walks with a limp that does not hurt.',
  'Needs a special diet, which the shelter explains.',
] as const;

const wishes = [
  'Looks for a family with time.',
  'Waits for someone special.',
  'Would like a garden, but a good sofa will do.',
  'Is ready to move in today.',
  'Looks forward to your visit.',
  'Hopes for a quiet home.',
] as const;
