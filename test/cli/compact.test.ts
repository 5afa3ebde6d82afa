import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Sqlite from 'better-sqlite3';
import { lockDataDirectory } from '../../src/lib/storage/sqlite/directory-lock.ts';
import { jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;

/** Creates a store whose production had so many more mebibytes, and has so many. */
async function storeWith(mebibytes: { deleted: number; used: number }, directory = temporaryDirectory()) {
  const environment = { PETSTORE_DATA_DIR: directory };
  await textOf(environment, 'migrate');
  const file = join(directory, 'production.db');
  const database = new Sqlite(file);
  const insert = database.prepare(
    `with recursive numbers (n) as (select 1 where @mebibytes > 0 union all select n + 1 from numbers where n < @mebibytes * 256)
     insert into facts (name, value) select @kind || n, hex(randomblob(2048)) from numbers`,
  );
  insert.run({ kind: 'deleted ', mebibytes: mebibytes.deleted });
  insert.run({ kind: 'used ', mebibytes: mebibytes.used });
  database.exec(`delete from facts where name like 'deleted %' and name <> 'deleted events'`);
  database.close();
  return { environment, directory, file };
}

function used(file: string) {
  const database = new Sqlite(file);
  const [{ integrity_check: integrity }] = database.pragma('integrity_check') as [{ integrity_check: string }];
  const facts = database.prepare(`select sum(length(value)) from facts where name like 'used %'`).pluck().get();
  database.close();
  return { integrity, facts };
}

describe('petstore compact', () => {
  it('returns the space of deleted rows to the disk, and changes no row', async () => {
    const { environment, file } = await storeWith({ deleted: 8, used: 1 });
    const before = statSync(file).size;
    const rows = used(file);
    const { production, staging } = await jsonOf(environment, 'compact');
    assert.equal(production.before, before);
    assert.equal(production.after, statSync(file).size);
    assert.ok(production.after < 3 * 1024 * 1024, `${production.after} bytes`);
    assert.ok(staging.after > 0);
    assert.deepEqual(used(file), rows);
    assert.deepEqual((await jsonOf(environment, 'verify')).findings, []);
    assert.match(await textOf(environment, 'compact'), /^DATABASE +BYTES BEFORE +BYTES AFTER\nproduction +\d+ +\d+\n/);
  });

  it('refuses while a server serves the data', async () => {
    const { environment, directory, file } = await storeWith({ deleted: 1, used: 0 });
    const { size } = statSync(file);
    const lock = lockDataDirectory(directory);
    await refused(environment, /^Another process already serves .*\.\n$/, 'compact');
    lock.release();
    assert.equal(statSync(file).size, size);
  });

  it('refuses without room for the new file, and says how much it needs', async t => {
    const disk = smallDisk(t, 150);
    if (disk === undefined) return;
    const { environment, file } = await storeWith({ deleted: 0, used: 12 }, disk.directory);
    const { size } = statSync(file);
    const sentence = /^The disk of .* is full: \d+ MiB are free, and petstore compact needs 15\d MiB\.\n$/;
    await refused(environment, sentence, 'compact');
    assert.equal(statSync(file).size, size);
  });

  it('refuses without a store, and with PostgreSQL', async () => {
    await refused({ PETSTORE_DATA_DIR: temporaryDirectory() }, /^There is no pet store in /, 'compact');
    const url = 'postgres://petstore@127.0.0.1:1/petstore';
    await refused({ PETSTORE_DATABASE_URL: url }, /^petstore compact is for the embedded databases/, 'compact');
  });

  it('leaves the data as it was when it is killed', async () => {
    const { environment, file } = await storeWith({ deleted: 64, used: 64 });
    const rows = used(file);
    const { size } = statSync(file);
    const child = spawn(launcher, ['compact'], { env: { ...process.env, ...environment }, stdio: 'ignore' });
    const exited = once(child, 'exit');
    // What it writes goes to the log first.
    await waitUntil(() => existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 1024 * 1024);
    child.kill('SIGKILL');
    await exited;
    assert.equal(statSync(file).size, size);
    assert.deepEqual(used(file), rows);
    const { production } = await jsonOf(environment, 'compact');
    assert.ok(production.after < size * 0.6);
    assert.equal((await petstore(environment, 'verify')).code, 0);
  });
});
