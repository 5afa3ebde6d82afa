import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TSchema } from 'typebox';
import type { Deployment } from '../../src/access/deployment.ts';
import type { Route, RouteRequest } from '../../src/lib/http/route.ts';
import { keptQueryCount } from '../../src/lib/storage/queries-by-shape.ts';
import type { Database, Query } from '../../src/model/schema.ts';
import { routes } from '../../src/views/api.ts';

const REQUESTS = 10_000;
/** The queries of all lists together; each takes some 10 KB. */
const KEPT_MAX = 400;

it(`keeps a bounded number of queries after ${REQUESTS.toLocaleString('en')} list requests with random filters`, async () => {
  const lists = routes.filter(({ query }) => query?.properties['cursor'] !== undefined);
  const served = new Set<string>();
  let queries = 0;
  const compile = (query: Query<never, unknown>) => {
    queries++;
    for (const engine of ['sqlite', 'postgres'] as const) query.compiledFor(engine);
  };
  const database = {
    engine: 'sqlite',
    readTimestamp: (now: number) => now,
    dataVersion: () => undefined,
    all: (query: Query<never, unknown>) => {
      compile(query);
      return [];
    },
    first: (query: Query<never, unknown>) => {
      compile(query);
      return random(2) === 0 ? undefined : { id: 5, name: 'x', key: 'x' };
    },
  } as unknown as Database;

  for (let request = 0; request < REQUESTS; request++) {
    const route = lists[request % lists.length]!;
    const call = requestOf(route, { database, clock: { now: () => 0 } } as unknown as Deployment);
    // Some random filters are invalid together, and rows of the fake database lack columns.
    await Promise.try(() => route.handle(call as never)).then(
      () => served.add(route.operationId),
      () => {},
    );
  }
  for (const name of ['listPets', 'listOrders', 'listHolds', 'listCategories', 'listMessages']) {
    assert.ok(served.has(name), name);
  }
  assert.ok(queries > REQUESTS, String(queries));
  assert.ok(keptQueryCount() <= KEPT_MAX, String(keptQueryCount()));
});

function requestOf(
  route: Route<Deployment>,
  context: Deployment,
): Partial<RouteRequest<Deployment, unknown, unknown, unknown>> {
  const filters = Object.entries(route.query!.properties).filter(([name]) => name !== 'cursor' && random(2) === 0);
  return {
    context,
    caller: {
      keyId: 'x',
      deployment: 'production',
      accountId: 1,
      admin: random(2) === 0,
      plan: 'free',
      scopes: new Set(),
    },
    path: Object.fromEntries(Object.keys(route.parameters ?? {}).map(name => [name, 1])),
    query: Object.fromEntries(filters.map(([name, schema]) => [name, randomValue(schema as TSchema & JsonSchema)])),
    prefer: new Map(),
    baseUrl: 'https://store.test/v1',
    routePath: route.path,
    search: `?${random(1e9)}`,
    url: `/v1${route.path}?${random(1e9)}`,
  };
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly maxItems?: number;
}

function randomValue({ type, enum: values, items, maxItems = 100 }: JsonSchema): unknown {
  if (values !== undefined) return values[random(values.length)];
  if (type === 'array') return [...new Set(Array.from({ length: 1 + random(maxItems) }, () => randomValue(items!)))];
  if (type === 'boolean') return random(2) === 0;
  return type === 'integer' ? 1 + random(100) : 'x';
}

function random(end: number): number {
  return Math.floor(Math.random() * end);
}
