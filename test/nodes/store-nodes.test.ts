import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startCluster, withoutCluster } from '../support/postgres-cluster.ts';
import { type BadNetwork, startProxy } from '../support/proxy.ts';
import { long, skipFor } from '../support/selection.ts';
import { newProcessKey, type Process, spawnService } from '../support/serving.ts';
import { StoreLoad } from '../support/store-load.ts';
import { assertShownAlike, Mirror } from '../support/store-mirror.ts';
import { assertStoredInvariants, storedAt } from '../support/stored.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';

const without = withoutCluster ?? withoutValkeyServer;
const skip = skipFor(without);

const ROUNDS = long ? 20 : 2;
/** On each of the two nodes. */
const CALLERS = 8;

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

describe('the store over two nodes', { skip, timeout: long ? 900_000 : 180_000 }, () => {
  it(`runs each operation once and responds in time while a node, PostgreSQL and its connections are killed ${ROUNDS} times`, async t => {
    const cluster = await startCluster();
    t.after(() => cluster.remove());
    const proxy = await startProxy({ host: '127.0.0.1', port: cluster.port });
    t.after(() => proxy.close());
    await promisify(execFile)(launcher, ['migrate'], { env: { ...process.env, PETSTORE_DATABASE_URL: cluster.url } });
    const valkey = await ValkeyServer.start();
    t.after(() => valkey.kill());
    // One node has a bad network.
    const behind = Object.assign(new URL(cluster.url), { port: `${proxy.port}` }).href;
    const shared = { PETSTORE_VALKEY_URL: valkey.url, PETSTORE_PHOTOS_DIRECTORY: temporaryDirectory() };
    const start = (database: string) => startNode(t, { PETSTORE_DATABASE_URL: database, ...shared });
    const nodes = await Promise.all([start(cluster.url), start(behind)]);
    const keys: string[] = [];
    for (let account = 0; account < 4; account++) keys.push(await newProcessKey(nodes[0]!));
    const load = new StoreLoad(keys);
    const mirror = new Mirror(keys[0]!);

    let going = true;
    // The callers of a test that fails stop, too.
    t.after(() => {
      going = false;
    });
    const stays = nodes[1]!.urls.production;
    const staying = [
      ...Array.from({ length: CALLERS }, () => load.call(stays, () => going, { staysOn: true })),
      mirror.follow(stays, () => going),
    ];
    const more = async (count: number) => {
      const target = load.answered + count;
      while (load.answered < target) await Promise.race([pause(5), ...staying.map(one => one.then(never))]);
    };
    for (let round = 0; round < ROUNDS; round++) {
      const { production } = nodes[0]!.urls;
      let there = true;
      const callers = Array.from({ length: CALLERS }, () =>
        load.call(production, () => going && there, { staysOn: true }),
      );
      await more(150);
      await harm(proxy);
      await more(150);
      await cluster.kill();
      await cluster.start();
      await more(150);
      there = false;
      await Promise.all(callers);

      const last = Array.from({ length: CALLERS }, () => load.call(production, () => going));
      await more(100);
      await nodes[0]!.stop('SIGKILL');
      await Promise.all(last);
      await load.retry(stays);
      await more(50);
      nodes[0] = await start(cluster.url);
    }
    going = false;
    await Promise.all(staying);
    await load.retry(nodes[0]!.urls.production);
    await load.assertReplays(nodes[0]!.urls.production, 100);
    await assertShownAlike(nodes[0]!.urls.production, mirror);

    const stored = await storedAt(cluster.url);
    assertStoredInvariants(stored);
    load.assertOnce(stored.events);
    load.assertKept(stored.events);
    t.diagnostic(
      `${load.answered} answered, ${load.again} sent again; slowest ${Math.round(load.slowestMs)} ms; ` +
        `${stored.events.length} events; ${JSON.stringify(load.seen)}`,
    );
    for (const node of nodes) assert.doesNotMatch(node.log(), /internal_error|deadlock|serializ/i);
  });
});

/** Cuts the connections of a proxy, then drops all data for a second. */
async function harm(proxy: BadNetwork): Promise<void> {
  proxy.cut();
  await pause(100);
  proxy.swallow();
  await pause(1000);
  proxy.heal();
}

async function startNode(t: TestContext, environment: Record<string, string>): Promise<Process> {
  const node = await spawnService({ environment: { PETSTORE_STAGING_PORT: '', ...environment } });
  t.after(async () => {
    await node.stop();
    await node.remove();
  });
  return node;
}

function never(): Promise<never> {
  return new Promise(() => {});
}
