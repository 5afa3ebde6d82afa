import { wordsIn } from '../../lib/text.ts';
import type { Breeds, Colors } from '../../model/profile.ts';

/** The columns of a pet in which searches find words. */
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
 * Returns the indexed words of a pet, each with the first text that contains it: up to 40 of its name, breeds, colors
 * and tags.
 * @param described whether to add the words of the description, up to 400
 */
export function wordsOf(pet: SearchedRow, described: boolean): Map<string, SearchedText> {
  const words = new Map<string, SearchedText>();
  for (const [text, source] of textsOf(pet)) {
    const most = source === 'description' ? words.size + DESCRIPTION_WORDS_MAX : WORDS_MAX;
    if (text === undefined || (source === 'description' && !described)) continue;
    for (const word of wordsIn(text)) {
      if (words.size >= most) break;
      if (!words.has(word)) words.set(word, source);
    }
  }
  return words;
}

/** Returns the name and the texts of a profile, the description last. */
function textsOf({
  name,
  breeds,
  colors,
  tags,
  description,
}: SearchedRow): (readonly [text: string | undefined, source: SearchedText])[] {
  const texts: ReturnType<typeof textsOf> = [[name, 'name']];
  if (breeds !== null) {
    const { primary, secondary } = JSON.parse(breeds) as Breeds;
    texts.push([primary, 'breeds'], [secondary, 'breeds']);
  }
  if (colors !== null) {
    const { primary, secondary, tertiary } = JSON.parse(colors) as Colors;
    texts.push([primary, 'colors'], [secondary, 'colors'], [tertiary, 'colors']);
  }
  if (tags !== null) for (const tag of JSON.parse(tags) as string[]) texts.push([tag, 'tags']);
  if (description) texts.push([description, 'description']);
  return texts;
}

/** The maximum length of a search, in code points. */
export const SEARCH_LENGTH_MAX = 100;

const WORDS_MAX = 40;
const DESCRIPTION_WORDS_MAX = 400;
