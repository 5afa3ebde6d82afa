import { setImmediate as endOfTurn } from 'node:timers/promises';
import { nearest } from '../../lib/suggestion.ts';
import { LAST_CHARACTER, wordsIn } from '../../lib/text.ts';
import { categoryNames } from '../categories/names.ts';
import { type SearchedReader, wordsInRange } from './search.ts';
import { phrasesIn, wordsWithMeanings } from './terms.ts';
import { knownWords } from './typed-search.ts';

/**
 * Returns a search with spelling errors corrected: each word that no animal has is replaced by the nearest word of
 * animals or categories, or with a meaning. `undefined` if there is none.
 *
 * The index has words of public fields only. Reads at most a few hundred words of the index, and none after the time
 * limit.
 * @param timeMaxMs the time limit of reading, in milliseconds
 */
export async function correctedSearch(
  reader: SearchedReader,
  text: string,
  timeMaxMs = TIME_MAX_MS,
): Promise<string | undefined> {
  const deadline = performance.now() + timeMaxMs;
  const words = wordsIn(text);
  const known = await knownWords(reader, words);
  const names = await categoryNames(reader);
  const hasMeaning = new Set(phrasesIn(words).flatMap(({ typed, meanings }) => (meanings === undefined ? [] : typed)));
  const isWrong = (word: string) =>
    word.length >= LENGTH_MIN &&
    !(known.has(word) || hasMeaning.has(word) || /\d/.test(word) || names.wordsFrom(word).length > 0);
  const wrong = words.filter(isWrong);
  if (wrong.length === 0 || wrong.length > CORRECTED_MAX) return undefined;
  const others = [...names.allWords(), ...wordsWithMeanings()].filter(word => word.length >= LENGTH_MIN);
  const corrected = new Map<string, string>();
  for (const word of wrong) {
    const near = nearest(word, [...(await wordsLike(reader, word, deadline)), ...others]);
    if (near === undefined) return undefined;
    corrected.set(word, near);
  }
  return words.map(word => corrected.get(word) ?? word).join(' ');
}

/** The minimum length of a word that is corrected, and the maximum number of words of a search. */
const LENGTH_MIN = 4;
const CORRECTED_MAX = 2;
const TIME_MAX_MS = 2;

/** Returns words of animals with the same beginning as a word, even if its second letter is wrong. */
async function wordsLike(reader: SearchedReader, word: string, deadline: number): Promise<string[]> {
  const [first, second, third] = [...word] as [string, string, string];
  const found: string[] = [];
  for (const beginning of [first + second + third, first + second, second + first, first + third]) {
    if (performance.now() >= deadline) break;
    const range = { from: beginning, end: beginning + LAST_CHARACTER };
    for (const row of await reader.all(wordsInRange, range)) found.push(row.word);
  }
  return found;
}

/** Reports whether the process has time for optional work: turns of its event loop are short, and no list waits. */
export async function hasTime({ scans }: { readonly scans: { readonly size: number } }): Promise<boolean> {
  const start = performance.now();
  await endOfTurn();
  return scans.size === 0 && performance.now() - start < TURN_MAX_MS;
}

/** The longest turn of an event loop without load, in milliseconds. */
const TURN_MAX_MS = 20;
