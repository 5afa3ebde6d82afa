import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { testClock } from '../../clock.ts';
import { UserError } from '../../user-error.ts';
import { type Database, isUniqueViolation, StorageError, type Transaction } from '../database.ts';
import type { Migration } from '../migration.ts';
import { createQueryFactory, type Params } from '../query.ts';
import { requireSqlite, SqliteConnection } from './connection.ts';
import { openSqlite } from './database.ts';
import { lockDataDirectory } from './directory-lock.ts';
import type { SqliteOptions } from './server-connection.ts';

interface Tables {
  notes: { id: number; text: string };
}

const first: Migration = {
  name: '0001-notes',
  up: ({ id, text, end }) => [`create table notes (id ${id}, text ${text} not null unique) ${end}`],
};
const second: Migration = { name: '0002-index', up: () => ['create index notes_by_length on notes (length(text))'] };

const query = createQueryFactory<Tables>();
const add = query((db, p: Params<{ text: string }>) =>
  db
    .insertInto('notes')
    .values({ text: p.text } as never)
    .returning('id'),
);
const rename = query((db, p: Params<{ id: number; text: string }>) =>
  db.updateTable('notes').set({ text: p.text }).where('id', '=', p.id),
);
const texts = query((db, _: Params<Record<never, never>>) => db.selectFrom('notes').select('text').orderBy('id'));
const textOf = query((db, p: Params<{ id: number }>) => db.selectFrom('notes').select('text').where('id', '=', p.id));

const directory = mkdtempSync(join(tmpdir(), 'petstore-sqlite-'));
const opened: Database[] = [];
after(async () => {
  await Promise.all(opened.map(database => database.close()));
  rmSync(directory, { recursive: true });
});

let files = 0;
const newFile = () => join(directory, `${++files}`, 'notes.db');

async function open(file = newFile(), options: Partial<SqliteOptions> = {}): Promise<Database> {
  const database = await openSqlite({
    file,
    migrations: [first, second],
    clock: testClock(1000.7),
    role: 'server',
    log: { info() {}, warn() {}, error() {} },
    onFailed(error) {
      throw error;
    },
    ...options,
  });
  opened.push(database);
  return database;
}

const adding = (text: string) => async (tx: Transaction) => (await tx.first(add, { text }))!.id;
const textsOf = async (database: Database) => (await database.all(texts, {})).map(({ text }) => text);
const connect = (file: string) => new SqliteConnection(file, { synchronous: 'full', cacheKiB: 256, busyMs: 0 });
const reason = (expected: StorageError['reason']) => (error: unknown) =>
  error instanceof StorageError && error.reason === expected;

describe('write', { concurrency: true }, () => {
  it('returns the result of the work; its changes are visible from then on', async () => {
    const database = await open();
    assert.equal(await database.write(adding('a')), 1);
    assert.deepEqual(await database.first(textOf, { id: 1 }), { text: 'a' });
    assert.equal(await database.write(tx => tx.run(rename, { id: 1, text: 'b' })), 1);
    assert.equal(await database.write(tx => tx.run(rename, { id: 7, text: 'b' })), 0);
    assert.deepEqual(await textsOf(database), ['b']);
    assert.equal(await database.first(textOf, { id: 7 }), undefined);
  });

  it('lets work see its own changes', async () => {
    const database = await open();
    const seen = await database.write(async tx => {
      const id = await adding('a')(tx);
      await tx.run(rename, { id, text: 'b' });
      return tx.first(textOf, { id });
    });
    assert.deepEqual(seen, { text: 'b' });
  });

  it('rolls back work that throws, but no concurrent writes', async () => {
    const database = await open();
    const outcomes = await Promise.allSettled([
      database.write(adding('a')),
      database.write(async tx => {
        await adding('b')(tx);
        throw new RangeError('no');
      }),
      database.write(adding('a')),
      database.write(adding('c')),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    );
    assert.ok((outcomes[1] as PromiseRejectedResult).reason instanceof RangeError);
    assert.ok(isUniqueViolation((outcomes[2] as PromiseRejectedResult).reason));
    assert.deepEqual(await textsOf(database), ['a', 'c']);
  });

  it('runs writes in order and never interleaves them', async () => {
    const database = await open();
    const ids = await Promise.all(Array.from({ length: 300 }, (_, number) => database.write(adding(`${number}`))));
    assert.deepEqual(
      ids,
      ids.map((_, index) => index + 1),
    );
  });

  it('rejects only the work that awaits something other than its transaction', async () => {
    const database = await open();
    let late: unknown;
    const { promise: somethingElse, resolve } = Promise.withResolvers<void>();
    const [before, wrong, behind] = await Promise.allSettled([
      database.write(adding('a')),
      database.write(async tx => {
        await adding('b')(tx);
        await somethingElse;
        await adding('c')(tx).catch(error => {
          late = error;
        });
      }),
      database.write(adding('d')),
    ]);
    assert.deepEqual([before.status, wrong.status, behind.status], ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual(await textsOf(database), ['a', 'd']);
    resolve();
    while (late === undefined) await nextTurn();
    assert.match(String(late), /transaction has ended/);
  });

  it('gives a transaction one time in whole milliseconds', async () => {
    const clock = testClock(1000.7);
    const database = await open(undefined, { clock });
    assert.equal(await database.write(tx => tx.now), 1000);
    clock.advance(1);
    assert.equal(await database.write(tx => tx.now), 1001);
  });

  it('waits for the lock of another process while reads continue', async () => {
    const file = newFile();
    const database = await open(file);
    const other = connect(file);
    other.beginWrite();
    const waiting = database.write(adding('a'));
    for (let turns = 0; turns < 20; turns++) {
      await pause(2);
      assert.deepEqual(await textsOf(database), []);
    }
    other.rollback();
    other.close();
    assert.equal(await waiting, 1);
  });

  it('is unavailable if the lock is not released in time, and changes nothing', async () => {
    const file = newFile();
    const database = await open(file);
    const other = connect(file);
    other.beginWrite();
    await assert.rejects(database.write(adding('a')), reason('unavailable'));
    assert.equal((await database.health()).writes, 'unavailable');
    other.rollback();
    other.close();
    await database.write(adding('b'));
    assert.deepEqual(await textsOf(database), ['b']);
    assert.deepEqual(await database.health(), { ok: true, writes: 'ok', detail: '' });
  });
});

describe('a file that cannot be written any more', () => {
  it('makes writes unavailable until it can be written again, and reads continue', async t => {
    const file = newFile();
    const database = await open(file);
    await database.write(adding('a'));
    const immutable = (flag: '+i' | '-i') => execFileSync('chattr', [flag, `${file}-wal`], { stdio: 'pipe' });
    try {
      immutable('+i');
    } catch {
      return t.skip('left out: no file can be made immutable here');
    }
    try {
      const readOnly = { ok: true, writes: 'unavailable', detail: 'The disk is read-only.' };
      assert.deepEqual(await database.health(), readOnly);
      await assert.rejects(database.write(adding('b')), reason('unavailable'));
      assert.deepEqual(await database.health(), readOnly);
      assert.deepEqual(await textsOf(database), ['a']);
    } finally {
      immutable('-i');
    }
    assert.deepEqual(await database.health(), { ok: true, writes: 'ok', detail: '' });
    await database.write(adding('c'));
    assert.deepEqual(await textsOf(database), ['a', 'c']);
    return undefined;
  });
});

describe('version and heard', () => {
  it('stay the same while nothing changes', async () => {
    const database = await open();
    const before = [database.dataVersion('notes'), database.topicVersion('keys')];
    await database.write(tx => tx.first(textOf, { id: 1 }));
    await database.write(() => Promise.reject(new Error('no'))).catch(() => {});
    await nextTurn();
    assert.deepEqual([database.dataVersion('notes'), database.topicVersion('keys')], before);
  });

  it('change only for the table and topic of a commit', async () => {
    const database = await open();
    const before = {
      version: database.dataVersion('notes'),
      others: database.dataVersion('others'),
      keys: database.topicVersion('keys'),
      bans: database.topicVersion('bans'),
    };
    await database.write(async tx => {
      await adding('a')(tx);
      await tx.notify('keys');
    });
    assert.notEqual(database.dataVersion('notes'), before.version);
    assert.equal(database.dataVersion('others'), before.others);
    assert.notEqual(database.topicVersion('keys'), before.keys);
    assert.equal(database.topicVersion('bans'), before.bans);
  });

  it('do not change after a rollback', async () => {
    const database = await open();
    const before = [database.dataVersion('notes'), database.topicVersion('keys')];
    const undone = database.write(async tx => {
      await adding('a')(tx);
      await tx.notify('keys');
      throw new Error('no');
    });
    await assert.rejects(undone, /no/);
    assert.deepEqual([database.dataVersion('notes'), database.topicVersion('keys')], before);
  });

  it('change for the next read after a command commits', async () => {
    const file = newFile();
    const database = await open(file);
    const visitor = await open(file, { role: 'cli' });
    for (let round = 1; round <= 50; round++) {
      const before = { version: database.dataVersion('notes'), keys: database.topicVersion('keys') };
      const id = await visitor.write(adding(`${round}`));
      assert.notEqual(database.topicVersion('keys'), before.keys);
      assert.notEqual(database.dataVersion('notes'), before.version);
      assert.deepEqual(await database.first(textOf, { id }), { text: `${round}` });
      await database.write(tx => tx.run(rename, { id, text: `${round}!` }));
      assert.deepEqual(await visitor.first(textOf, { id }), { text: `${round}!` });
    }
  });

  it('move with the change of a program that is not ours, checkpoints and all', async () => {
    const file = newFile();
    const database = await open(file);
    await database.write(adding('a'));
    const version = database.dataVersion('notes');
    const code = `
      const db = new (require('better-sqlite3'))(${JSON.stringify(file)}, { timeout: 50 });
      db.exec("update notes set text = 'b'");
      db.pragma('wal_checkpoint(truncate)');
      db.close();`;
    const [exit] = await once(spawn(process.execPath, ['-e', code], { stdio: 'inherit' }), 'exit');
    assert.equal(exit, 0);
    assert.notEqual(database.dataVersion('notes'), version);
    assert.deepEqual(await textsOf(database), ['b']);
    await database.write(adding('c'));
    assert.deepEqual(await textsOf(database), ['b', 'c']);
  });
});

describe('the write-ahead log', () => {
  const walBytes = (file: string) => statSync(`${file}-wal`).size;
  const text = (number: number) => `${number} ${'x'.repeat(50_000)}`;

  it('stays below 64 MiB under constant reads', async () => {
    const file = newFile();
    const database = await open(file);
    let most = 0;
    let writing = true;
    const reader = async () => {
      while (writing) {
        await database.first(textOf, { id: 1 });
        most = Math.max(most, walBytes(file));
        await nextTurn();
      }
    };
    const writer = async (writer: number) => {
      for (let number = 0; number < 150; number++) await database.write(adding(text(1000 * writer + number)));
    };
    const reading = reader();
    await Promise.all(Array.from({ length: 16 }, (_, number) => writer(number)));
    writing = false;
    await reading;
    assert.ok(most > 16 * 2 ** 20 && most <= 64 * 2 ** 20, `${most} bytes`);
    assert.equal((await textsOf(database)).length, 16 * 150);
  });

  it('rejects writes as full while another process blocks the checkpoint, and is emptied afterwards', async () => {
    const file = newFile();
    const database = await open(file, { checkpointBytes: 2 ** 20 });
    await database.write(adding('a'));
    const other = connect(file);
    other.beginRead();
    let number = 0;
    const filling = async () => {
      for (;;) await database.write(adding(text(number++)));
    };
    await assert.rejects(filling(), reason('full'));
    assert.ok(walBytes(file) <= 64 * 2 ** 20);
    assert.equal((await database.health()).writes, 'full');
    other.close();
    let id: number | undefined;
    while (id === undefined) {
      await pause(100);
      id = await database.write(adding('b')).catch(() => undefined);
    }
    assert.deepEqual(await database.first(textOf, { id }), { text: 'b' });
    assert.ok(walBytes(file) < 2 ** 20);
    await database.close();
    const whole = connect(file);
    assert.deepEqual(whole.rows('pragma integrity_check'), [{ integrity_check: 'ok' }]);
    whole.close();
  });
});

describe('open', () => {
  it('creates a missing directory, and finds its data at the next start', async () => {
    const file = join(directory, 'deep', 'er', 'notes.db');
    const database = await open(file);
    await database.write(adding('a'));
    await database.close();
    assert.deepEqual(await textsOf(await open(file)), ['a']);
  });

  it('brings an older schema up to date, keeping its rows', async () => {
    const file = newFile();
    const old = await open(file, { migrations: [first] });
    await old.write(adding('a'));
    await old.close();
    assert.deepEqual(await textsOf(await open(file)), ['a']);
    const connection = connect(file);
    assert.deepEqual(connection.rows('select name, applied_at from migrations'), [
      { name: '0001-notes', applied_at: 1000 },
      { name: '0002-index', applied_at: 1000 },
    ]);
    connection.close();
  });

  it('rolls back a migration that fails', async () => {
    const file = newFile();
    const broken: Migration = { name: '0002-broken', up: () => ['create table half (id integer)', 'create nonsense'] };
    await assert.rejects(open(file, { migrations: [first, broken] }), /nonsense/);
    assert.deepEqual(await textsOf(await open(file)), []);
  });

  const refusals: [name: string, sentence: RegExp, make: (file: string) => void | Promise<void>][] = [
    [
      'a database of a newer version',
      /is newer than this program: it has 0003-later/,
      async file => {
        const later: Migration = { name: '0003-later', up: () => [] };
        await (await open(file, { migrations: [first, second, later] })).close();
      },
    ],
    ['a file that is no database', /is not a database of this program/, file => writeFileSync(file, 'x'.repeat(9999))],
    [
      'a database of another program',
      /is not a database of this program/,
      file => {
        const other = connect(file);
        other.exec('create table theirs (id integer)');
        other.close();
      },
    ],
    [
      'a damaged database',
      /is damaged: replace it with a backup/,
      async file => {
        await (await open(file)).close();
        const bytes = Buffer.alloc(statSync(file).size - 100, 0xa5);
        const descriptor = openSync(file, 'r+');
        writeSync(descriptor, bytes, 0, bytes.length, 100);
        closeSync(descriptor);
      },
    ],
    ['a directory', /cannot be opened for reading and writing/, file => mkdirSync(file)],
  ];
  for (const [name, sentence, make] of refusals) {
    it(`rejects ${name} in one sentence`, async () => {
      const file = newFile();
      mkdirSync(join(file, '..'));
      await make(file);
      await assert.rejects(open(file), error => {
        assert.ok(error instanceof UserError, String(error));
        assert.match(error.message, sentence);
        assert.match(error.message, /^[^\n]+[.]$/);
        return true;
      });
    });
  }

  it('rejects a directory that is a file', async () => {
    writeFileSync(join(directory, 'file'), '');
    await assert.rejects(open(join(directory, 'file', 'notes.db')), UserError);
  });

  it('rejects a SQLite version that may corrupt a file with two writers', () => {
    assert.throws(() => requireSqlite('3.51.2'), UserError);
    assert.throws(() => requireSqlite('3.9.9'), UserError);
    for (const version of ['3.51.3', '3.52.0', '4.0.0']) requireSqlite(version);
    requireSqlite();
  });
});

describe('close', () => {
  it('finishes pending work, then rejects new work, idempotently', async () => {
    const file = newFile();
    const database = await open(file);
    const writing = database.write(adding('a'));
    await Promise.all([database.close(), database.close()]);
    assert.equal(await writing, 1);
    await assert.rejects(database.write(adding('b')), reason('closed'));
    assert.throws(() => database.first(textOf, { id: 1 }), reason('closed'));
    assert.equal(database.dataVersion('notes'), undefined);
    assert.equal((await database.health()).ok, false);
    assert.equal(statSync(`${file}-wal`, { throwIfNoEntry: false }), undefined);
  });
});

describe('lockDataDirectory', () => {
  it('is for one process at a time, and free once that was killed', async t => {
    const data = join(directory, 'locked');
    const lock = lockDataDirectory(data);
    assert.throws(
      () => lockDataDirectory(data),
      /^UserError: Another process already serves .*locked\. Stop it first\.$/,
    );
    lock.release();
    const code = `
      const { lockDataDirectory } = await import(${JSON.stringify(new URL('./directory-lock.ts', import.meta.url).href)});
      lockDataDirectory(${JSON.stringify(data)});
      process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
      process.getBuiltinModule('node:vm').runInNewContext('gc')();
      console.log('locked');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    assert.throws(() => lockDataDirectory(data), UserError);
    child.kill('SIGKILL');
    await once(child, 'exit');
    lockDataDirectory(data).release();
  });

  it('names the directory that is not writable', t => {
    const data = join(directory, 'not-writable');
    mkdirSync(data, { mode: 0o500 });
    // Root may write to any file.
    if (process.getuid!() === 0) process.seteuid!(65_534);
    t.after(() => process.seteuid!(process.getuid!()));
    assert.throws(
      () => lockDataDirectory(data),
      /^UserError: The data directory .*not-writable is not writable\. Give /,
    );
  });

  it('has one holder among processes that open its file at the same time', t => {
    const data = join(directory, 'asked-for');
    lockDataDirectory(data).release();
    const other = new SqliteDatabase(join(data, 'serve.lock'), { timeout: 0 });
    t.after(() => other.close());
    // As a command does between two reads: it has begun, and has not read more yet.
    other.exec('begin');
    other.pragma('schema_version');
    const lock = lockDataDirectory(data);
    assert.throws(() => other.exec('rollback; begin immediate'), /locked/);
    lock.release();
  });
});
