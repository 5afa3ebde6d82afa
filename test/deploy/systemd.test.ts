import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { STOP_MS } from '../../src/cli/commands/serve.ts';
import { readConfig } from '../../src/model/config.ts';
import { withoutProgram } from '../support/programs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { variablesOf } from './files.ts';

const root = new URL('../..', import.meta.url).pathname;
const file = join(root, 'deploy/petstore.service');
const unit = readFileSync(file, 'utf8');
const environment = readFileSync(join(root, 'deploy/petstore.env'), 'utf8');

/** Returns the last value of a directive of the unit. */
function directive(name: string): string | undefined {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].at(-1)?.[1];
}

describe('deploy/petstore.service', () => {
  const skip = withoutProgram('systemd-analyze');

  it('has only directives that systemd knows, and commands that exist', { skip }, () => {
    const installed = join(temporaryDirectory(), 'petstore.service');
    writeFileSync(installed, unit.replaceAll('/opt/petstore/', root));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', installed], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
  });

  it('has an exposure level of at most 1.5', { skip }, () => {
    const options = ['security', '--offline=true', '--threshold=15', '--no-pager', file];
    const { status, stdout } = spawnSync('systemd-analyze', options, { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });

  it('lets V8 compile, and gives the server more time to stop than it takes', () => {
    assert.equal(directive('MemoryDenyWriteExecute'), undefined);
    const [, seconds] = /^(\d+)s$/.exec(directive('TimeoutStopSec')!)!;
    const { stopDelayMs } = readConfig(variablesOf(environment));
    assert.ok(Number(seconds) * 1000 > stopDelayMs + STOP_MS);
  });

  it('reads settings that are valid together, with the data in the directory of the unit', () => {
    const config = readConfig(variablesOf(environment));
    const directories = directive('StateDirectory')!.split(' ');
    assert.deepEqual(
      [config.dataDir, config.backups.directory],
      directories.map(name => `/var/lib/${name}`),
    );
    assert.equal(directive('EnvironmentFile'), '/etc/petstore/petstore.env');
    assert.equal(variablesOf(environment)['XDG_CACHE_HOME'], '/var/cache');
  });
});

describe('deploy/petstore', () => {
  const createAccount = ['account', 'create', '--email', 'shelter@example.org', '--name', 'River Shelter', '--json'];

  /** Runs a command with settings of the caller, in a directory that stands for the root of the file system. */
  function runCommand(directory: string, args: readonly string[], own: Readonly<Record<string, string>> = {}) {
    const [script, settings] = [join(directory, 'petstore'), join(directory, 'petstore.env')];
    writeFileSync(settings, environment.replaceAll('/var/', `${directory}/`));
    const text = readFileSync(join(root, 'deploy/petstore'), 'utf8');
    writeFileSync(script, text.replace('/etc/petstore/petstore.env', settings).replace('/opt/petstore/', root));
    const env = { ...process.env, ...own };
    const { stdout, stderr } = spawnSync('sh', [script, ...args], { encoding: 'utf8', env });
    assert.equal(stderr, '');
    return stdout;
  }

  it('runs a command with the settings of the service', () => {
    const directory = temporaryDirectory();
    assert.equal(JSON.parse(runCommand(directory, createAccount)).name, 'River Shelter');
    assert.ok(existsSync(join(directory, 'lib/petstore/production.db')));
  });

  it("prefers the caller's settings, whatever is in them", () => {
    const directory = temporaryDirectory();
    const own = join(directory, "a restored one's $(directory)");
    runCommand(directory, createAccount, { PETSTORE_DATA_DIR: own });
    assert.ok(existsSync(join(own, 'production.db')));
    assert.ok(!existsSync(join(directory, 'lib/petstore/production.db')));
  });
});
