import { escapeHtml, type Html, html, rawHtml } from '../../lib/html/html.ts';
import type { Section } from '../../lib/html/markdown.ts';
import { publicPage, type View, type Visit } from '../page.ts';
import { twinPath } from '../twins.ts';
import { withRealAddresses } from './addresses.ts';
import { type Catalog, type GuideEntry, getCatalog } from './catalog.ts';
import { type Guide, getGuide, KEY_PROMPT } from './guide.ts';
import { keyPrompt } from './key-prompt.ts';
import { markdownOf } from './twin.ts';

/** The list of all guides. */
export const guidesPage = publicPage({
  path: '/guides',
  title: 'Guides',
  menu: 'main',
  cached: true,
  show: async () => listView(await getCatalog()),
});

/** A guide to the API. */
export const guidePage = publicPage({
  path: '/guides/{name}',
  title: 'Guide',
  cached: true,
  ...shows(({ parameters }) => parameters['name']!),
});

/** A guide for operators. */
export const operatingGuidePage = publicPage({
  path: '/guides/operating/{name}',
  title: 'Guide',
  cached: true,
  ...shows(({ parameters }) => `operating/${parameters['name']}`),
});

/**
 * Returns the functions that show a guide as a page and as Markdown.
 * @param nameOf returns the name of the guide
 */
function shows(nameOf: (visit: Visit) => string) {
  return {
    async show(visit: Visit): Promise<View | undefined> {
      const guide = await getGuide(nameOf(visit));
      return guide && guideView(visit, await getCatalog(), guide);
    },
    async markdown(visit: Visit): Promise<string | undefined> {
      const guide = await getGuide(nameOf(visit));
      return guide && markdownOf(visit, await getCatalog(), guide);
    },
  };
}

function listView({ groups }: Catalog): View {
  return {
    description: 'How to use the Pet Store API and how to run the service, by task.',
    styles: ['guides.css'],
    body: html`<p class="lead">Short pages with examples that run as they are. New here? Start with the <a href="/guides/quickstart">quickstart</a>.</p>
${groups.map(
  ({ title, entries }) => html`<section class="guide-group">
<h2>${title}</h2>
<ul class="guide-cards">${entries.map(
    ({ path, title, summary }) => html`<li><a href="${path}">${title}</a> <span class="quiet">${summary}</span></li>\n`,
  )}</ul>
</section>
`,
)}<p class="quiet">For programs: <a href="/llms.txt">llms.txt</a> lists every guide as Markdown.</p>`,
  };
}

function guideView(visit: Visit, catalog: Catalog, { entry, article }: Guide): View {
  const group = catalog.groups.find(({ entries }) => entries.includes(entry))!;
  return {
    title: article.title,
    description: `${entry.title}: ${entry.summary}.`,
    layout: 'bare',
    styles: ['guides.css'],
    scripts: visit.signedIn === undefined ? [] : ['guides.js'],
    body: html`<div class="guide">
<nav class="guide-list" aria-label="Guides">${catalog.groups.map(one => groupList(one, entry))}</nav>
<article>
<p class="guide-group-name"><a href="/guides">Guides</a> <span aria-hidden="true">/</span> ${group.title}</p>
<h1>${article.title}</h1>
${contents(article.sections, 'narrow')}
${bodyOf(visit, entry, article.body)}
${neighbours(catalog, entry)}
<p class="guide-foot"><a href="${twinPath(entry.path)}">View as Markdown</a></p>
</article>
${contents(article.sections, 'wide')}
</div>`,
  };
}

function groupList({ title, entries }: Catalog['groups'][number], current: GuideEntry): Html {
  return html`<details${entries.includes(current) && html` open`}><summary>${title}</summary>
<ul>${entries.map(entry => html`<li><a href="${entry.path}"${entry === current && html` aria-current="page"`}>${entry.title}</a></li>\n`)}</ul></details>
`;
}

/** Returns the table of contents. Wide screens show it beside the text, narrow screens above it. */
function contents(sections: readonly Section[], width: 'wide' | 'narrow'): Html | undefined {
  const own = sections.filter(({ level }) => level === 2);
  if (own.length < 2) return undefined;
  const list = html`<ul>${own.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>\n`)}</ul>`;
  return width === 'wide'
    ? html`<nav class="contents wide" aria-label="On this page"><p>On this page</p>${list}</nav>`
    : html`<details class="contents narrow"><summary>On this page</summary><nav aria-label="On this page">${list}</nav></details>`;
}

function bodyOf(visit: Visit, entry: GuideEntry, body: Html): Html {
  const text = entry.isLocal ? body.text : withRealAddresses(body.text, visit, escapeHtml);
  return rawHtml(text.replace(KEY_PROMPT, () => keyPrompt(visit, entry)?.text ?? ''));
}

function neighbours({ guides }: Catalog, entry: GuideEntry): Html {
  const index = guides.indexOf(entry);
  const [previous, next] = [guides[index - 1], guides[index + 1]];
  return html`<nav class="neighbours" aria-label="Previous and next guide">
${previous && html`<a class="previous" rel="prev" href="${previous.path}"><span class="quiet">Previous</span> ${previous.title}</a>`}
${next && html`<a class="next" rel="next" href="${next.path}"><span class="quiet">Next</span> ${next.title}</a>`}
</nav>`;
}
