import { LAST_CHARACTER } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import { type Database, type Params, query, type Reader, selectJsonTexts } from '../../model/schema.ts';
import { type CategoryNames, categoryNames } from '../categories/names.ts';
import type { TraitFilter } from '../profile/traits.ts';
import type { Tests } from './matching.ts';
import { MERGED_MAX, type WordRuns } from './merged-ids.ts';
import { type Meaning, type Term, termsOf, traitIn, type WantedWord } from './terms.ts';
import { knownWordIndexState, secondsToFill } from './word-index.ts';

/** A database, or another reader of it that does not know when tables change. */
export type SearchedReader = Reader & Partial<Pick<Database, 'dataVersion' | 'topicVersion'>>;

/** The parts of a search that a list uses to find pets. */
export interface Search {
  /** The words and categories whose pets are merged; `undefined` if the list uses another index. */
  readonly merged: WordRuns | undefined;
  /** The terms that are only traits of existing pets, which the query of the list tests. */
  readonly traits: TraitFilter;
  /** The tests of each row that is read. */
  readonly tests: Tests;
  /** The tests of the whole search, which determine the relevance of a row. */
  readonly ranking: Tests;
}

/**
 * Returns the parts of a search for pets.
 *
 * A list by id merges the pets of all words and categories of one term: the rarest term of up to 50 words and 50
 * categories. The other terms are tested row by row; so are all terms if the list cannot merge, or has no such term.
 * @param words see `PetFilter`
 * @param merges whether the list can merge the pets of words
 * @param now the time as of which ages count
 * @throws {Problem} `search_not_ready`
 */
export async function searchOf(
  reader: SearchedReader,
  words: readonly string[],
  merges: boolean,
  now: number,
): Promise<Search> {
  const all = await testsOf(reader, words, now);
  if (words.length === 0) return { merged: NONE, traits: {}, tests: all, ranking: all };
  const { traits, terms } = await withoutTraits(reader, all);
  const best = merges ? await rarestOf(reader, terms.slice(0, COMPARED_MAX), all.names) : undefined;
  const merged = best && ({ by: 'word', keys: best.found.keys, categories: best.found.categories } as const);
  const tested = terms.filter(term => term !== best?.term || !best.found.exact);
  return { merged, traits, tests: { ...all, terms: tested }, ranking: all };
}

/** Returns the terms that are traits as a filter, and the other terms, longest first. */
async function withoutTraits(reader: Reader, { terms, names }: Tests) {
  const traits: Record<string, readonly string[]> = {};
  const others: Term[] = [];
  for (const term of longestFirst(terms)) {
    const trait = others.length < COMPARED_MAX ? await traitOf(reader, term, names) : undefined;
    if (trait === undefined || trait.name in traits) others.push(term);
    else traits[trait.name] = trait.values;
  }
  return { traits, terms: others };
}

/** Returns the term that the fewest pets match, with its words and categories; `undefined` if no term can be merged. */
async function rarestOf(reader: Reader, terms: readonly Term[], names: CategoryNames) {
  let best: { readonly term: Term; readonly found: Found; readonly rows: number } | undefined;
  for (const term of terms) {
    const found = await findRuns(reader, term, names);
    if (found === undefined) continue;
    const isOnly = terms.length === 1 || (found.keys.length === 0 && found.categories.length === 0);
    const rows = isOnly ? 0 : await countRows(reader, found);
    if (best === undefined || rows < best.rows) best = { term, found, rows };
  }
  return best;
}

/** Returns the trait of a term, if no pet and no category has one of its words. */
async function traitOf(reader: Reader, term: Term, names: CategoryNames) {
  const trait = traitIn(term.filter(({ words }) => words.length === 0));
  if (trait === undefined) return undefined;
  for (const meaning of term.filter(({ words }) => words.length > 0)) {
    const { keys, categories } = (await findRuns(reader, [meaning], names)) ?? {};
    if (keys === undefined || categories!.length > 0) return undefined;
    if (keys.length > 0 && (await countRows(reader, { keys, categories: [] })) > 0) return undefined;
  }
  return trait;
}

/**
 * Returns the tests of a search.
 * @throws {Problem} `search_not_ready`
 */
async function testsOf(reader: SearchedReader, words: readonly string[], now: number): Promise<Tests> {
  const state = await knownWordIndexState(reader);
  const { usable, described } = state;
  if (!usable) {
    const seconds = await secondsToFill(reader, state);
    throw problem('search_not_ready', undefined, { headers: ['Retry-After', String(seconds)] });
  }
  const terms = termsOf(words).filter(term => !term.some(isAnything));
  return { terms, names: await categoryNames(reader), described, now };
}

/** Reports whether every animal matches. */
function isAnything({ words, conditions }: Meaning): boolean {
  return words.length === 0 && conditions.length === 0;
}

const NONE: WordRuns = { by: 'word', keys: [], categories: [] };

/** The words and categories of a term's pets. */
interface Found extends Omit<WordRuns, 'by'> {
  /** Whether all these pets match the term. */
  readonly exact: boolean;
}

/**
 * Returns words and categories such that every pet that matches a term has one of them; `undefined` if there are too
 * many, or none.
 */
async function findRuns(reader: Reader, term: Term, names: CategoryNames): Promise<Found | undefined> {
  const keys = new Set<string>();
  const categories = new Set<number>();
  let exact = true;
  for (const { words, conditions } of term) {
    const longest = words.reduce<WantedWord | undefined>(
      (best, word) => (best === undefined || word.text.length > best.text.length ? word : best),
      undefined,
    );
    if (longest === undefined) return undefined;
    if (words.length + conditions.length > 1) exact = false;
    for (const word of await indexedWords(reader, longest)) keys.add(word);
    for (const id of names.idsWith(longest.forms ?? names.wordsFrom(longest.text))) categories.add(id);
    if (keys.size > MERGED_MAX || categories.size > MERGED_MAX) return undefined;
  }
  return { keys: [...keys], categories: [...categories], exact };
}

async function indexedWords(reader: Reader, { text, forms }: WantedWord): Promise<readonly string[]> {
  if (forms !== undefined) return forms;
  return (await reader.all(wordsInRange, { from: text, end: text + LAST_CHARACTER })).map(({ word }) => word);
}

async function countRows(reader: Reader, { keys, categories }: Omit<Found, 'exact'>): Promise<number> {
  // Categories contain many pets, so count them as the maximum.
  if (categories.length > 0) return COUNTED_MAX;
  return (await reader.first(rowsOfWords, { words: JSON.stringify(keys) }))!.rows;
}

/** Longer words are rarer. */
function longestFirst(terms: readonly Term[]): readonly Term[] {
  if (terms.length < 2) return terms;
  const lengthOf = ([first]: Term) => Math.max(...first!.words.map(({ text }) => text.length));
  return terms.toSorted((one, other) => lengthOf(other) - lengthOf(one));
}

/** The maximum number of terms to compare. */
const COMPARED_MAX = 8;

type WordRange = { from: string; end: string };

/** Selects the words of a range in order, one more than can be merged, each with one look-up in the index. */
export const wordsInRange = query((db, p: Params<WordRange>) =>
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

/** Counts the rows of words, up to the maximum that a comparison needs. */
const rowsOfWords = query((db, p: Params<{ words: string }>, engine) =>
  db
    .selectFrom(
      db
        .selectFrom('pet_words')
        .select('pet_id')
        .where('word', 'in', selectJsonTexts(p.words, engine))
        .limit(COUNTED_MAX)
        .as('rows'),
    )
    .select(eb => eb.fn.countAll<number>().as('rows')),
);
const COUNTED_MAX = 2000;
