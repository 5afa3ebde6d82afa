import { type Html, html } from '../lib/html/html.ts';
import type { Account } from '../model/account.ts';
import type { DeploymentName } from '../model/schema.ts';
import { assetPath } from './assets.ts';
import { errorSummary } from './forms.ts';
import type { Menu, View, WebPage } from './page.ts';
import type { SiteUrls } from './site.ts';

/** The maximum length of a search, in characters; the rest is ignored. */
export const SEARCH_MAX = 100;

/** The parts of a page around its body. */
interface Frame {
  readonly pages: readonly WebPage[];
  readonly deployment: DeploymentName;
  readonly portal: DeploymentName;
  readonly urls: SiteUrls;
  /** The signed-in account. */
  readonly account: Account | undefined;
  /** The current page; absent on error pages. */
  readonly page?: WebPage | undefined;
  /** The path of its Markdown twin, with the query string. */
  readonly markdown?: string | undefined;
  /** The hidden field for the form that signs out; present if an account is signed in. */
  readonly tokenField: Html | undefined;
}

const SITE_NAME = 'Pet Store';

/**
 * Returns a complete page. Its links start at the root of the address. Browsers that support `rel="expect"` wait for
 * the content before they paint, up to a time limit, because a partial page can move when the remaining content
 * arrives.
 */
export function document(view: View & { readonly title: string }, frame: Frame): string {
  const { title, description, head, body, errors, scripts = [], styles = [] } = view;
  const summary = errorSummary(errors);
  const { page, markdown } = frame;
  const isFront = page?.path === '/';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${summary !== undefined && 'Error: '}${isFront ? title : `${title} · ${SITE_NAME}`}</title>
${description !== undefined && html`<meta name="description" content="${description}">`}
${markdown !== undefined && html`<link rel="alternate" type="text/markdown" href="${markdown}">`}
${head}<link rel="expect" href="#content" blocking="render">
<link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml">
${['style.css', ...styles].map(name => html`<link rel="stylesheet" href="${assetPath(name)}">\n`)}${['site.js', ...scripts].map(name => html`<script type="module" src="${assetPath(name)}"></script>\n`)}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${header(frame)}
${subMenu(frame)}
<main id="content" class="${view.layout ?? 'normal'}">
${view.layout !== 'bare' && html`<h1>${title}</h1>`}
${summary}${body}
</main>
${footer(frame)}
</body>
</html>
`.text;
}

function header(frame: Frame): Html {
  const { deployment, urls, portal, account } = frame;
  return html`<header class="site">
${deploymentBar(frame)}
<div class="bar">
<a class="brand" href="/"><svg aria-hidden="true" viewBox="0 0 24 24"><use href="${assetPath('icon.svg')}#paw"></use></svg>${SITE_NAME}</a>
<nav aria-label="Site">${menuItems(frame, 'main')}</nav>
<form role="search" action="/search"><input type="search" name="q" maxlength="${SEARCH_MAX}" placeholder="Search" aria-label="Search everything" aria-keyshortcuts="/"></form>
<div class="who">${deployment === portal ? who(frame, account) : urls[portal] !== undefined && html`<a href="${urls[portal]}/keys">Account</a>`}</div>
</div>
</header>`;
}

/** Returns a bar that names the deployment and links to the other one. */
function deploymentBar({ deployment, urls }: Frame): Html {
  const other: DeploymentName = deployment === 'production' ? 'staging' : 'production';
  return html`<p class="deployment ${deployment}"><span><strong>${titleOf(deployment)}</strong>${
    deployment === 'staging' && ' · sample data only'
  }</span>${urls[other] !== undefined && html` <a href="${urls[other]}/">${`Switch to ${other}`}</a>`}</p>`;
}

function who({ tokenField }: Frame, account: Account | undefined): Html {
  if (account === undefined) {
    return html`<a href="/sign-in">Sign in</a> <a class="button" href="/sign-up">Sign up</a>`;
  }
  return html`<a href="/account">${account.name}</a>
<form method="post" action="/sign-out">${tokenField}<button class="plain">Sign out</button></form>`;
}

/** Returns the menu of the account or of the operator, on their pages. */
function subMenu(frame: Frame): Html | undefined {
  const { page, account } = frame;
  if (account === undefined || page === undefined || page.access === 'everyone') return undefined;
  return html`<nav class="sub" aria-label="Account">${menuItems(frame, 'account')}${
    account.admin && html`<span class="divider" aria-hidden="true"></span>${menuItems(frame, 'operator')}`
  }</nav>`;
}

function menuItems({ pages, page }: Frame, menu: Menu): Html[] {
  return pages
    .filter(item => item.menu === menu)
    .map(item => html`<a href="${item.path}"${isWithin(page, item) && html` aria-current="page"`}>${item.title}</a>`);
}

/** Reports whether the page is an item of a menu, or below it. */
function isWithin(page: WebPage | undefined, item: WebPage): boolean {
  return page !== undefined && (page.path === item.path || page.path.startsWith(`${item.path}/`));
}

function footer({ deployment, urls }: Frame): Html {
  return html`<footer class="site">
<p>${SITE_NAME} · ${titleOf(deployment)}</p>
<nav aria-label="Service"><a href="/readyz">Service status</a> <a href="/openapi.json">OpenAPI</a> <a href="/errors">Error codes</a> <a href="/changelog">Changelog</a> <a href="/llms.txt">llms.txt</a></nav>
${urls.staging === undefined && html`<p>This server has no staging deployment, so “Try it” is not available.</p>`}
</footer>`;
}

export function titleOf(deployment: DeploymentName): string {
  return deployment === 'production' ? 'Production' : 'Staging';
}
