import { type Html, html, rawHtml } from '../../lib/html/html.ts';
import { type Article, renderMarkdown } from '../../lib/html/markdown.ts';
import { type Catalog, type GuideEntry, getCatalog, readDocs } from './catalog.ts';
import { imageView } from './images.ts';
import { addressOf } from './links.ts';

/** A page of `docs/` as a page of the site, with the addresses of the documentation. */
export interface Guide {
  readonly entry: GuideEntry;
  /** The Markdown, with the links of the file. */
  readonly source: string;
  readonly article: Article;
}

/**
 * Marks the place in a guide above the first example that needs a key. Markdown cannot contain it, because comments are
 * omitted.
 */
export const KEY_PROMPT = '<!-- key -->';

/** The rendered guides; bounded by the number of guides. */
const guides = new Map<GuideEntry, Promise<Guide>>();

/** Returns a guide by its name; `undefined` if there is none. Renders each guide once. */
export async function getGuide(name: string): Promise<Guide | undefined> {
  const catalog = await getCatalog();
  const entry = catalog.guides.find(one => one.name === name);
  if (entry === undefined) return undefined;
  const guide = guides.getOrInsertComputed(entry, () => renderGuide(catalog, entry));
  guide.catch(() => guides.delete(entry));
  return guide;
}

async function renderGuide(catalog: Catalog, entry: GuideEntry): Promise<Guide> {
  const source = await readDocs(entry.file);
  let hasKey = false;
  const article = await renderMarkdown(source, {
    link: href => addressOf(catalog, entry.file, href),
    image: (href, alt) => imageView(catalog.images, href, alt),
    code(text, language) {
      const parts = entry.isLocal ? [text] : text.split(placeholder);
      const isFirst = parts.length > 1 && !hasKey;
      hasKey ||= isFirst;
      return [isFirst && rawHtml(KEY_PROMPT), codeBlock(parts, language)];
    },
  });
  return { entry, source, article };
}

/** The placeholders for the reader's key in the examples. */
const placeholder = /(\$KEY\b|petstore_test_…)/;

const responses: readonly string[] = ['', 'http', 'json', 'text'];

/** Returns a code block. @param parts its text, in which every second part is a placeholder of the key */
function codeBlock(parts: readonly string[], language: string): Html {
  const content = parts.map((part, index) => (index % 2 === 0 ? part : html`<span class="key">${part}</span>`));
  const code = html`<code${language !== '' && html` class="language-${language}"`}>${content}</code>`;
  if (responses.includes(language)) return html`<pre class="response">${code}</pre>\n`;
  if (language === 'sh' && !parts[0]!.startsWith('#!')) return html`<pre class="copy">${code}</pre>\n`;
  // The lines of a program scroll; browsers allow that with the keyboard only if the element can have the focus.
  return html`<pre class="copy program" tabindex="0">${code}</pre>\n`;
}
