import assert from 'node:assert/strict';
import { it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import type { Actor } from '../../src/model/log/event.ts';
import { type Database, type Params, query, type Reader } from '../../src/model/schema.ts';
import { createHold, releaseHold } from '../../src/store/holds/holds.ts';
import { placeOrder } from '../../src/store/orders/orders.ts';
import { cancelOrder } from '../../src/store/orders/steps.ts';
import { countByStatus } from '../../src/store/pets/counts.ts';
import { expireReservations } from '../../src/store/pets/expiry.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { onEachEngine } from '../support/engines.ts';
import { long } from '../support/selection.ts';
import { openNodes } from './nodes.ts';

const START_MS = 1_795_000_000_000;
const MINUTE_MS = 60_000;
const BUYERS = 50;
const ROUNDS = long ? 3000 : 100;
/** The time limit of all rounds together. */
const ROUNDS_MS = long ? 300_000 : 4_000;

onEachEngine(engine => {
  it('reserves a pet for one of fifty concurrent holds and orders on two nodes', async t => {
    const clock = testClock(START_MS);
    const nodes = await openNodes(engine, [clock, clock]);
    const [database] = nodes as [Database];
    const owner: Actor = { accountId: 1, admin: false };
    const add = (name: string) => database.write(tx => createPet(tx, 1, { name, categoryId: 2 }, 'open'));
    const { id: petId } = await add('Minka');
    // Holds include other pets, in any order, to provoke deadlocks.
    const others = [(await add('Moritz')).id, (await add('Rex')).id];
    const since = performance.now();
    let rounds = 0;
    for (; rounds < ROUNDS && performance.now() - since < ROUNDS_MS; rounds++) {
      const won = await Promise.all(Array.from({ length: BUYERS }, (_, number) => buy(number + rounds)));
      const winners = won.filter(one => one !== undefined);
      assert.equal(winners.length, 1, `winners of round ${rounds}`);
      const { holdId, orderId } = winners[0]!;
      const { inForce } = (await database.first(claimsInForce, { petId }))!;
      assert.equal(inForce, 1);
      // The pet becomes available for the next round, in one of several ways.
      if (holdId !== undefined && rounds % 2 === 0) clock.advance(15 * MINUTE_MS);
      else if (holdId !== undefined) await database.write(tx => releaseHold(tx, owner, holdId));
      else await database.write(tx => cancelOrder(tx, owner, orderId!, {}));
    }
    t.diagnostic(`${rounds} rounds`);

    async function buy(number: number): Promise<{ holdId?: number; orderId?: number } | undefined> {
      const actor = { accountId: 10 + number, admin: false };
      const node = nodes[number % (engine.name === 'sqlite' ? 10 : 2) === 1 ? 1 : 0]!;
      try {
        if (number % 3 > 0) return { orderId: (await node.write(tx => placeOrder(tx, actor, { petId }))).id };
        const petIds = number % 2 === 0 ? [petId] : [others[number % 4 === 1 ? 0 : 1]!, petId];
        return { holdId: (await node.write(tx => createHold(tx, actor, { petIds }, 10))).id };
      } catch (error) {
        assert.equal((error as { code?: unknown }).code, 'pet_reserved', String(error));
        return undefined;
      }
    }
  });

  it('counts every pet once, even one that becomes available during the count', async () => {
    const clock = testClock(START_MS);
    const [database] = await openNodes(engine, [clock]);
    const pet = await database!.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
    await database!.write(tx => createHold(tx, { accountId: 2, admin: false }, { petIds: [pet.id] }, 10));
    clock.advance(15 * MINUTE_MS);
    const now = clock.now();
    const interrupted: Reader = {
      engine: engine.name,
      async all(query, params) {
        const rows = await database!.all(query, params);
        await expireReservations(database!, now);
        return rows;
      },
      async first(query, params) {
        return (await this.all(query, params))[0];
      },
    };
    assert.deepEqual(await countByStatus(interrupted, now), { available: 1, pending: 0, sold: 0 });
    assert.deepEqual(await countByStatus(interrupted, now), { available: 1, pending: 0, sold: 0 });
  });
});

const claimsInForce = query((db, p: Params<{ petId: number }>) =>
  db
    .selectFrom('reservations')
    .select(eb => eb.fn.countAll<number>().as('inForce'))
    .where('pet_id', '=', p.petId)
    .where('active', '=', 1),
);
