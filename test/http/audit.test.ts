import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditEntry } from '../../src/access/audit/entry.ts';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { newToken, parseToken } from '../../src/access/keys/token.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { routes } from '../../src/views/api.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { anew, type ExampleStore, openExampleStore, prepare, sendExample } from '../support/examples.ts';
import { type Reply, send } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The operations that change something: not those that test a webhook, or end a job that changes something. */
const changes = (routes as readonly Route<never>[]).filter(
  ({ method, operationId }) => method !== 'GET' && operationId !== 'testWebhook' && operationId !== 'cancelImport',
);

overEachEngine(engine => {
  const open = async () => openExampleStore({ environment: await engine.settings() });

  describe('every operation that changes something', () => {
    let shared: ExampleStore;
    before(async () => {
      shared = await open();
    });
    after(() => shared?.serving.stop());

    for (const route of changes) {
      it(`${route.operationId} leaves an entry per change with its key, request id and address`, async () => {
        const store = await anew(shared);
        const example = route.examples.find(({ status }) => status < 300)!;
        const key = store.keys[example.as ?? 'owner'];
        await prepare(example, store);
        const before = await countChanges(store);
        const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
        const requestId = `traced-${route.operationId}`;
        const traced = { 'x-request-id': requestId, 'idempotency-key': requestId, traceparent };
        const { status, text } = await sendExample(route, example, store, traced);
        assert.equal(status, example.status, text);

        // An import changes something once its job runs.
        await waitUntil(async () => (await entriesOf(store, key, `requestId=${requestId}`)).length > 0);
        const entries = await entriesOf(store, key, `requestId=${requestId}`);
        assert.equal(entries.length, (await countChanges(store)) - before);
        for (const { keyId, requestId: id, address, traceparent: trace } of entries) {
          assert.deepEqual([keyId, id, address, trace], [idOf(key), requestId, '127.0.0.1', traceparent]);
        }
        // A replay changes nothing, so it has no entry.
        await sendExample(route, example, store, { ...traced, 'x-request-id': `replayed-${route.operationId}` });
        if (route.method === 'POST' || route.method === 'PATCH') {
          assert.deepEqual(await entriesOf(store, key, `requestId=replayed-${route.operationId}`), []);
        }
      });
    }
  });

  describe('the audit log', () => {
    let store: ExampleStore;
    before(async () => {
      store = await open();
      const given = ['createHold: two cats', 'placeOrder: a dog with a date'];
      await prepare({ name: '', summary: '', status: 200, given }, store);
    });
    after(() => store?.serving.stop());

    it('alone shows the key, the request and the address of a change', async () => {
      const { baseUrl, keys } = store;
      const { requestId } = (await entriesOf(store, keys.owner, 'types=pet.*'))[0]!;
      assert.ok(requestId);
      const types = ['pet', 'category', 'hold', 'order'].map(kind => `${kind}.*`).join();
      for (const path of [`/events?limit=100&types=${types}`, '/pets/1/history']) {
        const { status, text } = await send(baseUrl + path, { key: keys.admin });
        assert.equal(status, 200);
        for (const hidden of [idOf(keys.owner), requestId, '127.0.0.1', 'address', 'origin']) {
          assert.ok(!text.includes(hidden), `${hidden} in ${path}`);
        }
      }
    });

    it('shows each account its own entries, and admins all', async () => {
      const { owner, admin, stranger } = store.keys;
      const own = await entriesOf(store, owner, '');
      assert.ok(own.length > 0);
      assert.ok(own.every(({ keyId }) => keyId === idOf(owner)));
      assert.deepEqual(await entriesOf(store, stranger, ''), []);
      const all = await entriesOf(store, admin, '');
      assert.deepEqual(
        all.filter(({ keyId }) => keyId === idOf(owner)),
        own,
      );
      assert.deepEqual(await entriesOf(store, admin, `accountId=${own[0]!.accountId}`), own);
    });

    it('needs a scope of its own', async () => {
      const limited = await store.serving.newKey({ scopes: ['events:read'] });
      for (const path of ['/audit', '/audit/refusals']) {
        assert.equal(codeOf(await send(store.baseUrl + path, { key: limited })), 'insufficient_scope');
      }
    });

    it('logs refused requests of existing keys once a minute, without their secrets', async () => {
      const { baseUrl, serving } = store;
      const { production } = serving.app.databases;
      const limited = await serving.newKey({ scopes: ['pets:write'] });
      const revoked = await serving.newKey();
      const wrong = await serving.newKey();
      await production.write(async tx => {
        await revokeKey(tx, revoked.id);
        await tx.run(changeHash, { id: wrong.id });
      });
      const refusals = [
        { key: limited, method: 'GET', code: 'insufficient_scope' },
        { key: limited, method: 'DELETE', code: 'not_owner' },
        { key: revoked, method: 'GET', code: 'revoked_api_key' },
        { key: wrong, method: 'GET', code: 'invalid_api_key' },
      ];
      const before = serving.lines.length;
      for (const { key, method, code } of [...refusals, ...refusals]) {
        const reply = await send(`${baseUrl}/pets/4`, { method, key, headers: { 'x-request-id': code } });
        assert.equal(codeOf(reply), code);
      }
      const unknown = newToken('production');
      await send(`${baseUrl}/pets/4`, { key: unknown });
      const logged = serving.lines.slice(before).map(line => JSON.parse(line));
      assert.deepEqual(
        logged.map(({ keyId, code, address, requestId }) => ({ keyId, code, address, requestId })),
        refusals.map(({ key, code }) => ({ keyId: key.id, code, address: '127.0.0.1', requestId: code })),
      );
      for (const { token } of [limited, revoked, wrong, unknown]) assert.ok(!serving.lines.join().includes(token));
    });
  });
});

function codeOf({ body }: Reply): string {
  return (body as { readonly code: string }).code;
}

async function entriesOf({ baseUrl }: ExampleStore, key: string, query: string): Promise<AuditEntry[]> {
  const { status, text } = await send(`${baseUrl}/audit?${query}&limit=100`, { key });
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

function idOf(token: string): string {
  return parseToken(token)!.id;
}

/** Returns the number of changes so far; a delivery of a message is automatic. */
async function countChanges({ serving }: ExampleStore): Promise<number> {
  return (await serving.app.databases.production.first(changesSoFar, {}))!.count;
}

const changesSoFar = query(db =>
  db
    .selectFrom('events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(({ not, and }) => not(and({ kind: 'message', action: 'delivered' }))),
);

const changeHash = query((db, p: Params<{ id: string }>) =>
  db.updateTable('keys').set({ hash: 'AAAA' }).where('id', '=', p.id),
);
