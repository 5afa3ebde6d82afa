import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createDatabase, onServer, run, withoutPostgres } from '../support/engines.ts';
import { freePort } from '../support/free-port.ts';
import { long, skipFor } from '../support/selection.ts';
import { newProcessKey, type Process, spawnService } from '../support/serving.ts';
import {
  type ProxyName,
  proxyNames,
  type RunningProxy,
  startShippedProxy,
  withoutProxy,
} from '../support/shipped-proxies.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const execute = promisify(execFile);
const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** Requests through each proxy at least, and restarts at least: of each node once. */
const REQUESTS = long ? 100_000 : 500;
const RESTARTS = 2;
/** Callers of each proxy. Half of them keep their connection, the others open one for each request. */
const CALLERS = 8;
/** An address of this machine besides that of the proxies. */
const CLIENT = '127.0.0.2';
const STOP_DELAY = '3s';
/** The pause of docs/operating/upgrade.md in which the proxies notice that a node is ready. */
const NOTICE_MS = 5000;

const skip = skipFor(withoutPostgres ?? withoutValkeyServer);

describe('two nodes behind the proxies of deploy/', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let valkey: ValkeyServer;
  let key: string;
  let ports: readonly [number, number];
  const nodes: Process[] = [];
  const proxies = new Map<ProxyName, RunningProxy>();

  before(async () => {
    database = await createDatabase();
    valkey = await ValkeyServer.start();
    await execute(launcher, ['migrate'], { env: { ...process.env, PETSTORE_DATABASE_URL: database.url } });
    ports = [await freePort(), await freePort()];
    for (const port of ports) nodes.push(await startNode(port));
    key = await newProcessKey(nodes[0]!);
    for (const name of proxyNames) {
      if (skipFor(withoutProxy(name)) !== false) continue;
      const proxy = await startShippedProxy(name, ports);
      proxies.set(name, proxy);
      await waitUntil(() =>
        call(proxy, '/readyz').then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
    }
  });
  after(async () => {
    for (const proxy of proxies.values()) await proxy.stop();
    for (const node of nodes) {
      await node.stop('SIGKILL');
      await node.remove();
    }
    await valkey?.kill();
    await database?.remove();
  });

  /** Starts a node on a port. A node that was stopped starts again on its directory. */
  function startNode(port: number, directory?: string): Promise<Process> {
    const environment = {
      PETSTORE_PORT: `${port}`,
      PETSTORE_STAGING_PORT: '',
      PETSTORE_MESSAGES_PORT: '',
      PETSTORE_DATABASE_URL: database.url,
      PETSTORE_VALKEY_URL: valkey.url,
      PETSTORE_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      PETSTORE_PUBLIC_URL: 'https://api.example.org',
      PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
      PETSTORE_STOP_DELAY: STOP_DELAY,
    };
    return spawnService({ environment, ...(directory !== undefined && { directory }) });
  }

  for (const name of proxyNames) {
    const skip = skipFor(withoutProxy(name));

    it(`${name} passes on paths, the address of the client and TLS, whatever the client claims`, { skip }, async () => {
      const proxy = proxies.get(name)!;
      const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'http' };
      const created = await call(proxy, '/v1/pets', { key, headers, body: { name: 'Minka', categoryId: 1 } });
      assert.equal(created.status, 201);
      const { body: changes } = await call(proxy, '/v1/audit?limit=1&sort=-id', { key });
      assert.equal(changes[0].address, CLIENT);
      const list = await call(proxy, '/v1/pets?limit=1', { key, headers });
      assert.match(String(list.headers['link']), /^<https:\/\/api\.example\.org\/v1\/pets\?/);
      assert.match(String(list.headers['strict-transport-security']), /^max-age=/);
      for (const path of ['/v1//pets', '/v1/pets%2F1']) assert.equal((await call(proxy, path, { key })).status, 404);
    });

    it(`${name} delivers the events of a stream at once`, { skip }, async () => {
      const proxy = proxies.get(name)!;
      const stream = await open(proxy, '/v1/events/stream', { key });
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      await waitUntil(() => text.includes('retry: '));
      await call(proxy, '/v1/pets', { key, body: { name: 'Streamed', categoryId: 1 } });
      // Far from what would fill the buffer of a proxy.
      await waitUntil(() => text.includes('"name":"Streamed"'));
      stream.destroy();
    });
  }

  it(`lose ${long ? 'no request' : 'at most one request each time'} in a rolling restart, and repeat none`, async t => {
    const loads = Array.from(proxies, ([name, proxy]) => ({ name, proxy, requests: 0, lost: [] as string[] }));
    const created = new Set<string>();
    /** Animals that PostgreSQL did not confirm in time, as happens on a busy machine. */
    const unconfirmed = new Set<string>();
    let restarts = 0;
    let isRestarting = true;
    const isEnough = () => restarts >= RESTARTS && loads.every(({ requests }) => requests >= REQUESTS);
    const callers = loads.flatMap(load =>
      Array.from({ length: CALLERS }, async (_, caller) => {
        const agent = caller % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined;
        for (let n = 0; isRestarting; n++) {
          load.requests++;
          const body = n % 2 === 0 ? undefined : { name: `${load.name}-${caller}-${n}`, categoryId: 1 };
          const reply = await call(load.proxy, '/v1/pets?limit=1', { key, agent, ...(body && { body }) }).catch(String);
          if (typeof reply !== 'string' && reply.status === 201) created.add(body!.name);
          else if (typeof reply === 'string' || reply.status !== 200) {
            unconfirmed.add(body?.name ?? '');
            const what = typeof reply === 'string' ? reply : `${reply.status} ${reply.text}`;
            if (!what.includes('storage_unavailable')) load.lost.push(`${body ? 'POST' : 'GET'}: ${what}`);
          }
        }
        agent?.destroy();
      }),
    );
    while (!isEnough()) {
      const index = restarts % 2;
      assert.deepEqual(await nodes[index]!.stop(), { code: 0, signal: null });
      nodes[index] = await startNode(ports[index]!, nodes[index]!.directory);
      restarts++;
      await pause(NOTICE_MS);
    }
    isRestarting = false;
    await Promise.all(callers);
    for (const { name, requests, lost } of loads) {
      t.diagnostic(`${name}: lost ${lost.length} of ${requests} requests in ${restarts} restarts`);
    }
    // A busy machine delays health checks and handshakes, so the short form allows one loss per restart.
    const lostMax = long ? 0 : restarts;
    for (const { name, lost } of loads) assert.ok(lost.length <= lostMax, `${name}: ${lost.join('\n')}`);
    const rows = await onServer(
      connection => run(connection, "select name from pets where name like '%-%'"),
      database.url,
    );
    const names = rows.map(row => String(row['name'])).filter(name => !unconfirmed.has(name));
    assert.deepEqual(names.toSorted(), [...created].toSorted());
  });
});

interface CallOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with POST. */
  readonly body?: object;
  /** Default: a connection of its own. */
  readonly agent?: Agent | undefined;
}

/** A response whose head has arrived, or all of it. */
interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
  readonly body: any;
}

/** Sends a request through a proxy, from an address of its own, and returns the response once its head has arrived. */
async function open(
  { port, ca }: RunningProxy,
  path: string,
  { key, headers = {}, body, agent }: CallOptions,
): Promise<IncomingMessage> {
  const connection = { host: '127.0.0.1', servername: 'api.example.org', localAddress: CLIENT, port, ca };
  const all: Record<string, string> = { Host: 'api.example.org', ...headers };
  if (key !== undefined) all['Authorization'] = `Bearer ${key}`;
  if (body !== undefined) all['Content-Type'] = 'application/json';
  const method = body === undefined ? 'GET' : 'POST';
  const sent = request({ ...connection, path, method, headers: all, agent: agent ?? false });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function call(proxy: RunningProxy, path: string, options: CallOptions = {}): Promise<Reply> {
  const response = await open(proxy, path, options);
  const text = (await response.setEncoding('utf8').toArray()).join('');
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return { status: response.statusCode!, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}
