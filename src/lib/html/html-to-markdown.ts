import { withoutMarks } from '../text.ts';
import type { Html } from './html.ts';

/** The options of the Markdown of a page. */
export interface ToMarkdownOptions {
  /** Returns the address that a link of the page has in the Markdown. */
  link(href: string): string;
  /** The address of the page with its forms. A link to it replaces each form that sends data. */
  readonly page: string;
}

/**
 * Converts HTML of our templates to Markdown (GitHub's flavor). Texts are escaped, so that they do not become markup.
 * Drawings and form controls are omitted. Requires closed elements, double quotes around attributes, and numeric
 * character references, as our templates write them.
 */
export function htmlToMarkdown(html: Html, options: ToMarkdownOptions): string {
  return `${new Writer(options).blocks(parse(html.text)).join('\n\n')}\n`;
}

/** Escapes a line of text for Markdown: the result has no markup, not even links that GitHub would see in it. */
export function escapeMarkdown(text: string): string {
  return atLineStart(escapeInline(text));
}

function escapeInline(text: string): string {
  return withoutMarks(text).replace(/[\\`*_[\]<>&#~|@]|!(?=\[)|:(?=\/\/)|(?<=www)\./gi, '\\$&');
}

/** Escapes characters that would end the address of a link, or that Markdown would decode. */
function escapeAddress(url: string): string {
  return url.replace(/[\\()<>]|&(?=#?\w+;)/g, '\\$&');
}

/** Collapses the whitespace of a line, and escapes characters that would begin a list or underline a heading. */
function atLineStart(line: string): string {
  return line
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^(\d*)([-+=.)])/, '$1\\$2');
}

interface Element {
  readonly name: string;
  readonly attributes: string;
  readonly children: Node[];
}
/** An element, or a text with its character references decoded. */
type Node = Element | string;

const empty = new Set(['br', 'hr', 'img', 'input', 'wbr']);
const inline = new Set(['a', 'bdi', 'br', 'code', 'em', 'mark', 'small', 'span', 'strong', 'time', 'wbr']);
/** Elements that only browsers show. */
const leftOut = new Set(['button', 'img', 'input', 'label', 'script', 'select', 'svg', 'textarea']);

function parse(text: string): Node[] {
  const root: Node[] = [];
  const open: Element[] = [];
  for (const [token, closing, name, attributes = ''] of text.matchAll(/<(\/?)([a-z]\w*)([^>]*)>|[^<]+/g)) {
    const siblings = open.at(-1)?.children ?? root;
    if (name === undefined) siblings.push(decode(token));
    else if (closing !== '') open.pop();
    else {
      const element: Element = { name, attributes, children: [] };
      siblings.push(element);
      if (!empty.has(name)) open.push(element);
    }
  }
  return root;
}

function decode(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

class Writer {
  readonly #options: ToMarkdownOptions;

  constructor(options: ToMarkdownOptions) {
    this.#options = options;
  }

  /** Returns the blocks of nodes: headings, paragraphs, lists and code. */
  blocks(nodes: readonly Node[]): string[] {
    const blocks: string[] = [];
    let line: Node[] = [];
    const endLine = () => {
      const text = this.#line(line);
      if (text !== '') blocks.push(text);
      line = [];
    };
    for (const node of nodes) {
      if (typeof node === 'string' || inline.has(node.name)) line.push(node);
      else {
        endLine();
        blocks.push(...this.#block(node));
      }
    }
    endLine();
    return blocks;
  }

  #block(element: Element): string[] {
    const { name, attributes, children } = element;
    if (leftOut.has(name)) return [];
    if (/^h[1-6]$/.test(name)) return [`${'#'.repeat(Number(name[1]))} ${this.#line(children)}`];
    if (name === 'pre') return [fenced(textOf(element).trim())];
    if (name === 'ul' || name === 'ol') return this.#list(name === 'ul' ? '-' : '1.', children);
    if (name === 'dl') return [this.#facts(children)];
    if (name !== 'form') return this.blocks(children);
    return attribute(attributes, 'method') === 'post' ? [`[Open the form](${this.#options.page})`] : [];
  }

  /** Returns a list. Items with headings become sections. */
  #list(marker: string, children: readonly Node[]): string[] {
    const items = children.filter(isElement).map(item => this.blocks(item.children));
    if (items.some(([first]) => first?.startsWith('#'))) return items.flat();
    const indent = ' '.repeat(marker.length + 1);
    return [items.map(item => `${marker} ${item.join('\n\n').replaceAll(/\n(?=.)/g, `\n${indent}`)}`).join('\n')];
  }

  /** Returns names with their values as a list. */
  #facts(children: readonly Node[]): string {
    const parts = children
      .filter(isElement)
      .flatMap(one => (one.name === 'div' ? one.children.filter(isElement) : one));
    const lines = parts.map(({ name, children }) => (name === 'dt' ? '\n- ' : ': ') + this.#line(children));
    return lines.join('').trim();
  }

  #line(nodes: readonly Node[]): string {
    return atLineStart(this.#inline(nodes));
  }

  #inline(nodes: readonly Node[]): string {
    return nodes.map(node => (typeof node === 'string' ? escapeInline(node) : this.#inlineElement(node))).join('');
  }

  #inlineElement(element: Element): string {
    const { name, attributes, children } = element;
    if (leftOut.has(name)) return '';
    if (name === 'code') return codeSpan(textOf(element));
    const text = this.#inline(children);
    if (name === 'a' && text.trim() !== '')
      return `[${text.trim()}](${escapeAddress(this.#options.link(attribute(attributes, 'href')!))})`;
    if (name === 'strong') return `**${text}**`;
    if (name === 'em') return `*${text}*`;
    return text;
  }
}

function isElement(node: Node): node is Element {
  return typeof node !== 'string';
}

function textOf({ children }: Element): string {
  return children.map(child => (isElement(child) ? textOf(child) : child)).join('');
}

function attribute(attributes: string, name: string): string | undefined {
  const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(attributes) ?? [];
  return value === undefined ? undefined : decode(value);
}

function fenced(code: string): string {
  const fence = longerThan(code, '```');
  return `${fence}\n${code}\n${fence}`;
}

function codeSpan(code: string): string {
  if (!code.includes('`')) return `\`${code}\``;
  const fence = longerThan(code, '`');
  return `${fence} ${code} ${fence}`;
}

/** Returns a fence that is longer than all backticks in a row within the code. */
function longerThan(code: string, shortest: string): string {
  const runs = code.match(/`+/g) ?? [];
  return '`'.repeat(Math.max(shortest.length, ...runs.map(({ length }) => length + 1)));
}
