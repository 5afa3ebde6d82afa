import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Compile } from 'typebox/compile';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { createSandboxKey } from '../../src/access/keys/sandbox.ts';
import { testClock } from '../../src/lib/clock.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { errors } from '../../src/model/errors.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { messageRoutes, routes } from '../../src/views/api.ts';
import answers from '../../src/views/generated/recorded-responses.json' with { type: 'json' };
import { openApiDocument } from '../../src/views/openapi.ts';
import {
  examplesAt,
  isFile,
  readResponsesFile,
  recordedResponses,
  type SentExample,
  sendExamples,
} from '../support/examples.ts';
import { resolved } from '../support/openapi.ts';
import { image } from '../support/photos.ts';
import { startReceiver } from '../support/receiver.ts';
import { sendRaw, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests know the shape of the document
type Json = any;

const served = openApiDocument(
  routes,
  [{ url: 'https://pets.test/v1', description: 'Production' }],
  'https://pets.test',
);
const document: Json = resolved(served);
const operations = Object.entries(document.paths as Record<string, Json>).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Json>).map(([method, operation]) => ({
    path,
    method,
    operation,
    route: (routes as readonly Route<never>[]).find(route => route.operationId === operation.operationId)!,
  })),
);

/** Returns a parameter of an operation. */
function parameter(operationId: string, name: string): Json {
  const { operation } = operations.find(one => one.operation.operationId === operationId)!;
  return operation.parameters.find((one: Json) => one.name === name);
}

/** Returns the errors of a value by a schema of the document. */
function faults(schema: Json, value: unknown): unknown[] {
  const validator = Compile(schema);
  return validator.Check(value)
    ? []
    : [...validator.Errors(value)].map(({ instancePath, message }) => [instancePath, message]);
}

/** Returns the paths of texts without `maxLength` and of lists without `maxItems` in a schema. */
function unbounded(schema: Json, path = ''): string[] {
  const { type, enum: choices, maxLength, maxItems, anyOf = [], items, properties = {} } = schema;
  const isText = type === 'string' && choices === undefined && schema.const === undefined;
  const isUnbounded = (isText && maxLength === undefined) || (type === 'array' && maxItems === undefined);
  return [
    ...(isUnbounded ? [path] : []),
    ...anyOf.flatMap((one: Json) => unbounded(one, path)),
    ...(items === undefined ? [] : unbounded(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, one]) => unbounded(one, `${path}.${name}`)),
  ];
}

/** Returns the paths of lists without `maxItems` in a schema, without those of the schemas that it refers to. */
function unboundedLists(schema: Json, path: string): string[] {
  const { anyOf = [], items, properties = {} } = schema;
  return [
    ...(items !== undefined && schema.maxItems === undefined ? [path] : []),
    ...anyOf.flatMap((one: Json) => unboundedLists(one, path)),
    ...(items === undefined ? [] : unboundedLists(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, one]) => unboundedLists(one as Json, `${path}.${name}`)),
  ];
}

/** The codes that only forms of pages and the MCP server return. */
const otherCodes = ['reply_limit_exceeded', 'reply_not_possible', 'note_limit_exceeded', 'origin_not_allowed'];
const codesOfApi = Object.keys(errors).filter(code => !otherCodes.includes(code));

describe('the OpenAPI document', () => {
  test('has exactly the routes as operations', () => {
    assert.deepEqual(
      operations
        .map(({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`)
        .sort(),
      routes.map(route => `${route.operationId} ${route.method} ${route.path}`).sort(),
    );
  });

  test('uses the documented schema names', () => {
    for (const name of ['Pet', 'NewPet', 'Pets', 'PetStatus', 'Error'])
      assert.ok(document.components.schemas[name], name);
    assert.deepEqual(document.components.schemas.PetStatus.enum, ['available', 'pending', 'sold']);
    assert.equal(document.components.securitySchemes.bearerAuth.scheme, 'bearer');
    assert.equal(document.info.version, '1.0.0');
    assert.equal(document.info.contact.url, 'https://pets.test/');
  });

  test('marks deprecated operations with their sunset date', () => {
    const gone = operations.filter(({ operation }) => operation.deprecated).map(({ operation }) => operation);
    assert.deepEqual(
      gone.map(operation => [operation.operationId, operation['x-deprecated-sunset']]),
      [['getPet', '2030-12-05']],
    );
  });

  test('documents idempotency, preconditions, deprecation and stability of every operation', () => {
    for (const { method, operation, route } of operations) {
      const { parameters = [], responses, requestBody } = operation;
      const takes = (name: string) => parameters.some((one: Json) => one.in === 'header' && one.name === name);
      const may = (status: number) => status in responses;
      assert.ok(takes('Prefer'), operation.operationId);
      const retried = method === 'post' || method === 'patch';
      const read = method === 'get' && !route.streams;
      const changes = route.conditional === true;
      const what = operation.operationId;
      assert.deepEqual([takes('Idempotency-Key'), may(409), may(422)], [retried, may(409), retried], what);
      assert.ok(!retried || may(409), what);
      assert.deepEqual([takes('If-None-Match'), may(304)], [read, read], what);
      assert.deepEqual([takes('If-Match'), may(412)], [read || changes, read || changes], what);
      assert.equal(may(428), changes && method !== 'post', what);
      assert.equal(
        may(204),
        route.successes.some(({ status }) => status === 204),
        what,
      );
      assert.equal(operation['x-stability'], route.stability === 'stable' ? undefined : route.stability, what);
      assert.deepEqual(
        Object.keys(requestBody?.content ?? {}),
        route.body === undefined
          ? (route.upload?.contentTypes ?? [])
          : ['application/json', ...(method === 'patch' ? ['application/merge-patch+json'] : [])],
        what,
      );
      assert.equal(requestBody?.required, route.upload ? true : route.body && !route.bodyOptional, what);
      for (const [status, response] of Object.entries(responses as Record<string, Json>)) {
        const replayed = response.headers['Idempotency-Replayed'] !== undefined;
        assert.equal(replayed, retried && Number(status) < 300, `${what} ${status}`);
        const tagged = response.headers.ETag !== undefined;
        assert.equal(
          tagged,
          status === '304' ||
            route.successes.some(
              success => `${success.status}` === status && success.schema && !success.untagged && !route.streams,
            ),
          `${what} ${status}`,
        );
      }
    }
  });

  test('has an example or a default of every parameter, which is valid', () => {
    for (const { operation } of operations) {
      for (const { name, schema, example } of operation.parameters ?? []) {
        const values = [example, schema.default, ...(schema.examples ?? [])].filter(value => value !== undefined);
        assert.ok(values.length > 0, `${operation.operationId} ${name}`);
        for (const value of values) assert.deepEqual(faults(schema, value), [], `${operation.operationId} ${name}`);
      }
    }
  });

  test('says what operations share once', t => {
    const errorsOf = ({ responses }: Json) => Object.entries(responses).filter(([status]) => Number(status) >= 400);
    const all = Object.values((served as Json).paths as Json[]).flatMap(path => Object.values(path).flatMap(errorsOf));
    const whole = all.filter(([, response]: Json) => !('$ref' in response));
    assert.ok(whole.length <= 4, `${whole.length} of ${all.length} error responses are no reference`);
    const size = Buffer.byteLength(JSON.stringify(served));
    t.diagnostic(`${size} bytes`);
    assert.ok(size / operations.length < 7600, `${size} bytes for ${operations.length} operations`);
  });

  test('has no default in request bodies, so that generated clients require no optional member', () => {
    const bodies = operations.map(({ operation }) => operation.requestBody?.content['application/json']?.schema);
    assert.doesNotMatch(JSON.stringify(bodies), /"default":/);
    assert.equal(parameter('listPets', 'limit').schema.default, 20, 'parameters show theirs');
  });

  test('accepts values in responses that a later release may add', () => {
    const { Webhook, Account, DeliveryAttempt, PetHistoryEntry, PetStatus } = document.components.schemas;
    for (const [schema, name] of [
      [Webhook, 'disabledReason'],
      [Account, 'plan'],
      [DeliveryAttempt, 'by'],
      [PetHistoryEntry, 'reason'],
    ]) {
      assert.deepEqual(faults(schema.properties[name], 'new'), [], name);
    }
    assert.notDeepEqual(faults(PetStatus, 'new'), [], 'the contract closes it');
  });

  test('describes the data of every kind of event, and accepts events of unknown types', () => {
    const { schemas } = document.components;
    const shown = Object.values(answers.listEvents as Record<string, Json>).flatMap(page =>
      Array.isArray(page) ? page : [],
    );
    for (const event of shown) {
      const [kind] = event.type.split('.');
      const schema = schemas[`${kind[0].toUpperCase()}${kind.slice(1)}Event`];
      assert.deepEqual(faults(schema, event), [], event.type);
      const described = Object.keys(schema.properties.data.properties);
      assert.deepEqual(
        Object.keys(event.data).filter(member => !described.includes(member)),
        [],
        event.type,
      );
    }
    assert.deepEqual(faults(schemas.Event, { ...shown[0], type: 'pet.renamed' }), []);
  });

  test('describes what receivers of webhooks get', async () => {
    const { post } = document.webhooks.petEvent;
    assert.deepEqual(
      post.parameters.map((one: Json) => one.name),
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
    );
    assert.deepEqual(post.security, []);
    const [event] = (answers.listEvents as Json)['first page'];
    const { schema } = post.requestBody.content['application/json'];
    assert.deepEqual(faults(schema, { ...event, timestamp: event.time }), []);
    assert.notDeepEqual(faults(schema, event), [], 'the timestamp is missing');
    const messages: Json = openApiDocument(
      messageRoutes,
      [{ url: 'https://m.test', description: '' }],
      'https://m.test',
    );
    assert.equal(messages.webhooks, undefined, 'no operation there is about webhooks');
  });

  test('has an operation id for each request to receivers, which no other has', () => {
    const ids = Object.values(document.webhooks as Record<string, Json>).map(({ post }) => post.operationId);
    assert.ok(ids.includes('receivePetEvent') && ids.includes('receiveTestEvent'));
    const all = [...ids, ...operations.map(({ operation }) => operation.operationId)];
    assert.equal(new Set(all).size, all.length);
  });

  test('has no choice at the top of a request body, which some tools refuse', () => {
    const received = Object.values(document.webhooks as Record<string, Json>).map(({ post }) => post);
    const requests: Json[] = [...operations.map(({ operation }) => operation), ...received];
    for (const { operationId, requestBody } of requests) {
      for (const { schema } of Object.values(requestBody?.content ?? {}) as Json[]) {
        const choices = ['oneOf', 'anyOf', 'allOf'].filter(keyword => keyword in schema);
        assert.deepEqual(choices, [], operationId);
      }
    }
  });

  test('refuses bodies and parameters that the service refuses', () => {
    const bodyOf = (operationId: string) => {
      const { operation } = operations.find(one => one.operation.operationId === operationId)!;
      return operation.requestBody.content['application/json'].schema;
    };
    const isValid = (schema: Json, value: unknown) => faults(schema, value).length === 0;
    for (const operationId of ['placeOrder', 'createHold']) {
      const schema = bodyOf(operationId);
      for (const body of [{ petId: 1 }, { petIds: [1, 2], note: 'Both.' }, { petId: 1, unknown: true }]) {
        assert.ok(isValid(schema, body), `${operationId} ${JSON.stringify(body)}`);
      }
      for (const body of [{}, { note: 'None.' }, { petId: 1, petIds: [1, 2] }]) {
        assert.ok(!isValid(schema, body), `${operationId} ${JSON.stringify(body)}`);
      }
    }
    const redelivery = bodyOf('redeliverEvents');
    assert.deepEqual([redelivery.type, redelivery.minProperties, redelivery.maxProperties], ['object', 1, 1]);
    const [eventId, since] = [redelivery.properties.eventId.examples[0], '2026-11-21T11:00:00Z'];
    for (const body of [{ eventId }, { since }]) assert.ok(isValid(redelivery, body), JSON.stringify(body));
    for (const body of [{}, { eventId, since }, { at: since }]) {
      assert.ok(!isValid(redelivery, body), JSON.stringify(body));
    }
    const country = parameter('listOrganizations', 'country').schema;
    for (const code of ['US', 'DE', 'ZW']) assert.ok(isValid(country, code), code);
    for (const code of ['QZ', 'XX', 'us', 'USA', '']) assert.ok(!isValid(country, code), code);
  });

  test('bounds every text and every list of requests', () => {
    for (const { operation } of operations) {
      const parameters = (operation.parameters ?? []).map(({ name, schema }: Json) => [name, schema]);
      const body = operation.requestBody?.content['application/json']?.schema;
      for (const [name, schema] of [...parameters, ['body', body ?? {}]]) {
        assert.deepEqual(unbounded(schema), [], `${operation.operationId} ${name}`);
      }
    }
  });

  test('bounds every list of responses that the service bounds', () => {
    const { schemas } = (served as Json).components;
    const lists = Object.entries(schemas).flatMap(([name, schema]) => unboundedLists(schema as Json, name));
    // Attempts follow settings and redeliveries, networks have no bound, and lists of known words grow with releases.
    const open = /^(CategoryAttributes\.\w+|\w+\.(attempts|networks|scopes)|FullPet\.warnings)$/;
    assert.deepEqual(
      lists.filter(path => !open.test(path)),
      [],
    );
  });

  test('words an unknown id the same way in every operation', () => {
    const messages = new Map<string, Set<string>>();
    for (const [operationId, responses] of Object.entries(answers as Record<string, Json>)) {
      // It also knows deleted animals.
      if (operationId === 'getPetHistory') continue;
      for (const response of Object.values(responses as Record<string, Json>)) {
        if (!/_not_found$/.test(response?.code)) continue;
        const known = messages.getOrInsertComputed(response.code, () => new Set());
        known.add(response.message.replaceAll(/\d+/g, '…'));
      }
    }
    assert.deepEqual(messages.get('pet_not_found'), new Set(['There is no animal ….']));
    for (const [code, texts] of messages) assert.equal(texts.size, 1, `${code}: ${[...texts].join(' ')}`);
  });

  test('hides the list of orders from the interactive console', () => {
    const hidden = operations.filter(({ operation }) => operation['x-hideTryItPanel'] === true);
    assert.deepEqual(
      hidden.map(({ operation }) => operation.operationId),
      ['listOrders'],
    );
  });

  test('documents every error code that an operation can return', () => {
    const documented = new Set(
      operations.flatMap(({ operation }) =>
        Object.values(operation.responses as Record<string, Json>).flatMap(response =>
          Object.keys(response.content?.['application/json']?.examples ?? {}),
        ),
      ),
    );
    const without = codesOfApi.filter(code => !documented.has(code));
    assert.deepEqual(without, ['route_not_found', 'method_not_allowed']);
  });

  for (const { operation } of operations) {
    for (const [status, response] of Object.entries(operation.responses as Record<string, Json>)) {
      test(`${operation.operationId} ${status} has rate limit headers, and examples that match their schemas`, () => {
        for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id']) {
          assert.ok(response.headers[name], name);
        }
        const empty = status === '204' || status === '304';
        assert.equal(response.content === undefined, empty);
        for (const [type, { schema, examples }] of Object.entries((response.content ?? {}) as Record<string, Json>)) {
          const values = Object.entries((examples ?? {}) as Record<string, Json>);
          if (type === 'application/problem+json') assert.deepEqual(faults(schema, schema.examples[0]), []);
          else if (!isFile(type)) assert.ok(values.length > 0, `${type} has no example`);
          for (const [name, { value }] of values) {
            assert.deepEqual(faults(schema, value), [], name);
            if (Number(status) >= 400) assert.deepEqual([value.code, value.status], [name, Number(status)]);
          }
        }
      });
    }
  }
});

describe('responses and their documentation', () => {
  const clock = testClock(examplesAt);
  let service: TestService;
  let sent: readonly SentExample[];
  let key: string;

  before(async () => {
    service = await serve({ clock });
    key = (await service.newKey()).token;
    sent = await sendExamples();
  });
  after(() => service.stop());

  test('every address serves its own document, with its own URL and then that of the other deployment', async () => {
    for (const name of ['production', 'staging', 'messages'] as const) {
      const served: Json = await (await fetch(new URL('/openapi.json', service.urls[name]))).json();
      const other = name === 'production' ? 'staging' : 'production';
      const known = name === 'messages' ? [service.urls.messages] : [service.urls[name], service.urls[other]];
      assert.deepEqual(
        served.servers.map(({ url }: Json) => url),
        known,
      );
      const codes = resolved(
        served.paths[name === 'messages' ? '/messages' : '/pets'].get.responses[401],
        served,
      ) as Json;
      const [shown] = codes.content['application/problem+json'].schema.examples;
      const accept = { accept: 'application/problem+json' };
      const answer = await fetch(`${service.urls[name]}/${name === 'messages' ? 'messages' : 'pets'}`, {
        headers: accept,
      });
      const { type, code } = (await answer.json()) as Json;
      assert.equal(shown.type.replace(shown.code, code), type);
    }
  });

  test('lists take the defaults of their parameters, and the values that the document shows, each alone and together', async () => {
    for (const { path, method, operation } of operations.filter(one => one.method === 'get' && !one.route.streams)) {
      if (path.includes('{')) continue;
      const shown = (operation.parameters as Json[]).flatMap(({ name, in: place, schema, example }) => {
        const value = example ?? schema.default ?? schema.examples?.[0];
        return place === 'query' ? [[name, String(value), schema.default]] : [];
      });
      const defaults = shown.filter(([, , byDefault]) => byDefault !== undefined);
      // Their values need a second one, as their descriptions say.
      const alone = shown.filter(([name]) => !['within', 'includeRemoved'].includes(name));
      for (const values of [defaults, shown, ...alone.map(one => [one])]) {
        const query = new URLSearchParams(values.map(([name, value]) => [name, value]));
        const response = await call(`${service.urls.production}${path}?${query}`, key);
        const label = `${method} ${path}?${query}: ${await response.text()}`;
        assert.equal(response.status, 200, label);
      }
    }
  });

  test('the example responses are recorded responses (`npm run docs` records them)', async () => {
    assert.equal(recordedResponses(sent), await readResponsesFile());
  });

  for (const route of routes) {
    for (const example of route.examples) {
      test(`${route.operationId}, "${example.name}": ${example.status} ${example.code ?? ''}`, () => {
        const answer = sent.find(one => one.route.operationId === route.operationId && one.example === example)!;
        assert.equal(answer.status, example.status);
        if (example.code !== undefined) assert.equal((answer.body as Json).code, example.code);
        fits(route.operationId, answer);
      });
    }
  }

  const call = (base: string, token?: string, init: RequestInit = {}) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    return fetch(base, { ...init, headers: { ...headers, ...init.headers } });
  };
  const list = (token?: string, headers = {}) => call(`${service.urls.production}/pets`, token, { headers });
  const create = (body: string, headers = {}) =>
    call(`${service.urls.production}/pets`, key, { method: 'POST', body, headers });
  const minka = JSON.stringify({ name: 'Minka', categoryId: 2 });

  /** Starts a service of its own for a response that would disturb the other tests. */
  async function elsewhere(
    options: Parameters<typeof serve>[0],
    ask: (base: string, token: string) => Promise<Response>,
  ): Promise<Response> {
    const other = await serve(options);
    try {
      return await ask(other.urls.production, (await other.newKey()).token);
    } finally {
      await other.stop();
    }
  }

  /** Does the same with a trial key. */
  async function inSandbox(
    environment: Readonly<Record<string, string>>,
    ask: (base: string, token: string) => Promise<Response>,
  ): Promise<Response> {
    const other = await serve({ environment });
    try {
      return await ask(
        other.urls.staging,
        ((await other.app.databases.production.write(tx => createSandboxKey(tx, '192.0.2.1'))) as IssuedKey).token,
      );
    } finally {
      await other.stop();
    }
  }

  async function raw(request: string): Promise<Response> {
    const { status, headers, text } = (await sendRaw(service.urls.production, request, { count: 1 })).replies[0]!;
    return new Response(text, { status, headers });
  }

  /** Sends more requests at once than a Free account may; returns the responses. */
  async function tooMany(token: string): Promise<Response> {
    const answers = await Promise.all(Array.from({ length: 61 }, () => list(token)));
    return answers.find(answer => answer.status === 429)!;
  }

  const startImport = (base: string, token: string, body: string | ReadableStream) =>
    call(`${base}/imports`, token, {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body,
      duplex: 'half',
    } as RequestInit);

  /** Starts an import whose file arrives when `end` is called. */
  const slowImport = async (base: string, token: string) => {
    const { readable, writable } = new TextEncoderStream();
    const writer = writable.getWriter();
    const response = startImport(base, token, readable);
    writer.write('externalId,name,categoryId\n');
    let id: number | undefined;
    await waitUntil(async () => {
      [{ id } = { id: undefined }] = (await (await call(`${base}/imports`, token)).json()) as { id: number }[];
      return id !== undefined;
    });
    const end = () => {
      writer.write('A,Rex,1\n');
      writer.close();
    };
    return { id, response, end };
  };

  /** Adds a photo to the first animal. */
  const photo = async (base: string, token: string, options: Parameters<typeof image>[1]) => {
    const headers = { 'content-type': 'image/png' };
    const body = new Uint8Array(await image('png', options));
    return call(`${base}/pets/1/photos`, token, { method: 'POST', headers, body });
  };
  /** Creates a webhook; the first has the id 1. */
  const add = (base: string, token: string, url: string) =>
    call(`${base}/webhooks`, token, { method: 'POST', body: JSON.stringify({ url }) });
  /** Sends a message to the store. */
  const write = (base: string, token: string, message: string) =>
    call(`${base}/messages`, token, { method: 'POST', body: JSON.stringify({ message }) });
  const receiversHere = { environment: { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1' } };

  /** Provokes the codes that no example shows: the operation and its response. */
  const provocations: Record<string, () => Promise<[operation: string, answer: Response]>> = {
    missing_api_key: async () => ['listPets', await list()],
    malformed_api_key: async () => ['listPets', await list(key.slice(0, -1))],
    async invalid_api_key() {
      const other = await serve();
      const { token } = await other.newKey().finally(() => other.stop());
      return ['listPets', await list(token)];
    },
    async expired_api_key() {
      const { token } = await service.newKey({ expiresAt: clock.now() + 1000 });
      clock.advance(1000);
      return ['listPets', await list(token)];
    },
    async revoked_api_key() {
      const { token, id } = await service.newKey();
      await service.app.databases.production.write(tx => revokeKey(tx, id));
      return ['listPets', await list(token)];
    },
    async account_suspended() {
      const { token, accountId } = await service.newKey();
      await service.app.databases.production.write(tx => suspendAccount(tx, accountId));
      return ['listPets', await list(token)];
    },
    address_not_allowed: async () => [
      'listPets',
      await list((await service.newKey({ networks: ['192.0.2.0/24'] })).token),
    ],
    wrong_deployment: async () => ['listPets', await list((await service.newKey({ deployment: 'staging' })).token)],
    insufficient_scope: async () => ['listPets', await list((await service.newKey({ scopes: ['pets:write'] })).token)],
    rate_limit_exceeded: async () => ['listPets', await tooMany((await service.newKey({ plan: 'free' })).token)],
    async api_key_banned() {
      const { token } = await service.newKey({ plan: 'free' });
      await tooMany(token);
      clock.advance(2500);
      for (let violations = 0; violations < 19; violations++) await list(token);
      return ['listPets', await list(token)];
    },
    malformed_request: async () => ['listPets', await raw('GET /v1/pets/%ZZ HTTP/1.1\r\nHost: a\r\n\r\n')],
    expectation_failed: async () => ['listPets', await raw('GET /v1/pets HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n')],
    headers_too_large: async () => ['listPets', await list(key, { 'x-long': 'a'.repeat(17_000) })],
    body_too_large: async () => ['createPet', await create('x'.repeat(1024 * 1024 + 1))],
    invalid_content_type: async () => ['createPet', await create('{}', { 'content-type': 'text/plain' })],
    async category_not_found() {
      const strict = { environment: { PETSTORE_CATEGORIES: 'strict' } };
      const body = JSON.stringify({ name: 'Mia', categoryId: 4711 });
      const ask = (base: string, token: string) => call(`${base}/pets`, token, { method: 'POST', body });
      return ['createPet', await elsewhere(strict, ask)];
    },
    async operation_removed() {
      const later = { clock: testClock(Date.parse('2030-12-05T00:00:00Z')) };
      return ['getPet', await elsewhere(later, (base, token) => call(`${base}/pets/1`, token))];
    },
    async idempotency_key_reused() {
      await create(minka, { 'idempotency-key': 'reused' });
      const other = JSON.stringify({ name: 'Mia', categoryId: 2 });
      return ['createPet', await create(other, { 'idempotency-key': 'reused' })];
    },
    async idempotency_key_in_use() {
      const both = Array.from({ length: 8 }, () => create(minka, { 'idempotency-key': 'at-once' }));
      return ['createPet', (await Promise.all(both)).find(({ status }) => status === 409)!];
    },
    async precondition_failed() {
      const { headers } = await create(minka);
      const location = headers.get('location')!;
      const body = JSON.stringify({ name: 'Mia' });
      return ['updatePet', await call(location, key, { method: 'PATCH', body, headers: { 'if-match': '"another"' } })];
    },
    async precondition_required() {
      const careful = { environment: { PETSTORE_REQUIRE_IF_MATCH: 'true' } };
      const ask = (base: string, token: string) => call(`${base}/pets/1`, token, { method: 'PUT', body: minka });
      return ['replacePet', await elsewhere(careful, ask)];
    },
    async hold_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        for (let n = 0; n < 2; n++) await call(`${base}/pets`, token, { method: 'POST', body: minka });
        return call(`${base}/holds`, token, { method: 'POST', body: JSON.stringify({ petIds: [1, 2] }) });
      };
      return ['createHold', await elsewhere({ environment: { PETSTORE_HELD_MAX: '1' } }, ask)];
    },
    async order_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        for (let n = 0; n < 2; n++) await call(`${base}/pets`, token, { method: 'POST', body: minka });
        const order = (petId: number) =>
          call(`${base}/store/orders`, token, { method: 'POST', body: JSON.stringify({ petId }) });
        await order(1);
        return order(2);
      };
      return ['placeOrder', await elsewhere({ environment: { PETSTORE_ORDERS_MAX: '1' } }, ask)];
    },
    async category_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/categories`, token, { method: 'POST', body: JSON.stringify({ name: 'Alpacas' }) });
        const llama = JSON.stringify({ name: 'Kuzco', categoryId: 9000 });
        return call(`${base}/pets`, token, { method: 'POST', body: llama });
      };
      return ['createPet', await elsewhere({ environment: { PETSTORE_CATEGORIES_MAX: '1' } }, ask)];
    },
    not_in_sandbox: async () => [
      'importPets',
      await inSandbox({}, (base, token) => startImport(base, token, 'externalId\nA\n')),
    ],
    async sandbox_pet_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/pets`, token, { method: 'POST', body: minka });
        return call(`${base}/pets`, token, { method: 'POST', body: minka });
      };
      return ['createPet', await inSandbox({ PETSTORE_SANDBOX_PETS_MAX: '1' }, ask)];
    },
    async sandbox_storage_exceeded() {
      const long = JSON.stringify({ name: 'Minka', categoryId: 1, description: '\u00e9'.repeat(10_000) });
      const ask = async (base: string, token: string) => {
        for (;;) {
          const response = await call(`${base}/pets`, token, { method: 'POST', body: long });
          if (response.status !== 201) return response;
        }
      };
      return ['createPet', await inSandbox({ PETSTORE_SANDBOX_QUOTA_MIB: '1' }, ask)];
    },
    async sandbox_rate_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/pets`, token);
        return call(`${base}/pets`, token);
      };
      return ['listPets', await inSandbox({ PETSTORE_SANDBOX_PER_MINUTE: '1' }, ask)];
    },
    async stream_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/events/stream`, token);
        return call(`${base}/events/stream`, token);
      };
      return ['streamEvents', await elsewhere({ environment: { PETSTORE_STREAMS_MAX: '1' } }, ask)];
    },
    async webhook_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await add(base, token, 'https://receiver.example');
        return add(base, token, 'https://receiver.example');
      };
      return ['createWebhook', await elsewhere({ environment: { PETSTORE_WEBHOOKS_MAX: '1' } }, ask)];
    },
    async message_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await write(base, token, 'Hello');
        return write(base, token, 'Hello');
      };
      return ['sendMessage', await elsewhere({ environment: { PETSTORE_MESSAGES_PER_RECIPIENT: '1' } }, ask)];
    },
    async storage_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        for (let sent = 0; sent < 26; sent++) await write(base, token, '🐈'.repeat(10_000));
        return write(base, token, '🐈'.repeat(10_000));
      };
      return ['sendMessage', await elsewhere({ environment: { PETSTORE_STORAGE_QUOTA_MIB: '1' } }, ask)];
    },
    async photo_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/pets`, token, { method: 'POST', body: minka });
        for (let photos = 0; photos < 10; photos++) await photo(base, token, { color: `hsl(${36 * photos} 80% 50%)` });
        return photo(base, token, { color: '#fff' });
      };
      return ['addPhoto', await elsewhere({}, ask)];
    },
    async import_running() {
      const ask = async (base: string, token: string) => {
        const file = await slowImport(base, token);
        const refused = await startImport(base, token, 'externalId\nA\n');
        file.end();
        await file.response;
        return refused;
      };
      return ['importPets', await elsewhere({}, ask)];
    },
    async import_canceled() {
      const ask = async (base: string, token: string) => {
        const file = await slowImport(base, token);
        await call(`${base}/imports/${file.id}/cancellation`, token, { method: 'POST' });
        file.end();
        return file.response;
      };
      return ['importPets', await elsewhere({}, ask)];
    },
    async photo_storage_exceeded() {
      const ask = async (base: string, token: string) => {
        await call(`${base}/pets`, token, { method: 'POST', body: minka });
        return photo(base, token, { width: 800, height: 600, noise: true });
      };
      return ['addPhoto', await elsewhere({ environment: { PETSTORE_PHOTO_QUOTA_MIB: '1' } }, ask)];
    },
    async webhook_secret_limit_exceeded() {
      const ask = async (base: string, token: string) => {
        await add(base, token, 'https://receiver.example');
        const rotate = () => call(`${base}/webhooks/1/secrets`, token, { method: 'POST', body: '{}' });
        for (let secrets = 1; secrets < 5; secrets++) await rotate();
        return rotate();
      };
      return ['rotateWebhookSecret', await elsewhere({}, ask)];
    },
    async webhook_test_running() {
      const receiver = await startReceiver();
      try {
        const ask = async (base: string, token: string) => {
          await add(base, token, receiver.url);
          const test = () => call(`${base}/webhooks/1/test`, token, { method: 'POST' });
          const arrived = Promise.withResolvers<ServerResponse>();
          receiver.respond = (_, response) => arrived.resolve(response);
          const first = test();
          const held = await arrived.promise;
          const second = await test();
          held.writeHead(204).end();
          assert.equal((await first).status, 200);
          return second;
        };
        return ['testWebhook', await elsewhere(receiversHere, ask)];
      } finally {
        await receiver.close();
      }
    },
    async redelivery_running() {
      const receiver = await startReceiver();
      try {
        const ask = async (base: string, token: string) => {
          await add(base, token, receiver.url);
          await call(`${base}/webhooks/1/activation`, token, { method: 'POST' });
          const body = JSON.stringify({ since: new Date().toISOString() });
          const redeliver = () => call(`${base}/webhooks/1/redeliveries`, token, { method: 'POST', body });
          // The job may finish before the second request.
          for (;;) {
            const refused = (await Promise.all([redeliver(), redeliver()])).find(({ status }) => status === 409);
            if (refused !== undefined) return refused;
          }
        };
        return ['redeliverEvents', await elsewhere(receiversHere, ask)];
      } finally {
        await receiver.close();
      }
    },
    async sync_token_expired() {
      const moving = testClock(examplesAt);
      const ask = async (base: string, token: string) => {
        const all = await call(`${base}/pets?updatedSince=2026-11-20T00:00:00Z`, token);
        const old = encodeURIComponent(all.headers.get('x-sync-token')!);
        moving.advance(31 * 24 * 60 * 60 * 1000);
        return call(`${base}/pets?updatedSince=${old}`, token);
      };
      return ['listPets', await elsewhere({ clock: moving }, ask)];
    },
  };

  for (const [code, provoke] of Object.entries(provocations)) {
    test(`${code} is returned as documented`, async () => {
      const [operation, response] = await provoke();
      const { status, headers } = response;
      const body: Json = await response.json();
      assert.equal(body.code, code);
      assert.equal(status, errors[code as keyof typeof errors].status);
      fits(operation, { status, headers, contentType: headers.get('content-type') ?? '', body });
    });
  }

  test('an error is a problem document on request', async () => {
    const response = await list(undefined, { accept: 'application/problem+json' });
    const { status, headers } = response;
    assert.match(headers.get('content-type')!, /^application\/problem\+json/);
    fits('listPets', { status, headers, contentType: headers.get('content-type')!, body: await response.json() });
  });

  test('every error code is in an example, provoked here, or listed as needing a fault, ten thousand rows or slow clients', () => {
    const shown = routes.flatMap(route => route.examples.flatMap(example => example.code ?? []));
    const brought = new Set([...shown, ...Object.keys(provocations)]);
    const faulty = [
      'request_timeout',
      'import_limit_exceeded',
      'event_storage_exceeded',
      'pet_limit_exceeded',
      'export_limit_exceeded',
      'delivery_limit_exceeded',
      'internal_error',
      'storage_full',
      'storage_unavailable',
      'overloaded',
      'search_not_ready',
      'shutting_down',
    ];
    assert.deepEqual(
      codesOfApi.filter(code => !brought.has(code)),
      ['route_not_found', 'method_not_allowed', ...faulty],
    );
  });
});

/** Asserts that a response has a documented status, content type, body and headers: all required ones and no others. */
function fits(operationId: string, answer: Pick<SentExample, 'status' | 'headers' | 'contentType' | 'body'>): void {
  const { operation } = operations.find(one => one.operation.operationId === operationId)!;
  const response = operation.responses[answer.status];
  assert.ok(response, `${operationId} documents no ${answer.status}`);
  if (answer.body === undefined) {
    assert.equal(answer.contentType, '');
    assert.equal(response.content, undefined, `${answer.status} documents a body`);
  } else {
    const content = response.content?.[answer.contentType.split(';')[0]!];
    assert.ok(content, `${answer.status} documents no ${answer.contentType}`);
    assert.deepEqual(faults(content.schema, answer.body), []);
  }
  for (const [name, header] of Object.entries(response.headers as Record<string, Json>)) {
    const value = answer.headers.get(name);
    if (header.required) assert.notEqual(value, null, `${answer.status} lacks ${name}`);
    if (value === null) continue;
    assert.deepEqual(faults(header.schema, header.schema.type === 'integer' ? Number(value) : value), [], name);
  }
  const documented = new Set(Object.keys(response.headers).map(name => name.toLowerCase()));
  // The errors that operations share do not show the headers of a deprecation.
  const ofDeprecation = operation.deprecated && answer.status >= 400 ? ['deprecation', 'sunset', 'link'] : [];
  for (const name of ofDeprecation) documented.add(name);
  const others = [...answer.headers.keys()].filter(name => !documented.has(name) && !common.test(name));
  assert.deepEqual(others, [], 'undocumented headers');
}

/** Headers of HTTP itself, which an OpenAPI document does not list. */
const common =
  /^(access-control-.*|cache-control|connection|content-length|content-security-policy|content-type|date|keep-alive|strict-transport-security|transfer-encoding|vary|x-accel-buffering|x-content-type-options)$/;
