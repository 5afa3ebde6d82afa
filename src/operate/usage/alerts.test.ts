import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import type { Caller } from '../../lib/http/route.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { DAY_MS } from '../../lib/time.ts';
import { PORTAL_FACT, storeFact } from '../../model/facts.ts';
import { eventsOf } from '../../model/log/log.ts';
import { query } from '../../model/schema.ts';
import { deleteOldAlerts, UsageAlerts } from './alerts.ts';
import { UsageRecorder } from './recorder.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');

onEachEngine(engine => {
  describe('UsageAlerts', () => {
    it('alert an account once for each deployment, day and threshold, over several nodes', async () => {
      const { database, clock, nodes, sent } = await open();
      for (const percent of [80, 81, 99, 100, 100, 80])
        for (const node of nodes) node.note(caller, percent, clock.now());
      nodes[1]!.note({ ...caller, deployment: 'staging' }, 85, clock.now());
      await Promise.all(nodes.map(node => node.write()));
      const today = [
        ['production', 100],
        ['production', 80],
        ['staging', 80],
      ];
      assert.deepEqual(await sent(), today);
      clock.advance(DAY_MS);
      for (const node of nodes) node.note(caller, 80, clock.now());
      for (const node of nodes) await node.write();
      assert.deepEqual((await sent()).length, 4);
      assert.equal(await database.write(tx => deleteOldAlerts(tx, 100)), 0);
      clock.advance(DAY_MS);
      assert.equal(await database.write(tx => deleteOldAlerts(tx, 100)), 3);
    });

    it('send the owner a message that says what happens next', async () => {
      const { database, clock, nodes } = await open();
      nodes[0]!.note(caller, 80, clock.now());
      nodes[0]!.note(caller, 100, clock.now());
      await nodes[0]!.write();
      const messages = await database.all(everyMessage, {});
      assert.deepEqual(
        messages.map(({ to_account_id }) => to_account_id),
        [1, 1],
      );
      assert.match(messages[0]!.text, /used 80 % of its 1,000 requests to production/);
      assert.match(messages[1]!.text, /used all of its 1,000 requests to production.*\n\n.*status 429/);
      assert.match(messages[1]!.text, /keys sent them: the page "Usage" of your account$/);
    });

    it('link to the usage of the deployment that they are about', async () => {
      const { database, clock, nodes } = await open();
      await database.write(tx => tx.run(storeFact, { name: PORTAL_FACT, value: 'https://pets.example.org' }));
      nodes[0]!.note({ ...caller, deployment: 'staging' }, 80, clock.now());
      await nodes[0]!.write();
      const [message] = await database.all(everyMessage, {});
      assert.match(message!.text, /keys sent them: https:\/\/pets\.example\.org\/usage\?deployment=staging$/);
    });

    it('leave out a threshold that another node was late with', async () => {
      const { database, clock, nodes, sent } = await open();
      nodes[0]!.note(caller, 100, clock.now());
      nodes[1]!.note(caller, 80, clock.now());
      for (const node of nodes) await node.write();
      assert.deepEqual(await sent(), [['production', 100]]);
      assert.equal((await database.all(everyMessage, {})).length, 1);
    });

    it('skip an account that was deleted meanwhile', async () => {
      const { clock, nodes, sent } = await open();
      nodes[0]!.note({ ...caller, accountId: 99 }, 80, clock.now());
      nodes[0]!.note(caller, 80, clock.now());
      await nodes[0]!.write();
      assert.deepEqual(await sent(), [['production', 80]]);
    });

    it('stay pending while storage is away, and are written with the usage', async () => {
      const { database, clock, sent } = await open();
      const recorder = new UsageRecorder({ database, clock, log: silent });
      recorder.alerts.note(caller, 100, clock.now());
      const { write } = database;
      database.write = () => Promise.reject(new StorageError('unavailable', 'away'));
      await assert.rejects(recorder.write(), StorageError);
      database.write = write;
      await recorder.close();
      assert.deepEqual(await sent(), [['production', 100]]);
    });
  });

  async function open() {
    const clock = testClock(NOON);
    const database = await engine.open({ clock });
    await database.write(tx => createAccount(tx, { email: 'ann@example.org', name: 'Ann' }));
    const nodes = [new UsageAlerts(database), new UsageAlerts(database), new UsageAlerts(database)];
    return {
      ...{ clock, database, nodes },
      async sent() {
        const events = await eventsOf<{ account: { deployment: string; threshold: number } }>(database, 'account', 1);
        return events
          .filter(({ action }) => action === 'usage_alert')
          .map(({ data: { account } }) => [account.deployment, account.threshold] as const)
          .sort();
      },
    };
  }
});

const everyMessage = query(db => db.selectFrom('messages').selectAll().orderBy('id'));
const caller: Caller = {
  ...{ keyId: 'a', accountId: 1, deployment: 'production', admin: false, plan: 'free' },
  scopes: new Set(),
};
