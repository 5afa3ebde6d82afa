/**
 * A process that adds rows and reads them, and notes what it was told and shown: in the record, or without the recorder
 * in the file `.notes`.
 *
 * Usage: node load.ts ROLE DIRECTORY ROWS ENDING, where ROLE is `server` or `cli`, ROWS is how many are added, and
 * ENDING is `close`, `exit` (at once) or `leave` (without closing). `LEAK=1` lets its readers look past the promise, at
 * what is not flushed yet. `RESTLESS=1` lets the CLI connection write all the time and hold snapshots open for a while.
 */
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Database } from '../../../src/lib/storage/database.ts';
import { SqliteConnection } from '../../../src/lib/storage/sqlite/connection.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { addRow, migrations, raiseTotal, rowsAfter, total } from './rows.ts';

const [role, directory, rows, ending] = process.argv.slice(2) as ['server' | 'cli', string, string, string];
const file = join(directory, 'rows.db');
const notes = openSync(join(directory, '.notes'), 'a');
const note = (value: object) => writeSync(notes, `${JSON.stringify(value)}\n`);

const database = await openSqlite({
  file,
  migrations,
  clock: systemClock(),
  role,
  log: { info() {}, warn: console.error, error: console.error },
  onFailed(error) {
    console.error(error.message);
    process.exit(3);
  },
  checkpointBytes: 192 * 1024,
});
note({ serving: process.pid, role });

const restless = process.env.RESTLESS === '1';
const view: Pick<Database, 'all'> = process.env.LEAK === '1' ? leakingView() : database;
let left = Number(rows);
let looks = 0;

async function add(): Promise<void> {
  while (left-- > 0) {
    const name = `${process.pid}-${left}-${'x'.repeat(left % 200)}`;
    const [row, sum] = await database.write(async tx => {
      await tx.run(raiseTotal, {});
      return [await tx.first(addRow, { name }), await tx.first(total, {})] as const;
    });
    note({ rows: [[row!.id, name]], total: sum!.total });
    await pause(role === 'server' ? Math.random() * 20 : restless ? 1 : 20);
  }
}

/** What a refusal rests on counts as shown, too. */
async function refuse(): Promise<void> {
  while (left > 0) {
    const seen = await database.write(tx => tx.first(total, {}));
    note({ total: seen?.total ?? 0 });
    await pause(5);
  }
}

/** Reads what is committed but perhaps not flushed. */
function leakingView(): Pick<Database, 'all'> {
  const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 512, busyMs: 50 });
  return {
    all(query, params) {
      const { statement, values } = connection.statements.get(query);
      return statement.all(values(params)) as never;
    },
  };
}

async function read(): Promise<void> {
  let last = 0;
  while (left > 0) {
    const version = database.dataVersion('rows');
    const look = `${process.pid}.${++looks}`;
    note({ look });
    const shown = await view.all(rowsAfter, { id: last });
    const [sum] = await view.all(total, {});
    // A server shows what was on disk before; a CLI connection flushes before it returns.
    const looked = role === 'server' && database.dataVersion('rows') === version ? { looked: look } : {};
    note({ ...looked, rows: shown.map(({ id, name }) => [id, name]), total: sum?.total ?? 0 });
    last = shown.at(-1)?.id ?? last;
    await pause(1);
  }
}

/** Keeps the log from being emptied, again and again. */
async function hold(): Promise<void> {
  const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 512, busyMs: 1000 });
  while (left > 0) {
    connection.beginRead();
    await pause(Math.random() * 150);
    connection.rollback();
    await pause(5);
  }
  connection.close();
}

const adders = role === 'server' ? 32 : 1;
await Promise.all([...Array.from({ length: adders }, add), read(), refuse(), restless && hold()]);
note({ ending: process.pid });
if (ending === 'close') await database.close();
if (ending !== 'leave') process.exit(0);
