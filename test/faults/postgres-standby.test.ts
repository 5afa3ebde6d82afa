import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { onServer, run } from '../support/engines.ts';
import { startCluster, withoutCluster } from '../support/postgres-cluster.ts';
import { startProxy } from '../support/proxy.ts';
import { skipFor } from '../support/selection.ts';
import { newProcessKey, send, spawnService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;
const DETAIL = 'The database accepts no changes (it is a standby or read-only).';

it('is not ready while its database is a standby, and recovers when that is promoted', {
  skip: skipFor(withoutCluster),
}, async t => {
  const primary = await startCluster();
  t.after(() => primary.remove());
  const migrated = { ...process.env, PETSTORE_DATABASE_URL: primary.url };
  await promisify(execFile)(launcher, ['migrate'], { env: migrated });
  const standby = await startCluster(primary);
  t.after(() => standby.remove());
  await assert.rejects(spawnService({ environment: { PETSTORE_DATABASE_URL: standby.url } }), (error: Error) => {
    assert.match(error.message, /^serve ended with 1: The database at .* accepts no changes \(it is a standby .*\n$/);
    return true;
  });

  const target = { host: '127.0.0.1', port: primary.port };
  const proxy = await startProxy(target);
  t.after(() => proxy.close());
  const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
  const service = await spawnService({ environment: { PETSTORE_DATABASE_URL: url } });
  t.after(async () => {
    await service.stop();
    await service.remove();
  });
  const key = await newProcessKey(service);
  const create = () =>
    send(`${service.urls.production}/pets`, { key, method: 'POST', body: { name: 'A', categoryId: 1 } });
  const ready = (address: 'production' | 'staging') => send(new URL('/readyz', service.urls[address]).href);
  assert.equal((await create()).status, 201);
  const position = (await onServer(connection => run(connection, 'select pg_current_wal_lsn() as at'), primary.url))[0]
    .at;
  const replayed = `select pg_last_wal_replay_lsn() >= '${position}' as yes`;
  await waitUntil(async () => (await onServer(connection => run(connection, replayed), standby.url))[0].yes);

  // The address of the database moves to the standby before that is promoted.
  target.port = standby.port;
  await primary.kill();
  await waitUntil(async () => (await ready('production')).body.storage.detail === DETAIL);
  assert.equal((await send(`${service.urls.production}/pets`, { key })).body.length, 1);
  assert.equal((await create()).status, 503);
  for (const address of ['production', 'staging'] as const) {
    await waitUntil(async () => (await ready(address)).body.storage.detail === DETAIL);
    const { status, body } = await ready(address);
    const storage = { ok: false, writes: 'unavailable', detail: DETAIL };
    assert.deepEqual([status, body.status, body.storage], [503, 'unavailable', storage]);
  }

  await onServer(connection => run(connection, 'select pg_promote()'), standby.url);
  for (const address of ['production', 'staging'] as const) {
    await waitUntil(async () => (await ready(address)).status === 200);
  }
  assert.equal((await create()).status, 201);
});
