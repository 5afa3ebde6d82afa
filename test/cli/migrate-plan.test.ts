import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { migrations } from '../../src/model/migrations/index.ts';
import { createDatabase, onServer, run, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** Runs a command that must succeed, and returns its output. */
async function petstore(environment: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  return (await promisify(execFile)(launcher, args, { env: { ...process.env, ...environment } })).stdout;
}

describe('migrate --plan', () => {
  const names = migrations.map(({ name }) => name);
  const target = names.at(-1)!;
  const planOf = async (environment: Record<string, string>) => {
    return JSON.parse(await petstore(environment, 'migrate', '--plan', '--json'));
  };

  it('shows what is pending on the embedded engine, and changes nothing', async () => {
    const directory = temporaryDirectory();
    const environment = { PETSTORE_DATA_DIR: directory };
    const empty = { current: null, target, pending: names, unknown: [], expectedSeconds: 0 };
    assert.deepEqual(await planOf(environment), { production: empty, staging: empty });
    assert.deepEqual(await readdir(directory), []);

    await petstore(environment, 'migrate');
    const file = join(directory, 'production.db');
    change(file, `delete from migrations where name = '${target}'`);
    change(join(directory, 'staging.db'), `insert into migrations (name, applied_at) values ('9999-later', 0)`);
    const before = await snapshot(directory);
    assert.deepEqual(await planOf(environment), {
      production: { current: names.at(-2), target, pending: [target], unknown: [], expectedSeconds: 0 },
      staging: { current: '9999-later', target, pending: [], unknown: ['9999-later'], expectedSeconds: 0 },
    });
    const stdout = await petstore(environment, 'migrate', '--plan');
    assert.equal(
      stdout,
      `production  ${names.at(-2)} → ${target}, 1 pending:\n            ${target}\nstaging     newer than this program (${target}): it has 9999-later\n`,
    );
    assert.deepEqual(await snapshot(directory), before);
  });

  it('shows what is pending on PostgreSQL, and changes nothing', { skip: skipFor(withoutPostgres) }, async t => {
    const { url, remove } = await createDatabase({ empty: true });
    t.after(remove);
    const environment = { PETSTORE_DATABASE_URL: url };
    const empty = { current: null, target, pending: names, unknown: [], expectedSeconds: 0 };
    assert.deepEqual(await planOf(environment), { production: empty, staging: empty });
    const schemas = `select 1 from pg_namespace where nspname = 'petstore_staging'`;
    assert.deepEqual(await onServer(connection => run(connection, schemas), url), []);
    await petstore(environment, 'migrate');
    const upToDate = { current: target, target, pending: [], unknown: [], expectedSeconds: 0 };
    assert.deepEqual(await planOf(environment), { production: upToDate, staging: upToDate });
    const later = `insert into public.migrations (name, applied_at) values ('9999-later', 0)`;
    await onServer(connection => run(connection, later), url);
    const { production } = await planOf(environment);
    assert.deepEqual(production, {
      current: '9999-later',
      target,
      pending: [],
      unknown: ['9999-later'],
      expectedSeconds: 0,
    });
  });

  function change(file: string, sql: string): void {
    const database = new SqliteDatabase(file);
    database.exec(sql);
    database.close();
  }

  /** Returns the files of a directory with hashes of their contents. */
  async function snapshot(directory: string): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    for (const name of await readdir(directory)) files[name] = hash('sha256', await readFile(join(directory, name)));
    return files;
  }
});
