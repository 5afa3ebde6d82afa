import { type Html, html } from '../../lib/html/html.ts';
import { type Params, query, type Reader } from '../../model/schema.ts';
import { newestPet } from '../../store/pets/random.ts';
import { routes } from '../../views/api.ts';
import { PREFIX } from '../../views/urls.ts';
import { getCatalog } from '../guides/catalog.ts';
import { publicFile } from '../page.ts';

/** The number of ids that a part of the sitemap covers. A part costs as much as a page of animals. */
const IDS_PER_PART = 2000;
/** The maximum number of parts of an index (sitemaps.org). */
const PARTS_MAX = 50_000;
/** How long crawlers and proxies may cache it, in seconds. */
const MAX_AGE = 3600;
const XML = 'application/xml; charset=utf-8';
const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** Pages that are the same for every visitor, besides the guides and the operations. */
const fixedPages = ['/', '/guides', '/reference', '/errors', '/changelog'];

/** The rows that the sitemap lists, by the name of their parts. */
const lists = {
  animals: {
    newest: newestPet,
    between: query((db, p: Params<IdRange>) =>
      db
        .selectFrom('pets')
        .select(['id', 'updated_at as updatedAt'])
        .where('id', '>', p.after)
        .where('id', '<=', p.upTo)
        .where('status', '<>', 'sold')
        .orderBy('id'),
    ),
  },
  organizations: {
    newest: query(db => db.selectFrom('organizations').select('id').orderBy('id', 'desc').limit(1)),
    between: query((db, p: Params<IdRange>) =>
      db
        .selectFrom('organizations')
        .select(['id', 'updated_at as updatedAt'])
        .where('id', '>', p.after)
        .where('id', '<=', p.upTo)
        .where('hidden', '=', 0)
        .orderBy('id'),
    ),
  },
} as const;
type ListName = keyof typeof lists;
type IdRange = { after: number; upTo: number };

/**
 * The index of the sitemap: the documentation, and a part for each range of ids. It reads only the newest row, and the
 * size of every part is bounded.
 */
export const sitemapPage = publicFile({
  path: '/sitemap.xml',
  title: 'Sitemap',
  async show({ deployment, request }) {
    const parts = ['documentation/1'];
    for (const name of Object.keys(lists) as ListName[]) {
      const count = await partsOf(deployment.database, name);
      for (let part = 1; part <= count; part++) parts.push(`${name}/${part}`);
    }
    const entries = parts.map(part => html`<sitemap><loc>${request.publicUrl}/sitemaps/${part}.xml</loc></sitemap>\n`);
    return xml(html`<sitemapindex xmlns="${NAMESPACE}">\n${entries}</sitemapindex>`);
  },
});

/** The part of the sitemap with the guides and the reference. */
export const sitemapDocumentationPage = publicFile({
  path: '/sitemaps/documentation/1.xml',
  title: 'Sitemap',
  async show({ request }) {
    const { guides } = await getCatalog();
    const operations = routes.map(({ operationId }) => `/reference/${operationId}`);
    const paths = [...fixedPages, ...guides.map(({ path }) => path), ...operations];
    const entries = paths.map(path => html`<url><loc>${request.publicUrl}${path}</loc></url>\n`);
    return xml(html`<urlset xmlns="${NAMESPACE}">\n${entries}</urlset>`);
  },
});

/** A part of the sitemap: the pages of the animals or organizations with a range of ids. Sold animals are omitted. */
export const sitemapPartPage = publicFile({
  path: '/sitemaps/{list}/{file}',
  title: 'Sitemap',
  async show({ deployment, request, parameters: { list = '', file = '' } }) {
    const part = Number(/^([1-9]\d{0,4})\.xml$/.exec(file)?.[1]);
    if (!Object.hasOwn(lists, list) || Number.isNaN(part)) return undefined;
    if (part > (await partsOf(deployment.database, list as ListName))) return undefined;
    const range = { after: (part - 1) * IDS_PER_PART, upTo: part * IDS_PER_PART };
    const rows = await deployment.database.all(lists[list as ListName].between, range);
    const entries = rows.map(
      ({ id, updatedAt }) =>
        html`<url><loc>${request.publicUrl}/${list}/${id}</loc><lastmod>${new Date(updatedAt).toISOString()}</lastmod></url>\n`,
    );
    // The first part begins with the list page.
    const first = part === 1 && html`<url><loc>${request.publicUrl}/${list}</loc></url>\n`;
    return xml(html`<urlset xmlns="${NAMESPACE}">\n${first}${entries}</urlset>`);
  },
});

/**
 * The rules for crawlers: they may read pages, but neither the API nor combinations of filters, and no page of staging.
 */
export const robotsPage = publicFile({
  path: '/robots.txt',
  title: 'Robots',
  show({ deployment, request }) {
    const root = new URL(request.publicUrl).pathname.replace(/\/$/, '');
    const paths =
      deployment.name === 'staging'
        ? ['/']
        : [`${PREFIX}/`, '/animals?', '/animals.md?', '/organizations?', '/organizations.md?', '/search'];
    const rules = ['User-agent: *', 'Crawl-delay: 1', ...paths.map(path => `Disallow: ${root}${path}`)];
    const sitemap = deployment.name === 'staging' ? [] : ['', `Sitemap: ${request.publicUrl}/sitemap.xml`];
    const bytes = `${[...rules, ...sitemap].join('\n')}\n`;
    return { contentType: 'text/plain; charset=utf-8', bytes, maxAge: MAX_AGE };
  },
});

async function partsOf(reader: Reader, list: ListName): Promise<number> {
  const newest = await reader.first(lists[list].newest, {});
  return Math.min(PARTS_MAX / Object.keys(lists).length, Math.ceil((newest?.id ?? 0) / IDS_PER_PART));
}

function xml(content: Html) {
  const bytes = `<?xml version="1.0" encoding="UTF-8"?>\n${content.text}\n`;
  return { contentType: XML, bytes, maxAge: MAX_AGE };
}
