import { createSandboxKey, endSandboxKey, sandboxMax } from '../../access/keys/sandbox.ts';
import { countedAddress } from '../../access/limits/address.ts';
import { tooManyAttempts } from '../../access/sessions/attempts.ts';
import { dayHtml, html, sentence } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { Route } from '../../lib/http/route.ts';
import { formatTime } from '../../lib/time.ts';
import { routes as allRoutes } from '../../views/api.ts';
import { PREFIX } from '../../views/urls.ts';
import { publicFile, publicForm, publicPage, type Visit } from '../page.ts';
import { basesOf, baseUrlOf } from './bases.ts';
import { documentedOperations } from './operations.ts';

const routes = allRoutes as readonly Route<never>[];

/**
 * The list of all operations. The code that renders it is imported on demand, because starting the server does not need
 * it.
 */
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

/** The page of an operation. */
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

/** The length at which search engines truncate a description. */
const DESCRIPTION_LENGTH_MAX = 200;

/** Returns the base URL of an operation with a staging key; messages have a separate address. */
function stagingUrls({ site, request }: Visit): (route: Route<never>) => string | undefined {
  const [staging, messages] = (['staging', 'messages'] as const).map(name => site.urlOf(name, request.tls));
  if (staging === undefined) return () => undefined;
  return route => baseUrlOf(route, { messages, baseUrl: staging + PREFIX });
}

function urlsOf(visit: Visit) {
  return { markdownUrl: visit.markdownUrl, bases: basesOf(visit) };
}

/** Returns the operation of the page with its schemas; `undefined` if it does not exist. */
async function findOperation({ parameters }: Visit) {
  if (!routes.some(({ operationId }) => operationId === parameters['operationId'])) return undefined;
  const { operations, schemas } = await documentation();
  return { operation: operations.find(({ route }) => route.operationId === parameters['operationId'])!, schemas };
}

/** Reads the OpenAPI document; the pages of all operations share it. */
async function documentation() {
  const { codesOf, openApiDocument } = await import('../../views/openapi.ts');
  documented ??= documentedOperations(openApiDocument(routes, [{ url: PREFIX, description: '' }], ''), routes, codesOf);
  return documented;
}

let documented: ReturnType<typeof documentedOperations> | undefined;

/** Creates a trial key for the visitor, as JSON. It does not act for an account, so its form needs no token. */
export const sandboxKeyPage = publicForm({
  path: '/try/key',
  title: 'Trial key',
  withoutToken: true,
  async submit({ site, request }) {
    if (site.urlOf('staging', request.tls) === undefined) {
      throw new Problem('staging_not_served', 404, NO_STAGING);
    }
    const network = countedAddress(request.address);
    const key = await site.accounts.write(tx => createSandboxKey(tx, network));
    if (key === 'perNetwork') throw tooManyAttempts(RETRY_MS, NETWORK_FULL);
    if (key === 'all') throw new Problem('sandbox_full', 503, FULL, { headers: ['Retry-After', '60'] });
    const body = { token: key.token, expiresAt: formatTime(key.expiresAt!) };
    return { status: 201, contentType: 'application/json; charset=utf-8', bytes: JSON.stringify(body) };
  },
});

/** Ends the trial key in the field `key`. Only its holder knows the key. */
export const endSandboxKeyPage = publicForm({
  path: '/try/key/end',
  title: 'Trial key',
  withoutToken: true,
  async submit({ site, form }) {
    await site.accounts.write(tx => endSandboxKey(tx, form.get('key') ?? ''));
    return { status: 200, contentType: 'application/json; charset=utf-8', bytes: '{}' };
  },
});

const RETRY_MS = 60_000;
const NETWORK_FULL = `Your network has ${sandboxMax.perNetwork} trial keys. Use a key of your own, or wait until one expires.`;
const FULL = 'All trial keys are in use. Try again in a few minutes, or use a key of your own.';
const NO_STAGING = 'This server has no staging deployment, so you cannot create a trial key.';

/** The replacement of a deprecated operation. */
export const deprecation = publicPage({
  path: '/deprecations/{operationId}',
  title: 'Deprecation',
  cached: true,
  show({ parameters }) {
    const route = routes.find(({ operationId }) => operationId === parameters['operationId']);
    if (route?.deprecation === undefined) return undefined;
    const { since, sunset, instead } = route.deprecation;
    return {
      title: `${route.operationId} is deprecated`,
      body: html`<p><code>${route.method} ${route.path}</code> has been deprecated since ${dayHtml(since)} and will be removed on
<strong>${dayHtml(sunset)}</strong>. From that day on it returns 410 <a href="/errors/operation_removed"><code>operation_removed</code></a>.</p>
<h2>What to do</h2>
<p>${sentence(instead)}</p>`,
    };
  },
});
