import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import {
  admin,
  type OrderStore,
  openOrderStore,
  owner,
  placer,
  START,
  stranger,
} from '../../../test/support/order-store.ts';
import { testClock } from '../../lib/clock.ts';
import { etagOf } from '../../lib/etag.ts';
import { COMMIT_MARGIN_MS } from '../../lib/storage/deadlines.ts';
import { operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import type { OrderStatus } from '../../model/order.ts';
import type { PetStatus } from '../../model/pet.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import type { PetEventData } from '../pets/change.ts';
import { expireReservations } from '../pets/expiry.ts';
import { deletePet, updatePet } from '../pets/pets.ts';
import type { OrderEventData } from './events.ts';
import { orderOf } from './rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from './steps.ts';

const TOO_LATE = 'Order 2 expires at 2026-11-28T12:00:00.000Z, too soon to change it.';

type Step = 'approve' | 'deliver' | 'cancel' | 'takeBack';

onEachEngine(engine => {
  describe('the steps of an order', () => {
    it('approve, deliver and return it, and change its animal', async () => {
      const store = await openOrderStore(engine);
      const { database, clock } = store;
      await store.place(1, { note: 'Please' });
      const lives: [OrderStatus, PetStatus][] = [['placed', await store.petStatus(1)]];
      const note = async (status: OrderStatus) => {
        lives.push([status, await store.petStatus(1)]);
        await store.assertSound();
      };
      clock.advance(1000);
      await note((await database.write(tx => approveOrder(tx, owner, 1, { note: 'Fetch\nher' }))).status);
      clock.advance(1000);
      await note((await database.write(tx => deliverOrder(tx, admin, 1, {}))).status);
      clock.advance(1000);
      const last = await database.write(tx => returnOrder(tx, operator, 1, { note: 'Allergy', ready: false }));
      await note(last.status);
      assert.deepEqual(lives, [
        ['placed', 'pending'],
        ['approved', 'pending'],
        ['delivered', 'sold'],
        ['returned', 'pending'],
      ]);
      assert.deepEqual(last, await store.order(1));
      assert.deepEqual(orderOf(last, owner), {
        id: 1,
        petId: 1,
        quantity: 1,
        status: 'returned',
        complete: true,
        note: 'Please',
        accountId: placer.accountId,
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:03.000Z',
        approval: { at: '2026-11-21T12:00:01.000Z', accountId: owner.accountId, note: 'Fetch\nher' },
        delivery: { at: '2026-11-21T12:00:02.000Z', accountId: admin.accountId },
        return: { at: '2026-11-21T12:00:03.000Z', note: 'Allergy' },
      });
      assert.equal(etagOf(last), '"1.5"');

      const said = await eventsOf<OrderEventData>(database, 'order', 1);
      assert.deepEqual(
        said.map(({ action, accountId, at, data }) => [action, accountId, at - START, data.order.status, data.was]),
        [
          ['placed', 2, 0, 'placed', undefined],
          ['approved', 1, 1000, 'approved', { status: 'placed', expiresAt: '2026-11-28T12:00:00.000Z' }],
          ['delivered', 4, 2000, 'delivered', { status: 'approved' }],
          ['returned', null, 3000, 'returned', { status: 'delivered' }],
        ],
      );
      const changes = await eventsOf<PetEventData>(database, 'pet', 1);
      assert.deepEqual(
        changes.slice(1).map(({ data }) => [data.reason, data.orderId, data.pet.status]),
        [
          ['order_placed', 1, 'pending'],
          ['order_delivered', 1, 'sold'],
          ['order_returned', 1, 'pending'],
        ],
      );
    });

    it('cancel it for its placer, the owner or an admin, until it is delivered', async () => {
      const store = await openOrderStore(engine);
      for (const [by, approved] of [
        [placer, false],
        [placer, true],
        [owner, false],
        [owner, true],
        [admin, true],
        [operator, false],
      ] as const) {
        const { id } = await store.place(1);
        if (approved) await store.approve(id);
        const { status, expiresAt, steps } = await store.cancel(id, by);
        assert.deepEqual(
          [status, expiresAt, Object.keys(steps)],
          ['cancelled', null, approved ? ['approval', 'cancellation'] : ['cancellation']],
        );
        assert.equal(await store.petStatus(1), 'available');
        await store.assertSound();
      }
    });

    it('fail from any other status, naming the steps that can follow', async () => {
      const states: Record<string, { ids: (store: OrderStore) => Promise<number>; allowed: Step[]; says: string }> = {
        placed: {
          ids: async store => (await store.place(1)).id,
          allowed: ['approve', 'cancel'],
          says: 'is placed; it can be approved or cancelled now.',
        },
        approved: {
          ids: async store => (await store.approve((await store.place(1)).id)).id,
          allowed: ['deliver', 'cancel'],
          says: 'is approved; it can be delivered or cancelled now.',
        },
        delivered: {
          async ids(store) {
            const { id } = await store.place(1);
            await store.approve(id);
            return (await store.deliver(id)).id;
          },
          allowed: ['takeBack'],
          says: 'is delivered; it can be returned now.',
        },
        returned: {
          async ids(store) {
            const { id } = await store.place(1);
            await store.approve(id);
            await store.deliver(id);
            return (await store.takeBack(id)).id;
          },
          allowed: [],
          says: 'is returned; no step can follow.',
        },
        cancelled: {
          ids: async store => (await store.cancel((await store.place(1)).id)).id,
          allowed: [],
          says: 'is cancelled; no step can follow.',
        },
        expired: {
          async ids(store) {
            const { id } = await store.place(1);
            store.clock.advance(APPROVAL_PERIOD_MS);
            return id;
          },
          allowed: [],
          says: 'expired at 2026-11-28T12:00:00.000Z; no step can follow.',
        },
      };
      const store = await openOrderStore(engine);
      for (const [state, { ids, allowed, says }] of Object.entries(states)) {
        const id = await ids(store);
        for (const step of ['approve', 'deliver', 'cancel', 'takeBack'] as const) {
          if (allowed.includes(step)) continue;
          const before = await store.order(id);
          await assert.rejects(
            step === 'takeBack' ? store.takeBack(id) : store[step](id),
            { code: 'invalid_order_transition', status: 409, message: `Order ${id} ${says}` },
            `${step} of one that is ${state}`,
          );
          assert.deepEqual(await store.order(id), before);
        }
        await store.assertSound();
        if (allowed.includes('cancel')) await store.cancel(id);
        else if (allowed.includes('takeBack')) await store.takeBack(id);
      }
    });

    it('are hidden from strangers; the placer can only cancel', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      for (const step of ['approve', 'deliver', 'cancel'] as const) {
        await assert.rejects(store[step](id, stranger), { code: 'order_not_found', status: 404 });
      }
      await assert.rejects(store.takeBack(id, {}, stranger), { code: 'order_not_found' });
      await assert.rejects(store.approve(99), { code: 'order_not_found' });
      // An unauthorized caller learns nothing about the status.
      for (const step of ['approve', 'deliver'] as const) {
        await assert.rejects(store[step](id, placer), { code: 'not_owner', status: 403 });
      }
      await assert.rejects(store.takeBack(id, {}, placer), { code: 'not_owner' });
      assert.equal((await store.order(id)).version, 1);
    });

    it('let an owner approve an order of an own animal', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1, { by: owner });
      await store.approve(id, owner);
      assert.equal((await store.deliver(id, owner)).status, 'delivered');
    });

    it('evaluate the precondition', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      const seen: string[] = [];
      const refusal = new Error('another version');
      await assert.rejects(
        store.database.write(tx =>
          approveOrder(tx, owner, id, {}, etag => {
            seen.push(etag);
            throw refusal;
          }),
        ),
        refusal,
      );
      await store.approve(id);
      await store.database.write(tx => cancelOrder(tx, owner, id, {}, etag => void seen.push(etag)));
      assert.deepEqual(seen, ['"1.1"', '"1.3"']);
      await assert.rejects(
        // The precondition is checked before the status.
        store.database.write(tx =>
          cancelOrder(tx, owner, id, {}, () => {
            throw refusal;
          }),
        ),
        refusal,
      );
    });

    it('approve it only if readers see that before its expiry', async () => {
      const store = await openOrderStore(engine);
      await store.place(1);
      await store.place(2);
      const last = engine.name === 'sqlite' ? 1 : COMMIT_MARGIN_MS + 1;
      store.clock.advance(APPROVAL_PERIOD_MS - last);
      assert.equal((await store.approve(1)).status, 'approved');
      store.clock.advance(last - 1);
      if (last > 1) await assert.rejects(store.approve(2), { code: 'invalid_order_transition', message: TOO_LATE });
      assert.equal((await store.order(2)).status, 'placed');
      store.clock.advance(1);
      await assert.rejects(store.approve(2), { code: 'invalid_order_transition' });
      await assert.rejects(store.cancel(2), { code: 'invalid_order_transition' });
      assert.deepEqual([await store.petStatus(1), await store.petStatus(2)], ['pending', 'available']);
      // An approved order no longer expires.
      store.clock.advance(100 * APPROVAL_PERIOD_MS);
      assert.equal((await store.order(1)).status, 'approved');
      assert.equal(await store.petStatus(1), 'pending');
      await store.deliver(1);
      await store.assertSound();
    });
  });

  describe('an order that has expired for another process', () => {
    it('has expired for a process with a slower clock, too', async () => {
      const location = await engine.newLocation();
      const store = await openOrderStore(engine, 2, { location });
      const behind = await engine.open({ location, clock: testClock(START + 1), role: 'cli' });
      await store.place(1);
      await store.place(2);
      store.clock.advance(APPROVAL_PERIOD_MS);
      await store.place(1, { by: stranger });
      await expireReservations(store.database, store.now());
      for (const id of [1, 2]) {
        for (const step of [approveOrder, cancelOrder]) {
          await assert.rejects(
            behind.write(tx => step(tx, owner, id, {})),
            {
              code: 'invalid_order_transition',
              message: `Order ${id} expired at 2026-11-28T12:00:00.000Z; no step can follow.`,
            },
          );
        }
      }
      assert.equal(await store.petStatus(1), 'pending');
      await store.assertSound();
    });
  });

  describe('returnOrder', () => {
    const delivered = async (store: OrderStore, petId = 1) => {
      const { id } = await store.place(petId);
      await store.approve(id);
      await store.deliver(id);
      return id;
    };

    it('makes the animal available, or pending unless it is ready', async () => {
      const store = await openOrderStore(engine);
      const one = await delivered(store);
      await store.takeBack(one);
      assert.equal(await store.petStatus(1), 'available');
      const other = await delivered(store);
      await store.takeBack(other, { ready: false });
      assert.equal(await store.petStatus(1), 'pending');
      await assert.rejects(store.place(1), { code: 'invalid_status_transition' });
      await store.database.write(tx => updatePet(tx, owner, 1, { status: 'available' }, 'open'));
      await store.place(1);
      await store.assertSound();
    });

    it('does not change an animal that was sold again', async () => {
      const store = await openOrderStore(engine);
      const first = await delivered(store);
      await store.database.write(tx => updatePet(tx, owner, 1, { status: 'available' }, 'open'));
      const second = await delivered(store);
      assert.equal((await store.takeBack(first)).status, 'returned');
      assert.equal(await store.petStatus(1), 'sold');
      await store.takeBack(second);
      assert.equal(await store.petStatus(1), 'available');
      await store.assertSound();
    });

    it('does not change an animal that is no longer sold or has another owner', async () => {
      const store = await openOrderStore(engine);
      const set = (petId: number, status: PetStatus) =>
        store.database.write(tx => updatePet(tx, owner, petId, { status }, 'open'));
      const orders = [await delivered(store, 1), await delivered(store, 2), await delivered(store, 3)];
      await set(1, 'pending');
      await set(2, 'available');
      await store.place(2);
      await set(3, 'available');
      await store.hold([3], stranger);
      for (const id of orders) assert.equal((await store.takeBack(id)).status, 'returned');
      assert.deepEqual(
        [await store.petStatus(1), await store.petStatus(2), await store.petStatus(3)],
        ['pending', 'pending', 'pending'],
      );
      await store.assertSound();
    });

    it('works if the animal was deleted', async () => {
      const store = await openOrderStore(engine);
      const id = await delivered(store);
      await store.database.write(tx => deletePet(tx, owner, 1));
      const before = await store.order(id, placer);
      assert.equal(before.status, 'delivered');
      const after = await store.takeBack(id);
      assert.deepEqual([after.status, after.version], ['returned', 5]);
      await assert.rejects(store.petStatus(1), { code: 'pet_not_found' });
      await assert.rejects(store.place(1), { code: 'pet_not_found' });
      await store.assertSound();
    });

    it('is possible only because a reserved animal cannot be deleted', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      await assert.rejects(
        store.database.write(tx => deletePet(tx, owner, 1)),
        { code: 'pet_reserved' },
      );
      await store.approve(id);
      await assert.rejects(
        store.database.write(tx => deletePet(tx, owner, 1)),
        { code: 'pet_reserved' },
      );
      // An expired order reserves nothing.
      await store.place(2);
      store.clock.advance(APPROVAL_PERIOD_MS);
      await store.database.write(tx => deletePet(tx, owner, 2));
      assert.equal((await store.order(2)).status, 'expired');
      await assert.rejects(store.cancel(2), { code: 'invalid_order_transition' });
      await store.assertSound();
    });
  });

  describe('concurrent steps', () => {
    const outcome = (step: Promise<unknown>): Promise<string> =>
      step.then(
        () => 'done',
        error => error.code ?? `${error}`,
      );

    it('run one after the other: approved then cancelled, or only cancelled', async () => {
      const store = await openOrderStore(engine, 30);
      for (let petId = 1; petId <= 30; petId++) {
        const { id } = await store.place(petId);
        const [approved, cancelled] = await Promise.all(
          petId % 2
            ? [outcome(store.approve(id)), outcome(store.cancel(id))]
            : [outcome(store.cancel(id)), outcome(store.approve(id))].reverse(),
        );
        assert.equal(cancelled, 'done');
        assert.match(approved!, /^(done|invalid_order_transition)$/);
        const said = (await eventsOf<OrderEventData>(store.database, 'order', id)).map(
          ({ action, data }) => `${data.was?.status ?? ''}→${action}`,
        );
        const path = approved === 'done' ? ['placed→approved', 'approved→cancelled'] : ['placed→cancelled'];
        assert.deepEqual(said, ['→placed', ...path]);
      }
      await store.assertSound();
    });

    it('succeed once', async () => {
      const store = await openOrderStore(engine);
      const { id } = await store.place(1);
      const many = async (step: () => Promise<unknown>) => {
        const results = await Promise.all(Array.from({ length: 12 }, () => outcome(step())));
        assert.equal(results.filter(result => result === 'done').length, 1, results.join());
        assert.equal(results.filter(result => result === 'invalid_order_transition').length, 11);
      };
      await many(() => store.approve(id));
      await many(() => store.deliver(id));
      await many(() => store.takeBack(id));
      assert.equal((await store.order(id)).version, 5);
      await store.assertSound();
    });

    it('and orders of the same animal run one after the other', async () => {
      const store = await openOrderStore(engine, 20);
      for (let petId = 1; petId <= 20; petId++) {
        const { id } = await store.place(petId);
        const [cancelled, placed] = await Promise.all([
          outcome(store.cancel(id)),
          outcome(store.place(petId, { by: stranger })),
        ]);
        assert.equal(cancelled, 'done');
        assert.match(placed!, /^(done|pet_reserved)$/);
        assert.equal(await store.petStatus(petId), placed === 'done' ? 'pending' : 'available');
      }
      await store.assertSound();
    });

    it('deliver or cancel, never both', async () => {
      const store = await openOrderStore(engine, 20);
      for (let petId = 1; petId <= 20; petId++) {
        const { id } = await store.place(petId);
        await store.approve(id);
        const results = await Promise.all([outcome(store.deliver(id)), outcome(store.cancel(id))]);
        assert.deepEqual(results.toSorted(), ['done', 'invalid_order_transition']);
        assert.equal(await store.petStatus(petId), results[0] === 'done' ? 'sold' : 'available');
      }
      await store.assertSound();
    });
  });
});
