import { readFileSync } from 'node:fs';
import { wordsIn } from '../../lib/text.ts';
import { traitChoices } from '../profile/traits.ts';
import { formsOf, singularsOf } from './plurals.ts';

/** A word of a search. */
export interface WantedWord {
  readonly text: string;
  /**
   * The word and its plurals, one of which an animal must have; if absent, the text is a prefix of a word of the
   * animal.
   */
  readonly forms?: readonly string[];
}

/** A condition on the profile: a trait, `pattern`, `breeds` or `group`, and its value. */
export type Condition = readonly [name: string, value: string];

/** One meaning of a part of a search: an animal must have all words and fulfil all conditions. */
export interface Meaning {
  readonly words: readonly WantedWord[];
  readonly conditions: readonly Condition[];
}

/**
 * A part of a search: a word or a phrase, with its meanings. Animals must match one of them; earlier ones weigh more.
 */
export type Term = readonly Meaning[];

/**
 * Returns the parts of a search, all of which animals must match: each word with its singular and its synonyms; see
 * `synonyms.txt`.
 * @param words the typed words, see `wordsIn`
 */
export function termsOf(words: readonly string[]): Term[] {
  // Most searches have one word, which contains no phrase.
  if (words.length === 1) return [termOf(words, meaningsOf(words) ?? [])];
  const parsed = phrasesIn(words);
  const ignored = parsed.every(({ meanings }) => meanings?.length === 0);
  const terms = parsed.filter(({ meanings }) => ignored || meanings?.length !== 0);
  const distinct = new Map(terms.map(({ read, meanings }) => [read.join(' '), termOf(read, meanings ?? [])]));
  return [...distinct].filter(([text, term]) => !isImplied(text, term, distinct)).map(([, term]) => term);
}

/** Reports whether a word without other meanings is a prefix of another such word. */
function isImplied(text: string, term: Term, all: ReadonlyMap<string, Term>): boolean {
  const isPlain = ({ length }: Term) => length === 1;
  return isPlain(term) && [...all].some(([other, one]) => other !== text && other.startsWith(text) && isPlain(one));
}

/** A phrase of a search as typed, with its known meanings. */
export interface Phrase {
  readonly typed: readonly string[];
  /** The phrase that it stands for: `good with dogs` for the last word of `good with kids and dogs`. */
  readonly read: readonly string[];
  readonly meanings: readonly Meaning[] | undefined;
}

/** Splits a search into the longest known phrases, and into single words. */
export function phrasesIn(words: readonly string[]): Phrase[] {
  const phrases: Phrase[] = [];
  for (let index = 0; index < words.length; ) {
    const most = Math.min(synonyms().wordsMax, words.length - index);
    const lengths = Array.from({ length: most }, (_, shorter) => most - shorter);
    const parts = lengths.map(length => words.slice(index, index + length));
    const typed = parts.find(part => meaningsOf(part) !== undefined) ?? [words[index]!];
    phrases.push({ typed, read: typed, meanings: meaningsOf(typed) });
    index += typed.length;
    const others = othersAfter(typed.slice(0, -1), words.slice(index));
    phrases.push(...others);
    index += others.length;
  }
  return phrases;
}

/**
 * Returns the phrases of a list that continues with `and` or `or`, without their beginning: `dogs` of `good with kids
 * and dogs`.
 */
function othersAfter(beginning: readonly string[], words: readonly string[]): Phrase[] {
  if (beginning.length === 0) return [];
  const others: Phrase[] = [];
  for (const word of words) {
    const read = CONJUNCTIONS.has(word) ? [word] : [...beginning, word];
    const meanings = meaningsOf(read);
    if (meanings === undefined) break;
    others.push({ typed: [word], read, meanings });
  }
  const last = others.findLastIndex(({ typed }) => CONJUNCTIONS.has(typed[0]!));
  return others.slice(0, last < 0 ? 0 : last + 2);
}

const CONJUNCTIONS: ReadonlySet<string> = new Set(['and', 'or']);

function meaningsOf(typed: readonly string[]): readonly Meaning[] | undefined {
  const last = typed.at(-1)!;
  const phrases = [last, ...singularsOf(last)].map(word => [...typed.slice(0, -1), word].join(' '));
  return phrases.map(phrase => synonyms().meanings.get(phrase)).find(meanings => meanings !== undefined);
}

function termOf(typed: readonly string[], meanings: readonly Meaning[]): Term {
  const beginnings = { words: typed.map(text => ({ text })), conditions: [] };
  const singulars = typed.length > 1 ? [] : singularsOf(typed[0]!);
  return [beginnings, ...singulars.map(text => ({ words: [wholeWord(text)], conditions: [] })), ...meanings];
}

/** Returns the single words that have a meaning. */
export function wordsWithMeanings(): string[] {
  return [...synonyms().meanings.keys()].filter(phrase => !phrase.includes(' '));
}

/** Reports whether a word of an animal matches a word of a search. */
export function isWanted(word: string, { text, forms }: WantedWord): boolean {
  return forms === undefined ? word.startsWith(text) : forms.includes(word);
}

/** Returns the trait and the values of meanings; `undefined` if one of them is not a value of this trait. */
export function traitIn(meanings: readonly Meaning[]) {
  const [name] = meanings[0]?.conditions[0] ?? [];
  if (name === undefined || !(name in traitChoices)) return undefined;
  const isTrait = ({ words, conditions }: Meaning) =>
    words.length === 0 && conditions.length === 1 && conditions[0]![0] === name;
  return meanings.every(isTrait) ? { name, values: meanings.map(({ conditions }) => conditions[0]![1]) } : undefined;
}

/** The traits whose values are words. */
const valueTraits = ['sex', 'age', 'size'] as const;

/** The words that negate a phrase, in the form of `wordsIn`. */
const negations = ['not', 'no', 'isn t', 'aren t', 'doesn t', 'don t', 'does not', 'do not', 'is not'];

/** The meanings of phrases, and the words of the longest phrase. */
interface Synonyms {
  readonly meanings: ReadonlyMap<string, readonly Meaning[]>;
  readonly wordsMax: number;
}

let read: Synonyms | undefined;

/** Returns the values of traits and the entries of `synonyms.txt`, which the first search reads. */
export function synonyms(): Synonyms {
  if (read === undefined) {
    const meanings = readSynonyms();
    read = { meanings, wordsMax: Math.max(...Array.from(meanings.keys(), phrase => phrase.split(' ').length)) };
  }
  return read;
}

function readSynonyms(): Map<string, readonly Meaning[]> {
  const found = new Map<string, readonly Meaning[]>();
  const values = valueTraits.flatMap(name => traitChoices[name]!.map(value => [name, value] as const));
  for (const [name, value] of values) {
    if (value !== 'unknown') found.set(value, [{ words: [], conditions: [[name, value]] }]);
  }
  for (const line of readFileSync(new URL('synonyms.txt', import.meta.url), 'utf8').split('\n')) {
    const [, phrases, meanings] = /^([^#=]+)=(.*)$/.exec(line) ?? [];
    if (phrases === undefined) continue;
    const parsed = meanings!.trim() === '' ? [] : meanings!.split('|').map(meaningIn);
    for (const phrase of phrases.split(',')) {
      const text = wordsIn(phrase).join(' ');
      const before = found.get(text) ?? [];
      found.set(text, [...before, ...parsed]);
    }
  }
  return new Map([...negated(found), ...found]);
}

/** Returns the opposites of the phrases whose only meaning is `yes`: preceded by a negation, they mean `no`. */
function negated(phrases: ReadonlyMap<string, readonly Meaning[]>): [string, readonly Meaning[]][] {
  return Array.from(phrases).flatMap(([text, meanings]) => {
    const trait = traitIn(meanings);
    if (trait?.values.join() !== 'yes') return [];
    return negations.map((no): [string, Meaning[]] => [
      `${no} ${text}`,
      [{ words: [], conditions: [[trait.name, 'no']] }],
    ]);
  });
}

function meaningIn(text: string): Meaning {
  const parts = text.trim().split(/\s+/);
  const words = parts.filter(part => part !== '*' && !part.includes('='));
  const conditions = parts.filter(part => part.includes('=')).map(part => part.split('=') as unknown as Condition);
  return { words: words.map(wholeWord), conditions };
}

function wholeWord(text: string): WantedWord {
  return { text, forms: formsOf(text) };
}
