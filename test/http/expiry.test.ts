import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { nowOf } from '../../src/access/deployment.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { etagOf } from '../../src/lib/etag.ts';
import { COMMIT_MARGIN_MS } from '../../src/lib/storage/deadlines.ts';
import { formatTime } from '../../src/lib/time.ts';
import { APPROVAL_PERIOD_MS } from '../../src/model/rules.ts';
import type { Database, Transaction } from '../../src/model/schema.ts';
import { createHold, extendHold, getHold, releaseHold } from '../../src/store/holds/holds.ts';
import { getOrder, placeOrder } from '../../src/store/orders/orders.ts';
import { approveOrder, cancelOrder } from '../../src/store/orders/steps.ts';
import { expireReservations } from '../../src/store/pets/expiry.ts';
import { listPets } from '../../src/store/pets/list.ts';
import { createPet, getPet, updatePet } from '../../src/store/pets/pets.ts';
import { type Engine, onEachEngine, onPostgres, type TestLocation } from '../support/engines.ts';
import { openBlocker } from '../support/lock-waits.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;
const owner = { accountId: 1, admin: false };
const holder = { accountId: 2, admin: false };

/** A change of hold or order 1 of animal 1, and the error code once it has expired. */
interface Change {
  readonly kind: 'hold' | 'order';
  readonly late: string;
  readonly lasts: boolean;
  make(tx: Transaction, now: number): Promise<unknown>;
}

const changes: Readonly<Record<string, Change>> = {
  'an extension': {
    kind: 'hold',
    late: 'hold_ended',
    lasts: true,
    make: (tx, now) => extendHold(tx, holder, 1, { expiresAt: formatTime(now + 20 * MINUTE) }),
  },
  'an order from a hold': {
    kind: 'hold',
    late: 'hold_ended',
    lasts: true,
    make: tx => placeOrder(tx, holder, { petId: 1, holdId: 1 }),
  },
  'a release': { kind: 'hold', late: 'hold_ended', lasts: false, make: tx => releaseHold(tx, holder, 1) },
  'an approval': {
    kind: 'order',
    late: 'invalid_order_transition',
    lasts: true,
    make: tx => approveOrder(tx, owner, 1, {}),
  },
  'a cancellation': {
    kind: 'order',
    late: 'invalid_order_transition',
    lasts: false,
    make: tx => cancelOrder(tx, holder, 1, {}),
  },
};

onEachEngine(engine => {
  // SQLite has one process; on PostgreSQL, other nodes must see the change in time.
  const last = engine.name === 'sqlite' ? 1 : COMMIT_MARGIN_MS + 1;

  for (const [name, change] of Object.entries(changes)) {
    describe(`${name} right before the expiry`, () => {
      it('holds back readers until it is committed', async t => {
        const store = await open(engine, change);
        store.clock.advance(store.end - last - store.clock.now());
        const before = await look(store);
        const { writing, finish } = await committing(engine, store, tx => change.make(tx, tx.now));
        t.after(finish);
        // The expiry passes while the commit is pending.
        for (const pastMs of [0, 1, 5000]) {
          store.clock.advance(store.end + pastMs - store.clock.now());
          assert.deepEqual(await look(store), before, `${pastMs} ms after the end`);
        }
        await finish();
        await writing;
        assert.equal(nowOf(store), store.clock.now());
        const after = await look(store);
        assert.deepEqual([after.pet, after.pending], change.lasts ? ['pending', [1]] : ['available', []]);
        assert.notEqual(after.status, 'expired');
      });

      it('fails from that millisecond, even if it began before', async () => {
        const store = await open(engine, change);
        store.clock.advance(store.end - last - store.clock.now());
        const writing = store.database.write(tx => {
          store.clock.advance(last);
          return change.make(tx, tx.now);
        });
        await assert.rejects(writing, { code: change.late, status: 409 });
        const seen = await look(store);
        assert.deepEqual([seen.status, seen.pet, seen.pending], ['expired', 'available', []]);
        // A failed change does not hold back readers.
        assert.equal(nowOf(store), store.clock.now());
      });

      it('never uses the version that readers see after the expiry', async () => {
        const ranOut = await open(engine, change);
        ranOut.clock.advance(ranOut.end - ranOut.clock.now());
        const expired = await look(ranOut);

        const store = await open(engine, change);
        await store.database.write(tx => change.make(tx, tx.now));
        const given = [await look(store)];
        await store.database.write(tx => updatePet(tx, owner, 1, { name: 'Moritz' }, 'open'));
        given.push(await look(store));
        for (const { tag, petTag, pet } of given) {
          assert.notEqual(tag, expired.tag);
          // An animal that stays reserved is unchanged.
          if (pet === 'available') assert.notEqual(petTag, expired.petTag);
        }
        assert.notEqual(given[1]!.petTag, expired.petTag);
      });
    });
  }

  it('a change of a reserved animal never uses the version that readers see after the expiry', async () => {
    const store = await open(engine, changes['an extension']!);
    const expired = etagOf(await getPet(store.database, 1, store.end));
    const changed = await store.database.write(tx => updatePet(tx, owner, 1, { name: 'Moritz' }, 'open'));
    assert.notEqual(etagOf(changed), expired);
    assert.notEqual(etagOf(await getPet(store.database, 1, store.end)), expired);
  });

  it('an expiry that the job records keeps the version that readers saw', async () => {
    const store = await open(engine, changes['an extension']!);
    store.clock.advance(store.end - store.clock.now());
    const seen = await look(store);
    await expireReservations(store.database, store.clock.now());
    assert.deepEqual(await look(store), seen);
  });
});

onPostgres(engine => {
  for (const [name, change] of Object.entries(changes)) {
    describe(`${name} right before the expiry`, () => {
      it('fails if the expiry passes while it waits for a lock', async t => {
        const store = await open(engine, change);
        const blocker = await openBlocker(store.location);
        t.after(() => blocker.close());
        store.clock.advance(store.end - 1000 - store.clock.now());
        await blocker.lock('select id from pets where id = 1 for update');
        const writing = store.database.write(tx => change.make(tx, tx.now));
        const refused = assert.rejects(writing, { code: change.late, status: 409 });
        await blocker.untilLockWait();
        store.clock.advance(1000);
        const seen = await look(store);
        assert.deepEqual([seen.status, seen.pet], ['expired', 'available']);
        await blocker.release();
        await refused;
        assert.deepEqual(await look(store), seen);
      });

      it('rolls back if other nodes might see it too late', async () => {
        const store = await open(engine, change);
        store.clock.advance(store.end - COMMIT_MARGIN_MS - store.clock.now());
        const before = await look(store);
        await assert.rejects(
          store.database.write(tx => change.make(tx, tx.now)),
          { code: change.late, status: 409, message: /too soon to change it/ },
        );
        assert.deepEqual(await look(store), before);
        store.clock.advance(COMMIT_MARGIN_MS);
        assert.equal((await look(store)).status, 'expired');
      });
    });
  }
});

interface Store {
  readonly location: TestLocation;
  readonly database: Database;
  readonly clock: TestClock;
  readonly kind: Change['kind'];
  /** When the hold or the order expires. */
  readonly end: number;
}

/** Opens a store with an animal and a hold or an order of it. */
async function open(engine: Engine, { kind }: Pick<Change, 'kind'>): Promise<Store> {
  const clock = testClock(START);
  const location = await engine.newLocation();
  const database = await engine.open({ location, clock });
  await database.write(tx => createPet(tx, owner.accountId, { name: 'Minka', categoryId: 2 }, 'open'));
  if (kind === 'hold') await database.write(tx => createHold(tx, holder, { petIds: [1] }, 100));
  else await database.write(tx => placeOrder(tx, holder, { petId: 1 }));
  return { location, database, clock, kind, end: START + (kind === 'hold' ? 15 * MINUTE : APPROVAL_PERIOD_MS) };
}

/** Reads the animal and its hold or order. */
async function look(store: Store) {
  const { database, kind } = store;
  const now = nowOf(store);
  const pet = await getPet(database, 1, now);
  const { rows: pets } = await listPets(database, { status: ['pending'], sort: 'id' }, { limit: 10 }, now);
  const [status, tag] =
    kind === 'hold'
      ? await getHold(database, holder, 1, now).then(hold => [hold.status, etagOf(hold)] as const)
      : await getOrder(database, holder, 1, now).then(order => [order.status, etagOf(order)] as const);
  return { status, tag, pet: pet.status, petTag: etagOf(pet), pending: pets.map(({ id }) => id) };
}

/** Starts a write and returns while its commit is pending. */
async function committing(
  engine: Engine,
  { location, database }: Store,
  work: (tx: Transaction) => Promise<unknown>,
): Promise<{ writing: Promise<unknown>; finish(): Promise<void> }> {
  if (engine.name === 'sqlite') {
    const writing = database.write(work);
    // The write runs in this turn of the event loop; its flush ends in a later one.
    await turn();
    return { writing, async finish() {} };
  }
  const blocker = await openBlocker(location);
  await blocker.run(`create function commits_late() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(77); return null; end $$`);
  await blocker.run(`create constraint trigger commits_late after insert on events
    deferrable initially deferred for each row execute function commits_late()`);
  await blocker.lock('select pg_advisory_xact_lock(77)');
  const writing = database.write(work);
  await blocker.untilLockWait();
  let over = false;
  return {
    writing,
    async finish() {
      if (over) return;
      over = true;
      await blocker.release();
      blocker.close();
    },
  };
}
