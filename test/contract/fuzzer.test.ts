import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { FieldError } from '../../src/lib/http/problem.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { routes } from '../../src/views/api.ts';
import { overEachEngine, type ServedEngine } from '../support/engines-over-http.ts';
import { anew, type ExampleStore, openExampleStore, prepare } from '../support/examples.ts';
import { resolved } from '../support/openapi.ts';
import { long, operationsHere } from '../support/selection.ts';
import { serve } from '../support/serving.ts';
import { invalidTexts, invalidValues, validValues } from './json-schema.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read as it comes
type Json = any;

/** A failure is repeated exactly with its seed: `PETSTORE_TEST_SEED=…`. */
const seed = Number(process.env.PETSTORE_TEST_SEED ?? randomInt(2 ** 31));
/** How many requests are generated for each operation and part of the request. */
const numRuns = long ? 2000 : 10;

/** Parameters whose values come from earlier responses. */
const OPAQUE = ['cursor', 'updatedSince'];

const document: Json = resolved(await servedDocument());

describe('requests generated from the OpenAPI document', () => overEachEngine(suite));

function suite(engine: ServedEngine): void {
  let store: ExampleStore;

  before(async () => {
    store = await openExampleStore({ environment: await engine.settings() });
  });
  after(() => store?.serving.stop());

  for (const route of operationsHere(routes) as readonly Route<never>[]) {
    const operation = document.paths[route.path][route.method.toLowerCase()];
    const schema = operation.requestBody?.content['application/json']?.schema;
    const parameters: Json[] = (operation.parameters ?? []).filter(({ name }: Json) => !OPAQUE.includes(name));
    const sent = parameters.filter((one: Json) => one.in !== 'path');

    if (schema !== undefined) {
      it(`${route.operationId} takes valid bodies`, async t => {
        t.diagnostic(`seed ${seed}`);
        const send = await sender(route);
        await check(validValues(schema), async body => {
          const { isRejected, errors, said } = await send({ body });
          assert.ok(!isRejected || errors.some(error => dependsOnState(schema, error)), said);
        });
      });

      // The database is not asked about invalid requests.
      if (engine.name === 'sqlite') {
        it(`${route.operationId} rejects invalid bodies, and names the member`, async t => {
          t.diagnostic(`seed ${seed}`);
          const send = await sender(route);
          await check(invalidValues(schema), async ({ value, path }) => {
            const { status, code, errors, said } = await send({ body: value });
            assert.deepEqual([status, code], [400, 'invalid_body'], said);
            assert.ok(
              errors.some(error => error.path.startsWith(path)),
              said,
            );
          });
        });
      }
    }

    it(`${route.operationId} takes valid parameters`, async t => {
      t.diagnostic(`seed ${seed}`);
      const send = await sender(route);
      const some = fc.record(Object.fromEntries(sent.map(one => [one.name, validValues(one.schema)])), {
        requiredKeys: [],
      });
      await check(some, async values => {
        const { isRejected, errors, said } = await send(requestWith(sent, values));
        assert.ok(!isRejected || errors.some(({ code }) => unspecifiedCodes.includes(code)), said);
      });
    });

    for (const parameter of engine.name === 'sqlite' ? sent.filter(one => one.in === 'query') : []) {
      it(`${route.operationId} rejects invalid values of ${parameter.name}`, async t => {
        t.diagnostic(`seed ${seed}`);
        const send = await sender(route);
        await check(invalidTexts(parameter.schema), async text => {
          const { status, code, errors, said } = await send({ query: new URLSearchParams([[parameter.name, text]]) });
          assert.deepEqual([status, code, errors[0]?.path], [400, 'invalid_parameter', parameter.name], said);
        });
      });
    }
  }

  async function check<Value>(values: fc.Arbitrary<Value>, property: (value: Value) => Promise<void>): Promise<void> {
    const details = await fc.check(fc.asyncProperty(values, property), {
      seed,
      numRuns,
      ...(!long && { interruptAfterTimeLimit: 3000 }),
    });
    if (details.failed) throw new Error(`PETSTORE_TEST_SEED=${seed}\n${await fc.asyncDefaultReportMessage(details)}`);
  }

  /** Returns the function that sends a request to an operation, about the resource of its first example. */
  async function sender(route: Route<never>) {
    const example = route.examples.find(({ code }) => code === undefined)!;
    const shared = await anew(store);
    await prepare(example, shared);
    const { path, as = 'owner', body: usual, file } = shared.ids!.translate(example);
    const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path![name]!);
    return async ({ body = usual, query = new URLSearchParams(), headers = {} }: Sent) => {
      const response = await fetch(`${store.baseUrl}${filled}?${query}`, {
        method: route.method,
        headers: {
          ...headers,
          authorization: `Bearer ${store.keys[as]}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(file && { 'content-type': file.contentType }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(file && { body: Buffer.from(file.base64, 'base64') }),
      });
      const { status, ok } = response;
      // A stream does not end.
      const text = (ok ? '' : await response.text()) || '{}';
      await response.body?.cancel().catch(() => {});
      const { code, errors = [] } = JSON.parse(text) as { code?: string; errors?: readonly FieldError[] };
      const isRejected = shapeCodes.includes(code ?? '');
      const said = `${status} ${text.slice(0, 500)} to ${query} ${JSON.stringify({ headers, body })}`;
      return { status, code, errors, isRejected, said };
    };
  }
}

/** Returns the document as clients get it. */
async function servedDocument(): Promise<unknown> {
  const service = await serve();
  try {
    return await (await fetch(new URL('/openapi.json', service.urls.production))).json();
  } finally {
    await service.stop();
  }
}

/** The codes of requests that do not match the document. */
const shapeCodes = ['invalid_body', 'invalid_parameter', 'invalid_json', 'invalid_content_type', 'malformed_request'];

/** The codes of values that match the document, and do not go together or name nothing. */
const unspecifiedCodes = ['invalid_combination', 'unknown_value'];

/** Reports whether an error is about the resource or the present time rather than the document. */
function dependsOnState(schema: Json, { path, code }: FieldError): boolean {
  const names = path.split('/').slice(1);
  const schemas = [schema];
  for (const name of names) schemas.push(memberOf(schemas.at(-1), name));
  if (unspecifiedCodes.includes(code)) return true;
  if (code === 'out_of_range') return /^date/.test(schemas.at(-1)?.format);
  return code === 'required' && !schemas.at(-2)?.required?.includes(names.at(-1));
}

function memberOf(schema: Json, name: string): Json {
  return [schema, ...(schema?.anyOf ?? [])].map(one => one?.properties?.[name]).find(one => one !== undefined);
}

/** Returns the query and headers with these parameters. */
function requestWith(parameters: readonly Json[], values: Record<string, unknown>): Sent {
  const given = parameters.filter(({ name }) => values[name] !== undefined);
  const headers = given.filter(one => one.in === 'header').map(({ name }) => [name, String(values[name])] as const);
  const query = new URLSearchParams();
  for (const { name } of given.filter(one => one.in === 'query')) {
    for (const value of [values[name]].flat()) query.append(name, String(value));
  }
  return { query, headers: Object.fromEntries(headers.filter(([, text]) => /^[!-~]([ -~]*[!-~])?$/.test(text))) };
}

interface Sent {
  readonly body?: unknown;
  readonly query?: URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
}
