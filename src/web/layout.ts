import { type Html, html } from '../lib/html/html.ts';
import type { DeploymentName } from '../model/schema.ts';
import { assetPath } from './assets.ts';
import { errorSummary } from './forms.ts';
import { accountMenu, homeOf, type MenuContext, menuButton, showsMenu, siteLinks } from './menu.ts';
import type { View } from './page.ts';
import type { SiteUrls } from './site.ts';

/** The maximum length of a search, in characters; the rest is ignored. */
export const SEARCH_MAX = 100;

/** The parts of a page around its body. */
interface Frame extends MenuContext {
  readonly deployment: DeploymentName;
  readonly portal: DeploymentName;
  readonly urls: SiteUrls;
  /** The path of its Markdown twin, with the query string. */
  readonly markdown?: string | undefined;
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
  const isDesk = showsMenu(frame);
  const sheets = ['style.css', ...(frame.signedIn === undefined ? [] : ['menu.css']), ...styles];
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
${sheets.map(name => html`<link rel="stylesheet" href="${assetPath(name)}">\n`)}${['site.js', ...scripts].map(name => html`<script type="module" src="${assetPath(name)}"></script>\n`)}</head>
<body${isDesk && html` class="desk"`}>
<a class="skip" href="#content">Skip to the content</a>
${header(frame)}
${frame.signedIn && accountMenu(frame, frame.signedIn)}
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
  const { deployment, urls, portal } = frame;
  return html`<header class="site">
${deploymentBar(frame)}
<div class="bar">
<a class="brand" href="/"><svg aria-hidden="true" viewBox="0 0 24 24"><use href="${assetPath('icon.svg')}#paw"></use></svg>${SITE_NAME}</a>
<nav aria-label="Site">${siteLinks(frame)}</nav>
<form role="search" action="/search"><input type="search" name="q" maxlength="${SEARCH_MAX}" placeholder="Search" aria-label="Search everything" aria-keyshortcuts="/"></form>
<div class="who">${deployment === portal ? who(frame) : urls[portal] !== undefined && html`<a href="${urls[portal]}/shelter">Account</a>`}</div>
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

function who(frame: Frame): Html {
  const { signedIn } = frame;
  if (signedIn === undefined) {
    return html`<a href="/sign-in">Sign in</a> <a class="button" href="/sign-up">Sign up</a>`;
  }
  return html`<a href="${homeOf(signedIn.account)}"><bdi>${signedIn.account.name}</bdi></a>
${menuButton}`;
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
