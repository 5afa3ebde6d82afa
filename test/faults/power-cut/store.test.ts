import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import Sqlite from 'better-sqlite3';
import { testClock } from '../../../src/lib/clock.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { migrations } from '../../../src/model/migrations/index.ts';
import { long } from '../../support/selection.ts';
import { assertStoredInvariants, type StoredTables, storedIn } from '../../support/stored.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { ended, startRecorded, withoutRecorder } from './recorder.ts';
import { Disk, type Happening, happeningsOf, randomFrom } from './replay.ts';

const images = long ? 400 : 30;
const requests = long ? 4000 : 1500;
const seed = Number(process.env.PETSTORE_TEST_SEED ?? Date.now() % 2 ** 31);

describe('after a power cut of a store', { skip: withoutRecorder ?? false }, () => {
  const parent = temporaryDirectory();

  it(`keeps every acknowledged pet, hold and order with the response to its retry, and reserves no pet twice (${images} images, seed ${seed})`, async t => {
    const happenings = await record(temporaryDirectory(), join(parent, 'log'));
    const random = randomFrom(seed);
    const disk = new Disk(random);
    const cuts = Array.from({ length: images }, () => Math.floor(random() * happenings.length)).sort((a, b) => a - b);
    const told = new Map<string, number>();
    let at = 0;
    let facts = 0;
    for (const cut of cuts) {
      for (; at <= cut; at++) {
        const one = happenings[at]!;
        disk.happen(one);
        if (one.op === 'noted') for (const [id, key] of one.note.rows ?? []) told.set(key, id);
      }
      await assertImage(parent, disk.cut(), told, `cut after ${cut} of ${happenings.length}, seed ${seed}`);
      facts += told.size;
    }
    assert.ok(facts > images * 50, `${facts} facts were looked for`);
    t.diagnostic(`${facts} facts over ${images} images`);
  });
});

/** Two lives of a store, one of which is killed: everything that happened on the disk. */
async function record(directory: string, log: string): Promise<Happening[]> {
  const live = (how: Record<string, string> = {}) =>
    ended(startRecorded(directory, './store-load.ts', [directory, `${requests}`], { ...how, RECORD_LOG: log }));
  assert.equal(await live({ RECORD_KILL_AT: String(4 * requests) }), 'SIGKILL');
  assert.equal(await live(), 0);
  return happeningsOf(readFileSync(log));
}

/** Starts on the files of an image as the product does, and looks for what was told. */
async function assertImage(
  parent: string,
  files: ReadonlyMap<string, Buffer>,
  told: ReadonlyMap<string, number>,
  where: string,
): Promise<void> {
  const directory = mkdtempSync(join(parent, 'image-'));
  try {
    for (const [path, content] of files) writeFileSync(join(directory, basename(path)), content);
    const file = join(directory, 'production.db');
    const log = { info() {}, warn() {}, error() {} };
    const database = await openSqlite({ file, migrations, clock: testClock(Date.now()), role: 'server', log });
    await database.close();
    const stored = storedIn(directory);
    assertStoredInvariants(stored);
    assertTold(stored, answersIn(file), told);
  } catch (error) {
    throw new Error(where, { cause: error });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Demands that what was told is there, and that each answer that is kept stands for what was made. */
function assertTold(
  stored: StoredTables,
  answers: ReadonlyMap<string, number>,
  told: ReadonlyMap<string, number>,
): void {
  const there = new Set(stored.events.map(({ kind, subject_id }) => `${kind} ${subject_id}`));
  for (const [key, id] of told) assert.equal(answers.get(key), id, `the answer to ${key}`);
  const made = new Set<string>();
  for (const [key, id] of answers) {
    const what = `${key.split('-')[0]} ${id}`;
    assert.ok(there.has(what), `${what}, which is the answer to ${key}`);
    assert.ok(!made.has(what), `${what} is the answer to two keys`);
    made.add(what);
  }
  assert.equal(made.size, there.size, 'something was made without an answer');
}

function answersIn(file: string): Map<string, number> {
  const database = new Sqlite(file, { readonly: true });
  try {
    const rows = database.prepare('select key, body from idempotency').all() as { key: string; body: string }[];
    return new Map(rows.map(({ key, body }) => [key, JSON.parse(body).id]));
  } finally {
    database.close();
  }
}
