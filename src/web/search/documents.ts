import { type ErrorCode, errors } from '../../model/errors.ts';
import { routes } from '../../views/api.ts';
import { PREFIX } from '../../views/urls.ts';
import { getCatalog } from '../guides/catalog.ts';
import { getGuide } from '../guides/guide.ts';
import { synonymsOf } from '../synonyms.ts';
import { guideKeywords, sitePages } from './keywords.ts';

/** The kinds of results, with their labels. */
export const kinds = { page: 'Page', guide: 'Guide', operation: 'API reference', error: 'Error code' } as const;

/** A search result: a page of the site, a section of a guide, an operation or an error code. */
export interface SearchDocument {
  readonly id: number;
  readonly kind: keyof typeof kinds;
  /** The title of the page that contains it, or its own name. */
  readonly title: string;
  readonly heading: string;
  /** Words that people search for. */
  readonly keywords: string;
  readonly text: string;
  readonly path: string;
}

/** Returns all documents. Lets other work run between two guides. */
export async function searchDocuments(): Promise<SearchDocument[]> {
  const documents = [...sitePages.map(page => ({ kind: 'page' as const, heading: '', ...page }))];
  const all: Omit<SearchDocument, 'id'>[] = [...documents, ...operations(), ...errorCodes()];
  for (const { name, path } of (await getCatalog()).guides) {
    const { article } = (await getGuide(name))!;
    for (const { id, heading, text } of article.sections) {
      if (id === '' && text === '') continue;
      const hash = id === '' ? '' : `#${id}`;
      const keywords = id === '' ? (guideKeywords[name] ?? '') : '';
      all.push({ kind: 'guide', title: article.title, heading, keywords, text, path: path + hash });
    }
    await new Promise(resolve => setImmediate(resolve));
  }
  return all.map((document, id) => ({ id, ...document }));
}

function operations(): Omit<SearchDocument, 'id'>[] {
  return routes.map(({ operationId, method, path, summary, description, tag }) => ({
    kind: 'operation',
    title: summary,
    heading: `${operationId} ${wordsOf(operationId)} ${tag}`,
    keywords: synonymsOf(operationId),
    text: `${method} ${PREFIX}${path} · ${plain(description)}`,
    path: `/reference/${operationId}`,
  }));
}

function errorCodes(): Omit<SearchDocument, 'id'>[] {
  return (Object.keys(errors) as ErrorCode[]).map(code => {
    const { status, message, meaning, remedy } = errors[code];
    const text = `${status} · ${plain(`${message} ${meaning} ${remedy}`)}`;
    return { kind: 'error', title: code, heading: '', keywords: '', text, path: `/errors/${code}` };
  });
}

/** Returns the words of a name in camel case: `create pet`. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
}

/** Returns a sentence of the documentation without its backticks. */
function plain(sentence: string): string {
  return sentence.replaceAll('`', '');
}
