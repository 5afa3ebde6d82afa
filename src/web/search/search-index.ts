import type MiniSearch from 'minisearch';
import type { SearchOptions } from 'minisearch';
import { memoize } from '../../lib/one-per.ts';
import { routes } from '../../views/api.ts';
import { PREFIX } from '../../views/urls.ts';
import { SEARCH_MAX } from '../layout.ts';
import { singular } from '../synonyms.ts';
import { type SearchDocument, searchDocuments } from './documents.ts';

/** The maximum number of words of a query. */
const WORDS_MAX = 8;
const RESULTS_MAX = 20;
/** If fewer pages have all words, pages with some of the words are added up to this number. */
const COMPLETED_TO = 10;
/** The maximum number of further sections of a page. */
const SECTIONS_MAX = 4;

interface Found extends SearchDocument {
  /** The words of the document that match, in lower case, without the endings of plurals. */
  readonly terms: readonly string[];
}

/** A found page: its best section, and some others that match. */
export interface FoundPage extends Found {
  readonly sections: readonly Found[];
}

/** Frequent words, which are ignored so that questions find their subject. */
const stopWords = new Set(
  'a an and are as at be by can do does for from has have how i if in is it me my of on or should that the this to what when where which why will with you your'.split(
    ' ',
  ),
);

const allWords: SearchOptions = { combineWith: 'AND' };
/** One letter may differ in words of four letters, two in words of eight. */
const similarWords: SearchOptions = { ...allWords, fuzzy: word => (word.length > 3 ? 0.25 : false), maxFuzzy: 2 };
const anyWord: SearchOptions = { combineWith: 'OR' };

interface Index {
  readonly words: MiniSearch<SearchDocument>;
  /** All documents; the id of each is its position. */
  readonly documents: readonly SearchDocument[];
}

/**
 * Returns the results of a query, best first and each page once. Pages that the query names come first, then pages with
 * all its words. If there are none, pages with similar words follow; if there are few, pages with some of the words.
 */
export async function search(query: string): Promise<FoundPage[]> {
  const words = wordsOf(query);
  if (words === '') return [];
  const index = await getIndex();
  const matches = (options: SearchOptions) =>
    index.words.search(words, options).map(({ id, terms }) => ({ ...index.documents[id]!, terms }));
  const exact = matches(allWords);
  // Most queries are spelled correctly, and comparing with similar words is slower.
  const all = exact.length > 0 ? exact : matches(similarWords);
  const pages = byPage([...named(index, query.trim().slice(0, SEARCH_MAX)), ...all]);
  if (pages.size < COMPLETED_TO && words.includes(' ')) {
    const others = [...byPage(matches(anyWord))].filter(([page]) => !pages.has(page));
    for (const [page, found] of others.slice(0, COMPLETED_TO - pages.size)) pages.set(page, found);
  }
  return [...pages.values()].slice(0, RESULTS_MAX).map(([best, ...others]) => {
    const sections = others.filter(({ path }) => path !== best!.path).slice(0, SECTIONS_MAX);
    return { ...best!, sections };
  });
}

/** Groups documents by page. Each part of the front page counts as a page. */
function byPage(found: readonly Found[]): Map<string, Found[]> {
  return Map.groupBy(found, ({ path }) => (path.startsWith('/#') ? path : path.split('#')[0]!));
}

/**
 * Returns the documents that a query names: operations, as `GET /pets`, `/v1/pets/7` or `list pets`, an error code, or
 * the title of a page.
 */
function named({ documents }: Index, query: string): Found[] {
  const text = query.toLowerCase();
  const [, method, path] = /^(?:([a-z]+)\s+)?(?:https?:\/\/[^/\s]+)?(\/[^\s?#]+)/i.exec(query) ?? [];
  const below = path?.startsWith(`${PREFIX}/`) ? path.slice(PREFIX.length) : path;
  const operations = routes.filter(route =>
    below === undefined
      ? route.operationId.toLowerCase() === text.replaceAll(' ', '')
      : isAt(below, route.path) && (method === undefined || route.method === method.toUpperCase()),
  );
  const paths = [...operations.map(({ operationId }) => `/reference/${operationId}`), `/errors/${text}`];
  const isTitled = ({ title, heading }: SearchDocument) => heading === '' && title.toLowerCase() === text;
  return documents.filter(one => paths.includes(one.path) || isTitled(one)).map(one => ({ ...one, terms: [] }));
}

/** Reports whether a path is that of an operation, with values or names in place of its parameters. */
function isAt(path: string, template: string): boolean {
  const [own, given] = [template.split('/'), path.replace(/\/$/, '').split('/')];
  return own.length === given.length && own.every((part, at) => part.startsWith('{') || part === given[at]);
}

function wordsOf(query: string): string {
  const words = query.slice(0, SEARCH_MAX).toLowerCase().split(/\s+/);
  return words
    .filter(word => word !== '' && !stopWords.has(word))
    .slice(0, WORDS_MAX)
    .join(' ');
}

/** Returns the index. The first search builds it, in steps that let other work run in between. */
const getIndex = memoize(buildIndex);

async function buildIndex(): Promise<Index> {
  const { default: MiniSearch } = await import('minisearch');
  const documents = await searchDocuments();
  const words = new MiniSearch<SearchDocument>({
    fields: ['title', 'heading', 'keywords', 'text'],
    processTerm: term => singular(term.toLowerCase()),
    searchOptions: {
      boost: { title: 4, heading: 3, keywords: 3 },
      // Two letters match the beginning of too many words to be useful, and cost the most.
      prefix: word => word.length > 2,
      boostDocument: id => weightOf(documents[id]!),
    },
  });
  await words.addAllAsync(documents, { chunkSize: 25 });
  return { words, documents };
}

/** Explanations rank above error codes, whose names contain common words. */
function weightOf({ kind, path }: SearchDocument): number {
  if (kind === 'error') return 0.3;
  if (kind === 'page') return 1.2;
  // These references contain almost every word.
  if (/^\/guides\/(command-line|settings)/.test(path)) return 0.4;
  // The beginning of a guide introduces the whole guide.
  return kind === 'guide' && !path.includes('#') ? 1.5 : 1;
}
