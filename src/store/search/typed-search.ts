import { LAST_CHARACTER, spelled, wordsIn } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { ages } from '../../model/age.ts';
import { type Params, query, type Reader, selectJsonTexts, sql } from '../../model/schema.ts';
import { categoryNames } from '../categories/names.ts';
import { type City, citiesIn, isState } from '../places/cities.ts';
import { locationOfPostalCode } from '../places/postal-codes.ts';
import { knownBreeds } from '../profile/attributes.ts';
import { type TraitFilter, traitChoices } from '../profile/traits.ts';
import { singularsOf } from './plurals.ts';
import type { SearchedReader } from './search.ts';
import { type Phrase, phrasesIn, traitIn } from './terms.ts';

/** The meaning of a text that people type into one search box. */
interface TypedSearch {
  /** The words to search for, as typed. */
  readonly q: string;
  /** The words that were removed from `q` because no animal matches them. */
  readonly unmatched: readonly string[];
  /** `q` including those words. */
  readonly spelled: string;
  /** The traits among the words. */
  readonly traits: TraitFilter;
  /** The place among the words, as a value of `near`. */
  readonly near: string | undefined;
}

/**
 * Splits a text into words to search for and filters: ages (`under 2 years`), traits (`good with kids`) and one place
 * (`near 62704`, `Portland, OR`, `Springfield`).
 *
 * A word of animals or categories, such as a name, stays a word: a trait of one word is a filter only if no word of an
 * animal begins with it. The same applies to a city without its state and without `in` or `near` before it, which must
 * also end the text and have several postal codes.
 *
 * Words that no animal matches are removed if other words or filters remain, so that `chihuahua puppy` finds puppies if
 * there is no Chihuahua. A known breed is removed as a whole if no animal matches its last word: without a bulldog,
 * `french bulldog` is not a search for `french`.
 */
export async function readTypedSearch(reader: SearchedReader, text: string): Promise<TypedSearch> {
  const tokens = Array.from(text.matchAll(/[\p{L}\p{N}\p{M}]+/gu), ([typed]) => ({ typed, word: wordsIn(typed)[0] }));
  const words = tokens.map(({ word }) => word ?? '');
  const found = new Findings(words);
  found.takeAges();
  const known = await knownWords(reader, words.flatMap(formsToKnow));
  await found.takePlace(reader, known);
  found.takeTraits(known);
  const left = () => tokens.filter((_, index) => found.isLeft(index)).map(({ typed }) => typed);
  const spelled = found.isAnything ? left().join(' ') : text;
  const names = await categoryNames(reader);
  const unmatched = found.takeUnmatched(word => known.has(word) || names.wordsFrom(word).length > 0);
  return {
    q: found.isAnything ? left().join(' ') : text,
    unmatched: unmatched.map(index => tokens[index]!.typed),
    spelled,
    traits: found.traits,
    near: found.near,
  };
}

/** Returns the words of animals that a word can match: the word, its singulars, and those of its meanings. */
function formsToKnow(word: string, index: number, words: readonly string[]): string[] {
  const phrases = index === 0 ? phrasesIn(words) : [];
  const meant = phrases.flatMap(({ meanings = [] }) => meanings.flatMap(one => one.words.map(({ text }) => text)));
  return [word, ...singularsOf(word), ...meant];
}

/** The words that are not part of a filter yet, and the filters found so far. */
class Findings {
  near: string | undefined;
  readonly #words: readonly string[];
  readonly #taken = new Set<number>();
  readonly #traits = new Map<string, Set<string>>();

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  get traits(): TraitFilter {
    const inOrder = (name: string, values: ReadonlySet<string>) => traitChoices[name]!.filter(one => values.has(one));
    return Object.fromEntries(Array.from(this.#traits, ([name, values]) => [name, inOrder(name, values)]));
  }

  get isAnything(): boolean {
    return this.#taken.size > 0;
  }

  isLeft(index: number): boolean {
    return !this.#taken.has(index);
  }

  takeAges(): void {
    for (const index of this.#words.keys()) {
      const age = ageAt(this.#words, index);
      if (age === undefined || !this.#isFree(index, age.length)) continue;
      this.#take(index, age.length);
      this.#add('age', age.values);
    }
  }

  /** Extracts the first place, with the word that introduces it. */
  async takePlace(reader: Reader, known: ReadonlySet<string>): Promise<void> {
    for (let index = 0; index < this.#words.length; index++) {
      const leads = LEADS.has(this.#words[index - 1] ?? '');
      for (let length = Math.min(PLACE_WORDS_MAX, this.#words.length - index); length > 0; length--) {
        if (!this.#isFree(index, length)) continue;
        const isLast = index + length === this.#words.length;
        const near = await placeOf(reader, this.#words.slice(index, index + length), { leads, isLast, known });
        if (near === undefined) continue;
        this.near = near;
        const first = leads ? index - 1 : index;
        this.#take(first, index + length - first);
        return;
      }
    }
  }

  /** Extracts the phrases whose only meaning is a trait. */
  takeTraits(known: ReadonlySet<string>): void {
    let index = 0;
    for (const { typed, read, meanings = [] } of phrasesIn(this.#words)) {
      const start = index;
      index += typed.length;
      const trait = traitIn(meanings);
      const isWord = read.length === 1 && known.has(read[0]!);
      if (trait === undefined || isWord || !this.#isFree(start, typed.length)) continue;
      this.#take(start, typed.length);
      this.#add(trait.name, trait.values);
    }
  }

  /**
   * Removes the words that no animal matches. Returns their indexes; none if no other words remain. If there are
   * filters, also removes ignored words when no others remain.
   * @param isKnown whether a word is a prefix of a word of an animal or of a category
   */
  takeUnmatched(isKnown: (word: string) => boolean): number[] {
    const left = [...this.#words.keys()].filter(index => this.isLeft(index));
    const words = left.map(index => this.#words[index]!);
    const parts = phrasesIn(words).flatMap(phrase => {
      const matches = isMatched(phrase, isKnown);
      return phrase.typed.map(() => ({ matches, isIgnored: phrase.meanings?.length === 0 }));
    });
    const unmatched = new Set(parts.keys().filter(index => !parts[index]!.matches));
    for (const { start, end } of breedsAmong(words)) {
      if (unmatched.has(end - 1)) for (let index = start; index < end; index++) unmatched.add(index);
    }
    const isRest = parts.some(({ isIgnored }, index) => !isIgnored && !unmatched.has(index));
    if (!isRest && !this.isAnything) return [];
    const taken = left.filter((_, index) => unmatched.has(index));
    for (const index of isRest ? taken : left) this.#take(index, 1);
    return taken;
  }

  #isFree(index: number, length: number): boolean {
    return Array.from({ length }, (_, offset) => index + offset).every(one => this.isLeft(one));
  }

  #take(index: number, length: number): void {
    for (let offset = 0; offset < length; offset++) this.#taken.add(index + offset);
  }

  #add(name: string, values: readonly string[]): void {
    const all = this.#traits.get(name) ?? new Set();
    this.#traits.set(name, all);
    for (const value of values) all.add(value);
  }
}

/** Reports whether an animal may match a phrase. */
function isMatched({ typed, meanings }: Phrase, isKnown: (word: string) => boolean): boolean {
  if (meanings?.length === 0 || typed.every(word => [word, ...singularsOf(word)].some(isKnown))) return true;
  return (meanings ?? []).some(({ words }) => words.every(({ text }) => isKnown(text)));
}

/** Returns the positions of known breeds of several words, the longest at each word. */
function breedsAmong(words: readonly string[]): { readonly start: number; readonly end: number }[] {
  return [...words.keys()].flatMap(start => {
    for (let end = Math.min(words.length, start + BREED_WORDS_MAX); end > start + 1; end--) {
      const last = words[end - 1]!;
      const beginning = words.slice(start, end - 1);
      const isBreed = [last, ...singularsOf(last)].some(word => knownBreeds().has([...beginning, word].join(' ')));
      if (isBreed) return [{ start, end }];
    }
    return [];
  });
}

const BREED_WORDS_MAX = 4;

/** Words that introduce a place. */
const LEADS: ReadonlySet<string> = new Set(['in', 'near', 'around', 'from', 'at', 'by']);
const PLACE_WORDS_MAX = 5;
/** The minimum number of postal codes of a city that is recognized without further evidence. */
const CODES_OF_CITY = 3;

/** The position of words in a text. */
interface Position {
  /** Whether a word before them introduces a place. */
  readonly leads: boolean;
  /** Whether they end the text. */
  readonly isLast: boolean;
  /** See `knownWords`. */
  readonly known: ReadonlySet<string>;
}

/** Returns the place that words name, as a value of `near`. */
async function placeOf(
  reader: Reader,
  words: readonly string[],
  { leads, isLast, known }: Position,
): Promise<string | undefined> {
  const text = words.join(' ');
  const [, country = 'us', code] = /^(?:(us|ca) )?(\d{5}|[a-z]\d[a-z](?: ?\d[a-z]\d)?)$/.exec(text) ?? [];
  if (code !== undefined) {
    const of = /^\d/.test(code) ? 'US' : 'CA';
    const isOther = words[0] === country && country.toUpperCase() !== of;
    if (isOther || (await locationOfPostalCode(reader, of, code)) === undefined) return undefined;
    return code.toUpperCase();
  }
  if (words.some(word => /\d/.test(word))) return undefined;
  const [city] = await citiesIn(text);
  if (city === undefined) return undefined;
  const isNamed = wordsIn(city.name).length === words.length && !endsWithState(words, city);
  if (!isNamed) return `${city.name}, ${city.state}`;
  const isPlain = isLast && city.codes >= CODES_OF_CITY && !words.every(word => known.has(word));
  return leads || isPlain ? city.name : undefined;
}

/** Reports whether the last words name the state of a city. */
function endsWithState(words: readonly string[], { name }: City): boolean {
  const rest = words.slice(wordsIn(name).length);
  return rest.length > 0 && isState(rest);
}

/** The units of ages by their first letters, in days. */
const units: Readonly<Record<string, number>> = { y: 365.25, m: 365.25 / 12, w: 7 };
const numbers = Array.from({ length: 11 }, (_, number) => spelled(number));
const NUMBER = `(\\d{1,2}|${numbers.join('|')})`;
const BELOW = 'under|below|younger than|less than|up to';
const ABOVE = 'over|above|older than|more than|at least';
const UNIT = '(years?|yrs?|yo|months?|mos?|weeks?|wks?)';
const agePattern = new RegExp(
  `^(?:(?:(${BELOW})|(${ABOVE})|between) )?${NUMBER}(?: (?:to |and |or )?${NUMBER})? ?${UNIT}(?: old)?(?![^ ])`,
);
const AGE_WORDS_MAX = 8;

/** Returns the ages that words from an index on mean, such as `under 2 years`, and the number of these words. */
function ageAt(words: readonly string[], index: number) {
  const text = words.slice(index, index + AGE_WORDS_MAX).join(' ');
  const [all, below, above, from, to = from, unit] = agePattern.exec(text) ?? [];
  if (all === undefined) return undefined;
  const days = units[unit!.charAt(0)]!;
  const least = below === undefined ? numberOf(from!) * days : 0;
  const most = above === undefined ? numberOf(to!) * days + (below === undefined ? days : 0) : Number.POSITIVE_INFINITY;
  return { length: all.split(' ').length, values: agesBetween(least, most) };
}

function numberOf(text: string): number {
  const named = numbers.indexOf(text);
  return named < 0 ? Number(text) : named;
}

/** Returns the stages of life between two ages in days. */
function agesBetween(least: number, most: number): string[] {
  let start = 0;
  const stages = [...ages.map(({ age, upTo }) => ({ age, end: upTo / DAY_MS })), { age: 'senior', end: Infinity }];
  return stages.flatMap(({ age, end }) => {
    const isAmong = start < most && end > least;
    start = end;
    return isAmong ? [age] : [];
  });
}

/**
 * Returns which of the words are a prefix of a word of an animal, or part of a category name whose words are all given.
 */
export async function knownWords(reader: SearchedReader, words: readonly string[]): Promise<ReadonlySet<string>> {
  const names = await categoryNames(reader);
  const typed = new Set(words.filter(word => word !== ''));
  const begun = await reader.all(wordsThatBegin, { words: JSON.stringify([...typed]) });
  return new Set([...begun.map(({ word }) => word), ...names.wordsAmong(typed)]);
}

/** Selects the words that are a prefix of a word of an animal, each with one look-up in the index. */
const wordsThatBegin = query((db, p: Params<{ words: string }>, engine) =>
  db
    .selectFrom(selectJsonTexts(p.words, engine).as<'typed'>('typed'))
    .select(sql<string>`typed.value`.as('word'))
    .where(
      sql<boolean>`exists (select 1 from pet_words where word >= typed.value and word < typed.value || ${sql.lit(LAST_CHARACTER)})`,
    ),
);
