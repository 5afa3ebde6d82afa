import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Environment, jsonOf, petstore, refused } from '../support/commands.ts';
import { emptyPlaces } from '../support/empty-places.ts';
import { onServer, run } from '../support/engines.ts';
import { long } from '../support/selection.ts';
import { type Process, type Reply, send, spawnService, type Urls } from '../support/serving.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const BACKUPS = long ? 20 : 2;
/** How many resources are created between two backups. */
const ENOUGH = 60;
const CALLERS = 3;
/** A command is killed at most this long after it has begun to write. */
const TAIL_MS = 120;

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** Something that a server has acknowledged: where it is, and who may read it. */
interface Created {
  readonly deployment: 'production' | 'staging';
  readonly path: string;
  readonly key: string;
}

for (const { name, skip, create } of emptyPlaces) {
  // A restore into PostgreSQL takes seconds.
  const kills = (name === 'of the embedded engine' ? 8 : 3) * (long ? 5 : 1);
  describe(`a store ${name}`, { skip }, () => {
    const removals: (() => Promise<unknown>)[] = [];
    const newPlace = async (): Promise<Environment> => {
      const place = await create();
      removals.push(() => place.close());
      return place.environment;
    };
    let here: Environment;
    let server: Process;
    before(async () => {
      here = await newPlace();
      await jsonOf(here, 'migrate');
      server = await serve(here);
      removals.unshift(() => server.stop('SIGKILL'));
    });
    after(async () => {
      for (const remove of removals) await remove();
    });

    it('is backed up under load with every acknowledged write, and no request is refused', async t => {
      const load = await startLoad(here, server.urls);
      let acknowledged: Created[] = [];
      let there: Environment = {};
      for (let round = 0; round < BACKUPS; round++) {
        await load.grow();
        acknowledged = [...load.created];
        const backup = join(temporaryDirectory(), 'backup');
        const { code, errors } = await command(here, ['backup', backup]).ended;
        assert.deepEqual([code, errors], [0, '']);
        there = await newPlace();
        await jsonOf(there, 'restore', backup);
        await assertSound(there);
      }
      await load.stop();
      await assertSound(here);

      const restored = await serve(there);
      t.after(() => restored.stop());
      for (const created of acknowledged) await assertThere(restored.urls, created);
      t.diagnostic(`${acknowledged.length} of ${load.created.length} writes before the last backup, none lost`);
    });

    it('has complete backups only, however often the command is killed', async t => {
      const pets = await petsIn(here);
      const directory = temporaryDirectory();
      const target = join(directory, 'backup');
      const left = new Set<string>();
      let complete = 0;
      let there = await newPlace();
      for (let round = 0; round < kills; round++) {
        const { kill } = command(here, ['backup', target]);
        await kill(() => readdirSync(directory).length > left.size);
        for (const entry of readdirSync(directory).filter(one => !left.has(one))) {
          if (entry !== 'backup') {
            assert.match(entry, /^backup\.partial-\w+$/);
            left.add(entry);
          }
          const { code, errors } = await petstore(there, 'restore', join(directory, entry));
          if (code === 0) {
            complete++;
            assert.deepEqual(await petsIn(there), pets);
            await assertSound(there);
            there = await newPlace();
          } else {
            assert.notEqual(entry, 'backup', errors);
            assert.match(errors, /^(There is no|The) backup in [^\n]+\n$/);
          }
        }
        rmSync(target, { recursive: true, force: true });
      }
      await jsonOf(here, 'backup', target);
      t.diagnostic(`${kills} kills: ${complete} complete backups, ${left.size} partial directories`);
    });

    it('is restored completely or not at all, however often the command is killed', async t => {
      const pets = await petsIn(here);
      const backup = join(temporaryDirectory(), 'backup');
      await jsonOf(here, 'backup', backup);
      const outcomes: Record<string, number> = {};
      for (let round = 0; round < kills; round++) {
        const there = await newPlace();
        const { kill } = command(there, ['restore', backup]);
        await kill(() => isRestoring(there));
        await waitUntil(async () => !(await isProgramRunning(there)));
        const state = await stateOf(there);
        outcomes[state] = (outcomes[state] ?? 0) + 1;
        if (state === 'interrupted') await assertRefused(command(there, ['serve']), /run "petstore restore" again\.$/m);
        if (state !== 'complete') await jsonOf(there, 'restore', backup);
        assert.deepEqual(await petsIn(there), pets);
        await assertSound(there);
      }
      t.diagnostic(`${kills} kills: ${JSON.stringify(outcomes)}`);
    });

    it('is not backed up to a disk that is too small, which takes one sentence', async t => {
      const directory = temporaryDirectory();
      // The manifest fits, and a database does not.
      const limited = command(here, ['backup', join(directory, 'backup')], 64);
      await assertRefused(limited, /cannot be written|^pg_dump failed: SIGXFSZ ended it$/m);
      assert.deepEqual(readdirSync(directory), []);
      const disk = smallDisk(t, 1);
      if (disk === undefined) return;
      disk.fill();
      await assertRefused(command(here, ['backup', join(disk.directory, 'backup')]), /disk .*is full|No space left/);
      assert.deepEqual(readdirSync(disk.directory), ['ballast']);
    });
  });
}

describe('a store of the embedded engine', () => {
  it('is not restored to a disk that is too small, and can be once there is space', async t => {
    const here = { PETSTORE_DATA_DIR: temporaryDirectory() };
    await jsonOf(here, 'migrate');
    const backup = join(temporaryDirectory(), 'backup');
    await jsonOf(here, 'backup', backup);
    const disk = smallDisk(t, 4);
    if (disk === undefined) return;
    const there = { PETSTORE_DATA_DIR: join(disk.directory, 'data') };
    mkdirSync(there.PETSTORE_DATA_DIR, { mode: 0o700 });
    disk.fill();
    await refused(there, /^The disk of .*data is full\.$/m, 'restore', backup);
    assert.deepEqual(readdirSync(there.PETSTORE_DATA_DIR), ['production.db.restoring', 'serve.lock']);
    disk.empty();
    await jsonOf(there, 'restore', backup);
    await assertSound(there);
  });
});

function serve(environment: Environment): Promise<Process> {
  return spawnService({ directory: environment['PETSTORE_DATA_DIR']!, environment });
}

/** Runs clients of both deployments. Each creates until the load stops; any response but a success fails it. */
async function startLoad(here: Environment, urls: Urls) {
  const created: Created[] = [];
  let going = true;
  const add = async (one: Omit<Created, 'path'>, path: string, body: object): Promise<number> => {
    const reply = await send(urls[one.deployment] + path, { method: 'POST', key: one.key, body });
    assert.equal(reply.status, 201, reply.text);
    created.push({ ...one, path: `${path}/${reply.body.id}` });
    return reply.body.id;
  };
  const seller = await newCaller(here, 'production');
  const buyer = await newCaller(here, 'production');
  const trade = async () => {
    while (going) {
      const petId = await add({ deployment: 'production', key: seller }, '/pets', { name: 'Minka', categoryId: 2 });
      await add({ deployment: 'production', key: buyer }, '/store/orders', { petId });
    }
  };
  /** Accounts write to staging as soon as production has them. */
  const join = async () => {
    while (going) {
      const key = await newCaller(here, 'staging');
      await add({ deployment: 'staging', key }, '/pets', { name: 'Bella', categoryId: 2 });
    }
  };
  const clients = Promise.all([...Array.from({ length: CALLERS }, trade), join()]);
  return {
    created,
    /** Waits until both deployments have grown. */
    async grow() {
      const goal = created.length + ENOUGH;
      const joined = () => created.filter(({ deployment }) => deployment === 'staging').length;
      const newcomers = joined() + 3;
      await Promise.race([clients, waitUntil(() => created.length >= goal && joined() >= newcomers)]);
    },
    async stop() {
      going = false;
      await clients;
    },
  };
}

let accounts = 0;

/** Creates an account with limits that no test reaches, and returns a key of it. */
async function newCaller(here: Environment, deployment: string): Promise<string> {
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000000'];
  const email = `caller-${++accounts}@example.org`;
  const account = await jsonOf(here, 'account', 'create', '--email', email, '--name', 'A caller', ...limits);
  const key = await jsonOf(here, 'key', 'create', '--account', String(account.id), '--deployment', deployment);
  return key.token;
}

async function assertThere(urls: Urls, { deployment, path, key }: Created): Promise<void> {
  const reply: Reply = await send(urls[deployment] + path, { key });
  assert.equal(reply.status, 200, `${deployment} ${path}: ${reply.text}`);
}

async function assertSound(environment: Environment): Promise<void> {
  const { code, printed, errors } = await petstore(environment, 'verify');
  assert.deepEqual([code, printed, errors], [0, 'No findings in production and staging.\n', '']);
}

async function petsIn(environment: Environment): Promise<unknown> {
  const of = (deployment: string) => jsonOf(environment, 'pet', 'list', '--deployment', deployment, '--limit', '100');
  return [await of('production'), await of('staging')];
}

/** A command in a process of its own. */
interface Running {
  readonly ended: Promise<{ readonly code: number | null; readonly errors: string }>;
  /** Kills it at some time after a condition holds, unless it has ended, and waits for its end. */
  kill(begun: () => boolean | Promise<boolean>): Promise<void>;
}

/** @param fileBlocks how large a file it may write, in units of 512 bytes */
function command(environment: Environment, args: readonly string[], fileBlocks?: number): Running {
  const limit = fileBlocks === undefined ? '' : `ulimit -f ${fileBlocks}; `;
  const env: NodeJS.ProcessEnv = { ...process.env, ...environment };
  const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, launcher, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  const exited = once(child, 'exit');
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  return {
    ended: once(child, 'close').then(([code]) => ({ code, errors })),
    async kill(begun) {
      await waitUntil(async () => isOver() || (await begun()), 1);
      await Promise.race([exited, pause(Math.random() * TAIL_MS)]);
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function assertRefused({ ended }: Running, sentence: RegExp): Promise<void> {
  const { code, errors } = await ended;
  assert.equal(code, 1, errors);
  assert.match(errors, sentence);
  assert.match(errors, /^[^\n]+\n$/);
}

/** Returns the URLs of the databases, the one that a restore writes first in front. */
function databasesOf(environment: Environment): string[] {
  const { PETSTORE_DATABASE_URL: production, PETSTORE_STAGING_DATABASE_URL: staging } = environment;
  return [staging, production].filter(url => url !== undefined);
}

function isRestoring(environment: Environment): boolean | Promise<boolean> {
  return databasesOf(environment).length > 0
    ? isProgramRunning(environment)
    : existsSync(join(environment['PETSTORE_DATA_DIR']!, 'production.db.restoring'));
}

/** Reports whether `pg_restore` works on a database, as it does for a while after the command that started it was killed. */
async function isProgramRunning(environment: Environment): Promise<boolean> {
  for (const url of databasesOf(environment)) {
    const [row] = await onServer(
      db =>
        run(
          db,
          "select 1 from pg_stat_activity where datname = current_database() and application_name = 'pg_restore'",
        ),
      url,
    );
    if (row !== undefined) return true;
  }
  return false;
}

/** Returns what a killed restore has left. */
async function stateOf(environment: Environment): Promise<'nothing' | 'interrupted' | 'complete'> {
  const urls = databasesOf(environment);
  if (urls.length === 0) {
    const found = readdirSync(environment['PETSTORE_DATA_DIR']!);
    if (found.includes('production.db')) return 'complete';
    return found.includes('production.db.restoring') ? 'interrupted' : 'nothing';
  }
  const found = [];
  for (const url of urls) {
    const [row] = await onServer(
      db =>
        run(
          db,
          "select to_regnamespace('petstore_restoring') is not null as marked, to_regclass('pets') is not null as filled",
        ),
      url,
    );
    found.push(row as { marked: boolean; filled: boolean });
  }
  if (found.some(({ marked }) => marked)) return 'interrupted';
  return found.every(({ filled }) => filled) ? 'complete' : 'nothing';
}
