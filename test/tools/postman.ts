import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Route } from '../../src/lib/http/route.ts';
import { routes } from '../../src/views/api.ts';
import { openExampleStore, prepare } from '../support/examples.ts';
import { installTools } from './tools.ts';

/** A request of a collection, as `postman-collection` reads it. */
interface Item {
  readonly request: { readonly method: string; readonly url: { getPath(options?: object): string } };
  toObjectResolved(): { readonly request: object };
}

interface PostmanRequest {
  readonly method: string;
  readonly url: { toString(): string };
  readonly auth: { readonly bearer: { get(name: string): string } };
  readonly body?: { toString(): string };
  getHeaders(options: object): Record<string, string>;
}

describe('a Postman collection with the examples of the document', () => {
  let requestOf: (route: Route<never>, baseUrl: string, bearerToken: string) => PostmanRequest;

  before(async () => {
    const load = createRequire(join(await installTools(), 'package.json'));
    const { Collection, Request } = load('postman-collection');
    const collection = new Collection(await convert(load));
    const items: Item[] = [];
    collection.forEachItem((item: Item) => items.push(item));
    requestOf = ({ method, path }, baseUrl, bearerToken) => {
      const wanted = path.replaceAll(/\{(\w+)\}/g, ':$1');
      const item = items.find(
        ({ request }) => request.method === method && request.url.getPath({ unresolved: true }) === wanted,
      );
      assert.ok(item, `no request for ${method} ${path}`);
      collection.syncVariablesFrom({ baseUrl, bearerToken });
      return new Request(item.toObjectResolved().request);
    };
  });

  for (const route of routes as readonly Route<never>[]) {
    test(`sends ${route.operationId} as imported`, async () => {
      const example = route.examples.find(({ code }) => code === undefined)!;
      const store = await openExampleStore();
      try {
        await prepare(example, store);
        const { status, said } = await send(requestOf(route, store.baseUrl, store.keys[example.as ?? 'owner']));
        assert.equal(status, example.status, said);
      } finally {
        await store.serving.stop();
      }
    });
  }
});

/** Returns the collection that the converter makes of a server's document. It sends all optional parameters. */
async function convert(load: NodeJS.Require): Promise<object> {
  const store = await openExampleStore();
  const data = await (await fetch(new URL('/openapi.json', store.baseUrl))).text();
  await store.serving.stop();
  const { convertV2 } = load('openapi-to-postmanv2');
  const { result, reason, output } = await promisify(convertV2)(
    { type: 'string', data },
    { parametersResolution: 'Example' },
  );
  assert.ok(result, reason);
  return output[0].data;
}

async function send(request: PostmanRequest): Promise<{ status: number; said: string }> {
  const { method, url, auth } = request;
  const headers = { ...request.getHeaders({ enabled: true }), authorization: `Bearer ${auth.bearer.get('token')}` };
  const body = request.body?.toString() || undefined;
  const response = await fetch(url.toString(), { method, headers, ...(body && { body }) });
  const { status, ok } = response;
  // A stream does not end.
  const said = ok ? '' : await response.text();
  await response.body?.cancel().catch(() => {});
  return { status, said: `${method} ${url} ${JSON.stringify(headers)} ${body ?? ''}: ${said}` };
}
