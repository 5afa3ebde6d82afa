import { routes } from '../../api.ts';
import { type ErrorCode, errors } from '../../errors.ts';
import { PREFIX } from '../../urls.ts';
import { getCatalog } from '../guides/catalog.ts';
import { getGuide } from '../guides/guide.ts';

/** The kinds of results, in the words of their headings. */
export const kinds = { guide: 'Guides', operation: 'API reference', error: 'Error codes' } as const;

/** A search result: a section of a guide, an operation or an error code. */
export interface SearchDocument {
  readonly id: number;
  readonly kind: keyof typeof kinds;
  /** The page that it is part of, or its name. */
  readonly title: string;
  readonly heading: string;
  readonly text: string;
  readonly path: string;
}

/** Returns everything that can be found. Lets other work run between two guides. */
export async function searchDocuments(): Promise<SearchDocument[]> {
  const documents = [...operations(), ...errorCodes()];
  for (const { name, path } of (await getCatalog()).guides) {
    const { article } = (await getGuide(name))!;
    for (const { id, heading, text } of article.sections) {
      if (id === '' && text === '') continue;
      const hash = id === '' ? '' : `#${id}`;
      documents.push({ kind: 'guide', title: article.title, heading, text, path: path + hash });
    }
    await new Promise(resolve => setImmediate(resolve));
  }
  return documents.map((document, id) => ({ id, ...document }));
}

function operations(): Omit<SearchDocument, 'id'>[] {
  return routes.map(({ operationId, method, path, summary, description, tag }) => ({
    kind: 'operation',
    title: summary,
    heading: `${operationId} ${wordsOf(operationId)} ${tag}`,
    text: `${method} ${PREFIX}${path} · ${plain(description)}`,
    path: `/reference/${operationId}`,
  }));
}

function errorCodes(): Omit<SearchDocument, 'id'>[] {
  return (Object.keys(errors) as ErrorCode[]).map(code => {
    const { status, message, meaning, remedy } = errors[code];
    const text = `${status} · ${plain(`${message} ${meaning} ${remedy}`)}`;
    return { kind: 'error', title: code, heading: '', text, path: `/errors/${code}` };
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
