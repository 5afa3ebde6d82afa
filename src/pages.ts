import type { AddressName } from './config.ts';
import { type ErrorCode, errors } from './errors.ts';
import { page as anyPage, escapeHtml, sentenceHtml } from './lib/html/page.ts';
import type { Route } from './lib/http/route.ts';

/**
 * Returns the page at `/` of an address, with links to the others.
 * @param root the path at which browsers find `/`, here and below: a proxy may have put one in front
 */
export function homePage(root: string, name: AddressName, baseUrl: string): string {
  return page(
    root,
    titles[name],
    `<p>A pet store as a service over HTTP. The base URL of the API is <code>${escapeHtml(baseUrl)}</code>. Every request needs
an API key: send it as <code>Authorization: Bearer &lt;API_KEY&gt;</code>.</p>
<ul>
<li><a href="openapi.json">OpenAPI document</a></li>
<li><a href="errors">Error codes</a></li>
<li><a href="readyz">Service status</a></li>
</ul>`,
  );
}

const titles: Record<AddressName, string> = { production: 'Production', staging: 'Staging', messages: 'Messages' };

/** Returns the list of all error codes. */
export function errorsPage(root: string): string {
  const entries = Object.entries(errors).map(
    ([code, { status, meaning }]) =>
      `<dt><a href="errors/${code}"><code>${code}</code></a> (${status})</dt>\n<dd>${sentenceHtml(meaning)}</dd>`,
  );
  return page(root, 'Error codes', `<dl>\n${entries.join('\n')}\n</dl>`);
}

/** Returns the page on an error code, or `undefined` for an unknown code. */
export function errorPage(root: string, code: string): string | undefined {
  if (!Object.hasOwn(errors, code)) return undefined;
  const { status, message, meaning, remedy } = errors[code as ErrorCode];
  return page(
    root,
    code,
    `<p>HTTP status <strong>${status}</strong>: “${escapeHtml(message)}”</p>
<h2>Cause</h2>
<p>${sentenceHtml(meaning)}</p>
<h2>What to do</h2>
<p>${sentenceHtml(remedy)}</p>
<p><a href="errors">All error codes</a></p>`,
  );
}

/** Returns the page on a deprecated operation, or `undefined` for any other. */
export function deprecationPage<Context>(
  root: string,
  routes: readonly Route<Context>[],
  operation: string,
): string | undefined {
  const route = routes.find(candidate => candidate.operationId === operation);
  if (route?.deprecation === undefined) return undefined;
  const { since, sunset, instead } = route.deprecation;
  return page(
    root,
    `${operation} is deprecated`,
    `<p><code>${route.method} ${escapeHtml(route.path)}</code> has been deprecated since ${dayOf(since)} and will be removed on
<strong>${dayOf(sunset)}</strong>. From that day on it returns 410 <a href="errors/operation_removed"><code>operation_removed</code></a>.</p>
<h2>What to do</h2>
<p>${sentenceHtml(instead)}</p>`,
  );
}

/** Returns the page for a path that does not exist. */
export function notFoundPage(root: string): string {
  return page(root, 'Page not found', `<p>Go to the <a href="${escapeHtml(root)}">front page</a>.</p>`);
}

function page(root: string, title: string, body: string): string {
  return anyPage('Pet Store Service', root, title, body);
}

function dayOf(date: Date): string {
  return `<time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>`;
}
