import { readFile, stat } from 'node:fs/promises';
import { type Html, html } from '../../lib/html/html.ts';
import { type Article, renderMarkdown } from '../../lib/html/markdown.ts';
import { memoize } from '../../lib/one-per.ts';
import { publicFile, publicPage } from '../page.ts';
import { getCatalog } from './catalog.ts';
import { addressOf, CHANGELOG } from './links.ts';

const file = new URL(`../../../docs/${CHANGELOG}`, import.meta.url);
const FEED = '/changelog.atom';

/** The changes of each version. */
export const changelogPage = publicPage({
  path: '/changelog',
  title: 'Changelog',
  cached: true,
  async show({ request }) {
    const { article } = await readChangelog();
    return {
      title: article.title,
      description: 'What changed in each version of the Pet Store and of its API.',
      head: html`<link rel="alternate" type="application/atom+xml" title="${article.title}" href="${request.publicUrl}${FEED}">\n`,
      body: html`<p class="quiet"><a href="${FEED}">Atom feed</a></p>\n<div class="prose">${article.body}</div>`,
    };
  },
});

/** The versions as a feed (RFC 4287), newest first. */
export const changelogFeed = publicFile({
  path: FEED,
  title: 'Changelog',
  cached: true,
  async show({ request: { publicUrl } }) {
    const { article, changedAt } = await readChangelog();
    const entries = versionsOf(article);
    const updated = entries[0]?.day ?? changedAt;
    const page = `${publicUrl}/changelog`;
    const feed = html`<feed xmlns="http://www.w3.org/2005/Atom">
<title>Pet Store: ${article.title.toLowerCase()}</title>
<id>${page}</id>
<link rel="self" href="${publicUrl}${FEED}"/>
<link rel="alternate" href="${page}"/>
<author><name>Pet Store</name></author>
<updated>${updated}</updated>
${entries.map(
  ({ id, heading, version, day = changedAt, body }) => html`<entry>
<title>${heading}</title>
<id>${page}#${version}</id>
<link href="${page}#${id}"/>
<updated>${day}</updated>
<content type="html">${body.replaceAll(' href="/', ` href="${publicUrl}/`).replaceAll(' href="#', ` href="${page}#`)}</content>
</entry>
`,
)}</feed>`;
    return {
      contentType: 'application/atom+xml; charset=utf-8',
      bytes: `<?xml version="1.0" encoding="UTF-8"?>\n${feed.text}\n`,
    };
  },
});

/** A version in the feed. */
interface Version {
  readonly id: string;
  readonly heading: string;
  readonly version: string;
  /** When it was released; absent if it is not released. */
  readonly day: string | undefined;
  /** Its changes as HTML. */
  readonly body: string;
}

function versionsOf({ sections, body }: Article): Version[] {
  const parts = body.text.split(/(?=<h2 )/).slice(1);
  return sections
    .filter(({ level }) => level === 2)
    .map(({ id, heading }, index) => {
      const day = /\d{4}-\d\d-\d\d/.exec(heading)?.[0];
      const [version = heading] = /[\d.]+\d/.exec(heading) ?? [];
      return {
        id,
        heading: heading.replaceAll(/[[\]]/g, ''),
        version,
        day: day && `${day}T00:00:00Z`,
        body: parts[index] ?? '',
      };
    });
}

/** Reads and renders the changelog. The unreleased version has the modification time of the file. */
const readChangelog = memoize(renderChangelog);

async function renderChangelog() {
  const [text, { mtime }, catalog] = await Promise.all([readFile(file, 'utf8'), stat(file), getCatalog()]);
  const article = await renderMarkdown(text, {
    link: href => addressOf(catalog, CHANGELOG, href),
    code: (code): Html => html`<pre class="copy"><code>${code}</code></pre>\n`,
  });
  return { article, changedAt: `${mtime.toISOString().slice(0, 19)}Z` };
}
