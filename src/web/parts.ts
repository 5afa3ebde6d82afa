import { type Html, type HtmlValue, html } from '../lib/html/html.ts';
import { assetPath } from './assets.ts';

/** Returns a table, on a phone a card per row with the names of its columns; `empty` in its place if it has no rows. */
export function table(
  caption: string,
  columns: readonly string[],
  rows: readonly (readonly HtmlValue[])[],
  empty: HtmlValue,
): Html {
  if (rows.length === 0) return html`<div class="empty"><p>${empty}</p></div>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="cards">
<caption class="sr-only">${caption}</caption>
<thead><tr>${columns.map(column => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...others]) =>
      html`<tr><th scope="row">${first}</th>${others.map((value, index) => html`<td data-column="${columns[index + 1]}"><div>${value}</div></td>`)}</tr>
`,
  )}</tbody></table></div>`;
}

/** Returns names with their values; those without a value are left out. */
export function facts(list: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  return html`<dl class="facts">${list.map(
    ([name, value]) => value !== undefined && html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/** Returns a short state. @param look its color; none for what is neither good nor bad */
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

/** Returns a drawing of an animal. @param kind the name of one in `animals.svg`; `animals.css` has its colors */
export function drawingOf(kind: string): Html {
  return html`<span class="picture ${kind}"><svg aria-hidden="true"><use href="${assetPath('animals.svg')}#${kind}"></use></svg></span>`;
}
