import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import Type from 'typebox';
import { Problem } from '../problem.ts';
import { operationsOver, type Route, type RouteResponse } from '../route.ts';
import type { Authenticator } from './authenticator.ts';
import { type BindingOptions, BoundRoute } from './bound-route.ts';
import type { EncodedResponse } from './responses.ts';

const operation = operationsOver<null>();
const documentation = {
  access: { key: true },
  tag: 'Things',
  summary: '',
  description: '',
  errors: [],
  examples: [],
} as const;

/**
 * Returns a route whose response a test sets; its body contains the request's parts.
 * @param etag `null` if it creates
 */
function answering(
  method: Route<null>['method'],
  more: Partial<Route<null>> = {},
  answer: (body: unknown) => RouteResponse = body => ({ body }),
  etag: string | null = '"1.1"',
): Route<null> {
  return {
    ...operation({
      ...documentation,
      successes: [{ status: 200, description: '', schema: Type.Unknown() }],
      ...(more as object),
      handle({ body, checkPreconditions }) {
        if (more.conditional) checkPreconditions(etag ?? undefined);
        return answer(body);
      },
    }),
    operationId: 'askThing',
    method,
    path: '/things',
    tag: 'Things',
    stability: 'stable',
    access: { key: true },
  };
}

/** Sends a request to a route as a server does. */
function ask(
  asked: Route<null>,
  headers: IncomingHttpHeaders = {},
  body?: string,
  options: Partial<BindingOptions<null>> = {},
  search = '',
): EncodedResponse {
  const authenticator: Authenticator = {
    authenticate: () => assert.fail(),
    uncount: () => assert.fail(),
    addressHeaders: () => [],
    isStillAuthorized: () => true,
  };
  const bound = new BoundRoute(asked, { prefix: '/v1', contextOf: () => null, authenticator, ...options });
  const caller = {
    keyId: 'k',
    deployment: 'production',
    accountId: 1,
    admin: false,
    plan: 'free',
    scopes: new Set(['any']),
  };
  const request = {
    request: { headers, socket: { destroyed: false, readableEnded: false } },
    requestId: 'r',
    publicUrl: 'https://things.test',
    path: '/v1/things',
    search,
    parameters: {},
    caller,
    address: '192.0.2.1',
  };
  return bound.handle(request, body === undefined ? undefined : Buffer.from(body)) as EncodedResponse;
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
  return '';
}

const json = { 'content-type': 'application/json' };
const merge = { 'content-type': 'application/merge-patch+json' };
const note = Type.Object({ note: Type.Optional(Type.String()) });

describe('an optional body', () => {
  const step = answering('POST', { body: note, bodyOptional: true });

  it('is an empty object then, whatever its content type', () => {
    for (const [headers, body] of [
      [{}, undefined],
      [{}, ''],
      [json, undefined],
      [json, ''],
      [json, '{}'],
    ] as const) {
      assert.equal(ask(step, headers, body).bytes, '{}');
    }
  });

  it('is validated if present', () => {
    assert.equal(ask(step, json, '{"note":"x"}').bytes, '{"note":"x"}');
    assert.equal(
      codeOf(() => ask(step, {}, '{}')),
      'invalid_content_type',
    );
    assert.equal(
      codeOf(() => ask(step, json, '{"note":1}')),
      'invalid_body',
    );
    assert.equal(
      codeOf(() => ask(step, json, 'null')),
      'invalid_body',
    );
    assert.equal(
      codeOf(() => ask(step, json, ' ')),
      'invalid_json',
    );
  });

  it('is required everywhere else', () => {
    const add = answering('POST', { body: note });
    assert.equal(
      codeOf(() => ask(add, {})),
      'invalid_content_type',
    );
    assert.equal(
      codeOf(() => ask(add, json)),
      'invalid_json',
    );
  });
});

describe('a body that the operation does not read', () => {
  const release = answering('POST', {}, sent => ({ body: { sent } }));
  const strict = { ...json, prefer: 'handling=strict' };

  it('is not validated, but distinguishes requests', () => {
    for (const [headers, body, sent] of [
      [json, '{ "note": "x" }', { note: 'x' }],
      [json, '{', '{'],
      [{}, 'x', 'x'],
      [json, '', undefined],
    ] as const) {
      assert.equal(ask(release, headers, body).bytes, JSON.stringify({ sent }));
    }
  });

  it('must have no members with handling=strict', () => {
    for (const body of [undefined, '', '{}']) {
      assert.equal(ask(release, strict, body).bytes, body === '{}' ? '{"sent":{}}' : '{}');
    }
    assert.throws(
      () => ask(release, strict, '{"note":"x"}'),
      (refusal: Problem) => {
        const errors = [{ path: '/note', code: 'unknown_member', message: 'Unknown member.' }];
        assert.deepEqual([refusal.status, refusal.code, refusal.errors], [400, 'invalid_body', errors]);
        return true;
      },
    );
    for (const [headers, body, code] of [
      [strict, '[]', 'invalid_body'],
      [strict, '{', 'invalid_json'],
      [{ prefer: 'handling=strict' }, '{}', 'invalid_content_type'],
    ] as const) {
      assert.equal(
        codeOf(() => ask(release, headers, body)),
        code,
      );
    }
  });
});

describe('an invalid body', () => {
  const strict = { ...json, prefer: 'handling=strict' };

  it('is reported to the idempotency check first', async () => {
    const asked: unknown[] = [];
    const options = { beforeInvalidBody: async ({ body }: { body: unknown }) => void asked.push(body) };
    const step = answering('POST', { body: note });
    for (const [route, headers, body, code] of [
      [step, json, '{"note":1}', 'invalid_body'],
      [answering('PATCH', { body: note }), strict, '{"x":1}', 'invalid_body'],
      [step, json, '{', 'invalid_json'],
      [answering('POST'), strict, '{"x":1}', 'invalid_body'],
    ] as const) {
      await assert.rejects(async () => await ask(route, headers, body, options), { code });
    }
    assert.deepEqual(asked, [{ note: 1 }, { x: 1 }, undefined, { x: 1 }]);
    assert.equal(
      codeOf(() => ask(answering('PUT', { body: note }), json, '{"note":1}', options)),
      'invalid_body',
    );
    assert.equal(asked.length, 4);
  });

  it('is reported with the error of that check', async () => {
    const other = new Problem('other', 422, 'Another.');
    const options = { beforeInvalidBody: () => Promise.reject(other) };
    await assert.rejects(async () => await ask(answering('POST', { body: note }), json, '{', options), other);
  });
});

describe('a merge patch', () => {
  it('is accepted by PATCH alone', () => {
    assert.equal(ask(answering('PATCH', { body: note }), merge, '{}').bytes, '{}');
    for (const method of ['POST', 'PUT'] as const) {
      assert.equal(
        codeOf(() => ask(answering(method, { body: note }), merge, '{}')),
        'invalid_content_type',
      );
    }
  });
});

describe('the response to a read', () => {
  const list = answering('GET', {}, () => ({ body: [1], headers: ['Link', '<x>; rel="next"', 'x-next', 'x'] }));
  const thing = answering('GET', {}, () => ({ body: { id: 1 }, headers: ['ETag', '"1.1"'] }));
  const tagOf = ({ headers }: EncodedResponse) => headers[headers.indexOf('ETag') + 1]!;

  it('has the ETag of the handler, or a hash of its bytes and headers', () => {
    assert.deepEqual(ask(thing).headers, ['ETag', '"1.1"']);
    assert.deepEqual(ask(list).headers.slice(0, 5), ['Link', '<x>; rel="next"', 'x-next', 'x', 'ETag']);
    const other = answering('GET', {}, () => ({ body: [1] }));
    assert.notEqual(tagOf(ask(list)), tagOf(ask(other)));
  });

  it('has the same ETag with and without handling=strict', () => {
    const strict = ask(list, { prefer: 'handling=strict' });
    assert.equal(tagOf(strict), tagOf(ask(list)));
    assert.deepEqual(strict.headers.slice(-2), ['Preference-Applied', 'handling=strict']);
  });

  it('rejects unknown parameters with handling=strict, even if the operation has none', () => {
    const asked = (prefer: string) => ask(list, { prefer }, undefined, {}, '?zz=1');
    assert.equal(
      codeOf(() => asked('handling=strict')),
      'invalid_parameter',
    );
    assert.equal(asked('handling=lenient').status, 200);
    assert.equal(ask(list, { prefer: 'handling=strict' }, undefined, {}, '?').status, 200);
  });

  it('is 304 with the entity tag if the tag matches', () => {
    const etag = tagOf(ask(list));
    const known = { status: 304, bytes: '', headers: ['ETag', etag] };
    assert.deepEqual(ask(list, { 'if-none-match': etag }), known);
    // If-Match is evaluated first (RFC 9110, 13.2.2).
    assert.deepEqual(ask(list, { 'if-none-match': etag, 'if-match': etag }), known);
    const another = { 'if-none-match': etag, 'if-match': '"another"' };
    assert.equal(
      codeOf(() => ask(list, another)),
      'precondition_failed',
    );
  });

  it('has no ETag after a write unless the handler sets one', () => {
    const add = answering('POST', {}, () => ({ status: 201, body: {} }));
    assert.deepEqual(ask(add, { 'if-none-match': '*' }), { status: 201, bytes: '{}', headers: [] });
  });
});

describe('a write to a resource with an ETag', () => {
  const required = { requireIfMatch: true };

  it('evaluates If-Match and If-None-Match', () => {
    const replace = answering('PUT', { conditional: true });
    for (const headers of [{}, { 'if-match': '"1.1"' }, { 'if-match': '*', 'if-none-match': '"1.0"' }]) {
      assert.equal(ask(replace, headers).status, 200);
    }
    for (const headers of [{ 'if-match': '"1.0"' }, { 'if-match': '"1.1"', 'if-none-match': '*' }]) {
      assert.equal(
        codeOf(() => ask(replace, headers)),
        'precondition_failed',
      );
    }
  });

  it('creates unless If-Match names a version', () => {
    const create = answering('PUT', { conditional: true }, undefined, null);
    for (const headers of [{}, { 'if-none-match': '*' }, { 'if-none-match': '"1.1"' }]) {
      assert.equal(ask(create, headers).status, 200);
    }
    assert.equal(ask(create, { 'if-none-match': '*' }, undefined, required).status, 200);
    for (const ifMatch of ['*', '"1.1"']) {
      assert.equal(
        codeOf(() => ask(create, { 'if-match': ifMatch })),
        'precondition_failed',
      );
    }
    for (const header of ['if-match', 'if-none-match']) {
      assert.equal(
        codeOf(() => ask(create, { [header]: 'x' })),
        'invalid_parameter',
      );
    }
  });

  it('requires If-Match if configured, except for steps', () => {
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      const change = answering(method, { conditional: true });
      assert.equal(
        codeOf(() => ask(change, {}, undefined, required)),
        'precondition_required',
      );
      assert.equal(ask(change, { 'if-match': '"1.1"' }, undefined, required).status, 200);
      // It never overwrites: it fails if a version exists.
      assert.equal(
        codeOf(() => ask(change, { 'if-none-match': '*' }, undefined, required)),
        'precondition_failed',
      );
    }
    assert.equal(ask(answering('POST', { conditional: true }), {}, undefined, required).status, 200);
    assert.equal(ask(answering('PUT'), {}, undefined, required).status, 200);
  });
});

it('a response without a body has no content', () => {
  const remove = answering('DELETE', { successes: [{ status: 204, description: '' }] }, () => ({}));
  assert.deepEqual(ask(remove), { status: 204, bytes: '', headers: [] });
});

it('a stream reports applied preferences', () => {
  const stream = { begin() {}, drained() {}, closed() {} };
  const follow = answering('GET', { streams: true }, () => ({ stream }));
  assert.deepEqual(ask(follow, { prefer: 'handling=strict' }), {
    status: 200,
    bytes: '',
    headers: ['Preference-Applied', 'handling=strict'],
    stream,
  });
  assert.deepEqual(ask(follow).headers, []);
});

it('applied preferences are in one header', () => {
  const list = answering('GET', {}, () => ({ body: [], headers: ['Preference-Applied', 'count=exact'] }));
  const { headers } = ask(list, { prefer: 'count=exact, handling=strict' });
  assert.deepEqual(headers.slice(0, 2), ['Preference-Applied', 'count=exact, handling=strict']);
});
