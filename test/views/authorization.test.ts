import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ViewMount, ViewOperation } from '../../src/lib/http/server/view.ts';
import { viewsOf } from '../../src/main/views.ts';
import { readConfig } from '../../src/model/config.ts';
import { errors } from '../../src/model/errors.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { definitions } from '../../src/views/mcp/definitions.ts';
import { MCP_PATH, PETFINDER_PATH } from '../../src/views/urls.ts';
import { provokeBan, rejectedCredentials } from '../support/authorization.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type ExampleStore, openExampleStore } from '../support/examples.ts';
import { askForToken } from '../support/petfinder.ts';
import { type Reply, send } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The operations of the views by their prefixes, as the service mounts them on staging. */
const views = await Promise.all(mounts().map(async ({ prefix, load }) => ({ prefix, ...(await load()) })));

/** The headers that carry a credential in each view; the classic one has two. */
const headersOf = (prefix: string, credential: string): readonly Readonly<Record<string, string>>[] => [
  { authorization: `Bearer ${credential}` },
  ...(prefix === MCP_PATH || prefix === PETFINDER_PATH ? [] : [{ api_key: credential }]),
];

overEachEngine(engine =>
  describe('an operation of a view', () => {
    let store: ExampleStore;
    let origin: string;

    before(async () => {
      store = await openExampleStore({ environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '0' } });
      origin = new URL(store.serving.urls.staging).origin;
    });
    after(() => store?.serving.stop());

    const tokenOf = async (key: IssuedKey, deployment: 'production' | 'staging') =>
      String((await askForToken(store.serving.urls[deployment], key)).body.access_token);
    const credentialOf = (prefix: string) => (prefix === PETFINDER_PATH ? tokenOf : undefined);

    for (const { prefix, operations } of views) {
      it(`of ${prefix} rejects each credential that the API rejects`, async () => {
        const { serving, clock } = store;
        for (const [code, credential] of await rejectedCredentials(serving, clock, 'staging', credentialOf(prefix))) {
          const requests = operations.flatMap(operation => requestsTo(operation));
          // On PostgreSQL, a node learns within a second that a key has ended.
          await waitUntil(async () => {
            clock.advance(1100);
            const [headers] = headersOf(prefix, credential);
            return (await ask(prefix, requests[0]!, headers!)).status === errors[code].status;
          });
          for (const request of requests) {
            for (const headers of headersOf(prefix, credential)) {
              // Each address may send 60 requests a minute without a valid key.
              clock.advance(1100);
              const reply = await ask(prefix, request, headers);
              assertRejected(reply, code, `${request.name}, ${code}`);
            }
          }
        }
      });

      it(`of ${prefix} rejects a banned key`, async () => {
        const { serving, clock } = store;
        const key = await serving.newKey({ plan: 'free', deployment: 'staging' });
        const credential = await (credentialOf(prefix) ?? (async () => key.token))(key, 'staging');
        await provokeBan(clock, serving.urls.staging, key.token);
        for (const request of operations.flatMap(operation => requestsTo(operation))) {
          for (const headers of headersOf(prefix, credential)) {
            assertRejected(await ask(prefix, request, headers), 'api_key_banned', request.name);
          }
        }
      });
    }

    it('that issues a token rejects each key that the API rejects', async () => {
      const { serving, clock } = store;
      const ids = new Map<string, string>();
      const remember = async ({ id, token }: IssuedKey) => {
        ids.set(token, id);
        return token;
      };
      for (const [code, token] of await rejectedCredentials(serving, clock, 'staging', remember)) {
        clock.advance(1100);
        const id = ids.get(token) ?? token.split('_')[2]!;
        const { status } = await askForToken(serving.urls.staging, { id, token });
        assert.equal(status, errors[code].status, code);
      }
    });

    it('of MCP or Petfinder requires a credential', async () => {
      for (const { prefix, operations } of views.slice(0, 2)) {
        for (const request of operations.flatMap(operation => requestsTo(operation))) {
          store.clock.advance(1100);
          assertRejected(await ask(prefix, request, {}), 'missing_api_key', request.name);
        }
      }
    });

    async function ask(prefix: string, { method, path, body }: Sent, headers: Readonly<Record<string, string>>) {
      return await send(origin + prefix + path, { method, headers, ...(body !== undefined && { body }) });
    }
  }),
);

interface Sent {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

/** Returns the requests to an operation that needs a credential: to MCP, one for each tool. */
function requestsTo({ operationId, method, path, bytesMax }: ViewOperation): Sent[] {
  if (operationId === 'petfinder.issueToken') return [];
  const filled = path.replaceAll(/\{\w+\}/g, '1');
  const request = { name: operationId, method, path: filled };
  if (operationId !== 'mcp.request') return [{ ...request, ...(bytesMax !== undefined && { body: {} }) }];
  return Object.keys(definitions).map(name => {
    const params = { name, arguments: {} };
    return { ...request, name, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } };
  });
}

/** Asserts the status of a rejection, and its code in the MCP server: the other views have no codes of ours. */
function assertRejected({ status, headers, body, text }: Reply, code: keyof typeof errors, what: string): void {
  assert.equal(status, errors[code].status, `${what}: ${text}`);
  assert.match(String(headers['x-ratelimit-limit']), /^\d+$/, what);
  if (body?.jsonrpc !== undefined) assert.equal(body.error.data.code, code, what);
}

function mounts(): readonly ViewMount[] {
  const config = readConfig({});
  const all = viewsOf({ config, deployment: { name: 'staging' } } as never);
  assert.deepEqual(
    all.map(({ prefix }) => prefix),
    [MCP_PATH, PETFINDER_PATH, '/v2', '/api/v3'],
  );
  return all;
}
