import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { testClock } from '../../lib/clock.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { retentionJob } from '../../operate/retention.ts';
import { inboxDelivery } from './inbox-delivery.ts';
import { getMessage, sendMessage } from './messages.ts';

const DAY = 24 * 60 * 60 * 1000;
const noon = Date.parse('2026-11-21T12:00:00Z');
const bob = { accountId: 2, admin: false };

onEachEngine(engine => {
  describe('retention of messages', () => {
    it('deletes delivered messages that are old enough with their attempts, and no others', async () => {
      const { clock, database } = await setUp();
      const old = await send(database, 'Old');
      await deliver(database);
      const queued = await send(database, 'Old and queued');
      clock.advance(1);
      const young = await send(database, 'Young');
      await database.write(tx => tx.run(markDelivered, { id: young.id }));
      for (const { id } of [old, young]) await database.write(tx => tx.run(addAttempt, { id }));
      clock.advance(30 * DAY);
      assert.deepEqual(await retain(database, 30 * DAY), [1]);
      await assert.rejects(getMessage(database, bob, old.id), { code: 'message_not_found' });
      assert.equal((await getMessage(database, bob, queued.id)).message, 'Old and queued');
      assert.equal((await getMessage(database, bob, young.id)).emailAttempts.length, 1);
      assert.deepEqual(
        (await database.all(attempts, {})).map(({ messageId }) => messageId),
        [young.id],
      );
      assert.equal(await storedBytes.read(database, bob.accountId), 'Old and queuedYoung'.length);
    });

    it('deletes at most a hundred per transaction', async () => {
      const { clock, database } = await setUp();
      await database.write(async tx => {
        for (let n = 0; n < 250; n++) await sendMessage(tx, bob, { message: `${n}` });
      });
      await deliver(database);
      clock.advance(DAY + 1);
      assert.deepEqual(await retain(database, DAY), [100, 100, 50]);
      assert.equal(await storedBytes.read(database, bob.accountId), 0);
    });

    it('leaves nothing of the text, while the events of the message stay', async () => {
      const { clock, database } = await setUp();
      const { id } = await send(database, 'A secret text');
      await deliver(database);
      clock.advance(DAY + 1);
      await retain(database, DAY);
      const events = await eventsOf(database, 'message', id);
      assert.deepEqual(
        events.map(({ action }) => action),
        ['queued', 'delivered'],
      );
      assert.doesNotMatch(JSON.stringify(events), /secret/);
    });

    it('numbers the next message to the same recipient, though all earlier ones are deleted', async () => {
      const { clock, database } = await setUp();
      await send(database, 'One');
      await deliver(database);
      clock.advance(DAY + 1);
      await retain(database, DAY);
      assert.equal((await send(database, 'Two')).sequence, 1);
      assert.equal((await send(database, 'Three')).sequence, 2);
    });
  });

  async function setUp() {
    const clock = testClock(noon);
    return { clock, database: await engine.open({ clock }) };
  }

  const send = (database: Database, message: string) => database.write(tx => sendMessage(tx, bob, { message }));
});

/** Runs the retention job to its end. Returns the number of rows that each transaction deleted. */
async function retain(database: Database, messagesKeptMs: number): Promise<number[]> {
  const sizes: number[] = [];
  const job = retentionJob({ database, messagesKeptMs });
  for (;;) {
    const { rows } = await job.claim(1);
    if (rows === 0) return sizes;
    sizes.push(rows);
  }
}

/** Delivers all queued messages to the inboxes. */
async function deliver(database: Database): Promise<void> {
  const job = inboxDelivery({ database });
  while ((await job.claim(1)).rows > 0);
}

const markDelivered = query((db, p: Params<{ id: number }>) =>
  db.updateTable('messages').set({ status: 'delivered', arrived_at: noon }).where('id', '=', p.id),
);

const addAttempt = query((db, p: Params<{ id: number }>) =>
  db.insertInto('message_attempts').values({ message_id: p.id, number: 1, at: noon, outcome: 'delivered' }),
);

const attempts = query(db => db.selectFrom('message_attempts').select('message_id as messageId'));
