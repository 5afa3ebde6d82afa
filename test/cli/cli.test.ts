import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { samplePets } from '../../src/operate/seeds/pets.ts';
import { jsonOf, petstore, refused } from '../support/commands.ts';
import { onServer, postgresUrl, run, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { type Process, send, spawnService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

const create = ['account', 'create', '--email', 'a@example.org', '--name', 'A'];

/** The exit code and output of a finished command. */
interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in its own process, through the launcher. */
async function launch(environment: Readonly<Record<string, string>>, ...args: string[]): Promise<Outcome> {
  const child = spawn(launcher, args, {
    env: { ...process.env, FORCE_COLOR: undefined, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const outcome = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', text => {
      outcome[stream] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...outcome };
}

/** Asserts exit code 1, an empty standard output, and one sentence without a stack. */
function assertRefused({ code, stdout, stderr }: Outcome, sentence: RegExp) {
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, sentence);
  assert.match(stderr, /^[^\n]+\n$/);
}

/** Runs a server in its own process until the test ends. */
async function serving(t: TestContext, options: Parameters<typeof spawnService>[0] = {}): Promise<Process> {
  const server = await spawnService(options);
  t.after(async () => {
    await server.stop();
    await server.remove();
  });
  return server;
}

describe('beside a server', () => {
  let server: Process;
  before(async () => {
    server = await spawnService();
  });
  after(async () => {
    await server.stop();
    await server.remove();
  });

  let accounts = 0;
  async function newAccount(...args: string[]) {
    const email = `cli-${++accounts}@example.org`;
    return server.petstore('account', 'create', '--email', email, '--name', 'Ann', ...args);
  }
  const newKey = (account: unknown, ...args: string[]) =>
    server.petstore('key', 'create', '--account', String(account), ...args);
  const list = (token: unknown, base = server.urls.production) => send(`${base}/pets`, { key: String(token) });

  it('creates an account and a key that the next request can use', async () => {
    const account = await newAccount();
    assert.deepEqual(
      { ...account, id: 0, createdAt: '' },
      {
        id: 0,
        email: `cli-${accounts}@example.org`,
        name: 'Ann',
        plan: 'free',
        perMinute: null,
        perDay: null,
        admin: false,
        createdAt: '',
      },
    );
    const key = await newKey(account.id);
    assert.match(String(key.token), /^petstore_live_/);
    assert.equal((await list(key.token)).status, 200);
    assert.equal((await list(key.token, server.urls.staging)).body.code, 'wrong_deployment');
  });

  it('applies the limits of the plan', async () => {
    const { id } = await newAccount('--plan', 'enterprise', '--per-minute', '7', '--per-day', '1000000000', '--admin');
    const key = await newKey(id, '--deployment', 'staging');
    assert.equal((await list(key.token, server.urls.staging)).headers['x-ratelimit-limit'], '7');
  });

  it('updates, suspends and resumes an account for the next request', async () => {
    await newAccount('--admin');
    const { id } = await newAccount();
    const key = await newKey(id);
    const limit = async () => (await list(key.token)).headers['x-ratelimit-limit'];
    const account = (command: string, ...args: string[]) => server.petstore('account', command, String(id), ...args);
    assert.equal(await limit(), '60');
    const updated = await account('update', '--plan', 'pro', '--name', 'Bea', '--admin');
    assert.deepEqual([updated.plan, updated.name, updated.admin], ['pro', 'Bea', true]);
    assert.equal(await limit(), '300');
    await account('update', '--plan', 'enterprise', '--per-minute', '7', '--per-day', '70', '--no-admin');
    assert.equal(await limit(), '7');
    assert.ok((await account('suspend')).suspendedAt);
    assert.equal((await list(key.token)).body.code, 'account_suspended');
    assert.equal((await account('resume')).suspendedAt, undefined);
    assert.equal((await list(key.token)).status, 200);
    const shown = await account('show');
    assert.deepEqual([shown.admin, shown.perMinute, shown.perDay], [false, 7, 70]);
  });

  it('revokes a key for the next request', async () => {
    const key = await newKey((await newAccount()).id);
    assert.equal((await list(key.token)).status, 200);
    const revoked = await server.petstore('key', 'revoke', String(key.id));
    assert.equal(revoked.state, 'revoked');
    assert.equal((await list(key.token)).body.code, 'revoked_api_key');
  });

  it('rotates a key and keeps the old one valid for the overlap', async () => {
    const key = await newKey((await newAccount()).id, '--scope', 'pets:read,pets:write', '--scope', 'events:read');
    const rotated = await server.petstore('key', 'rotate', String(key.id), '--overlap', '1h');
    assert.deepEqual(rotated.scopes, ['pets:read', 'pets:write', 'events:read']);
    assert.deepEqual([(await list(key.token)).status, (await list(rotated.token)).status], [200, 200]);
    const again = await server.petstore('key', 'rotate', String(rotated.id), '--overlap', '0s');
    assert.equal((await list(rotated.token)).body.code, 'expired_api_key');
    assert.equal((await list(again.token)).status, 200);
  });

  it('creates keys with an expiry and with limited scopes', async () => {
    const { id } = await newAccount();
    const reading = await newKey(id, '--scope', 'pets:read', '--expires', '7d');
    assert.equal((await list(reading.token)).status, 200);
    const body = { name: 'Mia', categoryId: 2 };
    const refused = await send(`${server.urls.production}/pets`, { method: 'POST', key: String(reading.token), body });
    assert.equal(refused.body.code, 'insufficient_scope');
    assert.ok(Date.parse(String(reading.expiresAt)) > Date.now() + 6 * 86_400_000);
    const late = await newKey(id, '--expires', '2999-01-31T12:00:00+01:00');
    assert.equal(late.expiresAt, '2999-01-31T11:00:00.000Z');
  });

  it('creates keys with a budget, and shows it', async () => {
    const { id } = await newAccount();
    const key = await newKey(id, '--per-minute', '7', '--per-day', '70');
    assert.deepEqual(key.budget, { perMinute: 7, perDay: 70 });
    assert.equal((await list(key.token)).headers['x-ratelimit-limit'], '7');
    const rotated = await server.petstore('key', 'rotate', String(key.id));
    assert.deepEqual(rotated.budget, key.budget);
    const daily = await newKey(id, '--per-day', '9');
    const keys = (await server.petstore('key', 'list')) as unknown as { id: string; budget?: object }[];
    assert.deepEqual(keys.find(row => row.id === daily.id)?.budget, { perDay: 9 });
    const exported = await server.petstore('account', 'export', String(id));
    assert.deepEqual((exported.keys as typeof keys).find(row => row.id === daily.id)?.budget, { perDay: 9 });
  });

  it('lists accounts, keys and bans without tokens', async () => {
    const key = await newKey((await newAccount()).id);
    for (const command of ['account', 'key', 'ban']) {
      const rows = await server.petstore(command, 'list');
      assert.ok(Array.isArray(rows));
      assert.ok(!JSON.stringify(rows).includes(String(key.token).slice(-39)));
    }
  });

  it('resets staging without reusing ids', async () => {
    const key = await newKey((await newAccount()).id, '--deployment', 'staging');
    const pets = `${server.urls.staging}/pets?limit=1`;
    const last = await send(`${pets}&sort=-id`, { key: String(key.token) });
    const { animals } = await server.petstore('staging', 'reset');
    assert.equal(animals, samplePets().length);
    const first = await send(pets, { key: String(key.token), headers: { Prefer: 'count=exact' } });
    assert.equal(first.body[0].id, last.body[0].id + 1);
    assert.equal(first.headers['x-total-count'], String(animals));
  });

  it('prints the OpenAPI document that the deployment serves', async () => {
    const document = await server.petstore('openapi', '--deployment', 'staging');
    const served = await send(`${new URL(server.urls.staging).origin}/openapi.json`);
    // The command knows ports only from the settings, where 0 stands for a free port.
    const settled = JSON.stringify(document.paths)
      .replaceAll('http://localhost:0/errors/', new URL('/errors/', server.urls.staging).href)
      .replaceAll('http://localhost:0', server.urls.messages);
    assert.deepEqual(JSON.parse(settled), served.body.paths);
  });
});

describe('before the first start', () => {
  it('creates missing files: a key created now works after the first start', async t => {
    const environment = { PETSTORE_DATA_DIR: join(temporaryDirectory(), 'deep', 'data') };
    const account = await launch(environment, ...create, '--json');
    assert.deepEqual([account.code, account.stderr], [0, '']);
    const { token } = await jsonOf(environment, 'key', 'create', '--account', '1');
    const server = await serving(t, { directory: environment.PETSTORE_DATA_DIR });
    assert.equal((await send(`${server.urls.production}/pets`, { key: token })).status, 200);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });

  it('stores no token in any file', async () => {
    const directory = temporaryDirectory();
    const environment = { PETSTORE_DATA_DIR: directory };
    await jsonOf(environment, ...create);
    const secret = (await jsonOf(environment, 'key', 'create', '--account', '1')).token.slice(27);
    for (const file of await readdir(directory)) {
      assert.ok(!(await readFile(join(directory, file))).includes(secret), file);
    }
  });

  it('prints text without formatting when the output is not a terminal', async () => {
    const environment = { PETSTORE_DATA_DIR: temporaryDirectory(), NO_COLOR: '1' };
    await jsonOf(environment, 'account', 'create', '--email', 'a@example.org', '--name', 'Änn 小雪');
    const { stdout } = await launch(environment, 'account', 'list');
    const [heading, row] = stdout.split('\n');
    assert.ok(!stdout.includes('\u001b'));
    assert.equal(heading!.indexOf('E-MAIL'), row!.indexOf('a@example.org'));
  });
});

describe('errors', () => {
  it('report output that cannot be written, but not a closed pipe', async () => {
    const environment = { ...process.env, PETSTORE_DATA_DIR: temporaryDirectory() };
    for (const command of ['--help', 'account create --email full@example.org --name Full --json']) {
      const { status, stderr } = spawnSync('sh', ['-c', `${launcher} ${command} > /dev/full`], { env: environment });
      assert.equal(status, 1);
      assert.match(String(stderr), /^The command succeeded, but its output could not be written: ENOSPC[^\n]*\n$/);
    }
    const misused = spawnSync('sh', ['-c', `${launcher} nothing > /dev/full`], { env: environment });
    assert.equal(misused.status, 2);
    assert.match(String(misused.stderr), /^There is no command [^\n]*\n$/);
    const unread = spawnSync('bash', ['-c', `${launcher} openapi | true; exit \${PIPESTATUS[0]}`], {
      env: environment,
    });
    assert.deepEqual([unread.status, String(unread.stderr)], [0, '']);
  });

  it('print one sentence and exit with 1', async () => {
    const environment = { PETSTORE_DATA_DIR: temporaryDirectory() };
    await jsonOf(environment, ...create);
    const key = await jsonOf(environment, 'key', 'create', '--account', '1');
    await jsonOf(environment, 'key', 'revoke', key.id);

    assertRefused(await launch(environment, ...create, '--json'), /a@example\.org already/);
    await refused(environment, /no account 9/, 'key', 'create', '--account', '9');
    const past = ['--expires', '2020-01-01T00:00:00Z'];
    await refused(environment, /in the future/, 'key', 'create', '--account', '1', ...past);
    await refused(environment, /no key nobody/, 'key', 'revoke', 'nobody');
    await refused(environment, /is revoked/, 'key', 'rotate', key.id);
    await refused(environment, /is not banned/, 'ban', 'lift', key.id);
    await refused({ ...environment, PETSTORE_HOST: '?' }, /^PETSTORE_HOST must/, 'key', 'list');
  });

  it('reject an unknown PETSTORE_ variable', async () => {
    const environment = { PETSTORE_DATA_DIR: temporaryDirectory(), PETSTORE_PROT: '1' };
    assertRefused(
      await launch(environment, 'serve'),
      /^There is no setting PETSTORE_PROT; did you mean PETSTORE_PORT\?/,
    );
    await refused(environment, /^There is no setting PETSTORE_PROT/, 'key', 'list');
    assert.deepEqual(await readdir(environment.PETSTORE_DATA_DIR), []);
  });

  it('print the version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    const environment = { PETSTORE_PROT: 'no setting is read' };
    const text = await launch(environment, '--version');
    assert.deepEqual([text.code, text.stdout, text.stderr], [0, `petstore ${version}\n`, '']);
    const json = await launch(environment, '--version', '--json');
    assert.deepEqual([json.code, JSON.parse(json.stdout)], [0, { version, node: process.version }]);
  });

  it('reject a file that is not a database', async () => {
    const directory = temporaryDirectory();
    await writeFile(join(directory, 'production.db'), 'x'.repeat(5000));
    await refused({ PETSTORE_DATA_DIR: directory }, /production\.db/, 'key', 'list');
    assertRefused(await launch({ PETSTORE_DATA_DIR: directory }, 'serve'), /production\.db/);
  });

  it('reject a test clock earlier than the stored data', async () => {
    const environment = { PETSTORE_DATA_DIR: temporaryDirectory(), NODE_ENV: 'test' };
    const at = (time: string) => ({ ...environment, PETSTORE_NOW: time });
    const first = await jsonOf(at('2030-12-05T00:00:00Z'), ...create);
    assert.match(first.createdAt, /^2030-12-05T00:00:0/);
    await refused(at('2030-12-04T00:00:00Z'), /PETSTORE_NOW is .* earlier/, 'key', 'list');
    // Commands that share one setting follow each other.
    const again = ['account', 'create', '--email', 'b@example.org', '--name', 'B'];
    const second = await jsonOf(at('2030-12-04T23:59:00Z'), ...again);
    assert.ok(second.createdAt >= first.createdAt);
    assert.deepEqual(await jsonOf(at('2030-12-06T00:00:00Z'), 'key', 'list'), []);
  });
});

describe('serve', () => {
  const freePorts = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };

  it('prints one line with every address, and exits with 0 on SIGTERM and SIGINT, even when repeated', async t => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const server = await serving(t);
      assert.deepEqual(Object.keys(server.urls).sort(), ['messages', 'portal', 'production', 'staging']);
      assert.match(server.urls.production, /^http:\/\/localhost:\d+\/v1$/);
      assert.match(server.urls.messages, /^http:\/\/localhost:\d+$/);
      assert.equal((await send(`${new URL(server.urls.production).origin}/readyz`)).status, 200);
      const ended = server.stop(signal);
      for (let count = 0; count < 20; count++) {
        server.child.kill(signal);
        await new Promise(resolve => setImmediate(resolve));
      }
      assert.deepEqual(await ended, { code: 0, signal: null });
      assert.equal(server.log(), '');
    }
  });

  it('keeps the minute window when a start in between is rejected for its clock', async t => {
    const directory = temporaryDirectory();
    const at = (time: string) => ({ ...freePorts, PETSTORE_DATA_DIR: directory, NODE_ENV: 'test', PETSTORE_NOW: time });
    const { id } = await jsonOf(at('2027-01-01T12:00:00Z'), ...create);
    const { token } = await jsonOf(at('2027-01-01T12:00:10Z'), 'key', 'create', '--account', String(id));
    const headers = { Authorization: `Bearer ${token}` };
    for (const [time, remaining] of [
      ['2027-01-01T12:00:20Z', '59'],
      ['2027-01-01T12:00:40Z', '58'],
    ] as const) {
      const server = await serving(t, { environment: at(time) });
      const reply = await send(`${server.urls.production}/pets`, { headers });
      assert.equal(reply.headers['x-ratelimit-remaining'], remaining);
      await server.stop('SIGTERM');
      assertRefused(await launch(at('2027-01-01T00:00:00Z'), 'serve', '--json'), /earlier/);
    }
  });

  it('skips deployments without a port, and refuses to start without any', async t => {
    const server = await serving(t, { environment: { PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' } });
    assert.deepEqual(Object.keys(server.urls).sort(), ['portal', 'production']);
    const nothing = { PETSTORE_PORT: '', PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
    assertRefused(await launch(nothing, 'serve'), /nothing to serve/);
  });

  it('rejects a second server on the same data directory', async t => {
    const directory = temporaryDirectory();
    await serving(t, { directory });
    assertRefused(
      await launch({ ...freePorts, PETSTORE_DATA_DIR: directory }, 'serve', '--json'),
      /^Another process already serves/,
    );
  });

  it('rejects a port in use, naming its setting', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const environment = { ...freePorts, PETSTORE_STAGING_PORT: String(port), PETSTORE_DATA_DIR: temporaryDirectory() };
    assertRefused(await launch(environment, 'serve', '--json'), /is in use; set PETSTORE_STAGING_PORT/);
    holder.close();
  });
});

describe('on PostgreSQL', { skip: skipFor(withoutPostgres) }, () => {
  const name = `petstore_cli_${process.pid}`;
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  before(() => onServer(connection => run(connection, `create database ${name} template template0 encoding 'UTF8'`)));
  after(() => onServer(connection => run(connection, `drop database ${name} with (force)`)));

  it('rejects an outdated database until it is migrated', async t => {
    const environment = { PETSTORE_DATABASE_URL: url };
    await refused(environment, /petstore migrate/, 'key', 'list');
    const migrated = await jsonOf(environment, 'migrate');
    assert.deepEqual(Object.keys(migrated), ['production', 'staging']);
    assert.equal((await petstore(environment, 'migrate')).code, 0);
    assert.equal((await jsonOf(environment, ...create)).id, 1);
    await refused(environment, /already/, ...create);
    const { token } = await jsonOf(environment, 'key', 'create', '--account', '1', '--deployment', 'staging');
    assert.deepEqual(await jsonOf(environment, 'staging', 'reset'), { animals: samplePets().length });
    const server = await serving(t, { environment });
    assert.equal((await send(`${server.urls.staging}/pets`, { key: token })).body.length, 20);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });

  it('reports an unreachable server without its password', async () => {
    const environment = { PETSTORE_DATABASE_URL: 'postgres://petstore:hunter2@127.0.0.1:1/petstore' };
    const { code, errors } = await petstore(environment, 'key', 'list');
    assert.equal(code, 1);
    assert.match(errors, /127\.0\.0\.1/);
    assert.doesNotMatch(errors, /hunter2/);
  });
});
