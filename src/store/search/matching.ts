import { wordsIn } from '../../lib/text.ts';
import { ageAt } from '../../model/age.ts';
import type { Breeds } from '../../model/profile.ts';
import type { CategoryNames } from '../categories/names.ts';
import { storedTraits } from '../profile/traits.ts';
import { type Condition, isWanted, type Meaning, type Term, type WantedWord } from './terms.ts';
import { type SearchedRow, type SearchedText, wordsOf } from './words.ts';

/** A pet with the columns that a search tests: its texts, and its traits by name or by key. */
export type TestedRow = SearchedRow & {
  readonly categoryId: number;
  readonly pattern: string | null;
  readonly groupKind: string | null;
  readonly birthDate?: number | null;
};

/** The tests of pets. */
export interface Tests {
  readonly terms: readonly Term[];
  readonly names: CategoryNames;
  /** Whether to search descriptions too. */
  readonly described: boolean;
  /** The time as of which ages count, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/**
 * Returns the relevance of a pet for a search, or 0 if it does not match all terms. A word of the name weighs most,
 * then words of the breeds and the categories, the traits, the colors, the tags and the description. A whole word
 * weighs more than a prefix, but a whole word in other texts weighs less than a prefix in a name or a breed.
 */
export function relevanceOf(pet: TestedRow, { terms, names, described, now }: Tests): number {
  const words: TestedWords = { own: wordsOf(pet, described), category: names.wordsOf(pet.categoryId) };
  let sum = 1;
  for (const term of terms) {
    let best = 0;
    for (const [index, meaning] of term.entries()) {
      const weight = weightOf(pet, words, meaning, now);
      if (weight > 0) best = Math.max(best, weight - index);
    }
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

interface TestedWords {
  readonly own: ReadonlyMap<string, SearchedText>;
  readonly category: ReadonlySet<string>;
}

/** Returns the mean weight of the parts of a meaning; 0 if the pet lacks one. */
function weightOf(pet: TestedRow, words: TestedWords, { words: wanted, conditions }: Meaning, now: number): number {
  let sum = 0;
  for (const condition of conditions) {
    if (!fits(pet, condition, now)) return 0;
    sum += TRAIT_WEIGHT;
  }
  for (const word of wanted) {
    const weight = wordWeight(words, word);
    if (weight === 0) return 0;
    sum += weight;
  }
  const parts = conditions.length + wanted.length;
  return parts === 0 ? ANYTHING_WEIGHT : sum / parts;
}

/** The weights of a whole word and of a prefix. */
const weights: Readonly<Record<SearchedText | 'category', readonly [whole: number, begun: number]>> = {
  name: [200, 160],
  breeds: [180, 140],
  category: [180, 130],
  colors: [120, 100],
  tags: [80, 60],
  description: [40, 20],
};
const TRAIT_WEIGHT = 150;
const ANYTHING_WEIGHT = 10;

function wordWeight({ own, category }: TestedWords, wanted: WantedWord): number {
  let best = 0;
  const consider = (word: string, source: SearchedText | 'category') => {
    if (!isWanted(word, wanted)) return;
    const [whole, begun] = weights[source];
    best = Math.max(best, word === wanted.text || wanted.forms !== undefined ? whole : begun);
  };
  for (const [word, source] of own) consider(word, source);
  for (const word of category) consider(word, 'category');
  return best;
}

function fits(pet: TestedRow, [name, value]: Condition, now: number): boolean {
  if (name === 'pattern') return pet.pattern !== null && wordsIn(pet.pattern).includes(value);
  if (name === 'group') return pet.groupKind === value;
  if (name === 'breeds') return (JSON.parse(pet.breeds ?? '{}') as Breeds).mixed === true;
  const row = pet as unknown as Readonly<Record<string, string | null | undefined>>;
  const stored = row[name] ?? row[traitKeys.get(name)!];
  if (name !== 'age' || stored != null || pet.birthDate == null) return stored === value;
  return ageAt(pet.birthDate, now) === value;
}

/** The keys of traits in rows of the full view. */
const traitKeys: ReadonlyMap<string, string> = new Map(storedTraits.map(({ name, key }) => [name, key]));
