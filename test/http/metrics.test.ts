import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { metrics } from '../../src/operate/metrics/metrics.ts';
import { overEachEngine, overPostgres } from '../support/engines-over-http.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startProxy } from '../support/proxy.ts';
import { send, sendRaw, serve, type TestService } from '../support/serving.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const urlOf = ({ urls }: TestService) => (urls as { metrics?: string }).metrics!;
const scrape = async (service: TestService) => parseMetrics((await send(urlOf(service))).text);

overEachEngine(engine => {
  it('serves metrics that Prometheus can read, named by its conventions', async t => {
    const environment = { ...(await engine.settings()), PETSTORE_METRICS_PORT: '0' };
    const service = await serve({ environment });
    t.after(() => service.stop());
    const { production } = service.urls;
    const key = await service.newKey();
    await send(`${production}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 2 } });
    await send(`${production}/pets`, { key });
    await send(`${production}/pets/77`, { key });
    for (const path of ['/a', '/b']) await send(production + path, { key });
    await sendRaw(production, 'GET / HTTP/9.9\r\n\r\n', { count: 1 });
    const families = await scrape(service);
    const value = (name: string, labels?: Record<string, string>) => sampleOf(families, name, labels);

    const ofList = { deployment: 'production', operation: 'listPets' };
    assert.equal(value('petstore_http_requests_total', { ...ofList, status: '200' }), 1);
    assert.equal(value('petstore_http_request_duration_seconds_count', ofList), 1);
    const unknown = { deployment: 'production', operation: 'none' };
    assert.equal(value('petstore_http_requests_total', { ...unknown, status: '404' }), 2);
    for (const [code, count] of Object.entries({ pet_not_found: 1, route_not_found: 2, malformed_request: 1 })) {
      assert.equal(value('petstore_http_errors_total', { deployment: 'production', code }), count, code);
    }
    for (const reason of ['event_loop', 'database']) {
      assert.equal(value('petstore_http_shed_requests_total', { deployment: 'production', reason }), 0);
    }
    assert.ok(value('petstore_http_connections', { deployment: 'production' })! >= 1);
    assert.equal(value('petstore_http_requests_in_flight', { deployment: 'production' }), 0);
    for (const deployment of ['production', 'staging']) {
      assert.equal(value('petstore_storage_ok', { deployment }), 1);
      assert.equal(value('petstore_storage_write_state', { deployment, state: 'ok' }), 1);
      assert.equal(value('petstore_webhook_deliveries_pending', { deployment }), 0);
      assert.ok(value('petstore_storage_used_bytes', { deployment })! > 100_000);
    }
    if (engine.name === 'sqlite') {
      assert.ok(value('petstore_storage_flush_duration_seconds_count', { deployment: 'production' })! > 0);
      assert.ok(value('petstore_storage_wal_bytes', { deployment: 'production' })! > 0);
      assert.equal(value('petstore_storage_free_bytes', { deployment: 'production' })! % 2048, 0);
    } else {
      assert.equal(value('petstore_storage_pool_connections_max', { deployment: 'production' }), 5);
      assert.equal(value('petstore_storage_pool_waiting', { deployment: 'production' }), 0);
    }
    assert.ok(value('process_open_fds')! > 5 && value('process_max_fds')! > value('process_open_fds')!);
    assert.ok(Math.abs(value('process_start_time_seconds')! - Date.now() / 1000) < 600);
    assert.equal(value('petstore_build_info', { node: process.versions.node }), 1);

    const ofOtherSetups =
      /^petstore_(access_log|trace|backup|valkey|storage_(pool|wal|flush|checkpoint|free))_|^nodejs_gc_/;
    const missing = metrics.filter(({ name }) => !families.has(name) && !ofOtherSetups.test(name));
    assert.deepEqual(missing, []);
    for (const [name, { type }] of families) {
      assert.equal(type === 'counter', name.endsWith('_total'), name);
      assert.match(name, /^(petstore|process|nodejs)_[a-z0-9_]+$/);
      if (type === 'histogram') assert.match(name, /_seconds$/);
    }
  });
});

it('count connections that the kernel drops', { skip: process.platform !== 'linux' }, async t => {
  const service = await serve({ environment: { PETSTORE_METRICS_PORT: '0' } });
  t.after(() => service.stop());
  const read = async () => sampleOf(await scrape(service), 'petstore_tcp_listen_overflows_total')!;
  const before = await read();
  const listener = createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 });
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  // In one turn of the event loop, in which none is accepted.
  const sockets = Array.from({ length: 10 }, () => connect(port, '127.0.0.1'));
  assert.ok((await read()) >= before + 5);
  for (const socket of sockets) socket.destroy();
  listener.close();
});

overPostgres(engine => {
  it('are served while PostgreSQL is away, without the backlog', async t => {
    const { PETSTORE_DATABASE_URL: direct = '' } = await engine.settings();
    const { hostname, port } = new URL(direct);
    const proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
    t.after(() => proxy.close());
    const url = Object.assign(new URL(direct), { hostname: '127.0.0.1', port: `${proxy.port}` }).href;
    const service = await serve({
      timeoutScale: 1,
      environment: { PETSTORE_DATABASE_URL: url, PETSTORE_METRICS_PORT: '0' },
    });
    t.after(() => service.stop());
    const ofProduction = { deployment: 'production' };
    assert.equal(sampleOf(await scrape(service), 'petstore_webhook_deliveries_pending', ofProduction), 0);
    proxy.swallow();
    await waitUntil(async () => sampleOf(await scrape(service), 'petstore_storage_ok', ofProduction) === 0, 200);
    await waitUntil(async () => !(await scrape(service)).has('petstore_webhook_deliveries_pending'), 200);
    assert.ok((await scrape(service)).has('process_cpu_seconds_total'));
  });
});

overEachEngine(engine => {
  it('say when the latest good backup began, also right after a restart', async t => {
    const data = { PETSTORE_DATA_DIR: temporaryDirectory(), ...(await engine.settings()) };
    const directory = join(temporaryDirectory(), 'backups');
    const environment = { ...data, PETSTORE_METRICS_PORT: '0', PETSTORE_BACKUP_DIRECTORY: directory };
    const start = async () => {
      const service = await serve({ environment });
      t.after(() => service.app.close());
      return service;
    };
    const first = await start();
    const lastSuccess = async () => sampleOf(await scrape(first), 'petstore_backup_last_success_timestamp_seconds');
    await waitUntil(async () => (await lastSuccess())! > 0);
    const families = await scrape(first);
    const startedAt = await lastSuccess();
    assert.ok(Math.abs(startedAt! - Date.now() / 1000) < 600);
    assert.ok(sampleOf(families, 'petstore_backup_last_size_bytes')! > 10_000);
    assert.ok(sampleOf(families, 'petstore_backup_last_duration_seconds')! > 0);
    assert.equal(sampleOf(families, 'petstore_backup_failures_total'), 0);
    assert.equal(sampleOf(families, 'petstore_backup_interval_seconds'), 86_400);
    await first.app.close();

    const second = await start();
    assert.equal(sampleOf(await scrape(second), 'petstore_backup_last_success_timestamp_seconds'), startedAt);
    assert.equal(readdirSync(directory).length, 1);
  });
});

describe('GET /metrics', () => {
  it('says that backups fail, which /readyz and requests do not notice', async t => {
    const environment = { PETSTORE_METRICS_PORT: '0', PETSTORE_BACKUP_DIRECTORY: '/proc/backups' };
    const service = await serve({ environment });
    t.after(() => service.stop());
    await waitUntil(async () => sampleOf(await scrape(service), 'petstore_backup_failures_total') === 1);
    const families = await scrape(service);
    assert.equal(sampleOf(families, 'petstore_backup_last_success_timestamp_seconds'), 0);
    assert.ok(!families.has('petstore_backup_last_size_bytes'));
    assert.equal((await send(new URL('/readyz', service.urls.production).href)).status, 200);
    const [line] = service.lines.map(text => JSON.parse(text)).filter(({ level }) => level === 'error');
    assert.match(line.reason, /^The backup cannot be written to \/proc\/backups \(ENOENT\)\.$/);
    assert.match(line.msg, /^A scheduled backup failed and will be retried\./);
    assert.ok(Date.parse(line.retryAt) > Date.now());
  });

  it('listens on loopback only, whatever the host of the API, unless PETSTORE_METRICS_HOST says otherwise', async t => {
    for (const [host, isOpen] of [
      [undefined, false],
      ['0.0.0.0', true],
    ] as const) {
      const service = await serve({
        environment: {
          PETSTORE_HOST: '0.0.0.0',
          PETSTORE_METRICS_PORT: '0',
          ...(host && { PETSTORE_METRICS_HOST: host }),
        },
      });
      t.after(() => service.stop());
      assert.equal(sampleOf(await scrape(service), 'petstore_rate_limit_exact'), 1);
      // An address of this machine that is not the one which 127.0.0.1 listens on.
      const other = (url: string) => send(url.replace('localhost', '127.0.0.2'));
      assert.equal((await other(service.urls.production)).status, 401);
      if (isOpen) assert.equal((await other(urlOf(service))).status, 200);
      else await assert.rejects(other(urlOf(service)), { code: 'ECONNREFUSED' });
    }
  });

  it('is beside GET /livez, and nothing else', async t => {
    const service = await serve({ environment: { PETSTORE_METRICS_PORT: '0' } });
    t.after(() => service.stop());
    const of = async (path: string, method = 'GET') =>
      (await send(new URL(path, urlOf(service)).href, { method })).status;
    assert.deepEqual([await of('/livez'), await of('/livez', 'HEAD')], [200, 200]);
    assert.deepEqual([await of('/livez', 'POST'), await of('/toString'), await of('/')], [404, 404, 404]);
  });

  it('says that storage is not ok while a full disk refuses writes', async t => {
    const disk = smallDisk(t, 8);
    if (disk === undefined) return;
    const service = await serve({ environment: { PETSTORE_DATA_DIR: disk.directory, PETSTORE_METRICS_PORT: '0' } });
    t.after(() => service.stop());
    const key = await service.newKey();
    disk.fill();
    const pet = { name: 'Rex', categoryId: 2, tags: ['x'.repeat(40)] };
    let status = 201;
    for (let n = 0; n < 2000 && status === 201; n++) {
      ({ status } = await send(`${service.urls.production}/pets`, { method: 'POST', key, body: pet }));
    }
    assert.equal(status, 503);
    const families = await scrape(service);
    const ofProduction = { deployment: 'production' };
    assert.equal(sampleOf(families, 'petstore_storage_ok', ofProduction), 0);
    assert.equal(sampleOf(families, 'petstore_storage_reads_ok', ofProduction), 1);
    assert.equal(sampleOf(families, 'petstore_storage_write_state', { ...ofProduction, state: 'full' }), 1);
    assert.equal(sampleOf(families, 'petstore_http_errors_total', { ...ofProduction, code: 'storage_full' }), 1);
    disk.empty();
    await service.stop();
  });
});
