import assert from 'node:assert/strict';
import type { Route } from '../../src/lib/http/route.ts';
import { routes } from '../../src/views/api.ts';
import { send } from '../support/serving.ts';

export const fixtures = new URL('fixtures/', import.meta.url);

/** The settings of a service that wrote or opens a fixture. */
export const environment = { PETSTORE_STAGING_PORT: '', PETSTORE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };

/** A request that has succeeded, and may be retried. */
export const retried = { headers: { 'Idempotency-Key': 'fixture' }, body: { name: 'Retried', categoryId: 2 } };

/** The responses of the release that wrote a fixture. */
export interface FixtureAnswers {
  /** The time of the clock, as a Unix time in milliseconds. */
  readonly at: number;
  /** The tokens of the callers, by name. */
  readonly keys: Readonly<Record<string, string>>;
  readonly answers: readonly Answer[];
}

export interface Answer {
  readonly as: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** How many resources of each list are read one by one. */
const SHOWN_MAX = 25;

/**
 * Reads everything that each key may read: every list, and the first resources of each.
 * @param to the end of the time that reports about requests cover, because reading goes on the record too
 */
export async function readAnswers(baseUrl: string, keys: FixtureAnswers['keys'], to: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const [as, key] of Object.entries(keys)) {
    const lists = new Map<string, readonly unknown[]>();
    const read = async (path: string, search: string) => {
      const { status, body } = await send(baseUrl + path + search, { key });
      if (Array.isArray(body)) lists.set(path, body);
      if (status !== 404) answers.push({ as, path: path + search, status, body });
    };
    for (const { path, query } of readable) {
      for (const filled of fill(path, lists)) await read(filled, searchOf(query, to));
    }
  }
  return answers;
}

/** The list of requests, which is read first: reading goes on the record too. */
const REQUESTS = '/account/requests';

/** The operations that read JSON, those of lists before those of their resources. Rate limits change with each request. */
const readable = (routes as readonly Route<never>[])
  .filter(
    ({ method, streams, path }) => method === 'GET' && !streams && path !== '/account' && !path.endsWith('/original'),
  )
  .map(({ path, query }) => ({ path, query: Object.keys(query?.properties ?? {}) }))
  .sort(
    (a, b) =>
      Number(b.path === REQUESTS) - Number(a.path === REQUESTS) || a.path.split('/').length - b.path.split('/').length,
  );

function searchOf(query: readonly string[], to: number): string {
  const search = new URLSearchParams();
  if (query.includes('limit')) search.set('limit', '100');
  if (query.includes('to')) search.set('to', new Date(to).toISOString());
  return search.size === 0 ? '' : `?${search}`;
}

/** Returns a path with each id of the list that its parameter belongs to. */
function fill(path: string, lists: ReadonlyMap<string, readonly unknown[]>): string[] {
  const [, before, after] = /^([^{]*)\/\{\w+\}(.*)$/.exec(path) ?? [];
  if (before === undefined) return [path];
  const resources = (lists.get(before) ?? []) as readonly { readonly id: string | number }[];
  return resources.slice(0, SHOWN_MAX).flatMap(({ id }) => fill(`${before}/${id}${after}`, lists));
}

/** Asserts that `now` has all that `then` had: every member of objects, and every element of arrays, in their order. */
export function assertStillThere(now: unknown, then: unknown, where: string): void {
  const missing = findMissing(now, then, where);
  assert.equal(missing, undefined, `${missing} is missing or different in ${JSON.stringify(now)}`);
}

/** Returns the path of the first value of `then` that `now` lacks. */
function findMissing(now: unknown, then: unknown, where: string): string | undefined {
  if (typeof then !== 'object' || then === null) return Object.is(now, then) ? undefined : where;
  if (typeof now !== 'object' || now === null || Array.isArray(now) !== Array.isArray(then)) return where;
  if (Array.isArray(then)) {
    let from = 0;
    for (const [index, element] of then.entries()) {
      const found = (now as unknown[]).findIndex((one, i) => i >= from && findMissing(one, element, '') === undefined);
      if (found < 0) return `${where}[${index}]`;
      from = found + 1;
    }
    return undefined;
  }
  for (const [name, value] of Object.entries(then)) {
    const missing = findMissing((now as Record<string, unknown>)[name], value, `${where}.${name}`);
    if (missing !== undefined) return missing;
  }
  return undefined;
}
