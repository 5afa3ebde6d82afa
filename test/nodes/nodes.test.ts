import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onServer, postgresUrl, run, withoutPostgres } from '../support/engines.ts';
import { startCluster, withoutCluster } from '../support/postgres-cluster.ts';
import { startProxy } from '../support/proxy.ts';
import { long, RECOVERY_MS, RESPONSE_MS, skipFor } from '../support/selection.ts';
import { type Process, type Reply, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const without = withoutPostgres ?? withoutCluster ?? withoutValkeyServer;
const skip = skipFor(without);

const execute = promisify(execFile);
const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** How long other nodes may use old data after a command has ended. */
const HEARD_MS = 1000;

/** Creates a migrated database on the test server. It is deleted after the test. */
async function makeDatabase(t: TestContext): Promise<string> {
  const name = `petstore_test_nodes_${process.pid}_${randomBytes(4).toString('hex')}`;
  await onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`));
  t.after(() => onServer(connection => run(connection, `drop database ${name} with (force)`)));
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  await migrate(url);
  return url;
}

async function migrate(url: string) {
  await execute(launcher, ['migrate'], { env: { ...process.env, PETSTORE_DATABASE_URL: url } });
}

async function valkeyFor(t: TestContext): Promise<ValkeyServer> {
  const valkey = await ValkeyServer.start();
  t.after(() => valkey.kill());
  return valkey;
}

async function startNode(t: TestContext, environment: Record<string, string>): Promise<Process> {
  const node = await spawnService({ environment: { PETSTORE_STAGING_PORT: '', ...environment } });
  t.after(async () => {
    await node.stop();
    await node.remove();
  });
  return node;
}

async function newKey(node: Process, plan: string): Promise<{ id: string; token: string; accountId: number }> {
  const email = `${randomBytes(6).toString('hex')}@example.org`;
  const agreed = plan === 'enterprise' ? ['--per-minute', '1000000000', '--per-day', '1000000000'] : [];
  const owner = ['account', 'create', '--email', email, '--name', 'A caller', '--plan', plan, ...agreed];
  const { id } = await node.petstore(...owner);
  return (await node.petstore('key', 'create', '--account', `${id}`)) as {
    id: string;
    token: string;
    accountId: number;
  };
}

const list = (node: Process, key: { token: string }) => send(`${node.urls.production}/pets?limit=1`, { key });
const create = (node: Process, key: { token: string }, name: string) =>
  send(`${node.urls.production}/pets`, { method: 'POST', key, body: { name, categoryId: 1 } });
const ready = async (node: Process) => send(new URL('/readyz', node.urls.production).href);

/** Sends requests with `key` until the node rejects it. All responses before must be successes. */
async function untilRefused(node: Process, key: { token: string }): Promise<void> {
  for (;;) {
    const reply = await list(node, key);
    if (reply.status !== 200) return assertRefused(reply);
  }
}

function assertRefused(reply: Reply) {
  // Many rounds would exceed the limit of the address. The limit of the key is out of reach.
  assert.match(reply.body.code, /^(revoked_api_key|rate_limit_exceeded)$/);
}

/** How long the transactions of an idle node are counted: several rounds of what it does every 5 or 10 seconds. */
const IDLE_SPAN_MS = 20_000;

/** Returns the number of transactions on a database so far. */
async function transactionsOf(url: string): Promise<number> {
  const name = new URL(url).pathname.slice(1);
  const statement = `select xact_commit + xact_rollback as transactions from pg_stat_database where datname = '${name}'`;
  return onServer(async connection => Number((await run(connection, statement))[0].transactions));
}

const states = (nodes: readonly Process[]) =>
  Promise.all(nodes.map(async node => (await ready(node)).body.counts as 'exact' | 'local'));

/** Waits until every node counts in Valkey, or alone. */
const untilCounts = (nodes: readonly Process[], state: 'exact' | 'local') =>
  waitUntil(async () => (await states(nodes)).every(one => one === state));

/**
 * Does `work` while every node counts in Valkey. On a busy machine a node may get no reply from Valkey within 250 ms and
 * then enforces its share alone, on top of what Valkey accepts; then the work is done again.
 */
async function whileShared<T>(nodes: readonly Process[], work: () => Promise<T>): Promise<T> {
  const losses = () => nodes.map(node => node.log().split('Valkey is unavailable').length).join();
  for (let attempt = 0; attempt < 10; attempt++) {
    await untilCounts(nodes, 'exact');
    const before = losses();
    const result = await work();
    await states(nodes);
    if (losses() === before) return result;
  }
  assert.fail('the nodes do not stay connected to Valkey');
}

/** Returns the statuses of 200 parallel requests with a new key on Free, half of them to each of two nodes. */
async function burst(nodes: readonly Process[]): Promise<Record<number, number>> {
  const key = await newKey(nodes[0]!, 'free');
  return statuses(await Promise.all(Array.from({ length: 200 }, (_, n) => list(nodes[n % 2]!, key))));
}

/** Counts responses by status. */
function statuses(replies: readonly Reply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('several nodes on one PostgreSQL', { skip, timeout: long ? 900_000 : 420_000 }, () => {
  it('accept exactly 60 of 200 parallel requests on Free, whichever node they reach', async t => {
    const url = await makeDatabase(t);
    const settings = { PETSTORE_DATABASE_URL: url, PETSTORE_VALKEY_URL: (await valkeyFor(t)).url };
    const nodes = await Promise.all([startNode(t, settings), startNode(t, settings)]);
    assert.deepEqual(await whileShared(nodes, () => burst(nodes)), { 200: 60, 429: 140 });
  });

  it('accept exactly the budget of a key, and its siblings have the rest of the plan', async t => {
    const url = await makeDatabase(t);
    const settings = { PETSTORE_DATABASE_URL: url, PETSTORE_VALKEY_URL: (await valkeyFor(t)).url };
    const nodes = await Promise.all([startNode(t, settings), startNode(t, settings)]);
    const send = async (key: { token: string }) =>
      statuses(await Promise.all(Array.from({ length: 100 }, (_, n) => list(nodes[n % 2]!, key))));
    const accepted = await whileShared(nodes, async () => {
      const sibling = await newKey(nodes[0], 'free');
      const limited = ['--account', `${sibling.accountId}`, '--per-minute', '10'];
      const leaked = (await nodes[0].petstore('key', 'create', ...limited)) as { token: string };
      return [await send(leaked), await send(sibling)];
    });
    assert.deepEqual(accepted, [
      { 200: 10, 429: 90 },
      { 200: 50, 429: 50 },
    ]);
  });

  it('reject a revoked key within a second of the command, even without notifications', async t => {
    const url = await makeDatabase(t);
    const { hostname, port } = new URL(url);
    const proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
    t.after(() => proxy.close());
    // The connection that listens for notifications has a name.
    proxy.onBytes = (bytes, silence) => {
      if (/petstore [\w-]{12}\0/.test(bytes.toString('latin1'))) silence();
    };
    const deaf = Object.assign(new URL(url), { hostname: '127.0.0.1', port: `${proxy.port}` }).href;
    const valkey = await valkeyFor(t);
    const shared = { PETSTORE_VALKEY_URL: valkey.url, PETSTORE_PHOTOS_DIRECTORY: temporaryDirectory() };
    const nodes = await Promise.all(
      [url, deaf].map(database => startNode(t, { PETSTORE_DATABASE_URL: database, ...shared })),
    );
    const rounds = long ? 50 : 3;
    for (let round = 0; round < rounds; round++) {
      const key = await newKey(nodes[0]!, 'enterprise');
      for (const node of nodes) assert.equal((await list(node, key)).status, 200);
      const refused = nodes.map(node => untilRefused(node, key));
      await nodes[0]!.petstore('key', 'revoke', key.id);
      await pause(HEARD_MS);
      for (const node of nodes) assertRefused(await list(node, key));
      await Promise.all(refused);
    }
  });

  it('runs at most one transaction a second while idle, and then rejects a revoked key in time', async t => {
    const url = await makeDatabase(t);
    const node = await startNode(t, { PETSTORE_DATABASE_URL: url, PETSTORE_STAGING_PORT: '0' });
    const key = await newKey(node, 'free');
    assert.equal((await list(node, key)).status, 200);
    // PostgreSQL reports the last transactions of an idle connection ten seconds late.
    const samples: { readonly ms: number; readonly transactions: number }[] = [];
    await waitUntil(
      async () => {
        samples.unshift({ transactions: await transactionsOf(url), ms: performance.now() });
        const start = samples.find(({ ms }) => samples[0]!.ms - ms >= IDLE_SPAN_MS);
        return start !== undefined && samples[0]!.transactions - start.transactions <= IDLE_SPAN_MS / 1000;
      },
      500,
      180_000,
    );
    await node.petstore('key', 'revoke', key.id);
    await pause(HEARD_MS);
    assertRefused(await list(node, key));
  });

  it('need Valkey: a second node without it does not start while the first one runs', async t => {
    const url = await makeDatabase(t);
    const first = await startNode(t, { PETSTORE_DATABASE_URL: url });
    const second = execute(launcher, ['serve', '--json'], {
      env: {
        ...process.env,
        PETSTORE_DATABASE_URL: url,
        PETSTORE_PORT: '0',
        PETSTORE_STAGING_PORT: '',
        PETSTORE_MESSAGES_PORT: '',
      },
    });
    await assert.rejects(second, ({ code, stdout, stderr }) => {
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /^[^\n]*PETSTORE_VALKEY_URL[^\n]*\.\n$/);
      return true;
    });
    assert.equal((await ready(first)).status, 200);
    await first.stop('SIGKILL');
    const next = await startNode(t, { PETSTORE_DATABASE_URL: url });
    assert.equal((await ready(next)).status, 200);
  });

  it('enforce a share of each limit while Valkey is down, and recover by themselves', async t => {
    const url = await makeDatabase(t);
    const valkey = await valkeyFor(t);
    const settings = { PETSTORE_DATABASE_URL: url, PETSTORE_VALKEY_URL: valkey.url };
    const nodes = await Promise.all([startNode(t, settings), startNode(t, settings)]);
    await untilCounts(nodes, 'exact');

    await valkey.kill();
    await untilCounts(nodes, 'local');
    assert.deepEqual(await burst(nodes), { 200: 60, 429: 140 });
    for (const node of nodes) {
      const { status, body } = await ready(node);
      assert.equal(status, 200);
      assert.equal(body.counts, 'local');
    }

    await valkey.start();
    assert.deepEqual(await whileShared(nodes, () => burst(nodes)), { 200: 60, 429: 140 });
  });

  it('return 503 in time while PostgreSQL is killed and restarted under load, and lose nothing', async t => {
    const cluster = await startCluster();
    t.after(() => cluster.remove());
    await migrate(cluster.url);
    const settings = { PETSTORE_DATABASE_URL: cluster.url, PETSTORE_VALKEY_URL: (await valkeyFor(t)).url };
    const nodes = await Promise.all([startNode(t, settings), startNode(t, settings)]);
    const key = await newKey(nodes[0]!, 'enterprise');

    const acknowledged: number[] = [];
    const seen: Record<string, number> = {};
    let going = true;
    /** Sends one request. The response must be a success or `storage_unavailable`, in time. */
    async function request(ask: () => Promise<Reply>): Promise<Reply> {
      const beganMs = performance.now();
      const reply = await ask();
      const tookMs = performance.now() - beganMs;
      assert.ok(tookMs <= RESPONSE_MS, `an answer took ${tookMs} ms`);
      const what = reply.status < 300 ? `${reply.status}` : `${reply.status} ${reply.body?.code}`;
      seen[what] = (seen[what] ?? 0) + 1;
      assert.match(what, /^(200|201|503 storage_unavailable)$/, reply.text);
      if (reply.status === 503) assert.match(`${reply.headers['retry-after']}`, /^\d+$/);
      return reply;
    }
    const callers = Array.from({ length: 16 }, async (_, caller) => {
      const node = nodes[caller % 2]!;
      for (let n = 0; going; n++) {
        const { status, body } = await request(() =>
          caller % 4 === 3 ? list(node, key) : create(node, key, `animal ${caller}, ${n}`),
        );
        if (status === 201) acknowledged.push(body.id);
        if (status === 503) await pause(50);
      }
    });
    const rounds = long ? 20 : 3;
    const load = Promise.all(callers);
    const working = (async () => {
      for (let round = 0; round < rounds; round++) {
        const before = acknowledged.length;
        await waitUntil(() => acknowledged.length >= before + 100);
        await cluster.kill();
        await waitUntil(async () => (await ready(nodes[0]!)).status === 503);
        await cluster.start();
        const startedMs = performance.now();
        await waitUntil(async () => {
          const replies = await Promise.all(nodes.flatMap(node => [ready(node), create(node, key, 'well again')]));
          return replies.every(({ status }) => status < 300);
        });
        const tookMs = performance.now() - startedMs;
        assert.ok(tookMs <= RECOVERY_MS, `all was well again only after ${tookMs} ms`);
      }
    })();
    await Promise.race([load, working]);
    going = false;
    await Promise.all([load, working]);

    assert.equal(new Set(acknowledged).size, acknowledged.length, 'an id was given twice');
    const kept = new Set(
      await onServer(
        async connection => (await run(connection, 'select id from pets')).map(({ id }) => id),
        cluster.url,
      ),
    );
    for (const id of acknowledged) assert.ok(kept.has(id), `animal ${id} is lost`);
    t.diagnostic(`${JSON.stringify(seen)} over ${rounds} kills`);
  });
});
