import assert from 'node:assert/strict';
import { it } from 'node:test';
import { routes } from '../../src/api.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { type Params, query } from '../../src/schema.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { openExampleStore, prepare, sendExample } from '../support/examples.ts';

const writes = (routes as readonly Route<never>[]).filter(({ method, tag }) => method !== 'GET' && tag !== 'Webhooks');

overEachEngine(engine => {
  for (const route of writes) {
    it(`${route.operationId} records the key, the request id and the address of its change`, async () => {
      const store = await openExampleStore({ environment: await engine.settings() });
      try {
        const example = route.examples.find(({ status }) => status < 300)!;
        await prepare(example, store);
        const before = await eventsOf(store);
        const { status } = await sendExample(route, example, store, { 'x-request-id': 'traced' });
        assert.equal(status, example.status);
        const recorded = (await eventsOf(store)).slice(before.length).filter(({ action }) => action !== 'delivered');
        assert.ok(recorded.length > 0);
        const keyId = store.keys[example.as ?? 'owner'].split('_')[2];
        for (const { origin } of recorded) {
          assert.deepEqual(JSON.parse(origin!), { keyId, requestId: 'traced', address: '127.0.0.1' });
        }
      } finally {
        await store.serving.stop();
      }
    });
  }
});

function eventsOf({ serving }: Awaited<ReturnType<typeof openExampleStore>>) {
  return serving.app.databases.production.all(origins, {});
}

const origins = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('events').select(['action', 'origin']).orderBy('id'),
);
