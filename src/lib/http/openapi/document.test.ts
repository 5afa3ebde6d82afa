import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Type from 'typebox';
import { operationsOver, type Route } from '../route.ts';
import { openApiOf } from './document.ts';
import type { ApiDescription } from './types.ts';

const Shelf = Type.Object(
  {
    id: Type.Integer({ format: 'int64' }),
    size: Type.Optional(Type.Union([Type.Literal('small'), Type.Literal('large')], { $id: 'Size' })),
  },
  { $id: 'Shelf', description: 'A board to put things on.' },
);

const operation = operationsOver<undefined>();

const getShelf: Route<undefined> = {
  ...operation({
    summary: 'Get a shelf',
    description: 'One shelf.',
    parameters: {
      shelfId: { schema: Type.Integer(), description: 'Which.', errorCode: 'shelf_not_found', errorMessage: 'None.' },
    },
    query: Type.Object({
      size: Type.Optional(Type.Array(Type.Enum(['small', 'large']), { description: 'Only these.' })),
      limit: Type.Integer({ minimum: 1, description: 'How many.' }),
    }),
    headers: { Prefer: 'What you would like.' },
    successes: [
      { status: 200, description: 'The shelf.', schema: Shelf, headers: { 'X-Total-Count': 'How many there are.' } },
    ],
    errors: ['shelf_not_found'],
    deprecation: {
      since: new Date('2026-11-20'),
      sunset: new Date('2030-12-05'),
      instead: 'List them.',
      page: '/docs/deprecation',
      successor: '/shelves',
    },
    extensions: { 'x-hideTryItPanel': true },
    examples: [
      { name: 'first', summary: 'The first', path: { shelfId: '1' }, query: 'limit=1', status: 200 },
      { name: 'none', summary: 'None', path: { shelfId: '9' }, query: 'limit=1', status: 404, code: 'shelf_not_found' },
    ],
    handle: () => ({ body: {} }),
  }),
  operationId: 'getShelf',
  method: 'GET',
  path: '/shelves/{shelfId}',
  access: { key: true, scope: 'shelves:read' },
  tag: 'Shelves',
  stability: 'beta',
};

const addShelf: Route<undefined> = {
  ...operation({
    summary: 'Add a shelf',
    description: 'A new one.',
    body: Shelf,
    successes: [
      { status: 201, description: 'Added.', schema: Type.Array(Shelf), headers: { Location: 'Where it is.' } },
    ],
    errors: [],
    examples: [{ name: 'small', summary: 'A small one', body: { id: 1, size: 'small' }, status: 201 }],
    handle: () => ({ body: {} }),
  }),
  operationId: 'addShelf',
  method: 'POST',
  path: '/shelves',
  access: { key: true },
  tag: 'Shelves',
  stability: 'stable',
};

const moveShelf: Route<undefined> = {
  ...operation({
    ...addShelf,
    parameters: {
      shelfId: { schema: Type.Integer(), description: 'Which.', errorCode: 'shelf_not_found', errorMessage: 'None.' },
    },
    conditional: true,
    bodyOptional: true,
    successes: [{ status: 200, description: 'Moved.', schema: Shelf }],
    errors: ['in_the_way'],
    examples: [{ name: 'on', summary: 'Further on', path: { shelfId: '1' }, status: 200 }],
    handle: () => ({ body: {} }),
  }),
  operationId: 'moveShelf',
  method: 'PATCH',
  path: '/shelves/{shelfId}',
  tag: 'Shelves',
  stability: 'stable',
  access: { key: true },
};

const removeShelf: Route<undefined> = {
  ...operation({
    ...documentedAs(),
    conditional: true,
    successes: [{ status: 204, description: 'Gone.' }],
    handle: () => ({}),
  }),
  access: addShelf.access,
  tag: addShelf.tag,
  method: 'DELETE',
  path: '/shelves/{shelfId}',
  stability: 'stable',
  operationId: 'removeShelf',
};

function documentedAs() {
  const { summary, description, errors } = addShelf;
  return { summary, description, errors, examples: [] };
}

function documentOf(routes: readonly Route<never>[], change: Partial<ApiDescription> = {}) {
  const entry = { status: 404, message: 'There is no such shelf.', meaning: 'No shelf has this id.', remedy: 'List.' };
  const document = openApiOf({
    info: { title: 'Shelves', version: '1' },
    servers: [{ url: 'https://shelves.test/v1', description: 'Production' }],
    tags: [{ name: 'Shelves', description: 'Boards.' }],
    tagGroups: [{ name: 'All', tags: ['Shelves'] }],
    bearer: 'A key.',
    routes,
    errors: {
      shelf_not_found: entry,
      missing_key: { ...entry, status: 401 },
      in_the_way: { ...entry, status: 409 },
      unreadable: { ...entry, status: 400 },
    } as never,
    pagesUrl: 'https://pages.test',
    codesOf: one => ['missing_key', 'unreadable', ...one.errors],
    headers: { 'X-Request-Id': { description: 'Its id.', schema: { type: 'string' } } },
    responseTo: (_, example) => (example.name === 'first' ? { id: 1, size: 'large' } : undefined),
    ...change,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  return JSON.parse(JSON.stringify(document)) as any;
}

const entryOf = (status: number) => ({ status, message: 'No.', meaning: 'It is not possible.', remedy: 'None.' });
const responseRef = (name: string) => ({ $ref: `#/components/responses/${name}` });

/** Returns the object, or its target if it is a reference. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
function follow(document: any, object: any) {
  const path = object.$ref?.slice(2).split('/') ?? [];
  return path.length > 0 ? path.reduce((inner: never, name: string) => inner[name], document) : object;
}

describe('the OpenAPI document of some routes', () => {
  const document = documentOf([getShelf, addShelf, moveShelf, removeShelf]);
  const { get, patch: move, delete: remove } = document.paths['/shelves/{shelfId}'];
  const add = document.paths['/shelves'].post;

  test('is OpenAPI 3.1, requires a bearer token everywhere and groups its tags', () => {
    assert.match(document.openapi, /^3\.1\./);
    assert.deepEqual(document.security, [{ bearerAuth: [] }]);
    assert.equal(document.components.securitySchemes.bearerAuth.scheme, 'bearer');
    assert.deepEqual(document['x-tagGroups'], [{ name: 'All', tags: ['Shelves'] }]);
  });

  test('names each operation after its route and lists its parameters', () => {
    assert.equal(get.operationId, 'getShelf');
    assert.deepEqual(get.security, [{ bearerAuth: ['shelves:read'] }]);
    assert.equal(add.security, undefined);
  });

  test('turns a named schema into one component and refers to it', () => {
    assert.deepEqual(document.components.schemas.Shelf, {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'integer', format: 'int64' }, size: { $ref: '#/components/schemas/Size' } },
      description: 'A board to put things on.',
    });
    assert.deepEqual(add.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/Shelf' });
    assert.deepEqual(add.responses[201].content['application/json'].schema, {
      type: 'array',
      items: { $ref: '#/components/schemas/Shelf' },
    });
  });

  test('writes a choice between texts as an enum', () => {
    assert.deepEqual(document.components.schemas.Size, { type: 'string', enum: ['small', 'large'] });
  });

  test('describes path, query and header parameters', () => {
    const [shelfId, size, limit, prefer] = get.parameters.map((one: object) => follow(document, one));
    assert.deepEqual([shelfId.in, shelfId.required, shelfId.example], ['path', true, 1]);
    assert.deepEqual([size.in, size.required, size.style, size.explode], ['query', false, 'form', true]);
    assert.deepEqual(size.schema.items, { type: 'string', enum: ['small', 'large'] });
    assert.deepEqual([limit.required, limit.description], [true, 'How many.']);
    assert.deepEqual([prefer.in, prefer.name], ['header', 'Prefer']);
  });

  test('references a named schema in parameters, with their own description', () => {
    const Colour = Type.Enum(['red', 'blue'], { title: 'Colour', description: 'How it looks.' });
    const body = Type.Object({ colour: Colour });
    const query = Type.Object({ colour: Type.Optional(Colour) });
    const { paths, components } = documentOf([{ ...addShelf, body, query } as never]);
    const [reference] = paths['/shelves'].post.parameters;
    assert.deepEqual(reference, { $ref: '#/components/parameters/colour' });
    const { colour } = components.parameters;
    assert.deepEqual([colour.description, colour.schema], ['How it looks.', { $ref: '#/components/schemas/Colour' }]);
    assert.equal(components.schemas.Colour.description, 'How it looks.');
  });

  test('defines shared headers once', () => {
    const headersOf = (operation: { parameters: { in?: string }[] }) =>
      operation.parameters
        .map(parameter => follow(document, parameter))
        .filter(parameter => parameter.in === 'header')
        .map(({ name }) => name);
    assert.deepEqual(headersOf(get), ['Prefer', 'If-Match', 'If-None-Match']);
    assert.deepEqual(headersOf(add), ['Prefer', 'Idempotency-Key']);
    assert.deepEqual(headersOf(move), ['Prefer', 'Idempotency-Key', 'If-Match']);
    assert.deepEqual(headersOf(remove), ['Prefer', 'If-Match']);
    assert.deepEqual(Object.keys(document.components.parameters).sort(), [
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'Prefer',
      'limit',
      'shelfId',
      'size',
    ]);
    assert.deepEqual(add.parameters, [
      { $ref: '#/components/parameters/Prefer' },
      { $ref: '#/components/parameters/Idempotency-Key' },
    ]);
    assert.equal(get.parameters[3].description, 'What you would like.', 'its own words stand above those of all');
  });

  test('accepts merge patches for PATCH, and marks optional bodies', () => {
    assert.deepEqual(Object.keys(move.requestBody.content), ['application/json', 'application/merge-patch+json']);
    assert.deepEqual([add.requestBody.required, move.requestBody.required], [true, false]);
    assert.equal(remove.requestBody, undefined);
    assert.equal(move.requestBody.content['application/json'].examples, undefined);
  });

  test('has an entity tag on each success with a body and on 304, and no body on 204 and 304', () => {
    const unchanged = follow(document, get.responses[304]);
    for (const response of [get.responses[200], add.responses[201], move.responses[200], unchanged]) {
      assert.deepEqual(response.headers.ETag, { $ref: '#/components/headers/ETag' });
    }
    for (const response of [unchanged, remove.responses[204]]) {
      assert.equal(response.content, undefined);
      assert.ok(response.headers['X-Request-Id']);
    }
    assert.equal(remove.responses[204].headers.ETag, undefined);
    const untagged = {
      ...addShelf,
      successes: [{ status: 202, description: 'Later.', schema: Shelf, untagged: true }],
    };
    const { post } = documentOf([untagged as never]).paths['/shelves'];
    assert.deepEqual(Object.keys(post.responses[202].headers).sort(), [
      'Idempotency-Replayed',
      'Preference-Applied',
      'X-Request-Id',
    ]);
    assert.equal(add.responses[304], undefined);
  });

  test('documents Preference-Applied on every success and on 304', () => {
    const responses = [get.responses[200], get.responses[304], add.responses[201], remove.responses[204]];
    for (const { headers } of responses.map(response => follow(document, response))) {
      assert.equal(follow(document, headers['Preference-Applied']).required, undefined);
      assert.equal(follow(document, headers['X-Request-Id']).required, true);
    }
  });

  test('documents the replay header, and Retry-After on conflicts', () => {
    assert.ok(add.responses[201].headers['Idempotency-Replayed']);
    assert.equal(get.responses[200].headers['Idempotency-Replayed'], undefined);
    assert.equal(follow(document, move.responses[409]).headers['Retry-After'].required, undefined);
  });

  test('shows the recorded response of an example', () => {
    assert.deepEqual(get.responses[200].content['application/json'].examples.first.value, { id: 1, size: 'large' });
  });

  test('documents each error status in both formats, with an example per code', () => {
    const { content, headers, description } = follow(document, get.responses[404]);
    assert.equal(description, '`shelf_not_found`.');
    assert.deepEqual(follow(document, content['application/json'].examples.shelf_not_found), {
      summary: 'There is no such shelf.',
      description: 'No shelf has this id.',
      value: { code: 'shelf_not_found', message: 'There is no such shelf.', status: 404 },
    });
    const [problem] = follow(document, content['application/problem+json'].schema).examples;
    assert.equal(problem.type, `https://pages.test/errors/${problem.code}`);
    assert.ok(headers['X-Request-Id']);
    assert.deepEqual(document.components.schemas.Error.required, ['code', 'message', 'status']);
  });

  test('documents deprecation headers on successes, and WWW-Authenticate on 401', () => {
    for (const status of [200, 304]) {
      const { headers } = follow(document, get.responses[status]);
      for (const name of ['Deprecation', 'Sunset', 'Link']) {
        assert.equal(follow(document, headers[name]).required, true, `${status} ${name}`);
      }
    }
    assert.ok(follow(document, get.responses[401]).headers['WWW-Authenticate']);
    assert.equal(get.deprecated, true);
    assert.equal(get['x-deprecated-sunset'], '2030-12-05');
  });

  test('carries the stability and the extensions of a route', () => {
    assert.equal(get['x-stability'], 'beta');
    assert.equal(get['x-hideTryItPanel'], true);
  });

  test('defines a shared error response once', () => {
    const twice = documentOf([addShelf, { ...addShelf, operationId: 'addAgain', path: '/again' }]);
    const reference = { $ref: '#/components/responses/MissingKey' };
    assert.deepEqual(twice.paths['/shelves'].post.responses[401], reference);
    assert.deepEqual(twice.paths['/again'].post.responses[401], reference);
  });

  test('names an error response after its only code, or after the last code that not every operation has', () => {
    const { paths } = documentOf([addShelf, { ...addShelf, path: '/more', errors: ['in_the_way', 'late'] }], {
      codesOf: one => ['unreadable', ...one.errors],
      errors: { unreadable: entryOf(400), in_the_way: entryOf(400), late: entryOf(409) },
    });
    assert.deepEqual(Object.values(paths['/shelves'].post.responses).slice(1), [responseRef('Unreadable')]);
    assert.deepEqual(Object.values(paths['/more'].post.responses).slice(1), [
      responseRef('BadRequestInTheWay'),
      responseRef('Late'),
    ]);
  });

  test('has no unused component', () => {
    const text = JSON.stringify(document);
    for (const section of ['schemas', 'parameters', 'headers', 'responses', 'examples']) {
      for (const name of Object.keys(document.components[section])) {
        assert.ok(text.includes(`"#/components/${section}/${name}"`), `${section}/${name}`);
      }
    }
  });

  test('rejects an unknown code, a tag without a description, and one name for two schemas', () => {
    assert.throws(() => documentOf([getShelf], { codesOf: () => ['unknown'] }), /unknown/);
    assert.throws(() => documentOf([getShelf], { tags: [] }), /Shelves/);
    const other = { ...addShelf, body: Type.String({ $id: 'Shelf' }) };
    assert.throws(() => documentOf([getShelf, other as never]), /Shelf/);
  });
});
