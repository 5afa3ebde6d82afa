import type { Marked, RendererObject, Token, Tokens } from 'marked';
import { escapeHtml, type Html, type HtmlValue, html, rawHtml } from './html.ts';

/** Functions that the renderer calls for links, images and code blocks. */
export interface MarkdownOptions {
  /** Returns the address of a link, or `undefined` to show only its text. */
  link(href: string): string | undefined;
  /** Returns the HTML of an image, or `undefined` to show only its alternative text. By default, all show only that. */
  image?(href: string, alt: string): Html | undefined;
  /** Returns the HTML of a code block. @param language the word after the fence, or '' */
  code(text: string, language: string): HtmlValue;
}

/** A page written in Markdown. */
export interface Article {
  /** Its first heading of level 1, as text. */
  readonly title: string;
  /** The content without that heading. */
  readonly body: Html;
  readonly sections: readonly Section[];
}

/** A heading with the text up to the next heading. The first section has the text above all headings. */
export interface Section {
  /** The id of the heading; '' for the first section. */
  readonly id: string;
  /** 2 or more; 1 for the first section. */
  readonly level: number;
  readonly heading: string;
  /** The text without its markup, for search. */
  readonly text: string;
}

/**
 * Converts Markdown (GitHub's flavor) to HTML. HTML in the text is shown as text, and comments are omitted. Headings
 * get the ids that GitHub gives them.
 */
export async function renderMarkdown(text: string, options: MarkdownOptions): Promise<Article> {
  const { Marked } = await import('marked');
  return new ArticleWriter(new Marked(), options).write(text);
}

/** Returns the plain text of a line of Markdown. */
export async function plainText(text: string): Promise<string> {
  const { lexer } = await import('marked');
  return lexer(text).map(textOf).join(' ').trim();
}

interface OpenSection extends Section {
  text: string;
}

class ArticleWriter {
  readonly #marked: Marked;
  readonly #ids = new Map<string, number>();
  readonly #sections: OpenSection[] = [{ id: '', level: 1, heading: '', text: '' }];
  #title = '';

  constructor(marked: Marked, options: MarkdownOptions) {
    marked.use({ renderer: rendererOf(options, () => this.#sections.at(-1)!.heading || this.#title) });
    this.#marked = marked;
  }

  write(text: string): Article {
    const body = this.#marked.lexer(text).map(token => this.#topLevel(token));
    return { title: this.#title, body: html`${body}`, sections: this.#sections };
  }

  #topLevel(token: Token): HtmlValue {
    if (token.type === 'heading') return this.#heading(token as Tokens.Heading);
    const section = this.#sections.at(-1)!;
    section.text = `${section.text} ${textOf(token)}`.trim();
    return rawHtml(this.#marked.parser([token]));
  }

  #heading({ depth, tokens }: Tokens.Heading): HtmlValue {
    const heading = tokens.map(textOf).join('');
    if (depth === 1 && this.#title === '') {
      this.#title = heading;
      return undefined;
    }
    const id = this.#idOf(heading);
    const level = Math.max(2, depth);
    this.#sections.push({ id, level, heading, text: '' });
    // The heading is a link to itself; a link within it shows its text.
    const content = this.#marked.Parser.parseInline(tokens, this.#marked.defaults).replaceAll(/<\/?a\b[^>]*>/g, '');
    return rawHtml(`<h${level} id="${escapeHtml(id)}"><a href="#${escapeHtml(id)}">${content}</a></h${level}>\n`);
  }

  /** Returns the id of a heading in GitHub's form: unique on the page. */
  #idOf(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const earlier = this.#ids.get(slug) ?? 0;
    this.#ids.set(slug, earlier + 1);
    return earlier === 0 ? slug : `${slug}-${earlier}`;
  }
}

/**
 * Returns the changes to the renderer of `marked`, which copies HTML in the text unchanged.
 * @param nameOf returns the name of a table
 */
function rendererOf(options: MarkdownOptions, nameOf: () => string): RendererObject {
  return {
    html: token =>
      isComment(token) ? '' : token.block ? `<p>${escapeHtml(token.raw.trim())}</p>` : escapeHtml(token.raw),
    text(token) {
      return 'tokens' in token && token.tokens ? this.parser.parseInline(token.tokens) : escapeHtml(token.text);
    },
    heading({ tokens }) {
      return `<p><strong>${this.parser.parseInline(tokens)}</strong></p>`;
    },
    code: ({ text, lang = '' }) => html`${options.code(text, lang.split(/\s/)[0]!)}`.text,
    image({ href, text, tokens }) {
      return options.image?.(href, text)?.text ?? this.parser.parseInline(tokens);
    },
    checkbox: ({ raw }) => raw,
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const address = safeAddress(options.link(href));
      return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
    },
    tablecell({ header, text, tokens }) {
      const content = this.parser.parseInline(tokens);
      return header && text !== '' ? `<th scope="col">${content}</th>` : `<td>${content}</td>`;
    },
    table({ header, rows }) {
      const rowOf = (cells: Tokens.TableCell[]) => `<tr>${cells.map(cell => this.tablecell(cell)).join('')}</tr>\n`;
      const head = header.some(({ text }) => text !== '') ? `<thead>${rowOf(header)}</thead>\n` : '';
      // Browsers scroll this element with the keyboard only if it can have the focus.
      return `<div class="scroll" role="group" tabindex="0" aria-label="Table: ${escapeHtml(nameOf())}"><table>
${head}<tbody>${rows.map(rowOf).join('')}</tbody>
</table></div>
`;
    },
  };
}

/**
 * Returns an address that a page may link to; `undefined` for addresses that run code or that browsers read
 * differently.
 */
function safeAddress(address: string | undefined): string | undefined {
  return address !== undefined && /^(https?:\/\/|mailto:|#|\/(?![/\\]))[^\s\\]*$/i.test(address) ? address : undefined;
}

function isComment({ raw }: Tokens.Generic): boolean {
  return /^<!--(?:(?!-->)[\s\S])*-->\s*$/.test(raw);
}

/** Returns the text of a token without its markup. */
function textOf(token: Token): string {
  const { type, raw, text, tokens, items, header, rows } = token as Tokens.Generic;
  if (type === 'html') return isComment(token) ? '' : raw;
  if (type === 'table')
    return [header, ...rows]
      .flat()
      .map((cell: Tokens.TableCell) => cell.tokens.map(textOf).join(''))
      .join(' · ');
  if (items !== undefined) return items.map((item: Token) => textOf(item)).join(' ');
  if (tokens !== undefined) return tokens.map(textOf).join(type === 'list_item' ? ' ' : '');
  return type === 'br' || type === 'space' ? ' ' : (text ?? '');
}
