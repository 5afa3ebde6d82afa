import assert from 'node:assert/strict';
import { after } from 'node:test';
import { activateTested } from '../../src/events/deliveries/activate-webhook.ts';
import { insertDeliveries } from '../../src/events/deliveries/insert-deliveries.ts';
import { sendTest, storeTest } from '../../src/events/deliveries/test-delivery.ts';
import { createWebhook, getWebhook } from '../../src/events/webhooks/webhooks.ts';
import { testClock } from '../../src/lib/clock.ts';
import { openOutgoingClient } from '../../src/lib/http/client/client.ts';
import { Problem } from '../../src/lib/http/problem.ts';
import { factNamed } from '../../src/model/facts.ts';
import type { Actor } from '../../src/model/log/event.ts';
import { assignPositions } from '../../src/model/log/ordering.ts';
import { query } from '../../src/model/schema.ts';
import type { NewWebhook } from '../../src/model/webhook.ts';
import type { DeleteExpired } from '../../src/operate/retention.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { encryptor, owner, START } from './delivery-store.ts';
import type { Engine } from './engines.ts';
import { startReceiver } from './receiver.ts';

export const stranger = { accountId: 2, admin: false };
export const admin = { accountId: 3, admin: true };
export const URL = 'https://receiver.example/petstore';
export const rules = { max: 10, networks: ['127.0.0.0/8'] };

/** Receivers and clients to close after the tests. */
const opened: { close(): Promise<void> }[] = [];
after(() => Promise.all(opened.splice(0).map(one => one.close())));

export type WebhookStore = Awaited<ReturnType<typeof openWebhookStore>>;

/** Opens a database, a receiver that accepts everything, and a clock that stands still. */
export async function openWebhookStore(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  const receiver = await startReceiver();
  const outgoing = openOutgoingClient(rules);
  opened.push(outgoing, receiver);
  const make = (actor: Actor & { accountId: number } = owner, newWebhook: NewWebhook = { url: receiver.url }) =>
    database.write(tx => createWebhook(tx, actor, newWebhook, rules, encryptor));
  return {
    clock,
    database,
    make,
    /** Activates a webhook after a test delivery to the receiver, whatever the URL of the webhook. */
    async activate(id = 1, actor: Actor = owner) {
      const webhook = await getWebhook(database, actor, id);
      const result = await sendTest(database, { outgoing, encryptor }, { id, url: receiver.url }, clock.now());
      await database.write(tx => storeTest(tx, id, result));
      assert.equal('status' in result.outcome && result.outcome.status, 204);
      await assignPositions(database);
      return database.write(tx => activateTested(tx, actor, webhook));
    },
    /** Creates a pet; returns its id. */
    async pet(): Promise<number> {
      const { id } = await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      await assignPositions(database);
      return id;
    },
    /** Inserts pending deliveries. */
    async addPending(count: number) {
      const events = Array.from({ length: count }, (_, index) => ({
        position: index + 1,
        type: 'pet.created',
        orderingKey: `pet ${index}`,
        causeId: 1,
      }));
      assert.ok(await database.write(tx => insertDeliveries(tx, 1, events)));
    },
    /** Deletes up to 40 rows; returns how many. */
    deleteRows: (deleteRows: DeleteExpired) => database.write(tx => deleteRows(tx, 40)),
    webhook: () => database.first(webhookRow, {}),
    dispatched: async () => Number((await database.first(factNamed, { name: 'dispatched' }))!.value),
  };
}

/** Returns the problem that rejects the promise, and asserts its code. */
export async function rejection(work: Promise<unknown>, code: string): Promise<Problem> {
  const error = await work.then(
    () => assert.fail(`not rejected with ${code}`),
    thrown => thrown as Problem,
  );
  assert.ok(error instanceof Problem, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

const webhookRow = query(db =>
  db.selectFrom('webhooks').select(['behind_place', 'due_at', 'pending']).where('id', '=', 1),
);
