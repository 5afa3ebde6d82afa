import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { long, RESPONSE_MS } from '../support/selection.ts';
import { assertApiResponse, newProcessKey, type Process, type Reply, send, spawnService } from '../support/serving.ts';
import { failingDisk, smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { recorded, withoutRecorder } from './power-cut/recorder.ts';

/** Ends a test that hangs. On a busy machine, tests that take seconds alone take minutes. */
const MIB = 2 ** 20;

describe('a disk that is full', { concurrency: true }, () => {
  it('rejects only writes, and accepts them again once there is space', async context => {
    const disk = smallDisk(context, 12);
    if (disk !== undefined) await testFullDisk(context, disk.directory, {}, disk);
  });

  it('does the same if every write fails with ENOSPC', { skip: withoutRecorder ?? false }, async context => {
    const directory = temporaryDirectory();
    const full = join(temporaryDirectory(), 'full');
    await testFullDisk(
      context,
      directory,
      { ...recorded(directory), RECORD_FULL: full },
      {
        fill: () => writeFileSync(full, ''),
        empty: () => rmSync(full),
      },
    );
  });
});

/** Fills the disk under a server and empties it again. */
async function testFullDisk(
  context: TestContext,
  directory: string,
  environment: Readonly<Record<string, string>>,
  disk: { fill(): void; empty(): void },
) {
  const start = () => startService(context, { directory, environment });
  let service = await start();
  const key = await newProcessKey(service);
  const [early, newcomer, crowd] = await Promise.all([1, 2, 3].map(() => newProcessKey(service, 'free')));
  const acknowledged = await addMany(service, key, 50);
  assert.equal((await list(service, early!)).status, 200);
  const quiet = logged(service).length;

  disk.fill();
  let refused: Reply;
  // Pages that are already allocated may take a few more rows.
  do {
    refused = await add(service, key);
    if (refused.status === 201) acknowledged.push(refused.body.id);
  } while (refused.status === 201);
  for (const reply of [refused, ...(await Promise.all(Array.from({ length: 30 }, () => add(service, key))))]) {
    assert.equal(reply.status, 503, reply.text);
    assert.equal(reply.body.code, 'storage_full');
    assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/);
    assertApiResponse(reply);
  }
  assert.equal((await list(service, early!)).status, 200);
  assert.equal((await send(`${service.urls.production}/pets/${acknowledged[0]}`, { key })).status, 200);
  const from = performance.now();
  assert.equal((await list(service, newcomer!)).status, 200, 'a first request of the day');
  assert.ok(performance.now() - from < RESPONSE_MS, 'it waits for a bounded time');
  const { status, body } = await ready(service);
  assert.equal(status, 200);
  assert.equal(body.storage.writes, 'full');
  assert.equal(body.day, 'memory');
  const many = await Promise.all(Array.from({ length: 200 }, () => list(service, crowd!)));
  assert.equal(many.filter(reply => reply.status === 200).length, 60);
  assert.equal(many.filter(reply => reply.status === 429).length, 140);
  for (const reply of many) assertApiResponse(reply);
  for (const args of [
    ['account', 'create', '--email', 'late@example.org', '--name', 'Late'],
    ['staging', 'reset'],
  ]) {
    const { code, stderr } = await command(directory, environment, args);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^[^\n]*full[^\n]*\n$/, args.join(' '));
  }
  const episode = logged(service).slice(quiet);
  assert.ok(episode.length >= 1 && episode.length <= 3, `at most three log lines:\n${episode.join('\n')}`);

  disk.empty();
  await within(5000, async () => (await add(service, key)).status === 201);
  await within(5000, async () => {
    const { body } = await ready(service);
    return body.storage.writes === 'ok' && body.day === 'durable';
  });
  acknowledged.push(...(await addMany(service, key, 10)));
  await service.stop('SIGKILL');
  service = await start();
  assert.deepEqual(await missing(service, key, acknowledged), []);
  assert.ok((await usedToday(service, crowd!)) >= 60, 'what was counted in memory is on disk');

  disk.fill();
  const late = await add(service, key);
  assert.ok(late.status === 503 || late.status === 201);
  assert.equal((await service.stop()).code, 0, service.log());
  const { code, stderr } = await command(directory, { ...environment, ...freePorts }, ['serve', '--json'], 10_000);
  if (code !== 0) {
    assert.equal(code, 1);
    assert.match(stderr, /^[^\n]*full[^\n]*\n$/);
  }
  disk.empty();
  service = await start();
  assert.deepEqual(await missing(service, key, acknowledged), []);
  assert.equal((await service.stop()).code, 0);
}

describe('a disk that became read-only after an error', () => {
  it('makes the server unavailable, and serves reads', async context => {
    const disk = failingDisk(context);
    if (disk === undefined) return;
    const service = await startService(context, { directory: disk.directory });
    const key = await newProcessKey(service);
    await addMany(service, key, 3);
    assert.equal((await ready(service)).status, 200);
    disk.fail();
    const { status, body } = await ready(service);
    const storage = { ok: false, writes: 'unavailable', detail: 'The disk is read-only.' };
    assert.deepEqual([status, body.status, body.storage], [503, 'unavailable', storage]);
    assert.equal((await list(service, key)).status, 200);
  });
});

describe('a disk that stalls', { concurrency: true, skip: withoutRecorder ?? false }, () => {
  it('delays no reads, and writes for a bounded time', async context => {
    const { service, stall, key } = await startStallable(context);
    const newcomer = await newProcessKey(service, 'free');
    const acknowledged = await addMany(service, key, 50);
    const before = await readerTimes(service, key, 500);
    const quiet = logged(service).length;
    writeFileSync(stall, '');
    const from = performance.now();
    const stuck = Array.from({ length: 20 }, async () => {
      const reply = await add(service, key);
      return { reply, ms: performance.now() - from };
    });
    const during = await readerTimes(service, key, 500);
    assert.ok(during.p99 < Math.max(5 * before.p99, 25), `p99 rose from ${before.p99} ms to ${during.p99} ms`);
    const asked = performance.now();
    assert.equal((await list(service, newcomer)).status, 200);
    assert.ok(performance.now() - asked < RESPONSE_MS, 'a first request of the day waits for a bounded time');
    await within(5000, async () => {
      const { status, body } = await ready(service);
      return status === 200 && body.storage.writes === 'stalled' && body.day === 'memory';
    });
    for (const { reply, ms } of await Promise.all(stuck)) {
      assert.equal(reply.status, 503, reply.text);
      assert.equal(reply.body.code, 'storage_unavailable');
      assert.match(reply.body.message, /not known|nothing was changed/);
      assert.ok(ms < 12_000, `${ms} ms`);
      assertApiResponse(reply);
    }
    const episode = logged(service).slice(quiet);
    assert.ok(episode.length >= 1 && episode.length <= 3, `at most three log lines:\n${episode.join('\n')}`);
    rmSync(stall);
    await within(5000, async () => {
      const { body } = await ready(service);
      return body.storage.writes === 'ok' && body.day === 'durable';
    });
    acknowledged.push(...(await addMany(service, key, 10)));
    assert.deepEqual(await missing(service, key, acknowledged), []);
    assert.equal((await service.stop()).code, 0);
  });

  it('does not prevent a shutdown with exit code 0', async context => {
    const { service, stall, key, directory, environment } = await startStallable(context);
    const acknowledged = await addMany(service, key, 20);
    writeFileSync(stall, '');
    const stuck = add(service, key).catch(() => undefined);
    await within(5000, async () => (await ready(service)).body.storage.writes === 'stalled');
    const from = performance.now();
    const end = await Promise.race([service.stop(), pause(20_000, 'still there', { ref: false })]);
    assert.deepEqual(end, { code: 0, signal: null }, service.log());
    assert.ok(performance.now() - from < 14_000);
    await stuck;
    rmSync(stall);
    const again = await startService(context, { directory, environment });
    assert.deepEqual(await missing(again, key, acknowledged), []);
    assert.equal((await again.stop()).code, 0);
  });
});

describe('a flush that fails', { skip: withoutRecorder ?? false }, () => {
  it('ends the service at once with an error response, and the next start has everything', async context => {
    const directory = temporaryDirectory();
    const key = await prepare(context, directory);
    const flushes = String(150 + Math.floor(Math.random() * 100));
    const service = await startService(context, {
      directory,
      environment: { ...recorded(directory), RECORD_EIO_AT: flushes },
    });
    const acknowledged: number[] = [];
    const refusals: Reply[] = [];
    let refused = false;
    const writers = Array.from({ length: 32 }, async () => {
      for (;;) {
        const reply = await add(service, key).catch(() => undefined);
        if (reply === undefined) return;
        if (reply.status === 201) {
          assert.ok(!refused, 'no success after a 503');
          acknowledged.push(reply.body.id);
        } else {
          refusals.push(reply);
          // Responses that arrive together on several connections are read in any order.
          setImmediate(() => {
            refused = true;
          });
        }
      }
    });
    const [code] = service.child.exitCode === null ? await once(service.child, 'exit') : [service.child.exitCode];
    await Promise.all(writers);
    assert.equal(code, 1, service.log());
    assert.ok(refusals.length > 0, 'pending requests got a 503');
    for (const reply of refusals) {
      assert.equal(reply.status, 503);
      assert.equal(reply.body.code, 'storage_unavailable');
      assertApiResponse(reply);
    }
    const again = await startService(context, { directory });
    assert.deepEqual(await missing(again, key, acknowledged), []);
    assert.equal((await again.stop()).code, 0);
  });
});

describe('a deleted write-ahead log', () => {
  it('ends the service at the next write, which fails', async context => {
    const directory = temporaryDirectory();
    const service = await startService(context, { directory });
    const key = await newProcessKey(service);
    await addMany(service, key, 10);
    rmSync(join(directory, 'production.db-wal'));
    const exited = once(service.child, 'exit');
    const reply = await add(service, key);
    assert.equal(reply.status, 503);
    assert.equal(reply.body.code, 'storage_unavailable');
    assert.deepEqual(await exited, [1, null], service.log());
    const again = await startService(context, { directory });
    assert.equal((await again.stop()).code, 0);
  });
});

describe('another process that holds the write lock', () => {
  for (const seconds of long ? [3, 20] : [3]) {
    it(`delays only writes (${seconds} s)`, async context => {
      const directory = temporaryDirectory();
      const service = await startService(context, { directory });
      const key = await newProcessKey(service);
      const acknowledged = await addMany(service, key, 20);
      const before = await readerTimes(service, key, 500);
      const release = await openElsewhere(context, directory, 'begin immediate');
      const from = performance.now();
      const stuck = Array.from({ length: 20 }, async () => ({
        reply: await add(service, key),
        ms: performance.now() - from,
      }));
      const during = await readerTimes(service, key, 1000);
      assert.ok(during.p99 < Math.max(10 * before.p99, 100), `p99 rose from ${before.p99} ms to ${during.p99} ms`);
      // A read that waited for the lock would take almost as long as it is held. A single slow read may be the machine’s.
      assert.ok(during.worst < seconds * 500, `one read took ${during.worst} ms`);
      await pause(seconds * 1000 - (performance.now() - from));
      await release();
      for (const { reply, ms } of await Promise.all(stuck)) {
        if (seconds < 5) assert.equal(reply.status, 201, reply.text);
        else {
          assert.equal(reply.status, 503);
          assert.equal(reply.body.code, 'storage_unavailable');
          assert.ok(ms < 7000, `${ms} ms`);
        }
        assertApiResponse(reply);
        if (reply.status === 201) acknowledged.push(reply.body.id);
      }
      acknowledged.push(...(await addMany(service, key, 10)));
      assert.deepEqual(await missing(service, key, acknowledged), []);
      await within(7000, async () => (await ready(service)).body.storage.writes === 'ok');
      assert.equal((await service.stop()).code, 0);
    });
  }
});

describe('another process that never stops reading', () => {
  it('keeps the write-ahead log below 64 MiB; writes wait for the reader at worst', async context => {
    const directory = temporaryDirectory();
    const service = await startService(context, { directory });
    const key = await newProcessKey(service);
    const release = await openElsewhere(context, directory, 'begin; select count(*) from pets');
    const quiet = logged(service).length;
    const acknowledged: number[] = [];
    let refused: Reply | undefined;
    let longest = 0;
    const writer = async () => {
      while (refused === undefined) {
        const reply = await add(service, key, '\u{1F408}'.repeat(255));
        longest = Math.max(longest, statSync(join(directory, 'production.db-wal')).size);
        if (reply.status === 201) acknowledged.push(reply.body.id);
        else refused = reply;
      }
    };
    await Promise.all(Array.from({ length: 64 }, writer));
    assert.equal(refused!.status, 503, refused!.text);
    assert.equal(refused!.body.code, 'storage_full');
    assertApiResponse(refused!);
    assert.ok(longest > 16 * MIB && longest <= 64 * MIB, `${longest} bytes`);
    assert.equal((await list(service, key)).status, 200);
    await release();
    await within(5000, async () => (await add(service, key)).status === 201);
    await within(5000, async () => statSync(join(directory, 'production.db-wal')).size < 16 * MIB);
    assert.deepEqual(await missing(service, key, acknowledged), []);
    const episode = logged(service).slice(quiet);
    const recoveries = episode.filter(line => JSON.parse(line).level === 'info');
    const faults = episode.length - recoveries.length;
    // One for all requests, and one each for counts and usage, which are also reported once they are written again.
    assert.ok(faults <= 3 && recoveries.length < faults, `three faults and their ends at most:\n${episode.join('\n')}`);
    assert.ok(recoveries.every(line => line.includes('written again')));
    context.diagnostic(`${acknowledged.length} animals, ${Math.round(longest / MIB)} MiB`);
    assert.equal((await service.stop()).code, 0);
  });
});

async function startStallable(context: TestContext) {
  const directory = temporaryDirectory();
  const stall = join(temporaryDirectory(), 'stall');
  const environment = { ...recorded(directory), RECORD_STALL: stall };
  const service = await startService(context, { directory, environment });
  // Threads that hang in a stalled flush end with the stall.
  context.after(() => rmSync(stall, { force: true }));
  return { directory, stall, environment, service, key: await newProcessKey(service) };
}

/** Starts a server that is killed after the test. */
async function startService(context: TestContext, options: Parameters<typeof spawnService>[0]): Promise<Process> {
  const service = await spawnService(options);
  context.after(() => service.stop('SIGKILL'));
  return service;
}

/** Serves a data directory once and returns an API key for it. */
async function prepare(context: TestContext, directory: string): Promise<string> {
  const service = await startService(context, { directory });
  const key = await newProcessKey(service);
  assert.equal((await service.stop()).code, 0);
  return key;
}

const freePorts = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };
const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** Runs a command, ended by SIGTERM after `forMs` if given; returns its exit code and its standard error. */
async function command(
  directory: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  forMs?: number,
): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(launcher, args, {
    env: { ...process.env, PETSTORE_DATA_DIR: directory, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text;
  });
  const timer = forMs === undefined ? undefined : setTimeout(() => child.kill(), forMs);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  return { code, stderr };
}

/** Runs `sql` in another process and keeps its connection open; returns a function that ends the process. */
async function openElsewhere(context: TestContext, directory: string, sql: string): Promise<() => Promise<void>> {
  const script = `
    import Sqlite from 'better-sqlite3';
    const db = new Sqlite(process.argv[1]);
    db.exec(process.argv[2]);
    console.log('ready');
    process.stdin.on('end', () => process.exit(0)).resume();`;
  const args = ['--input-type=module', '-e', script, join(directory, 'production.db'), sql];
  const child = spawn(process.execPath, args, {
    cwd: new URL('../..', import.meta.url).pathname,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}

const add = (service: Process, key: string, name = 'Minka'): Promise<Reply> =>
  send(`${service.urls.production}/pets`, { method: 'POST', key, body: { name, categoryId: 2 } });

const list = (service: Process, key: string): Promise<Reply> => send(`${service.urls.production}/pets`, { key });

const ready = (service: Process): Promise<Reply> => send(`${new URL(service.urls.production).origin}/readyz`);

async function addMany(service: Process, key: string, count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => add(service, key)));
  return replies.map(reply => {
    assert.equal(reply.status, 201, reply.text);
    return reply.body.id;
  });
}

/** Returns the ids of these pets that the server does not have. */
async function missing(service: Process, key: string, ids: readonly number[]): Promise<number[]> {
  const found = new Set<number>();
  for (let from = 0; from < ids.length; from += 100) {
    const url = `${service.urls.production}/pets?limit=100&id=${ids.slice(from, from + 100).join()}`;
    const reply = await send(url, { key });
    assert.equal(reply.status, 200, reply.text);
    for (const { id } of reply.body) found.add(id);
  }
  return ids.filter(id => !found.has(id));
}

/** Returns how many requests the key used today, including this one. */
async function usedToday(service: Process, key: string): Promise<number> {
  const { headers } = await list(service, key);
  const [, limit] = /"day";q=(\d+)/.exec(String(headers['ratelimit-policy']))!;
  const [, left] = /"day";r=(\d+)/.exec(String(headers['ratelimit']))!;
  return Number(limit) - Number(left);
}

/** Measures the response times of `count` reads in milliseconds, four at a time. */
async function readerTimes(service: Process, key: string, count: number): Promise<{ p99: number; worst: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const times: number[] = [];
  const reader = async () => {
    for (let n = 0; n < count / 4; n++) {
      const from = performance.now();
      const reply = await send(`${service.urls.production}/pets`, { key, agent });
      times.push(performance.now() - from);
      assert.equal(reply.status, 200);
    }
  };
  await Promise.all([reader(), reader(), reader(), reader()]);
  agent.destroy();
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)]!, worst: times.at(-1)! };
}

/** Returns the log lines of a server. */
function logged(service: Process): string[] {
  return service.log().split('\n').filter(Boolean);
}

/** Waits until the condition holds; fails after `ms` milliseconds. */
async function within(ms: number, holds: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + ms;
  while (!(await holds())) {
    assert.ok(performance.now() < until, `the condition does not hold after ${ms} ms`);
    await pause(50);
  }
}
