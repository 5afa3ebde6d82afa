import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buyer,
  deliveriesOf,
  finish,
  owner,
  webhookById,
  withDeliveryStore,
} from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { long } from '../../../test/support/selection.ts';
import { factNamed, storeFact } from '../../model/facts.ts';
import type { NewEvent } from '../../model/log/event.ts';
import { recordEvents } from '../../model/log/log.ts';
import { assignPositions, eventsAfter, lastPosition } from '../../model/log/ordering.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import { type Database, type EventKind, type Params, query, selectJsonNumbers } from '../../model/schema.ts';
import { scheduleEventDeletion } from '../../operate/deletion/events.ts';
import { placeOrder } from '../../store/orders/orders.ts';
import { activeSubscriptions } from '../webhooks/subscriptions.ts';
import { deactivateWebhook } from '../webhooks/webhooks.ts';
import { activateTested } from './activate-webhook.ts';
import { DISPATCHED_AHEAD, dispatchAhead, EVENTS_PER_TURN } from './dispatch-ahead.ts';
import { dispatch } from './dispatch-job.ts';
import { FULL_ABOVE } from './waiting-events.ts';

const SEEDS = long ? 100 : 3;
const ROUNDS = 12;
const PETS = 20;
/** Pets with ids from here on have one event each. */
const UNSHARED_ID = 1_000_000;

type Store = Parameters<Parameters<typeof withDeliveryStore>[1]>[0];
interface Recorded {
  readonly kind: EventKind;
  readonly action: string;
  readonly subjectId: number;
  readonly petId?: number;
}

/** Records events of an account about pets of account 1 and their orders. */
async function record(database: Database, accountId: number, events: readonly Recorded[]) {
  const newEvents = events.map(({ petId, ...event }) => {
    const resource = event.kind === 'order' ? { petId } : { name: 'Minka', categoryId: 2 };
    return { ...event, accountId, data: { [event.kind]: resource, ownerId: 1 } } as NewEvent;
  });
  await database.write(tx => recordEvents(tx, newEvents));
  await assignPositions(database);
}

const updates = (count: number, idAt: (index: number) => number): Recorded[] =>
  Array.from({ length: count }, (_, index) => ({ kind: 'pet', action: 'updated', subjectId: idAt(index) }));

const pet = (id: number) => () => id;
/** More events than an account may have dispatched ahead, and more than one batch. */
const manyUpdates = updates(600, index => UNSHARED_ID + index);

async function recordAndDispatch(...args: Parameters<typeof record>) {
  await record(...args);
  await dispatchAll(args[0]);
}

/** Adds pending deliveries to the count without inserting rows, so that a webhook is full without 10,000 rows. */
const occupy = query((db, p: Params<{ id: number; count: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({ pending: eb('pending', '+', p.count) }))
    .where('id', '=', p.id),
);
const deleteEvent = query((db, p: Params<{ position: number }>, engine) =>
  db.deleteFrom('events').where(engine === 'postgres' ? 'seq' : 'id', '=', p.position as never),
);
const deleteReservations = query((db, p: Params<{ orderId: number }>) =>
  db.deleteFrom('reservations').where('order_id', '=', p.orderId),
);
const hideAhead = query(db => db.updateTable('deliveries').set({ ahead: null }).where('ahead', '=', 1).returning('id'));
const showAhead = query((db, p: Params<{ ids: string }>, engine) =>
  db.updateTable('deliveries').set({ ahead: 1 }).where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

/** Returns a function that returns random numbers below `count`; the same numbers for the same seed. */
function randomFrom(seed: number): (count: number) => number {
  let state = seed;
  return count => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

async function dispatchAll(database: Database) {
  while ((await dispatch(database, database)) > 0);
}

/** Dispatches as a release without events dispatched ahead does: it creates none, and omits none. */
async function dispatchInOrder(database: Database) {
  const [considered, ids] = await database.write(async tx => {
    const { value } = (await tx.first(factNamed, { name: DISPATCHED_AHEAD }))!;
    await tx.run(storeFact, { name: DISPATCHED_AHEAD, value: String(Number.MAX_SAFE_INTEGER) });
    return [value, await tx.all(hideAhead, {})];
  });
  await dispatch(database, database);
  await database.write(async tx => {
    await tx.run(storeFact, { name: DISPATCHED_AHEAD, value: considered });
    await tx.run(showAhead, { ids: JSON.stringify(ids.map(({ id }) => id)) });
  });
}

onEachEngine(engine => {
  const open = (work: (store: Store) => Promise<void>) => withDeliveryStore(engine, work);

  /** Opens a database with a full webhook. */
  const openFull = (
    work: (store: { id: number; database: Database; places(): Promise<number[]> }) => Promise<void>,
    filter: Parameters<Store['webhook']>[0] = {},
  ) =>
    open(async ({ webhook, database }) => {
      const { id } = await webhook(filter);
      await database.write(tx => tx.run(occupy, { id, count: FULL_ABOVE + 1 }));
      const places = async () => (await database.all(deliveriesOf, { id })).map(({ place }) => place!);
      await work({ id, database, places });
    });

  describe('Events ahead', () => {
    it('wait for all earlier events of their pet, even if many of those are ahead', () =>
      openFull(async ({ id, database, places }) => {
        await recordAndDispatch(database, 1, manyUpdates);
        const after = await lastPosition(database);
        await recordAndDispatch(database, 2, updates(EVENTS_PER_TURN, pet(7)));
        await recordAndDispatch(database, 2, updates(50, pet(7)));
        await recordAndDispatch(database, 3, updates(1, pet(7)));
        const ahead = Array.from({ length: EVENTS_PER_TURN }, (_, index) => after + 1 + index);
        assert.deepEqual(await places(), ahead, 'account 2 has had its turn');
        await finish(database, id, EVENTS_PER_TURN);
        await recordAndDispatch(database, 3, [...updates(1, pet(7)), ...updates(1, pet(8))]);
        assert.deepEqual(await places(), [...ahead, await lastPosition(database)]);
      }));

    it('follow any number of those of their pet that are ahead', () =>
      openFull(async ({ id, database, places }) => {
        await recordAndDispatch(database, 1, manyUpdates);
        for (let round = 0; round < 3; round++) {
          await recordAndDispatch(database, 2, updates(EVENTS_PER_TURN, pet(7)));
          await finish(database, id, EVENTS_PER_TURN);
        }
        await recordAndDispatch(database, 3, updates(1, pet(7)));
        assert.equal((await places()).at(-1), await lastPosition(database));
      }));

    it('wait for an earlier event that precedes many that the webhook does not receive', () =>
      openFull(
        async ({ database, places }) => {
          const [update] = updates(1, pet(7)) as [Recorded];
          const creation = { ...update, action: 'created' };
          await recordAndDispatch(database, 1, [creation, ...updates(20, pet(7)), ...manyUpdates]);
          await recordAndDispatch(database, 2, [creation]);
          assert.deepEqual(await places(), []);
        },
        { types: ['pet.created'] },
      ));

    it('do not take those of another pet with them', () =>
      openFull(async ({ database, places }) => {
        const order = { kind: 'order', action: 'approved', subjectId: 1, petId: 8 } as const;
        await recordAndDispatch(database, 1, [...updates(1, pet(8)), order, ...manyUpdates]);
        await database.write(tx => scheduleEventDeletion(tx, 'order', [order.subjectId]));
        await recordAndDispatch(database, 2, updates(1, pet(7)));
        assert.deepEqual(await places(), [await lastPosition(database)]);
      }));

    it('wait for earlier ones that began to wait after the webhook was read', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const read = await activeSubscriptions(database, database);
        await database.write(tx => tx.run(occupy, { id, count: FULL_ABOVE + 1 }));
        await recordAndDispatch(database, 1, [...updates(1, pet(7)), ...manyUpdates]);
        const from = await lastPosition(database);
        await record(database, 2, updates(1, pet(7)));
        await dispatchAhead(database, read, { from, end: from + 1 });
        assert.deepEqual(await database.all(deliveriesOf, { id }), []);
      }));

    it('are repeated by an older release, which does not omit them', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        await record(database, 1, [...manyUpdates, ...manyUpdates]);
        await record(database, 2, updates(1, pet(7)));
        const end = await lastPosition(database);
        await dispatch(database, database);
        for (let call = 0; call < 3; call++) await dispatchInOrder(database);
        const places = (await database.all(deliveriesOf, { id })).map(({ place }) => place!);
        assert.equal(places.length, 2 * manyUpdates.length + 2);
        assert.equal(places.filter(place => place === end).length, 2);
      }));

    for (const { title, mixed } of [
      { title: 'keep the order of each pet, and are created once', mixed: false },
      { title: 'keep the order of each pet, but may be repeated, while an older release dispatches too', mixed: true },
    ]) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        it(`${title} (seed ${seed})`, () => open(store => dispatchRandomly(store, randomFrom(seed), mixed)));
      }
    }
  });
});

async function dispatchRandomly({ webhook, database, pet }: Store, below: (count: number) => number, mixed: boolean) {
  const subjects: Recorded[] = [];
  for (let added = 0; added < PETS; added++) {
    const petId = await pet();
    const { id: orderId } = await database.write(tx => placeOrder(tx, buyer, { petId }));
    subjects.push({ kind: 'pet', action: 'updated', subjectId: petId });
    subjects.push({ kind: 'order', action: 'approved', subjectId: orderId, petId });
  }
  const webhooks = [
    { ...(await webhook({ types: ['pet.*', 'order.*'] })), receives: () => true },
    { ...(await webhook({ types: ['pet.created'] })), receives: (action: string) => action === 'created' },
  ];
  const [first] = webhooks as [(typeof webhooks)[0]];
  const start = await lastPosition(database);
  /** The ranges of the log during which the first webhook was active. */
  const activeRanges = [{ after: start, upTo: Number.MAX_SAFE_INTEGER }];
  let occupied = 0;
  const setOccupied = async (count: number) => {
    for (const { id } of webhooks) await database.write(tx => tx.run(occupy, { id, count: count - occupied }));
    occupied = count;
  };
  const about = (): Recorded => {
    const subject = subjects[below(subjects.length)]!;
    return subject.kind === 'pet' && below(15) === 0 ? { ...subject, action: 'created' } : subject;
  };

  for (let round = 0; round < ROUNDS; round++) {
    // Dispatch all earlier events, so that this round counts only the events that it records.
    await dispatchAll(database);
    const before = await lastPosition(database);
    const isFull = below(4) > 0;
    if (isFull) for (const { id } of webhooks) await finish(database, id, PENDING_MAX);
    await setOccupied(isFull ? FULL_ABOVE + 1 : 0);
    const counts = new Map<number, number>();
    for (let burst = below(4); burst >= 0; burst--) {
      const accountId = 1 + below(4);
      const many = below(4) === 0;
      const one = below(4) === 0 ? about() : undefined;
      const count = many ? EVENTS_PER_TURN + 1 + below(300) : 1 + below(one === undefined ? 60 : EVENTS_PER_TURN);
      const events = Array.from({ length: count }, (_, index) =>
        many && below(40) > 0 ? updates(1, () => UNSHARED_ID + round * 10_000 + index)[0]! : (one ?? about()),
      );
      await record(database, accountId, events);
      counts.set(accountId, count + (counts.get(accountId) ?? 0));
      const nodes = Array.from({ length: below(3) }, () => dispatch(database, database));
      await Promise.all(nodes);
      if (mixed && below(2) === 0) await dispatchInOrder(database);
      // The last event of the log is never deleted.
      const deletable = (await lastPosition(database)) - before - 1;
      if (deletable > 0 && below(3) === 0) {
        await database.write(tx => tx.run(deleteEvent, { position: before + 1 + below(deletable) }));
      }
    }
    await dispatchAll(database);
    if (isFull && !mixed) await assertFair(before, counts);
    if (below(5) === 0) await reactivate();
    if (below(3) === 0) await deleteOrder();
  }
  await setOccupied(0);
  for (;;) {
    await dispatchAll(database);
    const rows = await Promise.all(webhooks.map(({ id }) => database.first(webhookById, { id })));
    if (rows.every(row => row!.pending === 0 && row!.waits_up_to === null)) break;
    for (const { id } of webhooks) await finish(database, id, PENDING_MAX);
  }

  for (const { id, receives } of webhooks) {
    const ranges =
      id === first.id
        ? activeRanges
        : activeRanges.slice(0, 1).map(({ after }) => ({ after, upTo: Number.MAX_SAFE_INTEGER }));
    const places = (await database.all(deliveriesOf, { id })).map(({ place, lane }) => ({ place: place!, lane }));
    const seen = new Set<number>();
    const once = places.filter(({ place }) => !seen.has(place) && seen.add(place));
    if (!mixed) assert.equal(once.length, places.length, 'one delivery per event');
    for (const { after, upTo } of ranges) {
      const inRange = once.filter(({ place }) => place > after && place <= upTo);
      for (const [lane, rows] of Map.groupBy(inRange, row => row.lane)) {
        const ofLane = rows.map(({ place }) => place);
        assert.deepEqual(
          ofLane,
          ofLane.toSorted((one, other) => one - other),
          `${lane} of webhook ${id}`,
        );
      }
      const logged = await eventsAfter(database, after, upTo, Number.MAX_SAFE_INTEGER, ['pet.*', 'order.*']);
      const expected = logged.filter(({ action }) => receives(action)).map(({ position }) => position);
      const created = new Set(inRange.map(({ place }) => place));
      assert.deepEqual(
        expected.filter(position => !created.has(position)),
        [],
        `missing deliveries to webhook ${id}`,
      );
    }
  }

  /**
   * Asserts that events of accounts with few events in this round were dispatched, unless earlier events of the same
   * pets were not.
   */
  async function assertFair(before: number, counts: ReadonlyMap<number, number>) {
    const { behind_place: behind } = (await database.first(webhookById, { id: first.id }))!;
    const created = new Set((await database.all(deliveriesOf, { id: first.id })).map(({ place }) => place!));
    const end = await lastPosition(database);
    const waiting = new Set<number>();
    for (const { kind, subjectId, position, data, accountId } of await eventsAfter(database, behind, end, end)) {
      if (kind !== 'pet' && kind !== 'order') continue;
      const { petId } = ((data as Record<string, unknown>)[kind] ?? {}) as { petId?: number };
      const key = petId ?? subjectId;
      const few = position > before && (counts.get(accountId!) ?? 0) <= EVENTS_PER_TURN;
      if (created.has(position)) assert.ok(!waiting.has(key), `${position} is ahead of an earlier one`);
      else if (few) assert.ok(waiting.has(key), `${position} of account ${accountId} waits`);
      if (!created.has(position)) waiting.add(key);
    }
  }

  /** Deletes an order, as the deletion of an account of the sandbox does; its events follow later. */
  async function deleteOrder() {
    const index = subjects.findIndex(({ kind }) => kind === 'order');
    const [{ subjectId: orderId }] = subjects.splice(index, 1) as [Recorded];
    await database.write(async tx => {
      await tx.run(deleteReservations, { orderId });
      await scheduleEventDeletion(tx, 'order', [orderId]);
    });
  }

  /** Deactivates the first webhook, and activates it again. */
  async function reactivate() {
    const inactive = await database.write(tx => deactivateWebhook(tx, owner, first.id));
    activeRanges.at(-1)!.upTo = await lastPosition(database);
    await record(database, 2, Array.from({ length: 10 }, about));
    await database.write(tx => activateTested(tx, owner, inactive));
    const { behind_place: after } = (await database.first(webhookById, { id: first.id }))!;
    activeRanges.push({ after, upTo: Number.MAX_SAFE_INTEGER });
  }
}
