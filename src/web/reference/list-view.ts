import { type Html, html } from '../../lib/html/html.ts';
import type { Route } from '../../lib/http/route.ts';
import { countText } from '../../lib/text.ts';
import { plans } from '../../model/plan.ts';
import { titleOf } from '../layout.ts';
import { type Bases, deploymentSwitch, queryOf } from './bases.ts';
import { badges, byTag, codeBlock, filterField, found, methodBadge, searchText } from './parts.ts';

/** The data of the list of all operations. */
interface ListContext {
  readonly routes: readonly Route<never>[];
  /** The words to search for; '' lists all operations. */
  readonly search: string;
  readonly bases: Bases;
  /** The public URL of the address of the page. */
  readonly publicUrl: string;
}

/** Returns the list of all operations, and the parts that they have in common. */
export function listView({ routes, search, bases, publicUrl }: ListContext): Html {
  const shown = found(routes, search);
  const query = queryOf(bases);
  return html`<p class="lead">Every operation of the API, with its parameters, responses, errors, examples, and a form to try it.</p>
<div class="ref-home">
<div>
${filterField(search)}
${search !== '' && html`<p>${shown.length === 1 ? '1 operation' : `${shown.length} operations`} for “${search}”. <a href="/reference">Show all</a></p>`}
<nav aria-label="Operations" class="ref-list">${byTag(shown).map(
    ([tag, group]) =>
      html`<section class="group"><h2 id="${slugOf(tag)}">${tag}</h2><ul>${group.map(
        route => html`<li data-text="${searchText(route)}"><a href="/reference/${route.operationId}${query}">${methodBadge(route)}<span class="what"><strong>${route.summary}</strong>${badges(route)}<code>${route.path}</code></span></a></li>
`,
      )}</ul></section>`,
  )}</nav>
</div>
<aside aria-label="Common to all operations">
${basics(bases)}
${tools(publicUrl)}
</aside>
</div>`;
}

function slugOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '-');
}

function basics(bases: Bases): Html {
  const { deployments, messages, baseUrl } = bases;
  return html`<h2 id="base-urls">Base URLs</h2>
<dl>${deployments.map(([name, url]) => html`<dt>${titleOf(name)}</dt><dd><code>${url}</code></dd>`)}${
    messages !== undefined && html`<dt>Messages</dt><dd><code>${messages}</code></dd>`
  }</dl>
${deploymentSwitch(bases, '/reference')}
<h2 id="authentication">Authentication</h2>
<p>Send your API key with every request. The samples read it from the variable <code>KEY</code>.</p>
${codeBlock(`curl -H "Authorization: Bearer $KEY" \\\n  ${baseUrl}/pets`)}
<p>A key has scopes; each operation names the scope that it needs. <a href="/keys">Your keys</a></p>
<h2 id="errors">Errors</h2>
<p>Every error is JSON with a <code>code</code> for programs, a <code>message</code> for people and the HTTP <code>status</code>. <a href="/errors">All error codes</a></p>
<h2 id="limits">Limits</h2>
<p>Every response says how many requests are left, in <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code>, <code>X-RateLimit-Reset</code>, <code>RateLimit-Policy</code> and <code>RateLimit</code>. Above the limit the status is <a href="/errors/rate_limit_exceeded">429</a>, with <code>Retry-After</code>.</p>
<table><thead><tr><th scope="col">Plan</th><th scope="col">a minute</th><th scope="col">a day</th></tr></thead><tbody>${Object.values(
    plans,
  ).map(
    ({ title, limits }) =>
      html`<tr><th scope="row">${title}</th>${
        limits === undefined
          ? html`<td colspan="2">as agreed</td>`
          : html`<td>${countText(limits.perMinute)}</td><td>${countText(limits.perDay)}</td>`
      }</tr>`,
  )}</tbody></table>
<h2 id="stability">Stability</h2>
<p>Operations without a badge are stable. <span class="badge warn">beta</span> ones change with notice, <span class="badge warn">experimental</span> ones at any time. <span class="badge bad">deprecated</span> ones have a date on which they end.</p>`;
}

function tools(publicUrl: string): Html {
  const [document, collection] = [`${publicUrl}/openapi.json`, `${publicUrl}/collections/postman.json`];
  return html`<h2 id="tools">Use it in your tools</h2>
<p class="downloads"><a class="button secondary" href="/openapi.json" download="openapi.json">OpenAPI document</a> <a class="button secondary" href="/collections/postman.json" download="petstore.postman_collection.json">Postman collection</a> <a class="button secondary" href="/reference.md">Markdown</a></p>
<dl>
<dt>Postman</dt><dd>Choose Import, paste the URL of the collection, and set its variable <code>bearerToken</code> to your key.</dd>
<dt>Bruno</dt><dd>Choose Import Collection, then Postman, and the downloaded collection.</dd>
<dt>Insomnia</dt><dd>Choose Import, then URL, and paste the URL of the OpenAPI document or of the collection.</dd>
</dl>
${codeBlock(document)}
${codeBlock(collection)}`;
}
