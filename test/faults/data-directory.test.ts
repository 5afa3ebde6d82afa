import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { long } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';

const environment = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };
const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

describe('a data directory that cannot be used', () => {
  const cases: Record<string, (directory: string) => string | Promise<string>> = {
    'below a file'(directory) {
      writeFileSync(join(directory, 'file'), '');
      return join(directory, 'file', 'data');
    },
    'where the system takes no directory'() {
      return '/proc/no-such-place';
    },
    'that is a file'(directory) {
      writeFileSync(join(directory, 'file'), '');
      return join(directory, 'file');
    },
    'with a directory in the place of the database'(directory) {
      mkdirSync(join(directory, 'production.db'));
      return directory;
    },
    'with a database that is none'(directory) {
      writeFileSync(join(directory, 'production.db'), 'no database, but long enough to be looked at'.repeat(500));
      return directory;
    },
    async 'with a damaged database'(directory) {
      await servedOnce(directory);
      const file = join(directory, 'production.db');
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xa5, 4096));
      return directory;
    },
    async 'with a database that was cut short'(directory) {
      await servedOnce(directory);
      truncateSync(join(directory, 'staging.db'), 8192);
      return directory;
    },
    async 'with a database of a newer release'(directory) {
      await servedOnce(directory);
      const db = new Sqlite(join(directory, 'production.db'));
      const [{ name }] = db.prepare("select name from sqlite_schema where name like '%migration%'").all() as [
        { name: string },
      ];
      const columns = db.pragma(`table_info(${name})`) as { name: string; type: string }[];
      const values = columns.map(({ type }) => (/int/i.test(type) ? '9999999999999' : "'9999-from-the-future'"));
      db.exec(`insert into ${name} values (${values.join()})`);
      db.close();
      return directory;
    },
  };
  for (const [which, prepare] of Object.entries(cases)) {
    it(`${which} is rejected in one sentence by every command`, async () => {
      const directory = await prepare(temporary());
      const commands = [
        ['serve', '--json'],
        ['account', 'list'],
        ['staging', 'reset'],
      ];
      for (const args of which.includes('cut short') ? [commands[0]!, commands[2]!] : commands) {
        const { code, tells } = await run(directory, args);
        assert.equal(code, 1, `${args.join(' ')}: ${tells}`);
        assert.match(tells, /^[A-Z][^\n]*\.\n$/, args.join(' '));
        assert.doesNotMatch(tells, /Something went wrong|node:/);
      }
    });
  }

  it('on a read-only file system is rejected in one sentence', async context => {
    const directory = mounted(context, 'size=12m');
    if (directory === undefined) return;
    await servedOnce(directory);
    execFileSync('mount', ['-o', 'remount,ro', directory]);
    for (const args of [
      ['serve', '--json'],
      ['account', 'create', '--email', 'a@example.org', '--name', 'A'],
    ]) {
      const { code, tells } = await run(directory, args);
      assert.equal(code, 1, `${args.join(' ')}: ${tells}`);
      assert.match(tells, /^The [^\n]*\.\n$/);
    }
  });

  it('that is not accessible is rejected in one sentence', {
    skip: process.getuid?.() === 0 && 'left out: root may enter everything',
  }, async () => {
    const directory = join(temporary(), 'data');
    mkdirSync(directory, { mode: 0 });
    const { code, tells } = await run(directory, ['serve', '--json']);
    assert.equal(code, 1);
    assert.match(tells, /^The [^\n]*permissions\.\n$/);
  });
});

describe('a data directory', () => {
  it('is the same directory through a symbolic link', async context => {
    const directory = temporary();
    const link = join(temporary(), 'link');
    symlinkSync(directory, link);
    const service = await start(context, link);
    const { code, tells } = await run(directory, ['serve', '--json']);
    assert.equal(code, 1);
    assert.match(tells, /already serves [^\n]*\. Stop it first\.\n$/);
    const { token } = await service.petstore('key', 'create', '--account', '1');
    assert.equal((await send(`${service.urls.production}/pets`, { key: String(token) })).status, 200);
    assert.equal((await service.stop()).code, 0);
  });

  it('is private with all its files, whatever the umask', async context => {
    const umask = process.umask(0);
    context.after(() => process.umask(umask));
    const directory = join(temporary(), 'data');
    const service = await start(context, directory);
    const names = readdirSync(directory).filter(name => name !== 'photos');
    const modes = names.map(name => [name, modeOf(join(directory, name))]);
    for (const entry of readdirSync(join(directory, 'photos'), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isDirectory()) assert.equal(modeOf(path), '700', path);
    }
    assert.equal(modeOf(directory), '700');
    const databases = ['production', 'staging'].flatMap(name => [`${name}.db`, `${name}.db-shm`, `${name}.db-wal`]);
    const files = [...databases, 'secret.key', 'serve.lock'];
    assert.deepEqual(Object.fromEntries(modes), Object.fromEntries(files.map(name => [name, '600'])));
    assert.equal(service.log(), '');
  });

  it('that other users may access is reported in the log at start, and stays as it is', async context => {
    const directory = temporary();
    await servedOnce(directory);
    chmodSync(directory, 0o755);
    for (const name of ['secret.key', 'production.db']) chmodSync(join(directory, name), 0o640);
    const service = await start(context, directory);
    const { level, paths, msg } = JSON.parse(service.log().trim());
    assert.equal(level, 'warn');
    assert.match(msg, /chmod -R go=/);
    const names = ['', 'production.db', 'production.db-shm', 'production.db-wal', 'secret.key'];
    assert.deepEqual(
      paths,
      names.map(name => join(directory, name)),
    );
    assert.equal(modeOf(join(directory, 'secret.key')), '640');
  });

  it('is served by exactly one of two processes that start at the same time', async () => {
    for (let round = 0; round < (long ? 20 : 3); round++) {
      const directory = temporary();
      const started = await Promise.allSettled([spawnService({ directory }), spawnService({ directory })]);
      const lives = started.filter(one => one.status === 'fulfilled');
      const refused = started.filter(one => one.status === 'rejected').map(one => String(one.reason));
      assert.equal(lives.length, 1, refused.join('\n'));
      assert.match(refused[0]!, /ended with 1: Another process already serves/);
      assert.equal((await lives[0]!.value.stop()).code, 0);
    }
  });

  it('has complete seeds even if its first start or a reset was killed', async context => {
    const rounds = long ? 40 : 4;
    const whole = await start(context, temporary());
    const wanted = await staged(whole);
    const took = await timed(() => run(temporary(), ['migrate']));
    assert.ok(wanted.total > 200);
    for (let round = 0; round < rounds; round++) {
      const directory = temporary();
      await killed(['serve', '--json'], directory, took * (0.3 + (0.9 * round) / rounds));
      const service = await start(context, directory);
      assert.deepEqual(await staged(service), wanted);
      await killed(['staging', 'reset'], directory, took * (0.5 + (0.6 * round) / rounds));
      if (round % 2 === 0) await service.petstore('staging', 'reset');
      else await service.stop('SIGKILL');
      const again = round % 2 === 0 ? service : await start(context, directory);
      assert.deepEqual(await staged(again), wanted);
      assert.equal((await again.stop()).code, 0);
    }
  });
});

describe('the daily limit', () => {
  it('loses no request across kills, charges at most one block for each, and is exact after a clean stop', async context => {
    const block = 60;
    const directory = temporary();
    let service = await start(context, directory);
    const key = await newProcessKey(service, 'free');
    let counted = 0;
    let most = 0;
    const ask = async () => {
      const reply = await send(`${service.urls.production}/pets?limit=1`, { key });
      assert.equal(reply.status, 200, reply.text);
      counted++;
      most++;
      return 1000 - Number(/"day";r=(\d+)/.exec(String(reply.headers['ratelimit']))![1]);
    };
    for (const [round, requests] of [1, 29, 31, 0, 55, 7].entries()) {
      for (let n = 0; n < requests; n++) await ask();
      await service.stop('SIGKILL');
      most += block;
      service = await start(context, directory);
      const used = await ask();
      assert.ok(used >= counted && used <= most, `round ${round}: ${counted} counted, at most ${most}, says ${used}`);
      counted = most = used;
    }
    for (let round = 0; round < 2; round++) {
      assert.equal((await service.stop()).code, 0);
      service = await start(context, directory);
      assert.equal(await ask(), counted, 'exact');
    }
    assert.equal((await service.stop()).code, 0);
  });
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** Returns the data of staging. */
async function staged(service: Process) {
  const key = String((await service.petstore('key', 'create', '--account', '1', '--deployment', 'staging'))['token']);
  const names: string[] = [];
  let url: string | undefined = `${service.urls.staging}/pets?limit=100`;
  let total = 0;
  while (url !== undefined) {
    const page = await send(url, { key, headers: { Prefer: 'count=exact' } });
    total = Number(page.headers['x-total-count']);
    for (const { name, categoryId } of page.body) names.push(`${name} ${categoryId}`);
    url = page.headers['x-next'] as string | undefined;
  }
  assert.equal(names.length, total);
  return { total, names };
}

async function killed(args: readonly string[], directory: string, afterMs: number): Promise<void> {
  const child = spawn(launcher, args, {
    env: { ...process.env, ...environment, PETSTORE_DATA_DIR: directory },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  await pause(afterMs);
  child.kill('SIGKILL');
  await exited;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function servedOnce(directory: string): Promise<void> {
  const service = await spawnService({ directory });
  assert.equal((await service.stop()).code, 0);
}

async function start(context: TestContext, directory: string): Promise<Process> {
  const service = await spawnService({ directory });
  context.after(() => service.stop('SIGKILL'));
  return service;
}

/** Runs a command and returns its exit code and standard error. */
async function run(directory: string, args: readonly string[]): Promise<{ code: number | null; tells: string }> {
  const child = spawn(launcher, args, {
    env: { ...process.env, ...environment, PETSTORE_DATA_DIR: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let tells = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    tells += text;
  });
  const [code] = await once(child, 'close');
  return { code, tells };
}

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-data-'));
  directories.push(directory);
  return directory;
}

const directories: string[] = [];
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** Mounts a small file system; skips the test if it cannot. */
function mounted(context: TestContext, options: string): string | undefined {
  const directory = temporary();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory], { stdio: 'pipe' });
  } catch {
    context.skip('left out: no file system can be mounted here');
    return undefined;
  }
  context.after(() => execFileSync('umount', ['--lazy', directory]));
  return directory;
}
