import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newToken } from '../../src/access/keys/token.ts';
import { SqliteConnection } from '../../src/lib/storage/sqlite/connection.ts';
import { overPostgres } from '../support/engines-over-http.ts';
import { startProxy } from '../support/proxy.ts';
import { skipFor } from '../support/selection.ts';
import { assertApiResponse, type Reply, send, serve, type TestService } from '../support/serving.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

overPostgres(engine => {
  describe('an outage of PostgreSQL', () => {
    for (const outage of ['refuse', 'swallow'] as const) {
      it(`is named in the log only, without its host, port and database in any response (${outage})`, async t => {
        const { PETSTORE_DATABASE_URL: direct = '' } = await engine.settings();
        const { hostname, port, pathname } = new URL(direct);
        const proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
        t.after(() => proxy.close());
        const url = Object.assign(new URL(direct), { hostname: 'localhost', port: `${proxy.port}` }).href;
        const service = await started(t, { PETSTORE_DATABASE_URL: url });
        const key = await service.newKey();
        proxy[outage]();
        if (outage === 'refuse') proxy.cut();
        await waitUntil(async () => (await readiness(service)).status === 503, 200);
        const replies = await Promise.all([...requests(service, key), readiness(service)]);
        assert.ok(replies.some(({ body }) => body?.code === 'storage_unavailable'));
        assertNowhere(replies, pathname.slice(1), `${proxy.port}`);
        assert.ok(service.lines.some(line => line.includes(`localhost:${proxy.port}${pathname}`)));
      });
    }
  });
});

describe('an outage of Valkey', { skip: skipFor(withoutValkeyServer) }, () => {
  it('is named in the log only', async t => {
    const valkey = await ValkeyServer.start();
    const service = await started(t, { PETSTORE_VALKEY_URL: valkey.url });
    const key = await service.newKey();
    await valkey.kill();
    await Promise.all(requests(service, key));
    await waitUntil(async () => (await readiness(service)).body.counts === 'local');
    const replies = await Promise.all([...requests(service, key), readiness(service)]);
    assertNowhere(replies, new URL(valkey.url).port);
  });
});

describe('a database file that another process has locked', () => {
  it('is not named in a response', async t => {
    const service = await started(t, {});
    const key = await service.newKey();
    const other = new SqliteConnection(service.file, { synchronous: 'full', cacheKiB: 100, busyMs: 5000 });
    other.beginWrite();
    const replies = await Promise.all(requests(service, key));
    replies.push(await readiness(service));
    other.close();
    assert.ok(replies.some(({ body }) => body?.code === 'storage_unavailable'));
    assertNowhere(replies, service.file, 'production.db');
  });
});

async function started(t: TestContext, environment: Record<string, string>): Promise<TestService> {
  const service = await serve({ environment: { PETSTORE_STAGING_PORT: '', ...environment } });
  t.after(() => service.stop());
  return service;
}

const readiness = ({ urls }: TestService) => send(new URL('/readyz', urls.production).href);

/** Sends requests with a key and without, some of which need storage. */
function requests({ urls }: TestService, key: { readonly token: string }): Promise<Reply>[] {
  const name = { name: 'Minka', categoryId: 1 };
  return [
    send(`${urls.production}/pets`, { key }),
    send(`${urls.production}/pets`, { method: 'POST', key, body: name }),
    send(`${urls.production}/pets`, { key: newToken('production').token }),
    send(`${urls.production}/pets`, { key, headers: { Accept: 'application/problem+json' } }),
  ].map(async request => {
    const reply = await request;
    assertApiResponse(reply);
    return reply;
  });
}

function assertNowhere(replies: readonly Reply[], ...names: string[]) {
  for (const { status, text, headers } of replies) {
    for (const name of names) assert.ok(!`${JSON.stringify(headers)} ${text}`.includes(name), `${status} ${text}`);
  }
}
