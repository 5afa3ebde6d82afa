import { routes } from '../../views/api.ts';
import { PREFIX } from '../../views/urls.ts';
import { publicFile, type Visit } from '../page.ts';
import { type Catalog, getCatalog } from './catalog.ts';
import { getGuide } from './guide.ts';
import { markdownOf } from './twin.ts';

/** Only the guides for API users are also served in one file, not those for operators. */
const OPERATING = 'operating/';

/** The list of the guides for language models (https://llmstxt.org). */
export const llmsPage = publicFile({
  path: '/llms.txt',
  title: 'llms.txt',
  cached: true,
  show: async visit => ({ contentType: 'text/plain; charset=utf-8', bytes: llmsText(visit, await getCatalog()) }),
});

/** All guides for API users in one file. */
export const llmsFullPage = publicFile({
  path: '/llms-full.txt',
  title: 'llms-full.txt',
  cached: true,
  async show(visit) {
    const catalog = await getCatalog();
    const names = catalog.guides.filter(({ path }) => isForPrograms(catalog, path)).map(({ name }) => name);
    const guides = await Promise.all(names.map(getGuide));
    const texts = guides.map(guide => markdownOf(visit, catalog, guide!));
    return { contentType: 'text/plain; charset=utf-8', bytes: `${introductionOf(visit)}\n${texts.join('\n')}` };
  },
});

function llmsText(visit: Visit, { groups }: Catalog): string {
  const sections = groups.map(({ title, entries }) => {
    const lines = entries.map(({ title, path, summary }) => `- [${title}](${visit.markdownUrl(path)}): ${summary}.`);
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  const operations = routes.map(
    ({ operationId, method, path, summary }) =>
      `- [${operationId}](${visit.markdownUrl(`/reference/${operationId}`)}): ${summary}, \`${method} ${PREFIX}${path}\`.`,
  );
  const list = (entries: typeof markdownPages) =>
    entries.map(([title, path, summary]) => `- [${title}](${visit.markdownUrl(path)}): ${summary}.`).join('\n');
  return `${introductionOf(visit)}
## Pages

Pages that everyone can read are also there as Markdown, at their path with \`.md\`.

${list(markdownPages)}

${sections.join('\n')}
## Operations

${operations.join('\n')}

## Optional

${list(files)}
`;
}

/** The pages that everyone can read, with their summaries. */
const markdownPages: readonly (readonly [title: string, path: string, summary: string])[] = [
  ['Front page', '/', 'The features and plans of the store'],
  ['Animals', '/animals', 'The animals of this deployment, to browse and filter'],
  ['Organizations', '/organizations', 'The shelters and rescues of this deployment, to find by name or place'],
  ['Guides', '/guides', 'The guides by task'],
  ['Changelog', '/changelog', 'The changes of each version'],
  ['Error codes', '/errors', 'Every error code with its cause and fix'],
  ['Search', '/search', 'Finds animals, organizations, guides, operations and error codes with `?q=`'],
];

const files: typeof markdownPages = [
  ['OpenAPI document', '/openapi.json', 'Every operation with its schemas and examples, as OpenAPI 3.1'],
  ['All guides in one file', '/llms-full.txt', 'The guides for API users'],
];

function introductionOf({ site, request }: Visit): string {
  const addresses = (['production', 'staging'] as const)
    .map(name => [name, site.urlOf(name, request.tls)] as const)
    .filter(([, url]) => url !== undefined)
    .map(([name, url]) => `The base URL of ${name} is ${url}${PREFIX}.`);
  return `# Pet Store

> A pet store as a service over HTTP: list, reserve and sell animals through a JSON API with API keys, exact rate limits, events and webhooks.

${addresses.join(' ')} Every request needs an API key in the header \`Authorization: Bearer KEY\`. Staging has sample data; try requests there.
`;
}

function isForPrograms({ groups }: Catalog, path: string): boolean {
  const group = groups.find(({ entries }) => entries.some(entry => entry.path === path))!;
  const file = group.entries.find(entry => entry.path === path)!.file;
  return !otherGuides.includes(file) && !group.entries.some(one => one.file.startsWith(OPERATING));
}

/** Guides about the pages, a command, or another interface than the API. */
const otherGuides: readonly string[] = [
  ...['shelter.md', 'people.md', 'first-day.md'],
  ...['listen.md', 'mcp.md', 'petfinder.md', 'classic.md'],
];
