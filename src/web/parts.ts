import { type Html, type HtmlValue, html } from '../lib/html/html.ts';
import { assetPath } from './assets.ts';

/**
 * The columns of a table: the title of each, and the cell that it has for a row. The first one has the headings of
 * rows.
 */
export type Columns<Row> = Readonly<Record<string, (row: Row) => HtmlValue>>;

/** Returns a table; on a phone, a card per row with the names of its columns. Without rows, returns `empty`. */
export function table<Row>(caption: string, columns: Columns<Row>, rows: readonly Row[], empty: HtmlValue = ''): Html {
  if (rows.length === 0) return html`<div class="empty"><p>${empty}</p></div>`;
  const [first, ...others] = Object.entries(columns);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="cards">
<caption class="sr-only">${caption}</caption>
<thead><tr>${Object.keys(columns).map(title => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody data-rows>${rows.map(
    row =>
      html`<tr><th scope="row">${first?.[1](row)}</th>${others.map(([title, cell]) => html`<td data-column="${title}"><div>${cell(row)}</div></td>`)}</tr>
`,
  )}</tbody></table></div>`;
}

/** Returns names with their values; omits those without a value. */
export function facts(list: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  return html`<dl class="facts">${list.map(
    ([name, value]) => value !== undefined && html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/** A list of several that a page can show. */
interface Tab {
  readonly href: string;
  readonly title: HtmlValue;
  readonly isCurrent: boolean;
}

/** Returns the links to the lists that a page can show instead. @param label what the lists have @param id its fragment */
export function tabs(label: string, all: readonly Tab[], id?: string): Html {
  return html`<nav class="tabs"${id !== undefined && html` id="${id}"`} aria-label="${label}">${all.map(
    ({ href, title, isCurrent }) => html`<a href="${href}"${isCurrent && html` aria-current="page"`}>${title}</a>`,
  )}</nav>`;
}

/**
 * Returns a short label of a state.
 * @param look its color; '' for a neutral state
 */
export function badge(look: 'good' | 'warn' | 'bad' | '', text: string): Html {
  return html`<span class="badge ${look}">${text}</span>`;
}

/** Returns a number of bytes as people read it: `12.3 MiB`. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const scaled = bytes / 1024 ** power;
  return `${scaled.toLocaleString('en', { maximumFractionDigits: power === 0 ? 0 : 1 })} ${units[power]}`;
}

/** Returns a drawing of an animal. @param kind the name of a drawing in `animals.svg`; `animals.css` has its colors */
export function drawingOf(kind: string): Html {
  return html`<span class="picture ${kind}"><svg aria-hidden="true"><use href="${assetPath('animals.svg')}#${kind}"></use></svg></span>`;
}

/** Returns a setting of a page with `account.css`: its title with what it is about, and beside them its content. */
export function setting(id: string, title: string, about: HtmlValue, content: HtmlValue): Html {
  return html`<section class="setting" id="${id}">
<div><h2>${title}</h2>
<p class="hint">${about}</p></div>
<div>${content}</div>
</section>
`;
}
