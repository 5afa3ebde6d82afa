import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { onServer, run } from '../support/engines.ts';
import { overPostgres, type ServedEngine } from '../support/engines-over-http.ts';
import { long, skipFor } from '../support/selection.ts';
import { newProcessKey, type Process, type Reply, send, spawnService } from '../support/serving.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';

const skip = skipFor(withoutValkeyServer);

/** The number of pets, and of callers that order each of them. */
const PETS = long ? 1000 : 120;
const CALLERS = 4;

/** Two nodes on one database, with a key per caller; the first caller owns the pets. */
interface Nodes {
  readonly nodes: readonly [Process, Process];
  readonly keys: readonly string[];
  readonly databaseUrl: string;
}

describe('orders on two nodes', { skip }, () => {
  overPostgres(engine => {
    it('accept one of 64 concurrent orders of a pet', async t => {
      const { nodes, keys } = await startNodes(t, engine);
      const [petId] = await addPets(nodes[0], keys[0]!, 1);
      const replies = await Promise.all(
        Array.from({ length: 64 }, (_, index) => order(nodes[index % 2]!, keys[index % CALLERS]!, petId!)),
      );
      assert.deepEqual(outcomes(replies), { 201: 1, '409 pet_reserved': 63 });
      assert.deepEqual(await inventory(nodes[1], keys[0]!), { available: 0, pending: 1, sold: 0 });
    });

    it(`accept one order for each of ${PETS} pets from ${CALLERS} callers`, async t => {
      const { nodes, keys, databaseUrl } = await startNodes(t, engine);
      const pets = await addPets(nodes[0], keys[0]!, PETS);
      const winners = new Map<number, number[]>();
      await forEachConcurrently(
        pets.flatMap(petId => keys.map((key, caller) => ({ petId, key, caller }))),
        64,
        async ({ petId, key, caller }) => {
          // The node that each caller uses changes from pet to pet.
          let reply = await order(nodes[(petId + caller) % 2]!, key, petId);
          // A busy machine refuses some, and changes nothing.
          while (reply.body.code === 'overloaded') reply = await order(nodes[(petId + caller) % 2]!, key, petId);
          if (reply.status === 201) winners.set(petId, [...(winners.get(petId) ?? []), reply.body.id]);
          else assert.equal(reply.body.code, 'pet_reserved', reply.text);
        },
      );
      assert.deepEqual([...winners.keys()].toSorted(byNumber), pets);
      for (const [petId, ids] of winners) assert.equal(ids.length, 1, `pet ${petId} has two winners`);
      assert.deepEqual(await inventory(nodes[1], keys[0]!), { available: 0, pending: PETS, sold: 0 });
      await assertOrders(databaseUrl, new Map([...winners].map(([petId, [id]]) => [petId, id!])));
    });

    it('lose and duplicate nothing if one node is killed and callers retry on the other', async t => {
      const { nodes, keys, databaseUrl } = await startNodes(t, engine);
      const pets = await addPets(nodes[0], keys[0]!, PETS);
      const tries = pets.flatMap(petId => keys.map((key, caller) => ({ petId, key, caller })));
      const acknowledged = new Map<number, { id: number; key: string; text: string }>();
      let answered = 0;
      let again = 0;
      let killed: Promise<unknown> | undefined;
      await forEachConcurrently(tries, 64, async ({ petId, key, caller }) => {
        const headers = { 'Idempotency-Key': `pet-${petId}` };
        for (let attempt = 0; ; attempt++) {
          const node = killed === undefined && attempt === 0 ? nodes[(petId + caller) % 2]! : nodes[1];
          const reply = await order(node, key, petId, headers).catch((error: Error) => error);
          if (reply instanceof Error || reply.status === 503 || reply.body.code === 'idempotency_key_in_use') {
            again++;
            assert.ok(attempt < 100, `${reply instanceof Error ? reply.message : reply.text}`);
            await pause(20);
            continue;
          }
          if (reply.status === 201) {
            assert.ok(!acknowledged.has(petId), `pet ${petId} was reserved twice`);
            acknowledged.set(petId, { id: reply.body.id, key, text: reply.text });
          } else assert.equal(reply.body.code, 'pet_reserved', reply.text);
          break;
        }
        if (++answered === Math.floor(tries.length / 3)) killed = nodes[0].stop('SIGKILL');
      });
      assert.deepEqual(await killed, { code: null, signal: 'SIGKILL' });
      assert.deepEqual([...acknowledged.keys()].toSorted(byNumber), pets);
      await assertOrders(databaseUrl, new Map([...acknowledged].map(([petId, { id }]) => [petId, id])));
      assert.deepEqual(await inventory(nodes[1], keys[0]!), { available: 0, pending: PETS, sold: 0 });

      // Every acknowledged order exists unchanged, and each key has one order.
      await forEachConcurrently([...acknowledged], 16, async ([petId, { id, key, text }]) => {
        const { production } = nodes[1].urls;
        assert.equal((await send(`${production}/store/orders/${id}`, { key })).text, text);
        const replay = await order(nodes[1], key, petId, { 'Idempotency-Key': `pet-${petId}` });
        assert.deepEqual([replay.status, replay.text, replay.headers['idempotency-replayed']], [201, text, 'true']);
      });
      t.diagnostic(`${again} requests were sent again`);
    });
  });
});

async function startNodes(t: TestContext, engine: ServedEngine): Promise<Nodes> {
  const valkey = await ValkeyServer.start();
  t.after(() => valkey.kill());
  const settings = await engine.settings();
  const environment = { PETSTORE_STAGING_PORT: '', PETSTORE_VALKEY_URL: valkey.url, ...settings };
  const start = async () => {
    const node = await spawnService({ environment });
    t.after(async () => {
      await node.stop();
      await node.remove();
    });
    return node;
  };
  const nodes = await Promise.all([start(), start()]);
  const keys: string[] = [];
  for (let caller = 0; caller < CALLERS; caller++) keys.push(await newProcessKey(nodes[0]));
  return { nodes, keys, databaseUrl: settings['PETSTORE_DATABASE_URL']! };
}

async function addPets(node: Process, key: string, count: number): Promise<number[]> {
  const ids: number[] = [];
  await forEachConcurrently(Array.from({ length: count }), 32, async () => {
    const body = { name: 'Minka', categoryId: 2 };
    const reply = await send(`${node.urls.production}/pets`, { method: 'POST', key, body, agent });
    assert.equal(reply.status, 201, reply.text);
    ids.push(reply.body.id);
  });
  return ids.toSorted(byNumber);
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function order(node: Process, key: string, petId: number, headers: Record<string, string> = {}): Promise<Reply> {
  return send(`${node.urls.production}/store/orders`, { method: 'POST', key, headers, body: { petId }, agent });
}

async function inventory(node: Process, key: string) {
  return (await send(`${node.urls.production}/store/inventory`, { key })).body;
}

/** Counts the responses by outcome. */
function outcomes(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const what = status < 300 ? `${status}` : `${status} ${body.code}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

/** Asserts that exactly these orders exist, one per pet, and that each reserves its pet. */
async function assertOrders(databaseUrl: string, expected: ReadonlyMap<number, number>): Promise<void> {
  await onServer(async connection => {
    const orders = await run(connection, 'select id, pet_id from orders order by id');
    assert.deepEqual(new Map(orders.map(({ id, pet_id }) => [pet_id, id])), new Map([...expected].toSorted(byOrder)));
    assert.equal(orders.length, expected.size);
    const kept = await run(connection, 'select order_id, pet_id from reservations where active = 1 order by order_id');
    assert.deepEqual(
      kept.map(({ order_id, pet_id }) => [order_id, pet_id]),
      orders.map(({ id, pet_id }) => [id, pet_id]),
    );
    const events = await run(connection, `select subject_id from events where kind = 'order' order by subject_id`);
    assert.deepEqual(
      events.map(event => event.subject_id),
      orders.map(({ id }) => id),
    );
  }, databaseUrl);
}

/** Runs `work` for each item, `atOnce` of them at a time. */
async function forEachConcurrently<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<void>) {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const byNumber = (one: number, other: number) => one - other;
const byOrder = ([, one]: [number, number], [, other]: [number, number]) => one - other;
