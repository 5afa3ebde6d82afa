import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { DAY_MS } from '../../lib/time.ts';
import { operator } from '../../model/log/event.ts';
import { refusalOf } from '../../model/refusal.ts';
import type { Database } from '../../model/schema.ts';
import { RefusalCounter } from './refusal-counter.ts';
import { deleteOldRefusals, listRefusals } from './refusals.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');

onEachEngine(engine => {
  describe('refused requests', () => {
    it('are counted per key, day and code, with the last of each', async () => {
      const { database, clock, counter } = await open();
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: 'a' });
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.2', requestId: 'b' });
      counter.count(key(1), { code: 'insufficient_scope', address: '192.0.2.1', requestId: 'c' });
      counter.count(key(2), { code: 'not_owner', address: '192.0.2.1', requestId: 'd' });
      await counter.write();
      clock.advance(1000);
      counter.count(key(1), { code: 'not_owner', address: '2001:db8::1', requestId: 'e' });
      await counter.write();
      clock.advance(DAY_MS);
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: 'f' });
      await counter.close();

      const { rows } = await listRefusals(database, { accountId: 1, admin: false }, {}, { limit: 10 });
      assert.deepEqual(
        rows
          .map(refusalOf)
          .map(({ keyId, day, code, requests, lastRequestId }) => [...[keyId, day, code, requests, lastRequestId]]),
        [
          ['key1', '2026-11-22', 'not_owner', 1, 'f'],
          ['key1', '2026-11-21', 'insufficient_scope', 1, 'c'],
          ['key1', '2026-11-21', 'not_owner', 3, 'e'],
        ],
      );
      const last = refusalOf(rows.at(-1)!);
      assert.deepEqual([last.lastAt, last.lastAddress], ['2026-11-21T12:00:01.000Z', '2001:db8::1']);
      const all = await listRefusals(database, operator, { code: 'not_owner' }, { limit: 10 });
      assert.equal(all.rows.length, 3);
    });

    it('are logged once a minute per key and code, of twenty at most, and counted for a thousand', async () => {
      const { database, counter, lines } = await open();
      for (let round = 0; round < 50; round++)
        counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: `r${round}` });
      assert.deepEqual(lines, [{ keyId: 'key1', code: 'not_owner', address: '192.0.2.1', requestId: 'r0' }]);
      for (let number = 2; number < 1500; number++)
        counter.count(key(number), { code: 'not_owner', address: '192.0.2.1', requestId: 'r' });
      assert.equal(lines.length, 20);
      await counter.write();
      const { rows } = await listRefusals(database, operator, {}, { limit: 2000 });
      assert.deepEqual([rows.length, rows.at(-1)!.requests], [1000, 50]);
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: 'later' });
      assert.equal(lines.length, 21);
      await counter.close();
    });

    it('are deleted when the audit log is', async () => {
      const { database, clock, counter } = await open();
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: 'old' });
      await counter.write();
      clock.advance(DAY_MS);
      counter.count(key(1), { code: 'not_owner', address: '192.0.2.1', requestId: 'new' });
      await counter.close();
      clock.advance(364 * DAY_MS);
      assert.equal(await database.write(tx => deleteOldRefusals(tx, 365 * DAY_MS, 100)), 0);
      clock.advance(DAY_MS);
      assert.equal(await database.write(tx => deleteOldRefusals(tx, 365 * DAY_MS, 100)), 1);
      const { rows } = await listRefusals(database, operator, {}, { limit: 10 });
      assert.deepEqual(
        rows.map(({ lastRequestId }) => lastRequestId),
        ['new'],
      );
    });
  });

  async function open() {
    const clock = testClock(NOON);
    const database: Database = await engine.open({ clock });
    const lines: object[] = [];
    const warn = (line: object) => void lines.push(line);
    const log = { info() {}, warn, error: assert.fail } as unknown as Log;
    return { database, clock, lines, counter: new RefusalCounter({ database, clock, log }) };
  }
});

const key = (number: number) => ({ keyId: `key${number}`, accountId: number });
