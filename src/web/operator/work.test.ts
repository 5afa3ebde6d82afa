import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { createAccount, requestDeletion } from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/time.ts';
import { type Params, query, selectJsonNumbers, sql } from '../../model/schema.ts';
import { nextDueTimes } from '../../operate/jobs.ts';
import { COUNTED_MAX } from '../../operate/metrics/backlog.ts';
import { createHold } from '../../store/holds/holds.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import { createPet } from '../../store/pets/pets.ts';
import { countWaiting, listNodes, newestIds, tableSizes } from './work.ts';
import { jobRows } from './work-page.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');
const caller = { accountId: 1, admin: false };

onEachEngine(engine => {
  async function open() {
    const database = await engine.open({ clock: testClock(NOON) });
    await database.write(tx => createAccount(tx, { email: 'a@example.org', name: 'A' }));
    return database;
  }

  describe('countWaiting', () => {
    it('counts messages, deletions and webhooks', async () => {
      const database = await open();
      for (let n = 0; n < 3; n++) await database.write(tx => sendMessage(tx, caller, { message: 'Hello' }));
      await database.write(tx => requestDeletion(tx, 1, 1000));
      const webhooks = [
        { status: 'active', failing_since: null, pending: 3 },
        { status: 'active', failing_since: 5, pending: 4, due_at: 6 },
        { status: 'disabled', disabled_reason: 'gone', failing_since: null, pending: 5 },
      ] as const;
      for (const webhook of webhooks)
        await database.write(tx => tx.run(insertWebhook, { due_at: null, disabled_reason: null, ...webhook }));
      assert.deepEqual(await countWaiting(database), {
        ...{ failingWebhooks: 1, disabledWebhooks: 1, inbox: 3, photos: 0, deletions: 1 },
      });
    });

    it('counts up to a bound', async () => {
      const database = await open();
      await database.write(async tx => {
        await tx.run(insertMessages, { ids: JSON.stringify(Array.from({ length: COUNTED_MAX + 5 }, (_, n) => n + 1)) });
      });
      assert.equal((await countWaiting(database)).inbox, COUNTED_MAX + 1);
    });
  });

  describe('nextDueTimes', () => {
    it('returns when the oldest job of each type is due', async () => {
      const database = await open();
      assert.equal((await nextDueTimes(database)).holds, null);
      await database.write(async tx => {
        for (const minutes of [9, 5, 7]) {
          const { id } = await createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open');
          const expiresAt = formatTime(NOON + minutes * 60_000);
          await createHold(tx, { accountId: 2, admin: false }, { petIds: [id], expiresAt }, 10);
        }
      });
      const times = await nextDueTimes(database);
      assert.equal(times.holds, NOON + 5 * 60_000);
      assert.equal(times.deliveries, null);
    });
  });

  describe('jobRows', () => {
    it('finds the jobs that are due for more than a minute late', async () => {
      const times = await nextDueTimes(await open());
      const due = { ...times, deliveries: NOON - 60_001, imports: NOON - 60_000, holds: NOON + 1, events: 0 };
      const rows = jobRows(due, NOON, false);
      const states = Object.fromEntries(
        rows.map(({ label, state }) => [label, /<span[^>]*>(.*)<\/span>/.exec(state.text)?.[1]]),
      );
      assert.deepEqual(
        rows.filter(({ isLate }) => isLate).map(({ label }) => label),
        ['Delivery to webhooks'],
      );
      assert.equal(states['Imports of animals'], 'Due');
      assert.equal(states['End of holds'], 'Scheduled');
      assert.equal(states['Dispatch of events to webhooks'], 'Due');
      assert.equal(states['E-mail about accounts'], undefined);
    });
  });

  describe('the sizes of tables', () => {
    it('are the newest ids, and on PostgreSQL bytes', async () => {
      const database = await open();
      await database.write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      const ids = Object.fromEntries((await newestIds(database)).map(({ name, newestId }) => [name, newestId]));
      assert.deepEqual([ids['pets'], ids['orders'], ids['accounts']], [1, null, 1]);
      assert.deepEqual(await listNodes(database), []);
      if (engine.name !== 'postgres') return;
      const sizes = await tableSizes(database);
      const pets = sizes.find(({ name }) => name === 'pets');
      assert.ok(pets !== undefined && pets.bytes >= 8192 && Number.isInteger(pets.rows), JSON.stringify(pets));
    });
  });
});

interface TestWebhook {
  readonly status: 'active' | 'disabled';
  readonly disabled_reason: 'gone' | null;
  readonly failing_since: number | null;
  readonly pending: number;
  readonly due_at: number | null;
}

const insertMessages = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .insertInto('messages')
    .columns(['id', 'text', 'status', 'created_at', 'updated_at'] as never)
    .expression(sql`select value, 'x', 'queued', value, 0 from ${selectJsonNumbers(p.ids, engine)} as ids`),
);

const insertWebhook = query((db, p: Params<TestWebhook>) =>
  db.insertInto('webhooks').values({
    ...{ url: 'https://example.org', account_id: 1, scopes: '*', created_at: 0, updated_at: 0 },
    ...{ status: p.status, disabled_reason: p.disabled_reason, failing_since: p.failing_since },
    ...{ pending: p.pending, due_at: p.due_at },
  } as never),
);
