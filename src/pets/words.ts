import { foldedText } from '../lib/text.ts';
import type { Breeds, Colors } from './profile.ts';

/** The columns of a pet whose words searches find. */
export interface SearchedRow {
  readonly name: string;
  readonly breeds: string | null;
  readonly colors: string | null;
  readonly tags: string | null;
  readonly description?: string | null;
}

/**
 * Returns the words of a pet that searches find, each once: of its name, breeds, colors and tags, up to 40.
 * @param described whether to add the words of the description, up to 400
 */
export function wordsOf(pet: SearchedRow, described: boolean): Set<string> {
  const words = new Set<string>();
  addWords(words, pet.name, WORDS_MAX);
  for (const text of textsOf(pet)) addWords(words, text, WORDS_MAX);
  if (described && pet.description) addWords(words, pet.description, words.size + DESCRIPTION_WORDS_MAX);
  return words;
}

/** Returns the short texts of a profile. */
function textsOf({ breeds, colors, tags }: SearchedRow): string[] {
  const texts: (string | undefined)[] = [];
  if (breeds !== null) {
    const { primary, secondary } = JSON.parse(breeds) as Breeds;
    texts.push(primary, secondary);
  }
  if (colors !== null) {
    const { primary, secondary, tertiary } = JSON.parse(colors) as Colors;
    texts.push(primary, secondary, tertiary);
  }
  if (tags !== null) texts.push(...(JSON.parse(tags) as string[]));
  return texts.filter(text => text !== undefined);
}

/** Reports whether each of the beginnings begins a word of a pet. */
export function hasWords(pet: SearchedRow, beginnings: readonly string[], described: boolean): boolean {
  const words = [...wordsOf(pet, described)];
  return beginnings.every(beginning => words.some(word => word.startsWith(beginning)));
}

/** Returns the beginnings of words that a search has, each once, sorted, without those that begin another one. */
export function beginningsIn(text: string): string[] {
  const words = new Set<string>();
  addWords(words, text, Number.POSITIVE_INFINITY);
  const sorted = [...words].sort();
  return sorted.filter((word, index) => sorted[index + 1]?.startsWith(word) !== true);
}

/** The maximum length of a search, in code points. */
export const SEARCH_LENGTH_MAX = 100;

const WORDS_MAX = 40;
const DESCRIPTION_WORDS_MAX = 400;
/** In code points. Longer words are cut. */
const WORD_LENGTH_MAX = 40;

const notInWords = /[^\p{L}\p{N}]+/u;

/** Adds the words of a text until there are `most`: in lower case, without marks, split at all but letters and digits. */
function addWords(words: Set<string>, text: string, most: number): void {
  for (const word of foldedText(text).split(notInWords)) {
    if (words.size >= most) return;
    if (word !== '') words.add(word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join('') : word);
  }
}
