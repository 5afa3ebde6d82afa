import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { readConfig } from '../../src/model/config.ts';
import { postgresUrl, withoutPostgres } from '../support/engines.ts';
import { blocksOf, type FirstServer, readPage, root, skip, startFirstServer } from '../support/pages-as-scripts.ts';
import { withoutProgram } from '../support/programs.ts';

const run = promisify(execFile);
const [backup, postgresql, proxies, ...others] = await Promise.all(
  ['backup', 'postgresql', 'tls-and-proxies', 'configuration', 'email', 'valkey', 'webhooks'].map(name =>
    readPage(`docs/operating/${name}.md`),
  ),
);
const deployFiles = await Promise.all(
  ['nginx.conf', 'Caddyfile', 'haproxy.cfg'].map(name => readPage(`deploy/${name}`)),
);
const [back, backKey, restore, drill, dump, restoreDump] = scriptsOf(backup!);

describe('docs/operating/backup.md, embedded database', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  test('backs up both databases while the server runs', async () => {
    await server.run(back!);
    assert.match(await server.run('ls "$BACKUP"'), /^manifest\.json\nphotos\nproduction\.db\nstaging\.db\n$/);
    assert.match(await server.run('curl -s http://localhost:8081/readyz'), /"status":"ready"/);
  });

  test('backs up again, a second later', async () => {
    await pause(1000);
    await server.run(back!);
  });

  test('restores them into a new directory, without the lost one', async () => {
    await server.run(backKey!);
    assert.ok(!restore!.includes(' data/'));
    await server.run(restore!);
    assert.match(await server.run(drill!), /owner@localhost/);
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

  test('backs it up and restores the backup into an empty database', async () => {
    await shell(dump!);
    assert.match(await shell(restoreDump!), /shelter@example\.org/);
  });
});

describe('the settings in the pages for operators', () => {
  test('are valid together', () => {
    const blocks = [proxies!, ...others].flatMap(page => blocksOf(page).map(({ text }) => text));
    for (const text of [...blocks, ...deployFiles]) {
      const pairs = [...text.matchAll(/\b(PETSTORE_\w+)=([^\s…]*)/g)].map(([, name, value]) => [name, value]);
      assert.doesNotThrow(() => readConfig(Object.fromEntries(pairs)));
    }
  });
});

function scriptsOf(page: string): string[] {
  return blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
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
