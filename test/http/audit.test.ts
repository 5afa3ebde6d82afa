import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../src/api.ts';
import type { AuditEntry } from '../../src/audit/entry.ts';
import { parseToken } from '../../src/keys/token.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { query } from '../../src/schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type ExampleStore, openExampleStore, prepare, sendExample } from '../support/examples.ts';
import { send } from '../support/serving.ts';

/** The operations that change something. */
const changes = (routes as readonly Route<never>[]).filter(({ method, tag }) => method !== 'GET' && tag !== 'Webhooks');

overEachEngine(engine => {
  const open = async () => openExampleStore({ environment: await engine.settings() });

  describe('every operation that changes something', () => {
    for (const route of changes) {
      it(`${route.operationId} leaves an entry per change with its key, request id and address`, async () => {
        const store = await open();
        try {
          const example = route.examples.find(({ status }) => status < 300)!;
          const key = store.keys[example.as ?? 'owner'];
          await prepare(example, store);
          const before = await countChanges(store);
          const traced = { 'x-request-id': 'traced', 'idempotency-key': 'once' };
          assert.equal((await sendExample(route, example, store, traced)).status, example.status);

          const entries = await entriesOf(store, key, 'requestId=traced');
          assert.ok(entries.length > 0);
          assert.equal(entries.length, (await countChanges(store)) - before);
          for (const { keyId, requestId, address } of entries) {
            assert.deepEqual([keyId, requestId, address], [idOf(key), 'traced', '127.0.0.1']);
          }
          // A replay changes nothing, so it has no entry.
          await sendExample(route, example, store, { ...traced, 'x-request-id': 'replayed' });
          if (route.method === 'POST' || route.method === 'PATCH') {
            assert.deepEqual(await entriesOf(store, key, 'requestId=replayed'), []);
          }
        } finally {
          await store.serving.stop();
        }
      });
    }
  });
});

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
