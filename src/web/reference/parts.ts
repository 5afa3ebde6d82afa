import { escapeHtml, type Html, html, rawHtml } from '../../lib/html/html.ts';
import type { Route } from '../../lib/http/route.ts';
import { SEARCH_MAX } from '../layout.ts';
import { synonymsOf } from '../synonyms.ts';

/** Returns a sentence of the documentation as HTML: `code`, and links to other pages. */
export function inline(markdown: string): Html {
  const text = escapeHtml(markdown)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((https?:[^)\s]+|\/[^)\s]*)\)/g, '<a href="$2">$1</a>');
  return rawHtml(text);
}

export function methodBadge({ method }: Pick<Route<never>, 'method'>): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** Returns the badges of an operation: its stability, and whether it is deprecated. */
export function badges({ stability, deprecation }: Route<never>): Html {
  return html`${stability !== 'stable' && html` <span class="badge warn">${stability}</span>`}${
    deprecation && html` <span class="badge bad">deprecated</span>`
  }`;
}

/** Returns the operations by tag, in the order of the documentation. */
export function byTag(routes: readonly Route<never>[]): [tag: string, routes: readonly Route<never>[]][] {
  return [...Map.groupBy(routes, ({ tag }) => tag)];
}

/** Returns the menu of all operations. @param current the operation of the page @param query the query of its links */
export function operationMenu(routes: readonly Route<never>[], current: Route<never>, query: string): Html {
  return html`<ul>${byTag(routes).map(
    ([tag, group]) =>
      html`<li class="group"><span>${tag}</span><ul>${group.map(
        route =>
          html`<li data-text="${searchText(route)}"><a href="/reference/${route.operationId}${query}"${
            route === current && html` aria-current="page"`
          }>${methodBadge(route)} ${route.summary}</a></li>`,
      )}</ul></li>`,
  )}</ul>`;
}

/** Returns the words that find an operation, including synonyms. */
export function searchText({ operationId, method, path, summary, tag, access }: Route<never>): string {
  const own = `${operationId} ${method} ${path} ${summary} ${tag} ${access.scope ?? ''}`;
  return `${own} ${synonymsOf(operationId)}`.toLowerCase();
}

/** Returns the operations that have all words of a search. */
export function found(routes: readonly Route<never>[], search: string): readonly Route<never>[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return routes.filter(route => words.every(word => searchText(route).includes(word)));
}

/** Returns the field that filters operations: with a script while the visitor types, otherwise on the server. */
export function filterField(value: string): Html {
  return html`<form class="filter" action="/reference" role="search" aria-label="Operations" data-filter>
<label for="filter">Find an operation</label>
<input id="filter" type="search" name="q" value="${value}" maxlength="${SEARCH_MAX}" autocomplete="off" spellcheck="false" placeholder="order, POST, webhooks:write …" aria-keyshortcuts="/">
<p class="hint" role="status" data-count></p>
</form>`;
}

/** Returns a block of code with a button that copies it. */
export function codeBlock(code: string): Html {
  return html`<pre class="copy"><code>${code}</code></pre>`;
}

/** Returns JSON with keys, texts and other values in different colors. */
export function jsonBlock(value: unknown): Html {
  const text = JSON.stringify(value, null, 2);
  const parts = text.split(/("(?:[^"\\]|\\.)*")(\s*:)?/);
  const coloured: Html[] = [];
  for (let index = 0; index < parts.length; index += 3) {
    const [plain, quoted, colon] = [parts[index]!, parts[index + 1], parts[index + 2] ?? ''];
    coloured.push(html`${plain}`);
    if (quoted !== undefined) coloured.push(html`<span class="${colon === '' ? 's' : 'k'}">${quoted}</span>${colon}`);
  }
  return html`<pre class="copy json"><code>${coloured}</code></pre>`;
}
