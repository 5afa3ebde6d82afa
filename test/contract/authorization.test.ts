import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createSandboxKey } from '../../src/access/keys/sandbox.ts';
import type { Example, Route } from '../../src/lib/http/route.ts';
import { type ErrorCode, errors } from '../../src/model/errors.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { scopes } from '../../src/model/scopes.ts';
import { routes } from '../../src/views/api.ts';
import { definitions } from '../../src/views/mcp/definitions.ts';
import { codesOf } from '../../src/views/openapi.ts';
import { provokeBan, type RejectedCredential, rejectedCredentials } from '../support/authorization.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import {
  anew,
  type CallerName,
  type ExampleStore,
  openExampleStore,
  prepare,
  sendExample,
} from '../support/examples.ts';
import { operationsHere } from '../support/selection.ts';
import { send } from '../support/serving.ts';

const everyScope = Object.keys(scopes);
const operations = operationsHere(routes) as readonly Route<never>[];
const callers: readonly CallerName[] = ['owner', 'stranger', 'admin'];

overEachEngine(engine => {
  let store: ExampleStore;
  /** The value of `Authorization` of each caller that no operation accepts, by the code of the error. */
  let rejected: readonly RejectedCredential[];
  let banned: string;
  /** The accounts of the callers. */
  const accountIds = {} as Record<CallerName, number>;
  const limited = new Map<string, string>();

  before(async () => {
    store = await openExampleStore({ environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '0' } });
    const { serving, clock, baseUrl, keys } = store;
    for (const caller of callers) accountIds[caller] = await ownId(baseUrl, keys[caller]);
    const bearer = await rejectedCredentials(serving, clock, 'production');
    rejected = [
      ...['', 'Bearer', `Basic ${keys.owner}`, keys.owner].map(text => ['missing_api_key', text] as const),
      ...bearer.map(([code, token]) => [code, `Bearer ${token}`] as const),
    ];
    banned = (await serving.newKey({ plan: 'free' })).token;
    await provokeBan(clock, baseUrl, banned);
  });
  after(() => store?.serving.stop());

  it('a banned key can use no operation', async () => {
    // While the clock stands still, the ban does not end.
    for (const route of operations) await expectRejected(route, 'api_key_banned', `Bearer ${banned}`);
  });

  it('a trial key uploads no file, and changes no category or organization', async () => {
    const { serving } = store;
    const { token } = (await serving.app.databases.production.write(tx =>
      createSandboxKey(tx, '192.0.2.1'),
    )) as IssuedKey;
    const barred = /^(create|update|delete)Category$|^(replace|update|delete)Organization$/;
    for (const route of operations.filter(({ operationId, upload }) => upload || barred.test(operationId))) {
      await expectRejected(route, 'not_in_sandbox', `Bearer ${token}`, serving.urls.staging);
    }
  });

  for (const route of operations) {
    // Every operation looks keys up with the same queries, so one operation proves them on PostgreSQL.
    if (engine.name === 'sqlite' || route === operations[0]) {
      it(`${route.operationId} requires a valid key with the scope ${route.access.scope}`, async () => {
        for (const [code, authorization] of rejected) {
          // Each address may send 60 requests a minute without a valid key.
          store.clock.advance(1100);
          await expectRejected(route, code, authorization);
        }
        for (const scope of everyScope.filter(one => one !== route.access.scope)) {
          await expectRejected(route, 'insufficient_scope', `Bearer ${await keyOf('owner', scope)}`);
        }
      });
    }

    for (const caller of callers) {
      it(`${route.operationId} with that scope alone, called by the ${caller}`, async () => {
        const { as, ...example } = successOf(route);
        const shared = await anew(store);
        await prepare(example, shared);
        const token = await keyOf(caller, route.access.scope!);
        const keys = { ...shared.keys, owner: token };
        const { status, body } = await sendExample(route, example, { ...shared, keys });
        const code = errorFor(route, as, caller);
        const said = `${caller}, "${example.name}": ${status} ${JSON.stringify(body)}`;
        assert.equal((body as { code?: string } | undefined)?.code, code, said);
        assert.equal(status, code === undefined ? example.status : errors[code].status, said);
      });
    }
  }

  for (const [tool, { operationId, input }] of Object.entries(definitions)) {
    const route = operations.find(one => one.operationId === operationId);
    for (const caller of route === undefined ? [] : callers) {
      it(`${tool} of the MCP server with the scope of ${operationId} alone, called by the ${caller}`, async () => {
        const { as, ...example } = successOf(route!);
        const shared = await anew(store);
        await prepare(example, shared);
        const { path = {}, query, body = {} } = shared.ids!.translate(example);
        const sent = { ...path, ...Object.fromEntries(new URLSearchParams(query)), ...(body as object) };
        const given = Object.fromEntries(Object.entries(sent).filter(([name]) => name in input));
        const { result } = await callTool(tool, given, await keyOf(caller, route!.access.scope!));
        const code = result.isError ? result.structuredContent.code : undefined;
        assert.equal(code, errorFor(route!, as, caller), `${JSON.stringify(given)} ${JSON.stringify(result)}`);
      });
    }
  }

  it('deliveries show only the events that the other scopes of the key allow', async () => {
    const shared = await anew(store);
    const redelivery = successOf(
      (routes as readonly Route<never>[]).find(one => one.operationId === 'redeliverEvents')!,
    );
    const example = { ...redelivery, given: [...redelivery.given!, 'redeliverEvents: one event'] };
    await prepare(example, shared);
    const url = `${shared.baseUrl}/webhooks/${shared.ids!.translate(example).path!['webhookId']}/deliveries`;
    const ask = (path: string, token: string) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    const listed = async (token: string) => (await ask('', token)).json() as Promise<{ id: number; type: string }[]>;
    const all = await listed(shared.keys.owner);
    assert.deepEqual(new Set(all.map(({ type }) => type)), new Set(['account.created', 'webhook.test']));
    for (const scope of everyScope) {
      const { token } = await store.serving.newKey({
        accountId: accountIds.owner,
        scopes: [...new Set(['webhooks:read', scope])],
      });
      // Each new key is an event that is delivered, too.
      const seen = await listed(token);
      for (const { id, type } of all) {
        const isAllowed = scope === 'account:read' || type === 'webhook.test';
        const { status } = await ask(`/${id}`, token);
        assert.deepEqual([seen.some(one => one.id === id), status === 200], [isAllowed, isAllowed], `${scope} ${type}`);
      }
      if (scope !== 'account:read')
        assert.ok(
          seen.every(({ type }) => type.startsWith('webhook.')),
          scope,
        );
    }
  });

  async function callTool(name: string, given: object, key: string) {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } };
    const { body } = await send(new URL('/mcp', store.baseUrl).href, { method: 'POST', key, body: message });
    return body;
  }

  async function expectRejected(
    route: Route<never>,
    code: ErrorCode,
    authorization: string,
    baseUrl = store.baseUrl,
  ): Promise<void> {
    assert.ok(codesOf(route).includes(code), `${route.operationId} does not document ${code}`);
    const { status, body } = await sendExample(route, successOf(route), { ...store, baseUrl }, { authorization });
    assert.deepEqual([status, (body as { code: string }).code], [errors[code].status, code], authorization);
  }

  /** Returns a key of a caller with one scope. */
  async function keyOf(caller: CallerName, scope: string): Promise<string> {
    const name = `${caller} ${scope}`;
    const known = limited.get(name);
    if (known !== undefined) return known;
    const { token } = await store.serving.newKey({ accountId: accountIds[caller], scopes: [scope] });
    limited.set(name, token);
    return token;
  }
});

/** Returns the first example of a success that does not depend on a version. */
function successOf({ operationId, path, examples }: Route<never>): Example {
  const example = examples.find(({ code, headers = {} }) => code === undefined && !('If-Match' in headers));
  assert.ok(example, `${operationId} needs an example of a success: add one to its examples.`);
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    assert.ok(example.path?.[name!], `The example "${example.name}" of ${operationId} needs a value for ${name}.`);
  }
  return example;
}

/**
 * Returns the error that a caller with the scope gets, by the route: `undefined` if the example succeeds.
 * @param as the caller of the example
 */
function errorFor(route: Route<never>, as: Example['as'], caller: CallerName): ErrorCode | undefined {
  if (caller === (as ?? 'owner') || caller === 'admin') return undefined;
  const hidden = Object.values(route.parameters ?? {}).find(({ isPrivate }) => isPrivate);
  if (hidden !== undefined) return hidden.errorCode as ErrorCode;
  return route.errors.includes('not_owner') ? 'not_owner' : undefined;
}

async function ownId(baseUrl: string, token: string): Promise<number> {
  const response = await fetch(`${baseUrl}/account`, { headers: { authorization: `Bearer ${token}` } });
  return ((await response.json()) as { id: number }).id;
}
