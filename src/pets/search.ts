import { problem } from '../errors.ts';
import { LAST_CHARACTER } from '../lib/text.ts';
import { type Params, query, type Reader } from '../schema.ts';
import { MERGED_MAX } from './merged-ids.ts';
import { secondsToFill, wordIndexState } from './word-index.ts';

/** How a list finds the pets whose words begin so. */
export interface Search {
  /** The words whose pets are merged; `undefined` where the list reads along another index. */
  readonly merged: readonly string[] | undefined;
  /** The beginnings to look for among the words of each row that is read. */
  readonly tested: readonly string[];
  /** Whether to look for them in descriptions too. */
  readonly described: boolean;
}

/**
 * Returns how to search for pets with words that begin so.
 *
 * A list by id merges the pets of all words with one of the beginnings: the rarest beginning of up to 50 words. The others
 * are tested row by row, as are all in a list that cannot merge, or without such a beginning.
 * @param merges whether the list can merge the pets of words
 * @throws {Problem} `search_not_ready`
 */
export async function searchOf(reader: Reader, beginnings: readonly string[], merges: boolean): Promise<Search> {
  const state = await wordIndexState(reader);
  const { usable, described } = state;
  if (!usable) {
    const seconds = await secondsToFill(reader, state);
    throw problem('search_not_ready', undefined, { headers: ['Retry-After', String(seconds)] });
  }
  if (beginnings.length === 0) return { merged: [], tested: [], described };
  let best: { readonly beginning: string; readonly words: readonly string[]; readonly rows: number } | undefined;
  // Longer beginnings are rarer.
  const longest = merges ? beginnings.toSorted((one, other) => other.length - one.length) : [];
  for (const beginning of longest.slice(0, COMPARED_MAX)) {
    const range = { from: beginning, end: beginning + LAST_CHARACTER };
    const words = (await reader.all(wordsInRange, range)).map(({ word }) => word);
    if (words.length > MERGED_MAX) continue;
    const isOnly = beginnings.length === 1 || words.length === 0;
    const { rows } = isOnly ? { rows: words.length } : (await reader.first(rowsInRange, range))!;
    if (best === undefined || rows < best.rows) best = { beginning, words, rows };
  }
  return {
    merged: best?.words,
    tested: beginnings.filter(beginning => beginning !== best?.beginning),
    described,
  };
}

/** How many beginnings to compare. */
const COMPARED_MAX = 8;

type WordRange = { from: string; end: string };

/** Selects the words of a range in order, one more than are merged: each by one look-up in the index. */
const wordsInRange = query((db, p: Params<WordRange>) =>
  db
    .withRecursive('found(word, number)', cte => {
      const next = (after: '>' | '>=') => (word: never) =>
        cte
          .selectFrom('pet_words')
          .select('pet_words.word')
          .where('pet_words.word', after, word)
          .where('pet_words.word', '<', p.end)
          .orderBy('pet_words.word')
          .limit(1);
      return cte
        .selectNoFrom(eb => [next('>=')(p.from as never).as('word'), eb.lit(1).as('number')])
        .unionAll(
          cte
            .selectFrom('found')
            .select(eb => [next('>')(eb.ref('found.word') as never).as('word'), eb('number', '+', 1).as('number')])
            .where('found.word', 'is not', null)
            .where('number', '<=', MERGED_MAX),
        );
    })
    .selectFrom('found')
    .select('word')
    .where('word', 'is not', null)
    .$narrowType<{ word: string }>(),
);

/** Counts the rows of a range, up to as many as are worth a comparison. */
const rowsInRange = query((db, p: Params<WordRange>) =>
  db
    .selectFrom(
      db
        .selectFrom('pet_words')
        .select('pet_id')
        .where('word', '>=', p.from)
        .where('word', '<', p.end)
        .limit(COUNTED_MAX)
        .as('rows'),
    )
    .select(eb => eb.fn.countAll<number>().as('rows')),
);
const COUNTED_MAX = 2000;
