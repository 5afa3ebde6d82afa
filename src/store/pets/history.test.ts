import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/time.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import type { Database } from '../../model/schema.ts';
import { createHold, releaseHold } from '../holds/holds.ts';
import { expireReservations } from './expiry.ts';
import { petHistory } from './history.ts';
import { createPet, deletePet, updatePet } from './pets.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const owner: Actor = { accountId: 7, admin: false };
const holder = { accountId: 9, admin: false };
const stranger: Actor = { accountId: 8, admin: false };

onEachEngine(engine => {
  describe('petHistory', () => {
    const at = (ms: number) => formatTime(START + ms);

    /** Opens a store with an animal that has had every kind of change. */
    async function life() {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const write = database.write.bind(database) as Database['write'];
      await write(tx => createPet(tx, 3, { name: 'another', categoryId: 1 }, 'open'));
      const price = { amount: 5, currency: 'EUR' };
      const { id } = await write(tx => createPet(tx, 7, { name: 'x', categoryId: 2, price }, 'open'));
      clock.advance(1000);
      await write(tx => updatePet(tx, owner, id, { name: 'y', price: null, statusReason: 'new' }, 'open'));
      const hold = { petIds: [id], expiresAt: at(5000) };
      await write(tx => createHold(tx, holder, hold, 100));
      clock.advance(9000);
      await expireReservations(database, clock.now());
      await write(tx => createHold(tx, holder, { ...hold, expiresAt: at(50_000) }, 100));
      await write(tx => releaseHold(tx, owner, 2));
      await write(tx => updatePet(tx, operator, id, { status: 'sold' }, 'open'));
      await write(tx => deletePet(tx, { accountId: 1, admin: true }, id));
      return { database, id };
    }

    it('lists every change of a pet, oldest first, also of a deleted pet', async () => {
      const { database, id } = await life();
      const { rows: entries, next, previous } = await petHistory(database, owner, id, { limit: 100 });
      assert.deepEqual([next, previous], [undefined, undefined]);
      const ids = entries.map(entry => entry.id);
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
      assert.deepEqual(
        entries.map(({ id: _, ...entry }) => entry),
        [
          {
            at: at(0),
            type: 'created',
            changes: {
              name: { to: 'x' },
              categoryId: { to: 2 },
              status: { to: 'available' },
              price: { to: { amount: 5, currency: 'EUR' } },
            },
            accountId: 7,
          },
          {
            at: at(1000),
            type: 'updated',
            changes: {
              name: { from: 'x', to: 'y' },
              price: { from: { amount: 5, currency: 'EUR' } },
              statusReason: { to: 'new' },
            },
            accountId: 7,
          },
          {
            at: at(1000),
            type: 'updated',
            reason: 'held',
            changes: { status: { from: 'available', to: 'pending' }, statusReason: { from: 'new' } },
            accountId: 9,
            holdId: 1,
          },
          {
            at: at(5000),
            type: 'updated',
            reason: 'hold_expired',
            changes: { status: { from: 'pending', to: 'available' } },
            holdId: 1,
          },
          {
            at: at(10_000),
            type: 'updated',
            reason: 'held',
            changes: { status: { from: 'available', to: 'pending' } },
            accountId: 9,
            holdId: 2,
          },
          {
            at: at(10_000),
            type: 'updated',
            reason: 'hold_released',
            changes: { status: { from: 'pending', to: 'available' } },
            accountId: 7,
            holdId: 2,
          },
          { at: at(10_000), type: 'updated', changes: { status: { from: 'available', to: 'sold' } } },
          {
            at: at(10_000),
            type: 'deleted',
            changes: { name: { from: 'y' }, categoryId: { from: 2 }, status: { from: 'sold' } },
            accountId: 1,
          },
        ],
      );
    });

    it('shows the account and the cause to the owner, to that account and to admins', async () => {
      const { database, id } = await life();
      const shownTo = async (actor: Actor) =>
        (await petHistory(database, actor, id, { limit: 100 })).rows.map(({ accountId, holdId }) => [
          accountId,
          holdId,
        ]);
      const everything = [
        [7, undefined],
        [7, undefined],
        [9, 1],
        [undefined, 1],
        [9, 2],
        [7, 2],
        [undefined, undefined],
        [1, undefined],
      ];
      for (const actor of [owner, operator, { accountId: 55, admin: true }]) {
        assert.deepEqual(await shownTo(actor), everything);
      }
      const nothing = [undefined, undefined];
      assert.deepEqual(
        await shownTo(stranger),
        everything.map(() => nothing),
      );
      assert.deepEqual(
        await shownTo(holder),
        everything.map(one => (one[0] === 9 ? one : nothing)),
      );
    });

    it('pages forward and backward through all entries', async () => {
      const { database, id } = await life();
      const { rows: all } = await petHistory(database, owner, id, { limit: 100 });
      for (const limit of [1, 3, 4, 8]) {
        const forward = [];
        let page = await petHistory(database, owner, id, { limit });
        assert.equal(page.previous, undefined);
        for (forward.push(...page.rows); page.next !== undefined; forward.push(...page.rows)) {
          page = await petHistory(database, owner, id, { limit, cursor: page.next });
        }
        assert.deepEqual(forward, all);
        const backward = [...page.rows];
        for (; page.previous !== undefined; backward.unshift(...page.rows)) {
          page = await petHistory(database, owner, id, { limit, cursor: page.previous });
        }
        assert.deepEqual(backward, all);
        if (limit < 8) assert.notEqual(page.next, undefined);
      }
    });

    it('continues with later changes from an earlier cursor', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const { id } = await database.write(tx => createPet(tx, 7, { name: 'x', categoryId: 2 }, 'open'));
      const rename = (name: string) => database.write(tx => updatePet(tx, owner, id, { name }, 'open'));
      await rename('1');
      const { next } = await petHistory(database, owner, id, { limit: 1 });
      await rename('2');
      const { rows: entries } = await petHistory(database, owner, id, { limit: 5, cursor: next });
      assert.deepEqual(
        entries.map(({ changes }) => changes?.name?.to),
        ['1', '2'],
      );
    });

    it('rejects an unknown pet, and a cursor of another history', async () => {
      const { database, id } = await life();
      await assert.rejects(petHistory(database, operator, 4711, { limit: 20 }), { code: 'pet_not_found', status: 404 });
      const { next } = await petHistory(database, operator, id, { limit: 2 });
      for (const [petId, cursor] of [
        [1, next],
        [id, 'abc'],
        [id, ''],
        [id, Buffer.from(JSON.stringify([1, id, 2, 5])).toString('base64url')],
        [id, Buffer.from(JSON.stringify([1, id, 0, 1.5])).toString('base64url')],
        [id, Buffer.from('null').toString('base64url')],
      ] as const) {
        await assert.rejects(petHistory(database, operator, petId, { limit: 2, cursor }), {
          code: 'invalid_parameter',
        });
      }
    });
  });
});
