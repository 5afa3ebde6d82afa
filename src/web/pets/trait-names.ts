import type { Distance, FullPet } from '../../model/pet.ts';
import type { YesNoUnknown } from '../../model/profile.ts';

/** The names of traits on pages, in the order of `traitChoices`. */
export const traitNames: Readonly<Record<string, string>> = {
  sex: 'Sex',
  age: 'Age',
  size: 'Size',
  coat: 'Coat',
  goodWithChildren: 'Children',
  goodWithDogs: 'Dogs',
  goodWithCats: 'Cats',
  goodWithElderly: 'Elderly people',
  goodWithFarmAnimals: 'Farm animals',
  houseTrained: 'House-trained',
  crateTrained: 'Crate-trained',
  leashTrained: 'Leash-trained',
  spayedNeutered: 'Spayed or neutered',
  vaccinated: 'Vaccinated',
  declawed: 'Declawed',
  specialNeeds: 'Special needs',
};

const valueNames: Readonly<Record<string, string>> = {
  female: 'Female',
  male: 'Male',
  baby: 'Baby',
  young: 'Young',
  adult: 'Adult',
  senior: 'Senior',
  small: 'Small',
  medium: 'Medium',
  large: 'Large',
  xlarge: 'Extra large',
  hairless: 'Hairless',
  short: 'Short',
  long: 'Long',
  wire: 'Wire',
  curly: 'Curly',
  yes: 'Yes',
  no: 'No',
  unknown: 'Unknown',
};

/** Returns the name of a value of a trait on pages. */
export function valueName(value: string): string {
  return valueNames[value] ?? value;
}

/** Returns a filter by a trait in words: `Female`, `Good with dogs`, `Not vaccinated`. */
export function traitText(name: string, value: string): string {
  const label = traitNames[name]!;
  if (!(value === 'yes' || value === 'no' || value === 'unknown')) {
    return name === 'coat' ? `${valueName(value)} coat` : valueName(value);
  }
  if (name === 'sex') return 'Sex unknown';
  const text = name.startsWith('goodWith') ? `Good with ${label.toLowerCase()}` : label;
  return value === 'yes' ? text : `${text}: ${value}`;
}

/** Returns the breeds of an animal as people read them: `Beagle / Boxer mix`; `undefined` if there are none. */
export function breedText({ breeds }: Pick<FullPet, 'breeds'>): string | undefined {
  const { primary, secondary, mixed, unknown } = breeds ?? {};
  const names = [primary, secondary].filter(name => name !== undefined).join(' / ');
  if (names !== '') return mixed ? `${names} mix` : names;
  if (mixed) return 'Mixed breed';
  return unknown ? 'Breed unknown' : undefined;
}

/** Returns the colors of an animal: `Black, white`; `undefined` if there are none. */
export function colorText({ colors }: Pick<FullPet, 'colors'>): string | undefined {
  const names = [colors?.primary, colors?.secondary, colors?.tertiary].filter(name => name !== undefined);
  return names.length === 0 ? undefined : names.join(', ');
}

/** Returns the short description of an animal: `Female · young · large`. */
export function shortText({ sex, age, size }: Pick<FullPet, 'sex' | 'age' | 'size'>): string {
  const known = [sex === 'unknown' ? undefined : sex, age, size].filter(value => value !== undefined);
  const text = known.map(value => valueNames[value] ?? value).join(' · ');
  return text.slice(0, 1) + text.slice(1).toLowerCase();
}

/** Returns a distance as people read it: `12 mi away`. */
export function distanceText({ value, unit }: Distance): string {
  const shown = value >= 10 ? Math.round(value) : value;
  return `${shown} ${unit} away`;
}

/** An answer on the page of an animal: the name of the trait, its label, and the value. */
export interface Answer {
  readonly name: string;
  readonly label: string;
  readonly value: YesNoUnknown;
}

/** Returns the answers of an animal in groups. */
export function answersOf({ goodWith = {}, traits = {} }: Pick<FullPet, 'goodWith' | 'traits'>): readonly {
  readonly title: string;
  readonly answers: readonly Answer[];
}[] {
  const answersIn = (members: object, nameOf: (member: string) => string): Answer[] =>
    Object.entries(members).map(([member, value]) => {
      const name = nameOf(member);
      return { name, label: traitNames[name]!, value };
    });
  return [
    {
      title: 'Gets along with',
      answers: answersIn(goodWith, member => `goodWith${member[0]!.toUpperCase()}${member.slice(1)}`),
    },
    { title: 'Training and health', answers: answersIn(traits, member => member) },
  ].filter(({ answers }) => answers.length > 0);
}
