import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { testClock } from '../../../src/lib/clock.ts';
import type { Health } from '../../../src/lib/storage/database.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { TIMEOUT_SCALE } from '../../support/postgres-url.ts';
import { long } from '../../support/selection.ts';
import { smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { ended, type RecorderSettings, startRecorded, startScript, withoutRecorder } from './recorder.ts';
import type { Note } from './replay.ts';
import { migrations, rowsAfter, total } from './rows.ts';

describe('a flush that fails', { skip: withoutRecorder ?? false }, () => {
  it('ends the process, and no write succeeds any more', async () => {
    const directory = temporaryDirectory();
    const served = serve(directory, { RECORD_EIO_AT: '12' });
    const added: number[] = [];
    const refused: unknown[] = [];
    const adder = async (number: number) => {
      for (let round = 0; refused.length < 100; round++) {
        await served.call<number>('add', `${number}.${round}`).then(
          id => added.push(id),
          reason => refused.push(reason),
        );
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, number) => adder(number)));
    assert.deepEqual(new Set(refused), new Set(['failed']));
    await assert.rejects(served.call('total'), reason => reason === 'failed');
    assert.equal(await served.ended, 1);
    assert.equal(served.successesAfterFailure, 0);
    assert.ok(added.length > 0);
    assert.deepEqual(missing(added, await idsIn(directory)), []);
  });
});

describe('a full disk', { skip: withoutRecorder ?? false }, () => {
  it('rejects writes as full while reads continue, and accepts writes once there is space', async () => {
    const directory = temporaryDirectory();
    const full = join(temporaryDirectory(), 'full');
    const served = serve(directory, { RECORD_FULL: full });
    await refusesUntilThereIsSpace(
      served,
      () => writeFileSync(full, ''),
      () => rmSync(full),
    );
    assert.equal(await served.close(), 0);
  });
});

describe('a full disk while a flush is under way', { skip: withoutRecorder ?? false }, () => {
  it('shows no unflushed data, although SQLite discards its cache', async () => {
    const directory = temporaryDirectory();
    const [stall, full] = [join(temporaryDirectory(), 'stall'), join(temporaryDirectory(), 'full')];
    const served = serve(directory, { RECORD_STALL: stall, RECORD_FULL: full });
    await served.call('add', 'before');
    writeFileSync(stall, '');
    const stuck = served.call('add', 'stuck');
    // Answers of two turns, so that what was sent before them is committed.
    for (let turn = 0; turn < 2; turn++) assert.equal(await served.call('total'), 1);
    writeFileSync(full, '');
    const tooBig = 'x'.repeat(12 * 2 ** 20);
    await assert.rejects(served.call('add', tooBig), reason => reason === 'full');
    for (let turn = 0; turn < 2; turn++) assert.equal(await served.call('total'), 1);
    rmSync(full);
    rmSync(stall);
    await stuck;
    await served.call('add', 'after');
    assert.equal(await served.call('total'), 3);
    assert.equal(await served.close(), 0);
  });
});

describe('a small disk', () => {
  it('rejects writes when full, and accepts them once there is space', async context => {
    const disk = smallDisk(context, 3);
    if (disk === undefined) return;
    const served = serve(disk.directory, {});
    await refusesUntilThereIsSpace(served, disk.fill, disk.empty);
    assert.equal(await served.close(), 0);
  });
});

describe('a disk that stalls', { skip: withoutRecorder ?? false }, () => {
  it('delays writes but not reads, reports it, and completes the writes when it continues', async () => {
    const stall = join(temporaryDirectory(), 'stall');
    const served = serve(temporaryDirectory(), { RECORD_STALL: stall });
    await served.call('add', 'before');
    writeFileSync(stall, '');
    let answered = false;
    const stuck = served.call('add', 'stuck').finally(() => {
      answered = true;
    });
    while ((await served.call<Health>('health')).writes !== 'stalled') await pause(20);
    assert.equal(await served.call('total'), 1);
    assert.equal(answered, false);
    rmSync(stall);
    await stuck;
    assert.equal(await served.call('total'), 2);
    assert.equal((await served.call<Health>('health')).writes, 'ok');
    assert.equal(await served.close(), 0);
  });

  it('reports the known outcome of a write in the end', {
    skip: long ? false : 'takes 10 s: with PETSTORE_TEST_LONG=1',
  }, async () => {
    const stall = join(temporaryDirectory(), 'stall');
    const served = serve(temporaryDirectory(), { RECORD_STALL: stall }, 1);
    await served.call('add', 'before');
    writeFileSync(stall, '');
    await assert.rejects(served.call('add', 'stuck'), reason => reason === 'unavailable');
    rmSync(stall);
    assert.equal(await served.close(), 0);
  });
});

describe('a process that is killed', () => {
  const rounds = long ? 100 : 10;
  it(`loses no acknowledged row and assigns no id twice (${rounds} rounds)`, async () => {
    const directory = temporaryDirectory();
    const acknowledged = new Map<number, string>();
    for (let round = 0; round < rounds; round++) {
      const load = startScript('./load.ts', ['server', directory, '1000000', 'close']);
      const before = acknowledged.size;
      await pause(150 + Math.random() * 250);
      while (notesOf(directory).filter(([id]) => !acknowledged.has(id)).length < 50) await pause(10);
      load.kill('SIGKILL');
      assert.equal(await ended(load), 'SIGKILL');
      for (const [id, name] of notesOf(directory)) {
        assert.equal(acknowledged.get(id) ?? name, name, `id ${id} was given twice`);
        acknowledged.set(id, name);
      }
      assert.ok(acknowledged.size > before);
      assert.deepEqual(missing([...acknowledged.keys()], await idsIn(directory)), []);
      rmSync(join(directory, '.notes'));
    }
  });
});

/** Tries a served database on a disk that `fill` makes full and `empty` not. */
async function refusesUntilThereIsSpace(served: Served, fill: () => void, empty: () => void) {
  for (let number = 0; number < 20; number++) await served.call('add', `before ${number}`);
  fill();
  let refusal: unknown;
  let added = 20;
  // What is left of pages that were begun may take a few more.
  while (refusal === undefined) {
    await served.call('add', 'x'.repeat(5000)).then(
      () => added++,
      reason => {
        refusal = reason;
      },
    );
  }
  assert.equal(refusal, 'full');
  await assert.rejects(served.call('add', 'again'), reason => reason === 'full');
  assert.equal(await served.call('total'), added);
  assert.deepEqual(await served.call('health'), { ok: true, writes: 'full', detail: 'The disk is full.' });
  empty();
  await pause(1000);
  await served.call('add', 'after');
  assert.equal(await served.call('total'), added + 1);
  assert.equal((await served.call<Health>('health')).writes, 'ok');
}

/** A database that a process of its own serves. */
interface Served {
  call<T = unknown>(call: string, argument?: string): Promise<T>;
  /** How many successes it answered after it had said that a flush failed. */
  readonly successesAfterFailure: number;
  readonly ended: Promise<number | string>;
  /** Closes the database and lets the process end by itself. */
  close(): Promise<number | string>;
}

function serve(directory: string, settings: RecorderSettings, timeoutScale = TIMEOUT_SCALE): Served {
  const args = [join(directory, 'rows.db'), String(timeoutScale)];
  const child =
    Object.keys(settings).length > 0
      ? startRecorded(directory, './served.ts', args, settings)
      : startScript('./served.ts', args);
  const waiting = new Map<number, { resolve(value: never): void; reject(reason: unknown): void }>();
  let numbers = 0;
  let failed = false;
  let successesAfterFailure = 0;
  createInterface({ input: child.stdout! }).on('line', line => {
    const answer = JSON.parse(line);
    if (failed && 'value' in answer) successesAfterFailure++;
    if (answer.failed) failed = true;
    else if ('reason' in answer) waiting.get(answer.number)!.reject(answer.reason);
    else waiting.get(answer.number)!.resolve(answer.value as never);
  });
  const end = ended(child);
  const call = <T>(call: string, argument?: string) =>
    new Promise<T>((resolve, reject) => {
      waiting.set(++numbers, { resolve, reject });
      child.stdin!.write(`${JSON.stringify({ number: numbers, call, argument })}\n`);
    });
  return {
    call,
    get successesAfterFailure() {
      return successesAfterFailure;
    },
    ended: end,
    async close() {
      await call('close');
      child.stdin!.end();
      return end;
    },
  };
}

async function idsIn(directory: string): Promise<Set<number>> {
  const database = await openSqlite({
    file: join(directory, 'rows.db'),
    migrations,
    clock: testClock(0),
    role: 'server',
    log: { info() {}, warn() {}, error() {} },
  });
  const ids = new Set<number>();
  for (let last = -1, next = 0; next > last; ) {
    last = next;
    for (const { id } of await database.all(rowsAfter, { id: last })) ids.add(id);
    next = Math.max(last, ...ids);
  }
  assert.equal((await database.first(total, {}))!.total, ids.size);
  await database.close();
  return ids;
}

function missing(wanted: readonly number[], found: ReadonlySet<number>): number[] {
  return wanted.filter(id => !found.has(id));
}

/** The rows that the load was told of. */
function notesOf(directory: string): (readonly [id: number, name: string])[] {
  const file = join(directory, '.notes');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap(line => (JSON.parse(line) as Note).rows ?? []);
}
