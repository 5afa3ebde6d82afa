import type { AddressName } from './config.ts';
import { type ErrorCode, errors } from './errors.ts';
import { page as anyPage, escapeHtml, sentenceHtml } from './lib/html/page.ts';
import type { Route } from './lib/http/route.ts';

/**
 * The page at the root of an address: what this is, and where to go.
 * @param root the path at which callers find it, as for every page here: a proxy may have put one before
 */
export function homePage(root: string, name: AddressName, baseUrl: string): string {
  return page(
    root,
    titles[name],
    `<p>A pet store as a service over HTTP. The interface is at <code>${escapeHtml(baseUrl)}</code>; every call of it needs
an API key, sent as <code>Authorization: Bearer &lt;API_KEY&gt;</code>.</p>
<ul>
<li><a href="openapi.json">The OpenAPI document</a> of this address</li>
<li><a href="errors">Every error code</a>, and what to do about it</li>
<li><a href="readyz">How it is</a></li>
</ul>`,
  );
}

const titles: Record<AddressName, string> = {
  production: 'Production',
  staging: 'Staging',
  messages: 'Messages',
};

/** The list of every error code. */
export function errorsPage(root: string): string {
  const entries = Object.entries(errors).map(
    ([code, { status, meaning }]) =>
      `<dt><a href="errors/${code}"><code>${code}</code></a> (${status})</dt>\n<dd>${sentenceHtml(meaning)}</dd>`,
  );
  return page(root, 'Error codes', `<dl>\n${entries.join('\n')}\n</dl>`);
}

/** The page of one error code, or `undefined` where there is no such code. */
export function errorPage(root: string, code: string): string | undefined {
  if (!Object.hasOwn(errors, code)) return undefined;
  const { status, message, meaning, remedy } = errors[code as ErrorCode];
  return page(
    root,
    code,
    `<p>Status <strong>${status}</strong>: “${escapeHtml(message)}”</p>
<h2>When</h2>
<p>${sentenceHtml(meaning)}</p>
<h2>What to do</h2>
<p>${sentenceHtml(remedy)}</p>
<p><a href="errors">All error codes</a></p>`,
  );
}

/** The page on an operation that goes away, or `undefined` where it does not. */
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
    `<p><code>${route.method} ${escapeHtml(route.path)}</code> is deprecated since ${dayOf(since)} and is removed on
<strong>${dayOf(sunset)}</strong>. From that day it answers 410 <a href="errors/operation_removed"><code>operation_removed</code></a>.</p>
<h2>What to do</h2>
<p>${sentenceHtml(instead)}</p>`,
  );
}

/** The page for a path that leads nowhere. */
export function notFoundPage(root: string): string {
  return page(root, 'There is nothing here', `<p>Go to <a href="${escapeHtml(root)}">the beginning</a>.</p>`);
}

function page(root: string, title: string, body: string): string {
  return anyPage('Pet Store Service', root, title, body);
}

function dayOf(date: Date): string {
  return `<time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>`;
}
