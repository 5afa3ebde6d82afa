import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { readManifest, verifyFiles } from '../../src/operate/backup/manifest.ts';
import { addPet } from '../cli/store-commands.ts';
import { type Environment, jsonOf, petstore } from '../support/commands.ts';
import { emptyPlaces } from '../support/empty-places.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { long } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A server is killed at most this long after its backup has begun to write. */
const TAIL_MS = 60;

for (const { name, skip, create } of emptyPlaces) {
  // On PostgreSQL the lease of a killed server lasts 20 seconds.
  const kills = (name === 'of the embedded engine' ? 3 : 1) * (long ? 5 : 1);
  describe(`scheduled backups of a store ${name}`, { skip }, () => {
    const removals: (() => Promise<unknown>)[] = [];
    const newPlace = async (): Promise<Environment> => {
      const place = await create();
      removals.push(() => place.close());
      return place.environment;
    };
    let here: Environment;
    before(async () => {
      here = await newPlace();
      await jsonOf(here, 'migrate');
      await jsonOf(here, 'account', 'create', '--email', 'owner@example.org', '--name', 'Owner');
      await addPet(here, { name: 'Minka' });
    });
    after(async () => {
      for (const remove of removals) await remove();
    });

    it('are complete or not counted, however often the server is killed', async t => {
      let interrupted = 0;
      let directory = '';
      for (let round = 0; round < kills; round++) {
        directory = join(temporaryDirectory(), 'backups');
        const killed = await serve(here, directory);
        await waitUntil(() => existsSync(directory) && readdirSync(directory).length > 0, 1);
        await pause(Math.random() * TAIL_MS);
        await killed.stop('SIGKILL');
        await waitUntil(() => processesOf(here, directory, { shell: true }).length === 0);
        const [left, ...more] = readdirSync(directory);
        assert.deepEqual(more, []);
        if (left!.includes('.partial-')) interrupted++;
        else await assertComplete(join(directory, left!));

        const next = await serve(here, directory);
        t.after(() => next.stop('SIGKILL'));
        await waitUntil(async () => readdirSync(directory).some(name => timeOf(name) !== undefined));
        await waitUntil(() => processesOf(here, directory).length === 0);
        const [good, ...others] = readdirSync(directory);
        assert.deepEqual(others, [], 'what was interrupted is deleted');
        await assertComplete(join(directory, good!));
        await waitUntil(async () => (await lastSuccess(next)) === timeOf(good!));
        assert.equal((await next.stop()).code, 0, next.log());
      }
      t.diagnostic(`${interrupted} of ${kills} backups were interrupted`);

      const there = await newPlace();
      await jsonOf(there, 'restore', join(directory, readdirSync(directory)[0]!));
      assert.equal((await jsonOf(there, 'pet', 'list')).at(-1).name, 'Minka');
      const { code, printed } = await petstore(there, 'verify');
      assert.deepEqual([code, printed], [0, 'No findings in production and staging.\n']);
    });

    it('are made once by two nodes that start together', async t => {
      if (!('PETSTORE_DATABASE_URL' in here)) return t.skip('one process serves a file');
      if (withoutValkeyServer !== undefined) return t.skip(withoutValkeyServer);
      const directory = join(temporaryDirectory(), 'backups');
      const valkey = await ValkeyServer.start();
      t.after(() => valkey.kill());
      const settings = { ...here, PETSTORE_VALKEY_URL: valkey.url };
      const nodes = await Promise.all([serve(settings, directory), serve(settings, directory)]);
      t.after(() => Promise.all(nodes.map(node => node.stop('SIGKILL'))));
      await waitUntil(async () => {
        const made = existsSync(directory) ? readdirSync(directory).map(timeOf) : [];
        const known = await Promise.all(nodes.map(lastSuccess));
        return made.length > 0 && known.every(time => time === made[0]);
      });
      await waitUntil(() => processesOf(here, directory).length === 0);
      assert.equal(readdirSync(directory).length, 1);
      for (const node of nodes) assert.equal((await node.stop()).code, 0, node.log());
      return undefined;
    });
  });
}

describe('scheduled backups', () => {
  it('are retried if the process that makes one is killed', async t => {
    const environment = { PETSTORE_DATA_DIR: temporaryDirectory() };
    const directory = join(temporaryDirectory(), 'backups');
    const server = await serve(environment, directory);
    t.after(() => server.stop('SIGKILL'));
    await waitUntil(() => processesOf(environment, directory).length > 0, 1);
    for (const pid of processesOf(environment, directory)) process.kill(pid, 'SIGKILL');
    await waitUntil(() => server.log().includes('A scheduled backup failed'));
    assert.match(server.log(), /The process of a backup failed: exit code 137/);
    assert.equal(await lastSuccess(server), 0);
    assert.equal((await server.stop()).code, 0, server.log());
    const next = await serve(environment, directory);
    t.after(() => next.stop('SIGKILL'));
    await waitUntil(async () => (await lastSuccess(next)) > 0);
    assert.equal(readdirSync(directory).length, 1);
    await next.stop();
  });

  it('do not fill the disk that the database is on', async t => {
    const disk = smallDisk(t, 32);
    if (disk === undefined) return;
    const environment = { PETSTORE_DATA_DIR: join(disk.directory, 'data') };
    const directory = join(disk.directory, 'backups');
    const server = await serve(environment, directory);
    t.after(() => server.stop('SIGKILL'));
    await waitUntil(() => server.log().includes('A scheduled backup failed'));
    assert.match(server.log(), /"reason":"The disk of [^"]* is full: \d+ MiB are free, and a backup needs \d+ MiB\."/);
    assert.deepEqual(readdirSync(directory), []);
    const key = await newProcessKey(server);
    const pet = { name: 'Rex', categoryId: 2 };
    assert.equal((await send(`${server.urls.production}/pets`, { method: 'POST', key, body: pet })).status, 201);
    assert.equal((await send(new URL('/readyz', server.urls.production).href)).status, 200);
    await server.stop();
  });
});

function serve(environment: Environment, directory: string): Promise<Process> {
  const settings = { PETSTORE_METRICS_PORT: '0', PETSTORE_BACKUP_DIRECTORY: directory };
  return spawnService({ directory: environment['PETSTORE_DATA_DIR']!, environment: { ...environment, ...settings } });
}

async function lastSuccess({ urls }: Process): Promise<number> {
  const { text } = await send((urls as { metrics?: string }).metrics!);
  return sampleOf(parseMetrics(text), 'petstore_backup_last_success_timestamp_seconds')!;
}

/** Returns when a complete backup began, in seconds since the Unix epoch, from its name; `undefined` for a draft. */
function timeOf(name: string): number | undefined {
  const match = /^scheduled-([\d-]{10})T([\d-]{8})Z-\w{8}$/.exec(name);
  return match === null ? undefined : Date.parse(`${match[1]}T${match[2]!.replaceAll('-', ':')}Z`) / 1000;
}

async function assertComplete(directory: string): Promise<void> {
  await verifyFiles(directory, readManifest(directory));
}

/** Returns the processes that make a backup of a store; with `shell`, also the one that starts them. */
function processesOf(environment: Environment, directory: string, { shell = false } = {}): number[] {
  const ofStore = `PETSTORE_DATA_DIR=${environment['PETSTORE_DATA_DIR']}\0`;
  const isOurs = (pid: string) => {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (command.startsWith('pg_')) return command.includes(directory);
    if (!command.includes('/backup/scheduled/worker.ts') || (command.startsWith('/bin/sh') && !shell)) return false;
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(ofStore);
  };
  const pids = readdirSync('/proc').filter(pid => /^\d+$/.test(pid));
  return pids.filter(pid => existing(() => isOurs(pid)) ?? false).map(Number);
}

/** Returns what `read` returns; `undefined` if the process that it reads about has ended. */
function existing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
