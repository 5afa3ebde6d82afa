import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { formatTime } from '../../src/lib/time.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { type Database, type EventKind, query, type Transaction } from '../../src/model/schema.ts';
import { createCategory, updateCategory } from '../../src/store/categories/categories.ts';
import { deleteCategory } from '../../src/store/categories/deletion.ts';
import { mergeCategory } from '../../src/store/category-merge/merge.ts';
import { createHold, extendHold, releaseHold } from '../../src/store/holds/holds.ts';
import { placeOrder } from '../../src/store/orders/orders.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from '../../src/store/orders/steps.ts';
import { createPet, deletePet, getPet, replacePet, updatePet } from '../../src/store/pets/pets.ts';
import { onEachEngine, onPostgres } from '../support/engines.ts';
import { openBlocker } from '../support/lock-waits.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const WAITED_MS = 269;
const MINUTE = 60_000;
const admin = { accountId: 1, admin: true };

const ofAnimals = 'select id from pets for update';
const ofTheTree = `select pg_advisory_xact_lock(hashtext('petstore categories'), 0)`;
const ofCategory = 'select id from categories where id = 3 for update';

/** What waits for a lock, what it does to which thing, and what was there before it. */
const changes: readonly {
  readonly name: string;
  readonly lock: string;
  readonly before?: (tx: Transaction) => Promise<unknown>;
  readonly make: (tx: Transaction) => Promise<unknown>;
  readonly on: readonly [EventKind, number];
}[] = [
  { name: 'a change of an animal', lock: ofAnimals, make: rename, on: ['pet', 1] },
  {
    name: 'the replacement of an animal',
    lock: ofAnimals,
    make: tx => replacePet(tx, admin, 1, { name: 'Rex', categoryId: 2 }, 'open'),
    on: ['pet', 1],
  },
  { name: 'the end of an animal', lock: ofAnimals, make: tx => deletePet(tx, admin, 1), on: ['pet', 1] },
  {
    name: 'an animal that comes into a category',
    lock: ofCategory,
    make: tx => createPet(tx, 1, { name: 'Rex', categoryId: 3 }, 'open'),
    on: ['pet', 2],
  },
  { name: 'a hold', lock: ofAnimals, make: hold, on: ['hold', 1] },
  {
    name: 'an extension',
    lock: ofAnimals,
    before: hold,
    make: tx => extendHold(tx, admin, 1, { expiresAt: formatTime(START + 60 * MINUTE) }),
    on: ['hold', 1],
  },
  { name: 'a release', lock: ofAnimals, before: hold, make: tx => releaseHold(tx, admin, 1), on: ['hold', 1] },
  {
    name: 'an order from a hold',
    lock: 'select id from holds for update',
    before: hold,
    make: tx => placeOrder(tx, admin, { petId: 1, holdId: 1 }),
    on: ['order', 1],
  },
  { name: 'an order', lock: ofAnimals, make: order, on: ['order', 1] },
  { name: 'an approval', lock: ofAnimals, before: order, make: tx => approveOrder(tx, admin, 1, {}), on: ['order', 1] },
  {
    name: 'a cancellation',
    lock: 'select id from orders for update',
    before: order,
    make: tx => cancelOrder(tx, admin, 1, {}),
    on: ['order', 1],
  },
  {
    name: 'a delivery',
    lock: ofAnimals,
    before: approved,
    make: tx => deliverOrder(tx, admin, 1, {}),
    on: ['order', 1],
  },
  {
    name: 'a return',
    lock: ofAnimals,
    before: async tx => {
      await approved(tx);
      await deliverOrder(tx, admin, 1, {});
    },
    make: tx => returnOrder(tx, admin, 1, {}),
    on: ['order', 1],
  },
  {
    name: 'a change of a category',
    lock: ofTheTree,
    make: tx => updateCategory(tx, admin, 3, { name: 'Hares' }),
    on: ['category', 3],
  },
  { name: 'the end of a category', lock: ofCategory, make: tx => deleteCategory(tx, admin, 3), on: ['category', 3] },
  {
    name: 'a merger',
    lock: ofAnimals,
    make: tx => mergeCategory(tx, admin, { id: 2, intoId: 3 }),
    on: ['pet', 1],
  },
];

onPostgres(engine => {
  describe('a change that waited for a lock', () => {
    for (const { name, lock, before, make, on } of changes) {
      it(`is dated when it got the lock: ${name}`, async t => {
        const clock = testClock(START);
        const location = await engine.newLocation();
        const database = await engine.open({ location, clock });
        await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
        if (before !== undefined) await database.write(before);
        const blocker = await openBlocker(location);
        t.after(() => blocker.close());
        await blocker.lock(lock);
        const making = database.write(make);
        await blocker.untilLockWait();
        clock.advance(WAITED_MS);
        await blocker.release();
        await making;
        assert.equal(await lastAt(database, ...on), START + WAITED_MS);
        const [changed] = await database.all(times, {});
        if (on[0] === 'pet' && changed !== undefined) assert.equal(changed.updatedAt, START + WAITED_MS);
      });
    }

    it('a hold without an expiry lasts 15 minutes from then, and one that would have expired is rejected', async t => {
      const clock = testClock(START);
      const location = await engine.newLocation();
      const database = await engine.open({ location, clock });
      await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      const blocker = await openBlocker(location);
      t.after(() => blocker.close());

      await blocker.lock(ofAnimals);
      const tooShort = database.write(tx =>
        createHold(tx, admin, { petIds: [1], expiresAt: formatTime(START + 1000) }, 100),
      );
      const refused = assert.rejects(tooShort, { code: 'invalid_body', message: /Must be a time from/ });
      await blocker.untilLockWait();
      clock.advance(2000);
      await blocker.release();
      await refused;

      await blocker.lock(ofAnimals);
      const usual = database.write(hold);
      await blocker.untilLockWait();
      clock.advance(WAITED_MS);
      await blocker.release();
      const { createdAt, expiresAt } = await usual;
      assert.deepEqual([createdAt, expiresAt], [clock.now(), clock.now() + 15 * MINUTE]);
    });
  });
});

onEachEngine(engine => {
  it('never dates a change before the last change of the resource, even if the clock is behind', async () => {
    const location = await engine.newLocation();
    const ahead = testClock(START + 700);
    const database = await engine.open({ location, clock: ahead });
    const behind = await engine.open({ location, clock: testClock(START), role: 'cli' });
    await database.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
    await behind.write(rename);
    assert.equal((await getPet(database, 1, START)).updatedAt, START + 700);

    ahead.advance(10);
    await database.write(order);
    await behind.write(tx => approveOrder(tx, admin, 1, {}));
    assert.equal(await lastAt(database, 'order', 1), START + 710);
    await behind.write(tx => cancelOrder(tx, admin, 1, {}));
    ahead.advance(10);
    await database.write(hold);
    await behind.write(tx => releaseHold(tx, admin, 1));
    assert.equal(await lastAt(database, 'hold', 1), START + 720);

    const { id } = await database.write(tx => createCategory(tx, admin, { name: 'Hares' }));
    await behind.write(tx => updateCategory(tx, admin, id, { name: 'Rabbits and hares' }));
    assert.equal(await lastAt(database, 'category', id), START + 720);
  });
});

function rename(tx: Transaction) {
  return updatePet(tx, admin, 1, { name: 'Moritz' }, 'open');
}

function hold(tx: Transaction) {
  return createHold(tx, admin, { petIds: [1] }, 100);
}

function order(tx: Transaction) {
  return placeOrder(tx, admin, { petId: 1 });
}

async function approved(tx: Transaction) {
  await order(tx);
  await approveOrder(tx, admin, 1, {});
}

/** When the last thing happened to something. */
async function lastAt(database: Database, kind: EventKind, id: number): Promise<number> {
  const events = await eventsOf(database, kind, id);
  return events.at(-1)!.at;
}

const times = query(db => db.selectFrom('pets').select('updated_at as updatedAt').orderBy('id', 'desc').limit(1));
