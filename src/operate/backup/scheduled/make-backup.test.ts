import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDatabase, migrateDatabase, withoutPostgres } from '../../../../test/support/engines.ts';
import { describeUnless } from '../../../../test/support/selection.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { systemClock } from '../../../lib/clock.ts';
import { openDatabase } from '../../../lib/storage/open.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { locationsAt, locationsIn, photosUnder } from '../../../model/config.ts';
import { migrations } from '../../../model/migrations/index.ts';
import { readManifest, verifyFiles } from '../manifest.ts';
import { type BackupRequest, makeBackup } from './make-backup.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const dataDir = temporaryDirectory();
const log = { info() {}, warn() {}, error() {} };

before(async () => {
  const location = locationsIn(dataDir).production;
  const database = await openDatabase(location, { migrations, clock: systemClock(), role: 'cli', log });
  await database.close();
});

/** Returns a request for a backup at noon of a store whose latest backup may be at most an hour old. */
function requestFor(directory: string, overrides: Partial<BackupRequest> = {}): BackupRequest {
  const now = overrides.now ?? NOON;
  return {
    ...{ locations: locationsIn(dataDir), environment: process.env, directory, storeId: 'a1b2c3d4', keep: 2, now },
    since: now - 3_600_000,
    ...overrides,
  };
}

/** Makes backups a day apart, the last one at noon, and returns their names. */
async function backUp(directory: string, days: number, overrides: Partial<BackupRequest> = {}): Promise<string[]> {
  const names: string[] = [];
  for (let day = days - 1; day >= 0; day--) {
    const { last } = await makeBackup(requestFor(directory, { ...overrides, now: NOON - day * DAY_MS }));
    names.push(last.name);
  }
  return names;
}

describe('makeBackup', () => {
  it('makes a complete backup, which only its owner may read, in a directory that it creates', async () => {
    const directory = join(temporaryDirectory(), 'new', 'backups');
    const { last, made, deleted } = await makeBackup(requestFor(directory));
    assert.deepEqual([made, deleted], [true, []]);
    assert.deepEqual(readdirSync(directory), ['scheduled-2026-11-22T12-00-00Z-a1b2c3d4']);
    const path = join(directory, last.name);
    const manifest = readManifest(path);
    await verifyFiles(path, manifest);
    assert.equal(last.startedAt, NOON);
    assert.equal(last.bytes, manifest.files[0]!.bytes);
    assert.ok(last.durationMs >= 0);
    for (const one of [directory, path]) assert.equal(statSync(one).mode & 0o077, 0, one);
  });

  it('makes no backup if there is a recent one', async () => {
    const directory = temporaryDirectory();
    await makeBackup(requestFor(directory, { now: NOON - 3_600_000 }));
    const { last, made } = await makeBackup(requestFor(directory));
    assert.deepEqual([made, last.startedAt], [false, NOON - 3_600_000]);
    assert.equal((await makeBackup(requestFor(directory, { since: NOON }))).made, true);
  });

  it('keeps the latest ones, and deletes only backups of this store', async () => {
    const directory = temporaryDirectory();
    const others = ['by-hand', 'scheduled-2026-11-01T02-00-00Z-ffffffff', 'scheduled-notes', 'lost+found'];
    for (const name of others) mkdirSync(join(directory, name));
    const names = await backUp(directory, 3);
    assert.deepEqual(readdirSync(directory).sort(), [...others, ...names.slice(1)].sort());
    const { deleted } = await makeBackup(requestFor(directory, { keep: 1 }));
    assert.deepEqual(deleted, [names[1]]);
    assert.deepEqual(readdirSync(directory).sort(), [...others, names[2]!].sort());
  });

  it('ignores incomplete backups, and deletes the remains of interrupted ones', async () => {
    const directory = temporaryDirectory();
    const [oldest, truncated, empty] = await backUp(directory, 3, { keep: 9 });
    truncateSync(join(directory, truncated!, 'production.db'), 4096);
    writeFileSync(join(directory, empty!, 'manifest.json'), '');
    const other = 'scheduled-2026-11-22T12-00-00Z-ffffffff.partial-x1Y2z3';
    for (const name of [`${truncated}.partial-x1Y2z3`, `${oldest}.partial-deleted`, other]) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'production.db'), '');
    }
    const { last, deleted } = await makeBackup(requestFor(directory, { now: NOON + 1000 }));
    assert.equal(last.startedAt, NOON + 1000);
    // Two good backups are kept, and there are no older ones.
    assert.deepEqual(deleted, []);
    assert.deepEqual(readdirSync(directory).sort(), [oldest, truncated, empty, last.name, other].sort());
    await makeBackup(requestFor(directory, { now: NOON + 2000, since: NOON + 2000 }));
    assert.equal(readdirSync(directory).length, 3, 'two good ones, and the draft of another store');
  });

  it('leaves a backup alone that seems to be of the future, and makes another', async () => {
    const directory = temporaryDirectory();
    const { last: later } = await makeBackup(requestFor(directory, { now: NOON + DAY_MS }));
    const names = await backUp(directory, 3, { keep: 1 });
    assert.deepEqual(readdirSync(directory).sort(), [names[2]!, later.name]);
  });

  it('deletes nothing if the backup fails', async () => {
    const directory = temporaryDirectory();
    const names = await backUp(directory, 3, { keep: 9 });
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'production.db'), 'This is not a database.');
    const request = requestFor(directory, { locations: locationsIn(broken), now: NOON + 7_200_000, keep: 1 });
    await assert.rejects(makeBackup(request), { name: 'UserError', message: /is not a database of this program/ });
    assert.deepEqual(readdirSync(directory).sort(), names);
  });

  it('reports why the directory cannot be written', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    for (const directory of [file, join(file, 'backups'), '/proc/backups']) {
      const message = new RegExp(`^The backup cannot be written to ${directory} \\(E\\w+\\)\\.$`);
      await assert.rejects(makeBackup(requestFor(directory)), { name: 'UserError', message });
    }
  });

  it('says that a directory is not writable before a backup is due', async t => {
    if (process.getuid?.() === 0) return t.skip('left out: root may write to every directory');
    const directory = temporaryDirectory();
    await makeBackup(requestFor(directory));
    chmodSync(directory, 0o500);
    t.after(() => chmodSync(directory, 0o700));
    await assert.rejects(makeBackup(requestFor(directory)), { message: /cannot be written to .* \(EACCES\)\.$/ });
    return undefined;
  });
});

describeUnless(withoutPostgres, 'makeBackup on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  before(async () => {
    database = await createDatabase({ empty: true });
    await migrateDatabase(database.url);
  });
  after(() => database.remove());

  it('needs pg_dump, also before a backup is due', async () => {
    const directory = temporaryDirectory();
    const request = requestFor(directory, { locations: locationsAt(database.url, undefined, photosUnder(directory)) });
    const without = { environment: { PATH: '/nowhere' } };
    const refusal = { name: 'UserError', message: /^pg_dump is not installed: install PostgreSQL's client programs/ };
    await assert.rejects(makeBackup({ ...request, ...without }), refusal);
    assert.deepEqual(readdirSync(directory), []);
    const { last } = await makeBackup(request);
    assert.ok(existsSync(join(directory, last.name, 'petstore.dump')));
    await assert.rejects(makeBackup({ ...request, ...without }), refusal);
  });
});
