import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onServer, postgresUrl, run, withoutPostgres } from '../support/engines.ts';
import { type BadNetwork, startProxy } from '../support/proxy.ts';
import { long, RECOVERY_MS, RESPONSE_MS, skipFor } from '../support/selection.ts';
import { assertApiResponse, newProcessKey, type Process, type Reply, send, spawnService } from '../support/serving.ts';

const skip = skipFor(withoutPostgres);
const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

const CALLERS = 32;
const OUTAGE_MS = long ? 20_000 : 5000;

describe('a PostgreSQL that receives but never responds', {
  concurrency: true,
  skip,
}, () => {
  it('gets a response to every request in time, and loses nothing acknowledged', async t => {
    const { node, proxy, direct } = await startBehindProxy(t);
    const keys = await Promise.all([1, 2, 3].map(() => newProcessKey(node)));
    const revoked = await issue(node);
    const unseen = await newProcessKey(node, 'free');
    assert.equal((await list(node, revoked.token)).status, 200);

    const acknowledged = new Map<number, string>();
    const statuses: Record<string, number> = {};
    const slow: Interval[] = [];
    const stalls: Interval[] = [];
    let going = true;
    const note = async (asked: Promise<Reply>) => {
      const from = performance.now();
      const reply = await asked;
      if (performance.now() - from > RESPONSE_MS) slow.push({ from, to: performance.now() });
      const word = reply.status < 400 ? String(reply.status) : `${reply.status} ${reply.body.code}`;
      statuses[word] = (statuses[word] ?? 0) + 1;
      assertApiResponse(reply);
      if (reply.status === 503) assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/);
      return reply;
    };
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      const key = keys[caller % keys.length]!;
      for (let n = 0; going; n++) {
        const name = `${caller}.${n}`;
        if (n % 3 === 0) {
          const reply = await note(create(node, key, name));
          if (reply.status === 201) acknowledged.set(reply.body.id, name);
        } else if (n % 3 === 1) await note(list(node, key));
        else await note(send(`${node.urls.production}${READS[(n + caller) % READS.length]}`, { key }));
        // The client backs off briefly.
        await pause(5);
      }
    });
    const probe = (async () => {
      while (going) {
        const from = performance.now();
        assert.equal((await live(node)).status, 200);
        stalls.push({ from, to: performance.now() });
        await pause(25);
      }
    })();
    await pause(300);
    proxy.swallow();
    const outage = performance.now();
    await pause(200);
    const first = await note(list(node, unseen));
    assert.ok(first.status === 503 || first.status === 200, first.text);
    await petstore(direct, 'key', 'revoke', revoked.id);
    await pause(1500);
    for (let n = 0; n < 3; n++) {
      const reply = await note(list(node, revoked.token));
      assert.notEqual(reply.status, 200, 'a revoked key is not accepted from a cache');
    }
    const { status, body } = await ready(node);
    assert.equal(status, 503, JSON.stringify(body));
    assert.equal(body.storage.ok, false);
    await pause(Math.max(0, OUTAGE_MS - (performance.now() - outage)));
    proxy.heal();
    await pause(RECOVERY_MS);
    const before = { ...statuses };
    await pause(500);
    going = false;
    await Promise.all([...callers, probe]);
    assert.deepEqual(
      Object.keys(statuses).sort(),
      ['200', '201', '404 pet_not_found', '503 storage_unavailable', '401 revoked_api_key']
        .filter(s => s in statuses)
        .sort(),
    );
    assert.equal(statuses['503 storage_unavailable'], before['503 storage_unavailable'], 'no 503 after it recovered');
    for (const response of slow) {
      const stalledMs = overlapMs(stalls, response);
      const ms = response.to - response.from;
      assert.ok(ms - stalledMs < RESPONSE_MS, `a response took ${ms} ms, ${stalledMs} ms of them in stalls`);
    }
    t.diagnostic(`${slow.length} slow responses; ${JSON.stringify(statuses)}`);
    const refused = await list(node, revoked.token);
    assert.equal(refused.body.code, 'revoked_api_key');
    assert.equal((await list(node, unseen)).status, 200);
    const kept = new Map<number, string>();
    for (let url: string | undefined = `${node.urls.production}/pets?limit=100`; url !== undefined; ) {
      const page = await send(url, { key: keys[0]! });
      for (const { id, name } of page.body) kept.set(id, name);
      url = page.headers['x-next'] as string | undefined;
    }
    for (const [id, name] of acknowledged) assert.equal(kept.get(id), name);
    const { body: well } = await ready(node);
    assert.deepEqual([well.storage.ok, well.storage.writes, well.day], [true, 'ok', 'durable']);
    const lines = node.log().split('\n').filter(Boolean);
    assert.ok(
      lines.length <= 8,
      `${lines.length} lines for one outage:\n${lines.map(l => l.slice(0, 300)).join('\n')}`,
    );
    assert.equal((await node.stop()).code, 0);
  });

  it('does not end a start that it delays', async t => {
    let connections = 0;
    const { node } = await startBehindProxy(t, (_, silence) => {
      if (connections++ === 0) silence();
    });
    assert.match(node.log(), /did not respond in time\. The server tries to start again\./);
    assert.equal((await ready(node)).status, 200);
  });

  it('does not prevent a shutdown with exit code 0', async t => {
    const { node, proxy } = await startBehindProxy(t);
    const key = await newProcessKey(node);
    assert.equal((await create(node, key, 'Minka')).status, 201);
    proxy.swallow();
    const stuck = create(node, key, 'Rex');
    await pause(100);
    const from = performance.now();
    assert.deepEqual(await node.stop(), { code: 0, signal: null });
    assert.ok(performance.now() - from < 14_000);
    assert.equal((await stuck).status, 503);
  });
});

interface Interval {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the milliseconds of a response in which the server was answering `/livez`, which needs no database: about 2 ms of
 * 25 on an idle machine, and more the longer both processes wait for a processor.
 */
function overlapMs(stalls: readonly Interval[], { from, to }: Interval): number {
  return stalls.reduce((sum, stall) => sum + Math.max(0, Math.min(to, stall.to) - Math.max(from, stall.from)), 0);
}

async function startBehindProxy(t: TestContext, onBytes: BadNetwork['onBytes'] = () => {}) {
  const name = `petstore_test_deaf_${process.pid}_${randomBytes(4).toString('hex')}`;
  await onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`));
  t.after(() => onServer(connection => run(connection, `drop database ${name} with (force)`)));
  const direct = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  await petstore(direct, 'migrate');
  const { hostname, port } = new URL(direct);
  const proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
  proxy.onBytes = onBytes;
  t.after(() => proxy.close());
  const url = Object.assign(new URL(direct), { hostname: '127.0.0.1', port: `${proxy.port}` }).href;
  const node = await spawnService({ environment: { PETSTORE_STAGING_PORT: '', PETSTORE_DATABASE_URL: url } });
  t.after(async () => {
    await node.stop('SIGKILL');
    await node.remove();
  });
  return { node, proxy, direct };
}

async function petstore(url: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(launcher, args, { env: { ...process.env, PETSTORE_DATABASE_URL: url } });
}

async function issue(node: Process): Promise<{ id: string; token: string }> {
  const owner = ['--email', 'revoked@example.org', '--name', 'Revoked', '--plan', 'business'];
  const { id } = await node.petstore('account', 'create', ...owner);
  return (await node.petstore('key', 'create', '--account', `${id}`)) as { id: string; token: string };
}

/** Some requests write first, if they can. */
const READS = [
  '/pets/999999999',
  '/pets/999999999/history',
  `/pets?updatedSince=${new Date().toISOString()}`,
  '/store/inventory',
];

const list = (node: Process, key: string) => send(`${node.urls.production}/pets?limit=1`, { key });
const create = (node: Process, key: string, name: string) =>
  send(`${node.urls.production}/pets`, { method: 'POST', key, body: { name, categoryId: 1 } });
const live = (node: Process) => send(new URL('/livez', node.urls.production).href);
const ready = (node: Process) => send(new URL('/readyz', node.urls.production).href);
