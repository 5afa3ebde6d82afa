/**
 * A database served by a process of its own, which a test can injure: takes calls as lines of JSON, answers with lines.
 *
 * Usage: node served.ts FILE [TIMEOUT_SCALE]. It ends with 1 a moment after a flush has failed.
 */
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { addRow, migrations, raiseTotal, total } from './rows.ts';

const tell = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);

const database = await openSqlite({
  file: process.argv[2]!,
  migrations,
  clock: systemClock(),
  role: 'server',
  log: { info() {}, warn() {}, error() {} },
  onFailed() {
    tell({ failed: true });
    setTimeout(() => process.exit(1), 200);
  },
  checkpointBytes: 256 * 1024,
  timeoutScale: Number(process.argv[3] ?? 1),
});

const calls: Record<string, (argument: string) => unknown> = {
  add: name =>
    database.write(async tx => {
      await tx.run(raiseTotal, {});
      return (await tx.first(addRow, { name }))!.id;
    }),
  total: () => (database.first(total, {}) as { total: number }).total,
  health: () => database.health(),
  close: () => database.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { number, call, argument } = JSON.parse(line);
  Promise.resolve()
    .then(() => calls[call]!(argument))
    .then(
      value => tell({ number, value }),
      error => tell({ number, reason: error.reason ?? String(error) }),
    );
}
