import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { testClock } from '../../../src/lib/clock.ts';
import { SqliteConnection } from '../../../src/lib/storage/sqlite/connection.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { long } from '../../support/selection.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { ended, startRecorded, withoutRecorder } from './recorder.ts';
import { Disk, type Happening, happeningsOf, type Note, pick, randomFrom } from './replay.ts';
import { addRow, migrations, rowsAfter, total } from './rows.ts';

const images = long ? 500 : 50;
const rows = long ? 3000 : 1000;
const WAL_HEADER_BYTES = 32;
const seed = Number(process.env.PETSTORE_TEST_SEED ?? Date.now() % 2 ** 31);

describe('after a power cut', { skip: withoutRecorder ?? false }, () => {
  const directory = temporaryDirectory();
  let honest: Happening[];

  before(async () => {
    honest = await record(join(directory, 'honest'), {});
  });

  it(`opens intact with everything that was acknowledged or read (${images} images, seed ${seed})`, async () => {
    const { failures, checkpoints, facts } = await replay(honest, images, directory);
    assert.deepEqual(failures, []);
    assert.ok(checkpoints >= 10, `${checkpoints} checkpoints were recorded`);
    assert.ok(facts > images * 100, `${facts} facts were looked for`);
  });

  it('detects acknowledgements that do not wait for the flush', async () => {
    const flushers = new Set(flushesWhileServing(honest).map(({ thread }) => thread));
    const unflushed = honest.filter(one => one.op !== 'flush ended' || !flushers.has(one.thread));
    const { failures } = await replay(unflushed, 20, directory, 1);
    assert.notEqual(failures.length, 0);
  });

  it('detects reads of unflushed data', async () => {
    const leaky = await record(join(directory, 'leaky'), { LEAK: '1' });
    const { failures } = await replay(leaky, 2000, directory, 1);
    assert.notEqual(failures.length, 0);
  });

  it('flushes nothing on the main thread', () => {
    const flushes = flushesWhileServing(honest);
    assert.notEqual(flushes.length, 0);
    assert.deepEqual(
      flushes.filter(({ thread, serving }) => serving.includes(thread)),
      [],
    );
  });

  it('flushes nothing on the main thread, even if a command writes while the readers open', {
    timeout: 60_000,
  }, async () => {
    const home = join(directory, 'between');
    mkdirSync(home);
    const [log, pausing] = [join(directory, 'between.log'), join(directory, 'between.pause')];
    const start = (role: string, adding: number, settings: Record<string, string> = {}) =>
      startRecorded(home, './load.ts', [role, home, `${adding}`, 'close'], { ...settings, RECORD_LOG: log });
    assert.equal(await ended(start('server', 10)), 0);
    const server = start('server', 30, { RECORD_PAUSE: pausing });
    while (!existsSync(pausing)) await pause(5);
    assert.equal(await ended(start('cli', 3)), 0);
    rmSync(pausing);
    assert.equal(await ended(server), 0);
    const happenings = happeningsOf(readFileSync(log));
    const flushes = flushesWhileServing(happenings);
    assert.notEqual(flushes.length, 0);
    assert.deepEqual(
      flushes.filter(({ thread, serving }) => serving.includes(thread)),
      [],
    );
    // Nor is the log begun anew without a flush: its header is written at the start, and nothing empties so short a log.
    const headers = whileServing(happenings).filter(
      ({ one }) => one.op === 'written' && one.offset === 0 && one.data.length === WAL_HEADER_BYTES,
    );
    assert.deepEqual(headers, []);
  });
});

/** Lives of a server, ending in different ways, with a command beside it: everything that happened on the disk. */
async function record(directory: string, settings: Record<string, string>): Promise<Happening[]> {
  mkdirSync(directory);
  const log = join(directory, '..', `${basename(directory)}.log`);
  const life = async (ending: string, how: Record<string, string> = {}, beside: Record<string, string> = {}) => {
    const server = startRecorded(
      directory,
      './load.ts',
      ['server', directory, String('RECORD_KILL_AT' in how ? 100 * rows : rows), ending],
      {
        ...settings,
        ...how,
        RECORD_LOG: log,
      },
    );
    const adding = 'RESTLESS' in beside ? '500' : '20';
    const cli = startRecorded(directory, './load.ts', ['cli', directory, adding, 'close'], {
      ...beside,
      RECORD_LOG: log,
    });
    const ends = await Promise.all([ended(server), ended(cli)]);
    assert.deepEqual(ends, ['RECORD_KILL_AT' in how ? 'SIGKILL' : 0, 0]);
  };
  await life('close', { RECORD_KILL_AT: String(5 * rows) });
  await life('leave');
  await life('exit', {}, { RESTLESS: '1' });
  await life('close', { RECORD_KILL_AT: String(7 * rows) });
  await life('close');
  return happeningsOf(readFileSync(log));
}

/**
 * Flushes that ended while a server served, with the servers that did. The answering thread has its process's number. A
 * server that is about to serve may flush; one that was killed flushes no more, though nobody noted its end.
 */
function flushesWhileServing(happenings: readonly Happening[]): { thread: number; serving: number[] }[] {
  return whileServing(happenings).flatMap(({ one, serving }) =>
    one.op === 'flush ended' ? [{ thread: one.thread, serving }] : [],
  );
}

/** What happened while a server served, with the servers that did. */
function whileServing(happenings: readonly Happening[]): { one: Happening; serving: number[] }[] {
  const found: { one: Happening; serving: number[] }[] = [];
  const serving = new Set<number>();
  for (const one of happenings) {
    if (one.op === 'noted' && one.note.role === 'server') serving.add(one.note.serving!);
    if (one.op === 'noted' && one.note.ending !== undefined) serving.delete(one.note.ending);
    if (serving.size > 0) found.push({ one, serving: [...serving] });
  }
  return found;
}

/** Cuts the power at moments of a record and opens what is found; what was wrong with it, up to `enough`. */
async function replay(happenings: readonly Happening[], images: number, directory: string, enough = images) {
  const random = randomFrom(seed);
  const disk = new Disk(random);
  const demands = new Demands(happenings);
  // Half of the cuts near what happens seldom: files that appear, vanish or are cut short.
  const seldom = ['opened', 'deleted', 'truncated'].map(op =>
    happenings.flatMap((one, at) => (one.op === op ? [at] : [])),
  );
  const cuts = Array.from({ length: images }, () => {
    if (random() < 0.5) return Math.floor(random() * happenings.length);
    const near = pick(pick(seldom, random), random) + Math.floor(random() * 60) - 20;
    return Math.max(0, Math.min(happenings.length - 1, near));
  });
  cuts.sort((a, b) => a - b);
  const failures: string[] = [];
  let at = 0;
  let facts = 0;
  for (const cut of cuts) {
    if (failures.length >= enough) break;
    for (; at <= cut; at++) disk.happen(happenings[at]!);
    const { rows, total, ids } = demands.at(at);
    facts += rows.size;
    const failure = await inspect(disk.cut(), directory, rows, total, ids);
    if (failure !== undefined) failures.push(`cut after ${cut} of ${happenings.length}, seed ${seed}: ${failure}`);
  }
  return { failures, facts, checkpoints: happenings.filter(one => one.op === 'truncated').length };
}

/** Opens the files of one image as the product does, and looks for what must be there. */
async function inspect(
  files: ReadonlyMap<string, Buffer>,
  parent: string,
  rows: ReadonlyMap<number, string>,
  leastTotal: number,
  ids: ReadonlySet<number>,
): Promise<string | undefined> {
  const directory = mkdtempSync(join(parent, 'image-'));
  try {
    for (const [path, content] of files) writeFileSync(join(directory, basename(path)), content);
    const file = join(directory, 'rows.db');
    const log = { info() {}, warn() {}, error() {} };
    const database = await openSqlite({ file, migrations, clock: testClock(0), role: 'server', log });
    try {
      const found = new Map<number, string>();
      for (let last = -1, next = 0; next > last; ) {
        last = next;
        const page = await database.all(rowsAfter, { id: last });
        for (const { id, name } of page) found.set(id, name);
        next = page.at(-1)?.id ?? last;
      }
      for (const [id, name] of rows) if (found.get(id) !== name) return `row ${id} is ${found.get(id)}, not ${name}`;
      const sum = (await database.first(total, {}))!.total;
      if (sum < leastTotal) return `the total is ${sum}, ${leastTotal} was shown`;
      if (sum !== found.size) return `the total is ${sum} over ${found.size} rows`;
      const next = await database.write(tx => tx.first(addRow, { name: 'next' }));
      if (ids.has(next!.id)) return `id ${next!.id} is given twice`;
    } finally {
      await database.close();
    }
    const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 512, busyMs: 0 });
    const [verdict] = connection.rows('pragma integrity_check') as { integrity_check: string }[];
    connection.close();
    return verdict!.integrity_check === 'ok' ? undefined : verdict!.integrity_check;
  } catch (error) {
    return String(error);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** What must be there after a cut: all that was told by then, or shown by a look that began by then. */
class Demands {
  readonly #notes: { readonly from: number; readonly note: Note }[];

  constructor(happenings: readonly Happening[]) {
    const looks = new Map<string, number>();
    this.#notes = happenings.flatMap((one, at) => {
      if (one.op !== 'noted') return [];
      if (one.note.look !== undefined) looks.set(one.note.look, at);
      return [{ from: one.note.looked === undefined ? at : looks.get(one.note.looked)!, note: one.note }];
    });
  }

  at(cut: number) {
    const rows = new Map<number, string>();
    let total = 0;
    for (const { from, note } of this.#notes) {
      if (from >= cut) continue;
      for (const [id, name] of note.rows ?? []) rows.set(id, name);
      total = Math.max(total, note.total ?? 0);
    }
    return { rows, total, ids: new Set(rows.keys()) };
  }
}
