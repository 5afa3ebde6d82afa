import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createSandboxKey } from '../../src/access/keys/sandbox.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { deleteBatch } from '../../src/operate/deletion/deletion.ts';
import { checks } from '../../src/operate/verify/checks.ts';
import { overEachEngine, type ServedEngine } from '../support/engines-over-http.ts';
import { image, upload } from '../support/photos.ts';
import { type Reply, type SendOptions, send, serve, type TestService } from '../support/serving.ts';

const valkey = process.env['PETSTORE_TEST_VALKEY_URL'] ?? 'redis://127.0.0.1:6379';

const cat = { name: 'Mia', categoryId: 1 };

overEachEngine(engine => {
  describe('the bounds of all trial keys together', () => {
    it('allow exactly so many animals, also by requests to several nodes at once', async t => {
      const { call, keys, nodes } = await start(t, engine, { PETSTORE_SANDBOX_PETS_MAX: '40' });
      const created = await Promise.all(
        keys.flatMap(key => Array.from({ length: 15 }, () => call('/pets', { key, body: cat }))),
      );
      assert.deepEqual(countsOf(created), { '201': 40, '409 sandbox_pet_limit_exceeded': 20 });
      const { message } = created.find(({ status }) => status === 409)!.body;
      assert.match(message, /^All trial keys together have 40 animals, and the maximum is 40\. /);
      for (const key of keys) {
        const { sandbox, bounds } = (await call('/account', { key })).body;
        assert.deepEqual(sandbox.pets, { used: 40, maximum: 40 });
        assert.equal(bounds.pets.maximum, 10_000);
      }
      const own = await nodes[0]!.newKey({ deployment: 'staging' });
      assert.equal((await call('/pets', { key: own.token, body: cat })).status, 201, 'an account of its own');
      assert.equal((await call('/account', { key: own.token })).body.sandbox, undefined);

      const key = keys[0]!;
      const mine = (await call('/pets?owner=me&limit=1', { key })).body[0].id;
      assert.equal((await call(`/pets/${mine}`, { method: 'PATCH', key, body: { name: 'Max' } })).status, 200);
      assert.equal((await call(`/pets/${mine}`, { method: 'DELETE', key })).status, 204);
      assert.deepEqual(countsOf(await Promise.all(keys.map(key => call('/pets', { key, body: cat })))), {
        '201': 1,
        '409 sandbox_pet_limit_exceeded': 3,
      });
    });

    it('store no byte more, but stop no deletion, release, cancellation or replay', async t => {
      const { call, keys } = await start(t, engine, { PETSTORE_SANDBOX_QUOTA_MIB: '1' });
      const key = keys[0]!;
      const ids: number[] = [];
      for (let pet = 0; pet < 3; pet++) ids.push((await call('/pets', { key, body: cat })).body.id);
      const first = await call('/pets', { key, body: cat, headers: { 'Idempotency-Key': 'first' } });
      const hold = (await call('/holds', { key, body: { petIds: [ids[0]] } })).body.id;
      const order = (await call('/store/orders', { key, body: { petId: ids[1] } })).body.id;

      const long = { ...cat, description: 'x'.repeat(10_000) };
      const created = await Promise.all(
        keys.flatMap((key, one) =>
          Array.from({ length: 40 }, (_, number) =>
            call('/pets', {
              key,
              body: long,
              headers: number % 2 === 0 ? { 'Idempotency-Key': `${one} ${number}`.replace(' ', '-') } : {},
            }),
          ),
        ),
      );
      const counts = countsOf(created);
      assert.deepEqual(Object.keys(counts).sort(), ['201', '409 sandbox_storage_exceeded']);
      // A full event has 10,200 bytes, and a stored response almost 200.
      assert.ok(counts['201']! > 98 && counts['201']! < 103, `${counts['201']}`);
      const refused = created.find(({ status }) => status === 409)!.body;
      assert.match(
        refused.message,
        /^All trial keys together store [\d,]+ bytes, and [\d,]+ more would exceed 1,048,576, /,
      );
      const used = async () => (await call('/account', { key: keys[1]! })).body.sandbox.bytes.used;
      assert.ok((await used()) <= 2 ** 20 && (await used()) > 2 ** 20 - 12_000, `${await used()}`);

      // A change without an effect stores a response under its key.
      const headers = () => ({ 'Idempotency-Key': crypto.randomUUID() });
      const change = (name: string) =>
        call(`/pets/${ids[2]}`, {
          method: 'PATCH',
          key,
          body: { name, description: long.description },
          headers: headers(),
        });
      let refusedAt = 0;
      for (let number = 0; number < 12 && refusedAt === 0; number++) {
        const { status, body } = await change('Mia');
        if (status === 409) refusedAt = body.code === 'sandbox_storage_exceeded' ? number + 1 : assert.fail(body.code);
      }
      assert.ok(refusedAt > 0, 'responses are stored without a bound');

      const replay = await call('/pets', { key, body: cat, headers: { 'Idempotency-Key': 'first' } });
      assert.deepEqual([replay.status, replay.text, replay.headers['idempotency-replayed']], [201, first.text, 'true']);
      const released = await call(`/holds/${hold}/release`, { method: 'POST', key, headers: headers() });
      assert.deepEqual([released.status, released.body.status], [200, 'released']);
      const canceled = await call(`/store/orders/${order}/cancellation`, { method: 'POST', key, headers: headers() });
      assert.deepEqual([canceled.status, canceled.body.status], [200, 'cancelled']);
      assert.equal((await call(`/pets/${ids[2]}`, { method: 'DELETE', key })).status, 204);
      const full = await call('/pets', { key: keys[2]!, body: long });
      assert.deepEqual([full.status, full.body.code], [409, 'sandbox_storage_exceeded']);
    });

    it('are free again once the accounts are deleted', async t => {
      const { call, keys, nodes, newKey } = await start(t, engine, { PETSTORE_SANDBOX_PETS_MAX: '8' });
      for (let pet = 0; pet < 8; pet++) await call('/pets', { key: keys[pet % 2]!, body: cat });
      assert.equal((await call('/pets', { key: keys[2]!, body: cat })).status, 409);
      const { production: accounts, staging } = nodes[0]!.app.databases;
      // The accounts are due then.
      while ((await deleteBatch({ accounts, staging }, Date.now() + 17 * 60_000)) > 0);
      const key = await newKey();
      const { sandbox } = (await call('/account', { key })).body;
      assert.deepEqual(sandbox, {
        pets: { used: 0, maximum: 8 },
        bytes: { used: 0, maximum: 64 * 2 ** 20 },
        requests: { maximum: 1200, windowSeconds: 60 },
      });
      const created = await Promise.all(Array.from({ length: 10 }, () => call('/pets', { key, body: cat })));
      assert.deepEqual(countsOf(created), { '201': 8, '409 sandbox_pet_limit_exceeded': 2 });
      for (const { name, query } of checks) {
        assert.deepEqual(await staging!.all(query, { now: Date.now(), limit: 10 }), [], name);
      }
    });

    it('accept exactly so many requests a minute, and say when the next one is', async t => {
      const { call, keys } = await start(t, engine, { PETSTORE_SANDBOX_PER_MINUTE: '30' });
      const replies = await Promise.all(keys.flatMap(key => Array.from({ length: 15 }, () => call('/pets', { key }))));
      assert.deepEqual(countsOf(replies), { '200': 30, '429 sandbox_rate_limit_exceeded': 30 });
      const { headers, body } = replies.find(({ status }) => status === 429)!;
      assert.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 61);
      assert.equal(headers['x-ratelimit-limit'], '30');
      assert.match(String(headers['ratelimit']), /"sandbox-minute";r=0;t=\d+$/);
      assert.match(body.message, /^All trial keys together /);
    });

    it('leave imports and photos to accounts of one’s own', async t => {
      const { call, keys, nodes } = await start(t, engine, {});
      const key = keys[0]!;
      const { id } = (await call('/pets', { key, body: cat })).body;
      assert.equal((await call('/organizations/0', { key })).status, 404);
      for (const { urls } of nodes) {
        const photo = await upload(urls.staging, key, id, await image('jpeg'));
        assert.deepEqual([photo.status, photo.body.code], [403, 'not_in_sandbox']);
        assert.match(photo.body.message, /^A trial key cannot upload photos\. Create an account/);
        const file = 'externalId,name,categoryId,photoUrls\nA-1,Rex,1,https://example.org/rex.jpg\n';
        const imported = await send(`${urls.staging}/imports?dryRun=true`, {
          ...{ method: 'POST', key, body: file },
          headers: { 'Content-Type': 'text/csv' },
        });
        assert.deepEqual([imported.status, imported.body.code], [403, 'not_in_sandbox']);
        assert.match(imported.body.message, /^A trial key cannot import animals\. /);
      }
      assert.deepEqual((await call('/imports', { key })).body, []);
    });
  });
});

/** Starts two nodes on PostgreSQL, and one on the embedded engine, with four trial keys. Calls alternate between the nodes. */
async function start(t: TestContext, engine: ServedEngine, bounds: Readonly<Record<string, string>>) {
  const settings = { ...(await engine.settings()), ...bounds, PETSTORE_MESSAGES_PORT: '' };
  const isShared = 'PETSTORE_DATABASE_URL' in settings;
  const environment = { ...settings, ...(isShared && { PETSTORE_VALKEY_URL: valkey }) };
  const nodes: TestService[] = [await serve({ environment })];
  if (isShared) nodes.push(await serve({ environment }));
  t.after(() => Promise.all(nodes.map(node => node.stop())));
  const newKey = async () =>
    ((await nodes[0]!.app.databases.production.write(tx => createSandboxKey(tx, '192.0.2.1'))) as IssuedKey).token;
  const keys = [await newKey(), await newKey(), await newKey(), await newKey()];
  let calls = 0;
  const call = (path: string, { body, method = body === undefined ? 'GET' : 'POST', ...more }: SendOptions) =>
    send(nodes[calls++ % nodes.length]!.urls.staging + path, { method, ...(body !== undefined && { body }), ...more });
  return { nodes, keys, newKey, call };
}

/** Returns the number of replies by status and code. */
function countsOf(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const name = status < 400 ? `${status}` : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
