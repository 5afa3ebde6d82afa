import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { postgresUrl, withoutPostgres } from '../support/engines.ts';
import { freePort } from '../support/free-port.ts';
import { blocksOf, type FirstServer, readPage, root, skip, startFirstServer } from '../support/pages-as-scripts.ts';

const run = promisify(execFile);
const [backup, postgresql, proxies, ...others] = await Promise.all(
  ['backup', 'postgresql', 'tls-and-proxies', 'configuration', 'email', 'valkey', 'webhooks'].map(name =>
    readPage(`docs/operating/${name}.md`),
  ),
);
const [back, backKey, restore, dump, restoreDump] = scriptsOf(backup!);

describe('docs/operating/backup.md, embedded database', { skip: skip || withoutProgram('sqlite3') }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  test('copies both databases while the server runs', async () => {
    await server.run(back!);
    assert.match(await server.run('sqlite3 "$BACKUP/production.db" "pragma integrity_check"'), /^ok$/m);
    assert.match(await server.run('curl -s http://localhost:8081/readyz'), /"status":"ready"/);
  });

  test('backs up again, a second later', async () => {
    await pause(1000);
    await server.run(back!);
  });

  test('restores them into an empty directory, without the lost one', async () => {
    await server.run(backKey!);
    assert.ok(!restore!.includes(' data/'));
    assert.match(await server.run(restore!), /owner@localhost/);
    const list = 'PETSTORE_DATA_DIR=restored petstore pet list --deployment staging --json';
    assert.match(await server.run(list), /"name":"Bella"/);
  });
});

describe('docs/operating/postgresql.md and backup', { skip: withoutPostgres ?? withoutProgram('pg_dump') }, () => {
  const name = `petstore_docs_${randomBytes(4).toString('hex')}`;
  const names = [name, `${name}_restored`];
  const [url, restoreUrl] = names.map(urlOf) as [string, string];
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'petstore-docs-'));
    await administer(...names.map(one => `create database ${one} encoding 'UTF8' template template0`));
  });
  after(async () => {
    await administer(...names.map(one => `drop database if exists ${one} with (force)`));
    await rm(directory, { recursive: true, force: true });
  });

  const shell = async (script: string) => {
    const real = script
      .replace(/postgres:\/\/petstore@db\.internal:5432\/petstore/, url)
      .replaceAll(/(?<![\w/.-])(?:bin\/)?petstore (?=[a-z])/g, `${join(root, 'bin/petstore')} `);
    const env = { ...process.env, PETSTORE_DATABASE_URL: url, RESTORE_DATABASE_URL: restoreUrl };
    return (await run('sh', ['-euc', real], { cwd: directory, env })).stdout;
  };

  test('migrates the database', async () => {
    await shell(scriptsOf(postgresql!)[0]!);
    assert.match(await shell('petstore account create --email shelter@example.org --name Shelter'), /shelter@/);
  });

  test('dumps it and restores the dump into an empty database', async () => {
    await shell(dump!);
    assert.match(await shell(restoreDump!), /shelter@example\.org/);
  });
});

describe('docs/operating/tls-and-proxies.md', () => {
  const configurations = new Map(blocksOf(proxies!).map(({ language, text }) => [language, text]));

  test('has a valid Caddyfile', { skip: withoutProgram('caddy') }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-caddy-'));
    await writeFile(join(directory, 'Caddyfile'), `${configurations.get('caddy')}\n`);
    const { stdout } = await run('caddy', ['adapt', '--config', join(directory, 'Caddyfile')]);
    for (const host of ['api', 'staging', 'messages']) assert.ok(stdout.includes(`${host}.example.org`));
    await rm(directory, { recursive: true });
  });

  test('has an nginx configuration that serves HTTPS', { skip: withoutProgram('nginx', 'openssl') }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-nginx-'));
    const server = await startFirstServer({
      PETSTORE_STAGING_PUBLIC_URL: 'https://api.example.org',
      PETSTORE_TRUSTED_PROXIES: '127.0.0.1',
    });
    const port = await freePort();
    const upstream = Number(/Staging +http:\/\/localhost:(\d+)/.exec(server.printed)![1]);
    const nginx = await startNginx(directory, port, configurations.get('nginx')!, upstream);
    try {
      const url = `https://api.example.org:${port}/v1/pets?limit=1`;
      const curl = `curl -sik --retry 20 --retry-connrefused --retry-delay 1 --resolve api.example.org:${port}:127.0.0.1`;
      const output = await server.run(`${curl} -H "Authorization: Bearer $KEY" '${url}'`);
      assert.match(output, /^HTTP\/1\.1 200 /);
      assert.match(output, /^x-next: https:\/\/api\.example\.org\/v1\/pets\?limit=1&cursor=/im);
    } finally {
      nginx.kill();
      await once(nginx, 'exit');
      await server.stop();
      await rm(directory, { recursive: true });
    }
  });
});

describe('the settings in the pages for operators', () => {
  test('are valid together', () => {
    for (const page of [proxies!, ...others]) {
      for (const { text } of blocksOf(page)) {
        const pairs = [...text.matchAll(/\b(PETSTORE_\w+)=([^\s…]*)/g)].map(([, name, value]) => [name, value]);
        assert.deepEqual(readConfig(Object.fromEntries(pairs)).warnings, []);
      }
    }
  });
});

/** Starts nginx with a server block of the page, on another port and in front of another one. */
async function startNginx(directory: string, port: number, block: string, upstream: number) {
  const certificate = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')];
  await run('openssl', ['req', ...certificate, '-subj', '/CN=api.example.org', ...files]);
  const server = block
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/ssl/api.example.org.pem', join(directory, 'cert.pem'))
    .replace('/etc/ssl/api.example.org.key', join(directory, 'key.pem'))
    .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`);
  const configuration = `daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${server}\n}\n`;
  await writeFile(join(directory, 'nginx.conf'), configuration);
  const nginx = spawn('nginx', ['-p', directory, '-c', join(directory, 'nginx.conf')], { stdio: 'ignore' });
  await pause(300);
  return nginx;
}

function scriptsOf(page: string): string[] {
  return blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
}

/** Returns the reason for skipping a test that needs these programs, or `false`. */
function withoutProgram(...names: string[]): string | false {
  const missing = names.find(name => spawnSync('which', [name]).status !== 0);
  return missing === undefined ? false : `left out: there is no ${missing}`;
}

function urlOf(database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function administer(...statements: string[]): Promise<void> {
  const client = new pg.Client(postgresUrl);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
