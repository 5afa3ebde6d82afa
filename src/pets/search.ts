import { problem } from '../errors.ts';
import {
  type KeysetParams,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  type Tables,
} from '../schema.ts';
import { MERGED_MAX } from './page-query.ts';
import { wordIndexState } from './word-index.ts';
import { AFTER_WORDS } from './words.ts';

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
  const { usable, described } = await wordIndexState(reader);
  if (!usable) throw problem('search_not_ready', undefined, { headers: ['Retry-After', '60'] });
  if (beginnings.length === 0) return { merged: [], tested: [], described };
  let best: { readonly beginning: string; readonly words: readonly string[]; readonly rows: number } | undefined;
  // Longer beginnings are rarer.
  const longest = merges ? beginnings.toSorted((one, other) => other.length - one.length) : [];
  for (const beginning of longest.slice(0, COMPARED_MAX)) {
    const range = { from: beginning, end: beginning + AFTER_WORDS };
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

/** The range of ids that a search reads, in reading order. */
export interface SearchRange {
  readonly descending: boolean;
  readonly fromId: number;
  readonly endId: number;
}

/** The ids of pets, and the id after which there may be more. */
export interface FoundIds {
  readonly ids: readonly number[];
  readonly end: number | undefined;
}

/**
 * Returns the ids of the pets that have one of the words, in reading order, up to `end`.
 * @param rows how many ids to read of each word: if one has more, at least as many are returned
 */
export async function idsWithWords(
  reader: Reader,
  words: readonly string[],
  { descending, fromId, endId }: SearchRange,
  rows: number,
): Promise<FoundIds> {
  if (words.length === 0) return { ids: [], end: undefined };
  const size = SIZES.find(size => size >= words.length)!;
  const values: Record<string, unknown> = { fromId, endId, rows };
  // No pet has an empty word.
  for (let index = 0; index < size; index++) values[`word${index}`] = words[index] ?? '';
  const found = await reader.all(idsByWords({ words: size, descending }), values as never);
  const runs = Map.groupBy(found, ({ run }) => run);
  const precedes = (one: number, other: number) => (descending ? one > other : one < other);
  let end: number | undefined;
  for (const run of runs.values()) {
    const last = run.at(-1)!.id;
    if (run.length === rows && (end === undefined || precedes(last, end))) end = last;
  }
  const ids = [...new Set(found.map(({ id }) => id))].filter(id => end === undefined || !precedes(end, id));
  return { ids: ids.sort((one, other) => (descending ? other - one : one - other)), end };
}

/** Numbers of words, rounded up so that few queries serve all of them. */
const SIZES = [1, 2, 4, 8, 16, 32, MERGED_MAX];

type IdsValues = KeysetParams & { readonly [Key in `word${number}`]: string };

const idsByWords = queriesByShape(
  ['words', 'descending'],
  ({ words, descending }: { readonly words: number; readonly descending: boolean }) =>
    query((db, p: Params<IdsValues>) => {
      const [first, ...others] = Array.from({ length: words }, (_, run) => {
        const rows = db
          .selectFrom('pet_words')
          .select(eb => ['pet_id as id', eb.lit(run).as('run')])
          .where('word', '=', p[`word${run}`]!);
        const page = keysetPage<Tables, 'pet_words', { id: number; run: number }>(rows, 'pet_id', descending, p);
        return db.selectFrom(page.as(`run${run}`)).select(['id', 'run']);
      });
      return others.reduce((all, other) => all.unionAll(other), first!);
    }),
);

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
