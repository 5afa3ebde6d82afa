import { routes as allRoutes } from '../../api.ts';
import type { Route } from '../../lib/http/route.ts';
import { PREFIX } from '../../urls.ts';
import { publicFile, publicPage, type Visit } from '../page.ts';
import { basesOf, baseUrlOf } from './bases.ts';
import { documentedOperations } from './operations.ts';

const routes = allRoutes as readonly Route<never>[];

/** Every operation. The code that renders is imported on demand, because starting does not need it. */
export const referencePage = publicPage({
  path: '/reference',
  title: 'Reference',
  menu: 'main',
  cached: true,
  async show(visit) {
    const { query, request } = visit;
    const { listView } = await import('./list-view.ts');
    const search = (query.get('q') ?? '').slice(0, SEARCH_LENGTH_MAX);
    return {
      title: 'API reference',
      description: 'Every operation of the Pet Store API, with parameters, responses, errors and examples.',
      body: listView({ routes, search, bases: basesOf(visit), publicUrl: request.publicUrl }),
      scripts: ['reference.js'],
      styles: ['reference.css'],
    };
  },
  async markdown(visit) {
    const { listMarkdown } = await import('./markdown.ts');
    return listMarkdown(routes, urlsOf(visit));
  },
});

const SEARCH_LENGTH_MAX = 100;

/** One operation. */
export const operationPage = publicPage({
  path: '/reference/{operationId}',
  title: 'Operation',
  cached: true,
  async show(visit) {
    const found = await findOperation(visit);
    if (found === undefined) return undefined;
    const { operation, schemas } = found;
    const [{ operationView }, { tryItView }] = await Promise.all([
      import('./operation-view.ts'),
      import('./try-it-view.ts'),
    ]);
    const tryIt = tryItView({ operation, routes, urlOf: stagingUrls(visit), bounds: visit.site.config.sandbox });
    return {
      title: operation.route.summary,
      description: operation.route.description.slice(0, DESCRIPTION_LENGTH_MAX),
      layout: 'bare',
      body: operationView({ operation, routes, schemas, bases: basesOf(visit), tryIt }),
      scripts: ['reference.js', 'try-it.js'],
      styles: ['reference.css', 'operation.css'],
    };
  },
  async markdown(visit) {
    const [found, { operationMarkdown }] = await Promise.all([findOperation(visit), import('./markdown.ts')]);
    return found && operationMarkdown(found.operation, found.schemas, urlsOf(visit));
  },
});

/** All operations as a collection for Postman, Bruno and Insomnia. */
export const collectionPage = publicFile({
  path: '/collections/postman.json',
  title: 'Postman collection',
  cached: true,
  async show(visit) {
    const [{ operations }, { postmanCollection }] = await Promise.all([documentation(), import('./postman.ts')]);
    const bytes = JSON.stringify(postmanCollection(operations, basesOf(visit)), null, 2);
    return { contentType: 'application/json; charset=utf-8', bytes };
  },
});

/** The length to which search engines cut a description. */
const DESCRIPTION_LENGTH_MAX = 200;

/** Returns the base URL of an operation with a key for staging; messages have an address of their own. */
function stagingUrls({ site, request }: Visit): (route: Route<never>) => string | undefined {
  const [staging, messages] = (['staging', 'messages'] as const).map(name => site.urlOf(name, request.tls));
  if (staging === undefined) return () => undefined;
  return route => baseUrlOf(route, { messages, baseUrl: staging + PREFIX });
}

function urlsOf(visit: Visit) {
  return { markdownUrl: visit.markdownUrl, bases: basesOf(visit) };
}

/** Returns the operation of the page with the schemas that it refers to; `undefined` if there is none. */
async function findOperation({ parameters }: Visit) {
  if (!routes.some(({ operationId }) => operationId === parameters['operationId'])) return undefined;
  const { operations, schemas } = await documentation();
  return { operation: operations.find(({ route }) => route.operationId === parameters['operationId'])!, schemas };
}

/** Reads the OpenAPI document; the pages of all operations share it. */
async function documentation() {
  const { codesOf, openApiDocument } = await import('../../openapi.ts');
  documented ??= documentedOperations(openApiDocument(routes, [{ url: PREFIX, description: '' }], ''), routes, codesOf);
  return documented;
}

let documented: ReturnType<typeof documentedOperations> | undefined;
