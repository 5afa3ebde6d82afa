import { wordsIn } from '../lib/text.ts';
import type { Breeds, Colors } from './profile.ts';

/** The columns of a pet whose words searches find. */
export interface SearchedRow {
  readonly name: string;
  readonly breeds: string | null;
  readonly colors: string | null;
  readonly tags: string | null;
  readonly description?: string | null;
}

/** The texts of a pet whose words are indexed. */
export type SearchedText = 'name' | 'breeds' | 'colors' | 'tags' | 'description';

/**
 * Returns the words of a pet that the index has, each once with the first text that it is in: of its name, breeds, colors and
 * tags, up to 40.
 * @param described whether to add the words of the description, up to 400
 */
export function wordsOf(pet: SearchedRow, described: boolean): Map<string, SearchedText> {
  const words = new Map<string, SearchedText>();
  addWords(words, pet.name, 'name', WORDS_MAX);
  for (const [text, source] of textsOf(pet)) addWords(words, text, source, WORDS_MAX);
  if (described && pet.description) {
    addWords(words, pet.description, 'description', words.size + DESCRIPTION_WORDS_MAX);
  }
  return words;
}

/** Returns the short texts of a profile. */
function textsOf({ breeds, colors, tags }: SearchedRow): (readonly [text: string, source: SearchedText])[] {
  const texts: (readonly [string | undefined, SearchedText])[] = [];
  if (breeds !== null) {
    const { primary, secondary } = JSON.parse(breeds) as Breeds;
    texts.push([primary, 'breeds'], [secondary, 'breeds']);
  }
  if (colors !== null) {
    const { primary, secondary, tertiary } = JSON.parse(colors) as Colors;
    texts.push([primary, 'colors'], [secondary, 'colors'], [tertiary, 'colors']);
  }
  if (tags !== null) for (const tag of JSON.parse(tags) as string[]) texts.push([tag, 'tags']);
  return texts.filter((text): text is readonly [string, SearchedText] => text[0] !== undefined);
}

/** The maximum length of a search, in code points. */
export const SEARCH_LENGTH_MAX = 100;

const WORDS_MAX = 40;
const DESCRIPTION_WORDS_MAX = 400;

/** Adds the words of a text until there are `most`. */
function addWords(words: Map<string, SearchedText>, text: string, source: SearchedText, most: number): void {
  for (const word of wordsIn(text)) {
    if (words.size >= most) return;
    if (!words.has(word)) words.set(word, source);
  }
}
