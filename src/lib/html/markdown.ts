import type { Token, Tokens } from 'marked';
import { Html, type HtmlValue, html } from './html.ts';

/** What the renderer asks about the places that the text leads to. */
export interface MarkdownOptions {
  /** Returns the address that a link leads to, or `undefined` to show its text only. */
  link(href: string): string | undefined;
  /** Returns the HTML of a code block. @param language the word after the fence, or '' */
  code(text: string, language: string): HtmlValue;
}

/** A page written in Markdown. */
export interface Article {
  /** Its first heading of level 1, as text. */
  readonly title: string;
  /** Everything but that heading. */
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
 * Converts Markdown (GitHub's flavor) to HTML. HTML in the text is shown as text and comments are left out, so the result
 * has no element that is not written below. Headings get the ids that GitHub gives them.
 */
export async function renderMarkdown(text: string, options: MarkdownOptions): Promise<Article> {
  const { lexer } = await import('marked');
  return new Renderer(options).article(lexer(text));
}

/** Returns the plain text of a line of Markdown. */
export async function plainText(text: string): Promise<string> {
  const { lexer } = await import('marked');
  return lexer(text).map(textOf).join(' ').trim();
}

interface OpenSection extends Section {
  text: string;
}

class Renderer {
  readonly #options: MarkdownOptions;
  readonly #ids = new Map<string, number>();
  readonly #sections: OpenSection[] = [{ id: '', level: 1, heading: '', text: '' }];
  #title = '';

  constructor(options: MarkdownOptions) {
    this.#options = options;
  }

  article(tokens: readonly Token[]): Article {
    const body = html`${tokens.map(token => this.#topLevel(token as Tokens.Generic))}`;
    return { title: this.#title, body, sections: this.#sections };
  }

  #topLevel(token: Tokens.Generic): HtmlValue {
    if (token.type === 'heading') return this.#heading(token as Tokens.Heading);
    const section = this.#sections.at(-1)!;
    section.text = `${section.text} ${textOf(token)}`.trim();
    return this.#block(token);
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
    const [open, close] = [new Html(`<h${level}`), new Html(`</h${level}>`)];
    // The heading is a link to itself; a link within it shows its text.
    return html`${open} id="${id}"><a href="#${id}">${this.#inline(tokens, true)}</a>${close}
`;
  }

  /** The id of a heading as GitHub makes it: unique on the page. */
  #idOf(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const earlier = this.#ids.get(slug) ?? 0;
    this.#ids.set(slug, earlier + 1);
    return earlier === 0 ? slug : `${slug}-${earlier}`;
  }

  #blocks(tokens: readonly Token[]): HtmlValue {
    return tokens.map(token => this.#block(token as Tokens.Generic));
  }

  #block(token: Tokens.Generic): HtmlValue {
    const tokens = token.tokens ?? [];
    switch (token.type) {
      case 'heading':
        return html`<p><strong>${this.#inline(tokens)}</strong></p>`;
      case 'paragraph':
        return html`<p>${this.#inline(tokens)}</p>
`;
      case 'blockquote':
        return html`<blockquote>${this.#blocks(tokens)}</blockquote>`;
      case 'list':
        return this.#list(token as Tokens.List);
      case 'code':
        return this.#options.code(token['text'], (token['lang'] ?? '').split(/\s/)[0]);
      case 'table':
        return this.#table(token as Tokens.Table);
      case 'hr':
        return html`<hr>`;
      case 'html':
        return isComment(token) ? undefined : html`<p>${token.raw.trim()}</p>`;
      default:
        return this.#inlineToken(token);
    }
  }

  #list({ ordered, start, items }: Tokens.List): HtmlValue {
    const lines = items.map(item => html`<li>${this.#blocks(item.tokens)}</li>\n`);
    if (!ordered) return html`<ul>${lines}</ul>\n`;
    return html`<ol${start !== 1 && start !== '' && html` start="${start}"`}>${lines}</ol>\n`;
  }

  #table({ header, rows }: Tokens.Table): HtmlValue {
    const { heading } = this.#sections.at(-1)!;
    const isNamed = header.some(({ text }) => text !== '');
    // Browsers scroll it with the keyboard only if it can have the focus.
    return html`<div class="scroll" role="group" tabindex="0" aria-label="Table: ${heading === '' ? this.#title : heading}"><table>
${isNamed && html`<thead><tr>${header.map(({ text, tokens }) => (text === '' ? html`<td></td>` : html`<th scope="col">${this.#inline(tokens)}</th>`))}</tr></thead>`}
<tbody>${rows.map(cells => html`<tr>${cells.map(({ tokens }) => html`<td>${this.#inline(tokens)}</td>`)}</tr>\n`)}</tbody>
</table></div>
`;
  }

  #inline(tokens: readonly Token[], inLink = false): HtmlValue {
    return tokens.map(token => this.#inlineToken(token as Tokens.Generic, inLink));
  }

  #inlineToken(token: Tokens.Generic, inLink = false): HtmlValue {
    const content = () => this.#inline(token.tokens!, inLink);
    switch (token.type) {
      case 'strong':
        return html`<strong>${content()}</strong>`;
      case 'em':
        return html`<em>${content()}</em>`;
      case 'del':
        return html`<del>${content()}</del>`;
      case 'codespan':
        return html`<code>${token['text']}</code>`;
      case 'br':
        return html`<br>`;
      case 'link': {
        const address = inLink ? undefined : safeAddress(this.#options.link(token['href']));
        return address === undefined
          ? this.#inline(token.tokens!, true)
          : html`<a href="${address}">${this.#inline(token.tokens!, true)}</a>`;
      }
      case 'html':
        return isComment(token) ? undefined : token.raw;
      case 'space':
      case 'def':
        return undefined;
      default:
        return token.tokens ? content() : (token['text'] ?? token.raw);
    }
  }
}

/** Returns an address that a page may link to; `undefined` for those that run code or that browsers read differently. */
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
