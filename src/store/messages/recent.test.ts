import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import type { MessageStatus } from '../../model/message.ts';
import { type Params, query, sql } from '../../model/schema.ts';
import { countRecentMessages } from './recent.ts';

describe('countRecentMessages', () => {
  onEachEngine(engine => {
    it('counts the messages to the account since a time, up to a maximum', async () => {
      const database = await engine.open();
      for (const [accountId, arrivedAt] of [
        ...[[1, 100] as const, [1, 200] as const, [1, 300] as const, [1, null] as const],
        ...[[2, 300] as const],
      ]) {
        await database.write(tx =>
          tx.run(insertMessage, { accountId, arrivedAt, status: arrivedAt === null ? 'queued' : 'delivered' }),
        );
      }
      assert.equal(await countRecentMessages(database, 1, 200, 10), 2);
      assert.equal(await countRecentMessages(database, 1, 0, 2), 2);
      assert.equal(await countRecentMessages(database, 3, 0, 10), 0);
    });
  });
});

const insertMessage = query((db, p: Params<{ accountId: number; arrivedAt: number | null; status: MessageStatus }>) =>
  db.insertInto('messages').values({
    to_account_id: p.accountId,
    text: sql.lit('x'),
    status: p.status,
    arrived_at: p.arrivedAt,
    created_at: sql.lit(0),
    updated_at: sql.lit(0),
  }),
);
