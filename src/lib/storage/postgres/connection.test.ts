import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { onPostgres, onServer, run } from '../../../../test/support/engines.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { STATEMENTS_MAX } from '../statement-cache.ts';
import { postgresServer } from './connection.ts';
import type { Connection } from './session.ts';

const NO_DEADLINE = Number.POSITIVE_INFINITY;

onPostgres(engine => {
  describe('Connection.query', () => {
    it('keeps a bounded number of prepared statements, also in a transaction', async t => {
      const { url } = (await engine.newLocation()) as { url: string };
      const connection = await postgresServer(url).connect('petstore test', { unlimited: true });
      t.after(() => connection.release());
      await connection.query(NO_DEADLINE, 'begin');
      for (let id = 0; id < 3 * STATEMENTS_MAX; id++) await runQuery(connection, id);
      // It was evicted, so it is prepared again.
      await runQuery(connection, 0);
      await connection.query(NO_DEADLINE, 'commit');
      const { rows } = await connection.query(
        NO_DEADLINE,
        'select count(*)::int as prepared from pg_prepared_statements',
      );
      assert.ok(rows[0].prepared > STATEMENTS_MAX / 4 && rows[0].prepared <= STATEMENTS_MAX, String(rows[0].prepared));
    });

    it('ends the statement of a process that was killed, also without a timeout', async t => {
      const { url } = (await engine.newLocation()) as { url: string };
      const name = `petstore test ${randomUUID()}`;
      const process = fork(new URL('../../../../test/support/sleep-in-postgres.ts', import.meta.url), [url, name]);
      t.after(() => process.kill('SIGKILL'));
      const running = () => onServer(async connection => (await run(connection, sleeping(name))).length);
      await waitUntil(async () => (await running()) === 1);
      process.kill('SIGKILL');
      await waitUntil(async () => (await running()) === 0);
    });
  });
});

const sleeping = (name: string) =>
  `select from pg_stat_activity where application_name = '${name}' and query like 'select pg_sleep%'`;

async function runQuery(connection: Connection, id: number): Promise<void> {
  const { rows } = await connection.query(NO_DEADLINE, `select ${id} + $1::int as n`, [1], id);
  assert.deepEqual(rows, [{ n: id + 1 }]);
}
