import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Type from 'typebox';
import { SharedBudget } from '../../shared-budget.ts';
import { Problem } from '../problem.ts';
import { type Caller, operationsOver, type Route } from '../route.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';
import { trustedProxies } from './client-address.ts';
import type { HttpServerOptions, RequestOutcome } from './options.ts';
import { HttpServer } from './server.ts';
import type { HttpView, ViewMount } from './view.ts';

const caller: Caller = {
  ...{ keyId: 'k', deployment: 'production', accountId: 1, admin: false, plan: 'free' },
  scopes: new Set(['read']),
};

const authenticator: Authenticator = {
  isStillAuthorized: () => true,
  addressHeaders: () => ['X-RateLimit-Limit', '60'],
  uncount: () => ['X-RateLimit-Limit', '1'],
  authenticate({ authorization }): AuthenticationResult {
    const headers = ['X-RateLimit-Limit', '10'];
    if (authorization === 'Bearer good') return { authenticated: true, caller, headers, countedAt: 5 };
    return { authenticated: false, problem: new Problem('missing_api_key', 401, 'Send a key.'), headers };
  },
};

const MIB = 1024 * 1024;
const operation = operationsOver<null>();
const documentation = { tag: 'Things', summary: '', description: '', errors: [], examples: [] };

function route(operationId: string, scope: string, method: 'GET' | 'POST', path: string): Route<null> {
  return {
    ...operation({
      ...documentation,
      successes: [{ status: 200, description: '', schema: Type.Unknown() }],
      query: Type.Object({ name: Type.Optional(Type.String({ maxLength: 4 })) }),
      ...(method === 'POST' && { body: Type.Object({ name: Type.String() }) }),
      handle: ({ query, body, caller, url }) => ({ body: { query, body, account: caller.accountId, url } }),
    }),
    ...{ operationId, method, path, access: { key: true, scope } as const, tag: 'Things', stability: 'stable' },
  };
}

const findEight = { operationId: 'shop.findEight', path: '/items/{id}' };

const view: HttpView = {
  operations: [
    {
      ...{ operationId: 'shop.find', method: 'GET', path: '/items/{id}' },
      async handle({ call, parameters, search }) {
        const found = await call('listThings', { query: new URLSearchParams(search) });
        const bytes = JSON.stringify({ id: parameters['id'], found: JSON.parse(String(found.bytes)) });
        return { status: 200, bytes, ...(parameters['id'] === '8' && { operation: findEight }) };
      },
    },
    {
      ...{ operationId: 'shop.add', method: 'POST', path: '/items', bytesMax: 64 },
      async handle({ call, body }) {
        return { status: 200, bytes: (await call('addThing', { body: JSON.parse(String(body)) })).bytes };
      },
    },
    {
      ...{ operationId: 'shop.open', method: 'POST', path: '/open', bytesMax: 64 },
      authenticate: () => ({ visitor: '10.0.0.0', headers: [] }),
      handle: ({ body, caller }) => ({
        status: 201,
        contentType: 'text/plain',
        bytes: `${body.length} ${caller?.keyId}`,
      }),
    },
    {
      ...{ operationId: 'shop.enter', method: 'POST', path: '/enter', bytesMax: 64 },
      authenticate: () => ({ visitor: '10.0.0.0', headers: [] }),
      async handle({ body, identify }) {
        const credentials = { authorization: `Bearer ${body}`, address: () => '' };
        return { status: 200, bytes: identify(await authenticator.authenticate(credentials)).keyId };
      },
    },
    {
      ...{ operationId: 'shop.busy', method: 'GET', path: '/busy' },
      handle() {
        throw new Problem('overloaded', 503, 'Too much.');
      },
    },
    {
      ...{ operationId: 'shop.fault', method: 'GET', path: '/fault' },
      handle() {
        throw new Error('secret');
      },
    },
    {
      ...{ operationId: 'shop.odd', method: 'GET', path: '/odd' },
      handle() {
        throw new Problem('odd', 400, 'Odd.');
      },
    },
  ],
  authenticate: ({ header, address }) =>
    authenticator.authenticate({ authorization: header('authorization')?.replace('Shop', 'Bearer'), address }),
  refuse: ({ header }) => (header('origin') === 'http://evil' ? new Problem('forbidden', 403, 'No.') : undefined),
  problemResponse({ code, status }) {
    if (code === 'odd') throw new Error('The view has no text for it.');
    return { status, contentType: 'application/x-shop', bytes: `!${code}` };
  },
};

describe('a view', () => {
  let loads = 0;
  let origin: string;
  let server: HttpServer<null>;
  const outcomes: RequestOutcome[] = [];
  const mount: ViewMount = {
    prefix: '/shop/v2',
    async load() {
      if (++loads === 1) throw new Error('The disk is slow.');
      return view;
    },
  };

  before(async () => {
    const errors = new Proxy(
      {},
      { get: (_, code) => ({ status: code === 'method_not_allowed' ? 405 : 404, message: '' }) },
    );
    server = new HttpServer<null>({
      ...{ prefix: '/v1', contextOf: () => null, authenticator, views: [mount], pages: [] },
      routes: [route('listThings', 'read', 'GET', '/things'), route('addThing', 'write', 'POST', '/things')],
      errors: errors as HttpServerOptions<null>['errors'],
      problemOf: error => (error instanceof Problem ? error : new Problem('internal_error', 500, 'Our fault.')),
      onResponse: (_, outcome) => void outcomes.push(outcome),
      proxies: trustedProxies([]),
      bodies: new SharedBudget({ total: MIB }),
      forms: new SharedBudget({ total: MIB }),
      uploads: {} as never,
      publicUrl: () => 'http://service.example',
      pagesUrl: () => 'http://service.example',
      errorPage: ({ status }) => ({ status, bytes: '' }),
    });
    origin = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  });
  after(() => server.close(0));

  async function send(path: string, init: RequestInit = {}) {
    const headers = { authorization: 'Bearer good', ...(init.headers as Record<string, string>) };
    const response = await fetch(origin + path, { ...init, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  it('is loaded again if that failed, and then once', async () => {
    assert.equal((await send('/shop/v2/items/7')).status, 500);
    assert.equal((await send('/shop/v2/items/7')).status, 200);
    await send('/shop/v2/items/7');
    assert.equal(loads, 2);
  });

  it('runs operations of the API for the caller', async () => {
    const { text, headers } = await send('/shop/v2/items/7/?name=Max');
    assert.deepEqual(JSON.parse(text), {
      id: '7',
      found: { query: { name: 'Max' }, account: 1, url: '/v1/things?name=Max' },
    });
    assert.equal(headers.get('x-ratelimit-limit'), '10');
    const { route, prefix, code } = outcomes.at(-1)!;
    assert.deepEqual([route?.operationId, prefix, code], ['shop.find', '/shop/v2', '']);
  });

  it('can name what a request did for logs and metrics', async () => {
    await send('/shop/v2/items/8');
    assert.equal(outcomes.at(-1)!.route, findEight);
  });

  it('states the problems of these operations in its own format', async () => {
    const invalid = await send('/shop/v2/items/7?name=Maximilian');
    assert.deepEqual([invalid.status, invalid.text], [400, '!invalid_parameter']);
    assert.equal(invalid.headers.get('content-type'), 'application/x-shop');
    const refused = await send('/shop/v2/items', { method: 'POST', body: '{"name":"Max"}' });
    assert.deepEqual([refused.status, refused.text], [403, '!insufficient_scope']);
    assert.equal(outcomes.at(-1)!.code, 'insufficient_scope');
  });

  it('rejects requests without a key, for unknown paths and methods, and with large bodies', async () => {
    assert.equal((await send('/shop/v2/items/7', { headers: { authorization: '' } })).text, '!missing_api_key');
    assert.equal((await send('/shop/v2/none')).text, '!route_not_found');
    const wrong = await send('/shop/v2/items', { method: 'PUT', body: '' });
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
    const large = await send('/shop/v2/items', { method: 'POST', body: 'x'.repeat(65) });
    assert.deepEqual([large.status, large.text], [413, '!body_too_large']);
  });

  it('serves visitors where an operation admits them', async () => {
    const { status, text } = await send('/shop/v2/open', { method: 'POST', body: 'abc' });
    assert.deepEqual([status, text], [201, '3 undefined']);
  });

  it('identifies visitors by their bodies', async () => {
    const accepted = await send('/shop/v2/enter', { method: 'POST', body: 'good' });
    assert.deepEqual([accepted.status, accepted.text], [200, 'k']);
    const rejected = await send('/shop/v2/enter', { method: 'POST', body: 'bad' });
    assert.deepEqual([rejected.status, rejected.text], [401, '!missing_api_key']);
    for (const { headers } of [accepted, rejected]) assert.equal(headers.get('x-ratelimit-limit'), '10');
  });

  it('authenticates requests as the view does', async () => {
    const headers = { authorization: 'Shop good' };
    assert.equal((await send('/shop/v2/none', { headers })).text, '!route_not_found');
    assert.equal((await send('/shop/v2/items/7', { headers })).status, 200);
  });

  it('does not count a request that is rejected for lack of capacity', async () => {
    const { status, headers } = await send('/shop/v2/busy');
    assert.deepEqual([status, headers.get('x-ratelimit-limit')], [503, '1']);
  });

  it('reveals nothing of an internal error', async () => {
    const { status, text } = await send('/shop/v2/fault');
    assert.deepEqual([status, text], [500, '!internal_error']);
  });

  it('responds without a body when the view cannot state a problem', async () => {
    const { status, text } = await send('/shop/v2/odd');
    assert.deepEqual([status, text], [500, '']);
  });

  it('refuses requests before their key is checked, and allows other preflights', async () => {
    const preflight = { method: 'OPTIONS', headers: { origin: 'http://good', 'access-control-request-method': 'GET' } };
    assert.equal((await send('/shop/v2/items/7', preflight)).status, 204);
    const { status, headers } = await send('/shop/v2/items/7', { headers: { origin: 'http://evil' } });
    assert.deepEqual([status, headers.get('x-ratelimit-limit')], [403, '60']);
  });

  it('leaves other paths to the server', async () => {
    assert.equal((await send('/shop/v21')).text.includes('route_not_found'), true);
    assert.equal((await send('/v1/things')).status, 200);
  });
});
