import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Compile } from 'typebox/compile';
import { routes } from '../src/app.ts';
import { errors } from '../src/errors.ts';
import { openApiDocument } from '../src/openapi.ts';
import { answersText, recordedAnswers, type SentExample, sendExamples } from './examples.ts';
import { type RunningService, startService } from './running-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into freely
type Json = any;

const document: Json = whole(openApiDocument(routes, [{ url: 'https://pets.test/v1', description: 'Production' }]));
const operations = Object.entries(document.paths as Record<string, Json>).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Json>).map(([method, operation]) => ({ path, method, operation })),
);

/** A JSON document with everything that it refers to in its place. */
function whole(value: unknown, root: unknown = value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(one => whole(one, root));
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, whole(one, root)]));
  return whole(
    $ref
      .slice(2)
      .split('/')
      .reduce((inner: Json, name) => inner[name], root),
    root,
  );
}

/** What is wrong with a value by a schema of the document. */
function faults(schema: Json, value: unknown): unknown[] {
  const validator = Compile(schema);
  return validator.Check(value)
    ? []
    : [...validator.Errors(value)].map(({ instancePath, message }) => [instancePath, message]);
}

describe('the OpenAPI document', () => {
  test('has every route as an operation, and no other', () => {
    assert.deepEqual(
      operations
        .map(({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`)
        .sort(),
      routes.map(route => `${route.operation} ${route.method} ${route.path}`).sort(),
    );
  });

  test('uses the names of the interface', () => {
    for (const name of ['Pet', 'NewPet', 'Pets', 'PetStatus', 'Error'])
      assert.ok(document.components.schemas[name], name);
    assert.deepEqual(document.components.schemas.PetStatus.enum, ['available', 'pending', 'sold']);
    assert.equal(document.components.securitySchemes.bearerAuth.scheme, 'bearer');
    assert.equal(document.info.version, '1.0.0');
  });

  test('marks what goes away, with its day', () => {
    const gone = operations.filter(({ operation }) => operation.deprecated).map(({ operation }) => operation);
    assert.deepEqual(
      gone.map(operation => [operation.operationId, operation['x-deprecated-sunset']]),
      [['getPet', '2030-12-05']],
    );
  });

  test('documents every error code, but for those that no operation can answer', () => {
    const documented = new Set(
      operations.flatMap(({ operation }) =>
        Object.values(operation.responses as Record<string, Json>).flatMap(response =>
          Object.keys(response.content['application/problem+json']?.examples ?? {}),
        ),
      ),
    );
    const without = Object.keys(errors).filter(code => !documented.has(code));
    assert.deepEqual(without, ['route_not_found', 'method_not_allowed']);
  });

  for (const { operation } of operations) {
    for (const [status, response] of Object.entries(operation.responses as Record<string, Json>)) {
      test(`${operation.operationId} ${status} has limit headers and examples that fit their schemas`, () => {
        for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id']) {
          assert.ok(response.headers[name], name);
        }
        for (const [type, { schema, examples }] of Object.entries(response.content as Record<string, Json>)) {
          const values = Object.entries((examples ?? {}) as Record<string, Json>);
          assert.ok(values.length > 0, `${type} has no example`);
          for (const [name, { value }] of values) {
            assert.deepEqual(faults(schema, value), [], name);
            if (Number(status) >= 400) assert.deepEqual([value.code, value.status], [name, Number(status)]);
          }
        }
      });
    }
  }
});

describe('what is answered is what is documented', () => {
  let service: RunningService;
  let sent: readonly SentExample[];
  let key: string;

  before(async () => {
    service = await startService();
    key = await service.newKey('production');
    sent = await sendExamples(service.urls.production, key);
  });
  after(() => service.stop());

  test('every address serves its own document, with itself as the first server', async () => {
    for (const [name, url] of Object.entries(service.urls)) {
      if (name === 'portal') continue;
      const served: Json = await (await fetch(new URL('/openapi.json', url))).json();
      assert.equal(served.servers[0].url, url);
    }
  });

  test('`petstore openapi` prints the same document', async () => {
    const printed: Json = await service.petstore('openapi');
    const served: Json = await (await fetch(new URL('/openapi.json', service.urls.production))).json();
    assert.deepEqual(printed.paths, served.paths);
    assert.deepEqual(printed.components, served.components);
  });

  test('the examples of answers are real (`npm run docs` records them)', async () => {
    assert.equal(answersText(sent), await recordedAnswers());
  });

  for (const route of routes) {
    for (const example of route.examples) {
      test(`${route.operation}, "${example.name}": ${example.status} ${example.code ?? ''}`, () => {
        const answer = sent.find(one => one.route.operation === route.operation && one.example === example)!;
        assert.equal(answer.status, example.status);
        if (example.code !== undefined) assert.equal((answer.body as Json).code, example.code);
        fits(route.operation, answer);
      });
    }
  }

  const address = () => new URL(service.urls.production);
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${service.urls.production}/pets`, { headers: { authorization: `Bearer ${key}`, ...headers } });

  /** How the codes that no example shows are brought about: one call of an operation each. */
  const provocations: Record<string, () => Promise<[operation: string, answer: Response]>> = {
    missing_api_key: async () => ['listPets', await fetch(`${service.urls.production}/pets`)],
    malformed_api_key: async () => ['listPets', await get({ authorization: 'Bearer petstore_live_cut' })],
    invalid_api_key: async () => {
      const other = await startService();
      const foreign = await other.newKey('production').finally(() => other.stop());
      return ['listPets', await get({ authorization: `Bearer ${foreign}` })];
    },
    revoked_api_key: async () => {
      const revoked = await service.newKey('production');
      await service.petstore('key', 'revoke', revoked.split('_')[2]!);
      return ['listPets', await get({ authorization: `Bearer ${revoked}` })];
    },
    wrong_deployment: async () => {
      const staging = await service.newKey('staging');
      return ['listPets', await get({ authorization: `Bearer ${staging}` })];
    },
    insufficient_scope: async () => {
      const created = await service.petstore('key', 'create', '--account', '1', '--scope', 'pets:write');
      return ['listPets', await get({ authorization: `Bearer ${created['token']}` })];
    },
    rate_limit_exceeded: async () => {
      const created = await service.petstore('key', 'create', '--account', '1');
      const calls = Array.from({ length: 61 }, () => get({ authorization: `Bearer ${created['token']}` }));
      const answers = await Promise.all(calls);
      return ['listPets', answers.find(answer => answer.status === 429)!];
    },
    malformed_request: async () => ['listPets', await raw('GET /v1/pets?name=%ZZ HTTP/1.1\r\n\r\n')],
    expectation_failed: async () => ['listPets', await raw(`GET /v1/pets HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n`)],
    headers_too_large: async () => ['listPets', await get({ 'x-long': 'a'.repeat(17_000) })],
    body_too_large: async () => ['createPet', await post('x'.repeat(1024 * 1024 + 1))],
    invalid_content_type: async () => ['createPet', await post('{}', 'text/plain')],
  };

  async function post(body: string, type = 'application/json'): Promise<Response> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    return fetch(`${service.urls.production}/pets`, { method: 'POST', headers, body });
  }

  async function raw(request: string): Promise<Response> {
    const socket = connect(Number(address().port), address().hostname);
    socket.end(request);
    const [head, body] = (await text(socket)).split('\r\n\r\n') as [string, string];
    const [line, ...headers] = head.split('\r\n');
    const pairs = headers.map(header => header.split(/: (.*)/).slice(0, 2) as [string, string]);
    return new Response(body, { status: Number(line!.split(' ')[1]), headers: pairs });
  }

  for (const [code, provoke] of Object.entries(provocations)) {
    test(`${code} is answered as documented`, async () => {
      const [operation, response] = await provoke();
      const body: Json = await response.json();
      const { status, headers } = response;
      assert.equal(body.code, code);
      assert.equal(status, errors[code as keyof typeof errors].status);
      fits(operation, { status, headers, contentType: headers.get('content-type') ?? '', body });
    });
  }

  test('an error is answered as a problem on request', async () => {
    const response = await get({ accept: 'application/problem+json', authorization: '' });
    const { status, headers } = response;
    assert.match(headers.get('content-type')!, /^application\/problem\+json/);
    fits('listPets', { status, headers, contentType: headers.get('content-type')!, body: await response.json() });
  });

  test('operation_removed and category_not_found are answered as documented', async () => {
    const later = await startService({
      NODE_ENV: 'test',
      PETSTORE_NOW: '2030-12-05T00:00:00Z',
      PETSTORE_CATEGORIES: 'strict',
    });
    try {
      const headers = {
        authorization: `Bearer ${await later.newKey('production')}`,
        'content-type': 'application/json',
      };
      const base = later.urls.production;
      const body = JSON.stringify({ name: 'Mia', categoryId: 4711 });
      const answers = [
        ['getPet', 'operation_removed', await fetch(`${base}/pets/1`, { headers })],
        ['createPet', 'category_not_found', await fetch(`${base}/pets`, { method: 'POST', headers, body })],
      ] as const;
      for (const [operation, code, response] of answers) {
        const body: Json = await response.json();
        const contentType = response.headers.get('content-type')!;
        assert.equal(body.code, code);
        fits(operation, { status: response.status, headers: response.headers, contentType, body });
      }
    } finally {
      await later.stop();
    }
  });

  test('no code is left that neither an example nor a call of these tests brings about, but what takes a fault', () => {
    const shown = routes.flatMap(route => route.examples.flatMap(example => example.code ?? []));
    const brought = new Set([...shown, ...Object.keys(provocations), 'operation_removed', 'category_not_found']);
    assert.deepEqual(
      Object.keys(errors).filter(code => !brought.has(code)),
      [
        'expired_api_key',
        'route_not_found',
        'method_not_allowed',
        'request_timeout',
        'api_key_banned',
        'internal_error',
        'storage_full',
        'storage_unavailable',
        'shutting_down',
      ],
    );
  });
});

/** An answer has a documented status, content type, body and headers: all that are required, and no other of ours. */
function fits(operationId: string, answer: Pick<SentExample, 'status' | 'headers' | 'contentType' | 'body'>): void {
  const { operation } = operations.find(one => one.operation.operationId === operationId)!;
  const response = operation.responses[answer.status];
  assert.ok(response, `${operationId} documents no ${answer.status}`);
  const content = response.content[answer.contentType.split(';')[0]!];
  assert.ok(content, `${answer.status} documents no ${answer.contentType}`);
  assert.deepEqual(faults(content.schema, answer.body), []);
  for (const [name, header] of Object.entries(response.headers as Record<string, Json>)) {
    const value = answer.headers.get(name);
    if (header.required) assert.notEqual(value, null, `${answer.status} lacks ${name}`);
    if (value === null) continue;
    assert.deepEqual(faults(header.schema, header.schema.type === 'integer' ? Number(value) : value), [], name);
  }
  const documented = new Set(Object.keys(response.headers).map(name => name.toLowerCase()));
  const others = [...answer.headers.keys()].filter(name => !documented.has(name) && !common.test(name));
  assert.deepEqual(others, [], 'headers that the document does not know');
}

/** Headers of HTTP itself, which an OpenAPI document does not list. */
const common = /^(access-control-.*|connection|content-length|content-type|date|keep-alive|vary)$/;
