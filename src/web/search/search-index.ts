import type MiniSearch from 'minisearch';
import type { SearchOptions, SearchResult } from 'minisearch';
import { type SearchDocument, searchDocuments } from './documents.ts';

/** The longest query, in characters; the rest is ignored. */
export const QUERY_MAX = 100;
/** The most words of a query. */
const WORDS_MAX = 8;
const RESULTS_MAX = 20;

export interface Found extends SearchDocument {
  /** The words of the document that match, in lower case. */
  readonly terms: readonly string[];
}

/** Words that are everywhere, so that questions find what they are about. */
const stopWords = new Set(
  'a an and are as at be by can do does for from how i if in is it my of on or that the this to what when where which why with'.split(
    ' ',
  ),
);

/** The searches, in this order until one has results: for all words, for similar ones, and for any of them. */
const attempts: readonly SearchOptions[] = [
  { combineWith: 'AND' },
  // One letter may differ in words of four letters, two in words of eight.
  { combineWith: 'AND', fuzzy: word => (word.length > 3 ? 0.25 : false), maxFuzzy: 2 },
  { combineWith: 'OR' },
];

let index: Promise<MiniSearch<SearchDocument>> | undefined;

/** Returns what the words of a query match, best first. */
export async function search(query: string): Promise<Found[]> {
  const words = wordsOf(query);
  if (words === '') return [];
  const index = await getIndex();
  // Most queries are spelled correctly; comparing with similar words costs more.
  const found = attempts.reduce<SearchResult[]>(
    (found, options) => (found.length > 0 ? found : index.search(words, options)),
    [],
  );
  return found.slice(0, RESULTS_MAX).map(({ id, terms, kind, title, heading, text, path }) => ({
    ...{ id, terms, kind, title, heading, text, path },
  }));
}

function wordsOf(query: string): string {
  const words = query.slice(0, QUERY_MAX).toLowerCase().split(/\s+/);
  return words
    .filter(word => word !== '' && !stopWords.has(word))
    .slice(0, WORDS_MAX)
    .join(' ');
}

/** Returns the index. The first search builds it, in steps between which other work runs. */
function getIndex(): Promise<MiniSearch<SearchDocument>> {
  index ??= buildIndex();
  index.catch(() => {
    index = undefined;
  });
  return index;
}

async function buildIndex(): Promise<MiniSearch<SearchDocument>> {
  const { default: Index } = await import('minisearch');
  const built = new Index<SearchDocument>({
    fields: ['title', 'heading', 'text'],
    storeFields: ['kind', 'title', 'heading', 'text', 'path'],
    searchOptions: {
      boost: { title: 4, heading: 3 },
      // Two letters begin too many words to be of use, and cost the most.
      prefix: word => word.length > 2,
      // The beginning of a guide is about all of it; the reference of the command line has every word.
      boostDocument: (_id, _word, stored) => weightOf(stored as Pick<SearchDocument, 'path' | 'kind'>),
    },
  });
  await built.addAllAsync(await searchDocuments(), { chunkSize: 25 });
  return built;
}

function weightOf({ kind, path }: Pick<SearchDocument, 'path' | 'kind'>): number {
  if (path.startsWith('/guides/command-line')) return 0.5;
  return kind === 'guide' && !path.includes('#') ? 1.5 : 1;
}
