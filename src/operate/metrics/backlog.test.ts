import assert from 'node:assert/strict';
import { it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { type Params, query } from '../../model/schema.ts';
import { readBacklog } from './backlog.ts';

onEachEngine(engine => {
  it('counts what is pending, and finds the oldest of each queue', async () => {
    const database = await engine.open();
    const empty = { pending: 0, oldestAt: null };
    assert.deepEqual(await readBacklog(database), {
      deliveries: empty,
      message_emails: empty,
      account_emails: empty,
      visitor_emails: empty,
      reply_emails: empty,
      notice_emails: empty,
    });
    await database.write(async tx => {
      const active = { id: 1, status: 'active', disabled_reason: null, failing_since: null, due_at: 500, pending: 2 };
      await tx.run(insertWebhook, active);
      await tx.run(insertWebhook, { ...active, id: 2, failing_since: 5, due_at: 900, pending: 1 });
      await tx.run(insertWebhook, { ...active, id: 3, status: 'disabled', disabled_reason: 'gone', pending: 4 });
      for (const [webhookId, status, createdAt] of [
        [1, 'delivered', 20],
        [1, 'pending', 50],
        [1, 'pending', 60],
        [2, 'pending', 40],
        [3, 'pending', 10],
      ] as const) {
        await tx.run(insertDelivery, { webhookId, status, createdAt });
      }
      // The row that is due first is not the oldest.
      for (const [createdAt, dueAt] of [
        [70, 99],
        [80, 90],
        [60, null],
      ] as const) {
        await tx.run(insertMessage, { createdAt, dueAt });
      }
      await tx.run(insertAccountEmail, { createdAt: 30 });
    });
    assert.deepEqual(await readBacklog(database), {
      deliveries: { pending: 3, oldestAt: 40 },
      message_emails: { pending: 2, oldestAt: 70 },
      account_emails: { pending: 1, oldestAt: 30 },
      visitor_emails: empty,
      reply_emails: empty,
      notice_emails: empty,
    });
  });
});

type Webhook = Record<'id' | 'pending' | 'due_at', number> & { status: string; failing_since: number | null };

const insertWebhook = query((db, p: Params<Webhook & { disabled_reason: string | null }>) =>
  db.insertInto('webhooks').values({
    ...{ url: 'https://example.org', account_id: 1, scopes: '*', created_at: 0, updated_at: 0 },
    ...{ id: p.id, status: p.status, disabled_reason: p.disabled_reason, failing_since: p.failing_since },
    ...{ pending: p.pending, due_at: p.due_at },
  } as never),
);

const insertDelivery = query((db, p: Params<{ webhookId: number; status: string; createdAt: number }>) =>
  db.insertInto('deliveries').values({
    ...{ webhook_id: p.webhookId, place: 1, type: 'pet.updated', lane: 'pet 1', status: p.status },
    ...{ created_at: p.createdAt, updated_at: 0 },
  } as never),
);

const insertMessage = query((db, p: Params<{ createdAt: number; dueAt: number | null }>) =>
  db.insertInto('messages').values({
    ...{ text: 'Hello', status: 'queued', due_at: p.dueAt, created_at: p.createdAt, updated_at: 0 },
  } as never),
);

const insertAccountEmail = query((db, p: Params<{ createdAt: number }>) =>
  db.insertInto('account_emails').values({
    ...{ kind: 'reset', email: 'a@example.org', url: 'https://example.org' },
    ...{ created_at: p.createdAt, due_at: p.createdAt, failures: p.createdAt },
  } as never),
);
