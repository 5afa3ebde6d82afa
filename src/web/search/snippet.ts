import { type Html, html } from '../../lib/html/html.ts';

/** The length of a snippet, in characters. */
const LENGTH = 180;
/** The characters of a snippet before the first match. */
const BEFORE = 60;

/** Returns the part of a text around the first match, with all matches marked. @param terms the words that match, without the endings of plurals */
export function snippet(text: string, terms: readonly string[]): Html {
  const pattern = patternOf(terms);
  const plain = text.replaceAll(/\s+/g, ' ');
  const first = pattern === undefined ? 0 : Math.max(0, plain.search(pattern));
  const from = first <= BEFORE ? 0 : plain.indexOf(' ', first - BEFORE) + 1;
  const end = from + LENGTH >= plain.length ? plain.length : Math.max(plain.lastIndexOf(' ', from + LENGTH), first + 1);
  return html`${from > 0 && '… '}${marked(plain.slice(from, end), terms)}${end < plain.length && ' …'}`;
}

/** Returns a text with its matches marked. */
export function marked(text: string, terms: readonly string[]): Html {
  const pattern = patternOf(terms);
  const parts = pattern === undefined ? [text] : text.split(pattern);
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : html`<mark>${part}</mark>`))}`;
}

/** Returns the pattern of the words with one group around it. */
function patternOf(terms: readonly string[]): RegExp | undefined {
  if (terms.length === 0) return undefined;
  const words = terms.toSorted((a, b) => b.length - a.length).map(patternOfWord);
  return new RegExp(`(?<![\\p{L}\\p{N}])(${words.join('|')})(?![\\p{L}\\p{N}])`, 'iu');
}

/** Returns the pattern of a word in both numbers. */
function patternOfWord(word: string): string {
  return word.endsWith('y') ? `${RegExp.escape(word.slice(0, -1))}(?:y|ies)` : `${RegExp.escape(word)}s?`;
}
