import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Checkpointer } from './checkpoint.ts';
import { SqliteConnection } from './connection.ts';
import { WalFlush } from './flush.ts';
import { Snapshots } from './snapshots.ts';

describe('a checkpoint while another process reads', () => {
  for (const [what, behind] of [
    ['all that is committed', 0],
    ['what was committed earlier', 3],
  ] as const) {
    it(`leaves a log that the next commit does not restart, once ${what} is no longer read`, async t => {
      const { writer, connect, checkpoints, resumed, header, commit } = make(t);
      for (let number = 0; number < 5; number++) commit();
      const other = connect();
      other.beginRead();
      for (let number = 0; number < behind; number++) commit();
      checkpoints.consider();
      await resumed();
      assert.equal(checkpoints.capacity(), 'now');
      other.rollback();
      const before = header();
      for (let number = 0; number < 3; number++) commit();
      assert.deepEqual(header(), before);
      await checkpoints.close();
      assert.deepEqual(writer.rows('select count(*) as lines from lines'), [{ lines: 8 + behind }]);
    });
  }

  it('allows no commit before its last frame is written, and reports the missing lock', async t => {
    const { connect, checkpoints, resumed, commit } = make(t);
    commit();
    const [other, locking] = [connect(), connect()];
    other.beginRead();
    locking.beginWrite();
    checkpoints.consider();
    await resumed();
    assert.equal(checkpoints.capacity(), 'busy');
    locking.rollback();
    await resumed();
    assert.equal(checkpoints.capacity(), 'now');
    await checkpoints.close();
  });
});

/** Creates a small database with the readers and checkpoints of a server, in which only the test commits. */
function make(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-checkpoint-'));
  const file = join(directory, 'lines.db');
  const connections: SqliteConnection[] = [];
  const connect = () => {
    const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 256, busyMs: 0 });
    connections.push(connection);
    return connection;
  };
  t.after(() => {
    for (const connection of connections) connection.close();
    rmSync(directory, { recursive: true });
  });
  const writer = connect();
  writer.exec('create table lines (id integer primary key)');
  writer.synchronous('off');
  const flush = new WalFlush(file);
  let resume = () => {};
  const resumed = () => new Promise<void>(resolve => (resume = resolve));
  const groupCommit = { pause: async () => {}, resume: () => resume() };
  const onFlushFailed = (error: Error) => assert.fail(error);
  const log = { info() {}, warn() {}, error() {} };
  const snapshots = new Snapshots(connect(), connect());
  return {
    writer,
    connect,
    checkpoints: new Checkpointer({ file, snapshots, flush, checkpointBytes: 1, log, onFlushFailed }, groupCommit),
    resumed,
    commit: () => writer.exec('insert into lines default values'),
    /** Returns the header of the WAL, which changes when the WAL restarts. */
    header: () => {
      const descriptor = openSync(`${file}-wal`, 'r');
      const bytes = Buffer.alloc(32);
      readSync(descriptor, bytes, 0, 32, 0);
      closeSync(descriptor);
      return bytes;
    },
  };
}
