import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { STOP_MS } from '../../src/cli/commands/serve.ts';
import { readConfig } from '../../src/model/config.ts';
import { settings } from '../../src/model/settings.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { assertCommand, deployFiles, withoutYaml, yamlOf } from './files.ts';

const root = new URL('../..', import.meta.url).pathname;
const dockerfile = deployFiles.get('deploy/Dockerfile')!;
const pinned = /^[\w./-]+:\d[\w.-]+$/;
/** An ordinary user, as which root runs the program. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Returns the text after each instruction of this name. */
function instructions(name: string): string[] {
  return Array.from(dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm')), ([, text]) => text!);
}

/** Copies to a directory what the image has: the files that `.dockerignore` lets through, and the packages without tools. */
function copyProgram(directory: string): void {
  const [all, ...lines] = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(line => /^[^#]/.test(line));
  assert.equal(all, '*');
  const tests = lines.pop();
  assert.equal(tests, 'src/**/*.test.ts');
  for (const line of lines) {
    const name = /^!([\w.-]+)$/.exec(line)![1]!;
    cpSync(join(root, name), join(directory, name), { recursive: true, filter: path => !path.endsWith('.test.ts') });
  }
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; devOptional?: true }>;
  };
  const installed = new Set(Object.keys(packages).filter(path => !packages[path]!.dev && !packages[path]!.devOptional));
  const isInstalled = (path: string) => {
    const inner = path.slice(root.length);
    return !(inner in packages) || installed.has(inner);
  };
  const source = join(root, 'node_modules');
  cpSync(source, join(directory, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: path => isInstalled(path) && !path.startsWith(join(source, '.cache')),
  });
}

describe('deploy/Dockerfile', () => {
  it('pins its images, and runs as a user without a name in exec form', async () => {
    for (const image of instructions('FROM')) assert.match(image.split(' ')[0]!, pinned);
    assert.match(instructions('USER').at(-1)!, /^[1-9]\d*:[1-9]\d*$/);
    assert.deepEqual(instructions('ENTRYPOINT'), ['["petstore"]']);
    await assertCommand(JSON.parse(instructions('CMD').at(-1)!));
    const [, ...check] = JSON.parse(/ CMD (.*)/.exec(instructions('HEALTHCHECK')[0]!)![1]!);
    await assertCommand(check);
    assert.deepEqual(instructions('STOPSIGNAL'), ['SIGTERM']);
    const defaults = ['PETSTORE_PORT', 'PETSTORE_STAGING_PORT', 'PETSTORE_MESSAGES_PORT'];
    const ports = settings.filter(({ name }) => defaults.includes(name)).map(setting => setting.default);
    assert.deepEqual(instructions('EXPOSE'), [ports.join(' ')]);
  });

  it('copies all that the program needs, which runs from a read-only directory as another user', async () => {
    const directory = temporaryDirectory();
    const [program, data, cache] = ['program', 'data', 'cache'].map(name => join(directory, name)) as [
      string,
      string,
      string,
    ];
    chmodSync(directory, 0o755);
    mkdirSync(program);
    copyProgram(program);
    for (const writable of [data, cache]) {
      mkdirSync(writable, 0o700);
      if (user.uid !== undefined) chownSync(writable, user.uid, user.gid!);
    }
    spawnSync('chmod', ['-R', 'a+rX,a-w', program]);
    const port = await freePort();
    const ports = { PETSTORE_PORT: String(port), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    const env = { PATH: '/usr/bin:/bin', PETSTORE_DATA_DIR: data, XDG_CACHE_HOME: cache, ...ports };
    const server = spawn(join(program, 'bin/petstore'), ['serve', '--json'], {
      ...user,
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(server, 'exit');
    try {
      await Promise.race([once(createInterface(server.stdout), 'line'), ended.then(() => assert.fail('it ended'))]);
      const health = spawnSync(join(program, 'bin/petstore'), ['health'], { ...user, env, cwd: '/', encoding: 'utf8' });
      assert.deepEqual([health.stdout, health.stderr], ['The server is ready.\n', '']);
      assert.equal((await fetch(`http://127.0.0.1:${port}/guides/quickstart`)).status, 200);
    } finally {
      server.kill('SIGTERM');
    }
    assert.deepEqual(await ended, [0, null]);
    spawnSync('chmod', ['-R', 'u+w', program]);
  });
});

describe('deploy/compose.yaml', { skip: withoutYaml }, () => {
  const [compose] = withoutYaml ? [] : yamlOf('deploy/compose.yaml');
  const services = compose?.services as Record<string, Record<string, never>>;

  it('pins its images and lets no service write to its image or gain privileges', () => {
    for (const [name, service] of Object.entries(services)) {
      assert.match(service['image']!, pinned, name);
      assert.equal(service['read_only'], true, name);
      assert.deepEqual(service['cap_drop'], ['ALL'], name);
    }
  });

  it('has settings that are valid together', () => {
    const { environment } = services['server'] as unknown as { environment: Record<string, string> };
    const direct = Object.entries(environment).filter(([name]) => !name.endsWith('_FILE'));
    assert.doesNotThrow(() => readConfig(Object.fromEntries(direct)));
  });

  it('keeps scheduled backups in a volume, in a directory that the user of the image owns', () => {
    const { environment, volumes } = services['server'] as unknown as Record<string, never>;
    const directory = environment!['PETSTORE_BACKUP_DIRECTORY'];
    assert.ok((volumes as unknown as string[]).includes(`backups:${directory}`));
    assert.ok('backups' in compose.volumes);
    assert.match(dockerfile, new RegExp(`install -d -o petstore -g petstore -m 700 .*${directory}$`, 'm'));
    assert.match(dockerfile, / postgresql-client /);
  });

  it('names only secrets, networks, volumes and services that exist', () => {
    for (const [name, service] of Object.entries(services)) {
      const { secrets = [], networks = [], depends_on = {}, environment = {} } = service as Record<string, object>;
      for (const secret of secrets as string[]) assert.ok(secret in compose.secrets, `${name}: ${secret}`);
      for (const network of networks as string[]) assert.ok(network in compose.networks, `${name}: ${network}`);
      for (const other of Object.keys(depends_on)) assert.ok(other in services, `${name}: ${other}`);
      for (const path of Object.values(environment).filter(value => value.startsWith('/run/secrets/'))) {
        assert.ok((secrets as string[]).includes(path.slice('/run/secrets/'.length)), `${name}: ${path}`);
      }
    }
  });

  it('waits for the database, the migration and Valkey, and gives the server time to stop', async () => {
    const { server, migrate, caddy, valkey } = services as Record<string, Record<string, unknown>>;
    await assertCommand(migrate!['command'] as string[]);
    assert.deepEqual(migrate!['depends_on'], { postgres: { condition: 'service_healthy' } });
    assert.deepEqual(server!['depends_on'], {
      migrate: { condition: 'service_completed_successfully' },
      valkey: { condition: 'service_healthy' },
    });
    assert.deepEqual(caddy!['depends_on'], { server: { condition: 'service_healthy' } });
    assert.match((valkey!['command'] as string[]).join(' '), /--maxmemory-policy noeviction$/);
    assert.ok(Number.parseInt(String(server!['stop_grace_period']), 10) * 1000 > STOP_MS);
  });
});
