import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { createKey, revokeKey, rotateKey } from '../../access/keys/keys.ts';
import { testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import { operator } from '../../model/log/event.ts';
import { assignPositions } from '../../model/log/ordering.ts';
import { messageIdOf } from '../../model/message.ts';
import type { PublicEvent } from '../../model/public-event.ts';
import { type Database, type Params, query, type Transaction } from '../../model/schema.ts';
import { createCategory } from '../../store/categories/categories.ts';
import { expireHolds } from '../../store/holds/expiry.ts';
import { createHold, getHold, releaseHold } from '../../store/holds/holds.ts';
import { holdValues } from '../../store/holds/rows.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import { getOrder, placeOrder } from '../../store/orders/orders.ts';
import { orderOf } from '../../store/orders/rows.ts';
import { approveOrder, deliverOrder } from '../../store/orders/steps.ts';
import { createPet, deletePet, updatePet } from '../../store/pets/pets.ts';
import { type EventFilter, listEvents } from './list-events.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const DAY = 86_400_000;
const owner = { accountId: 1, admin: false };
const buyer = { accountId: 2, admin: false };
const stranger = { accountId: 3, admin: false };

onEachEngine(engine => {
  async function open() {
    const clock = testClock(START);
    const database = await engine.open({ clock });
    const write = <T>(work: (tx: Transaction) => Promise<T>) => database.write(work);
    const all = (actor: { accountId: number | null; admin: boolean }, filter: EventFilter = {}, limit = 100) =>
      readAll(database, actor, filter, limit, () => clock.now());
    return { clock, database, write, all };
  }

  describe('listEvents', () => {
    it('shows a message to its sender, to its recipient once delivered, and its text to nobody', async () => {
      const { write, all } = await open();
      const { id: petId } = await write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      const { id } = await write(tx => sendMessage(tx, buyer, { message: 'Is she still there?', petId }));
      const types = ['message.*'];
      const [queued, ...others] = await all(buyer, { types });
      assert.deepEqual(others, []);
      assert.equal(queued!.type, 'message.queued');
      assert.equal(queued!.data.id, messageIdOf(id));
      assert.ok(!JSON.stringify(queued).includes('still there'));
      assert.deepEqual(await all(owner, { types }), []);
      assert.deepEqual(await all(stranger, { types }), []);
      assert.equal((await all(operator, { types })).length, 1);
    });

    it('includes the resource and what changed', async () => {
      const { write, all, clock } = await open();
      const { id } = await write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      clock.advance(1000);
      await write(tx => updatePet(tx, owner, id, { name: 'Minki', price: { amount: 5, currency: 'EUR' } }, 'open'));
      await write(tx => deletePet(tx, owner, id));
      const [created, updated, deleted, ...rest] = await all(owner);
      assert.deepEqual(rest, []);
      assert.deepEqual(created, {
        id: 'evt_1',
        type: 'pet.created',
        time: '2026-11-21T12:00:00.000Z',
        sequence: 1,
        accountId: 1,
        data: { id, name: 'Minka', categoryId: 2, status: 'available', accountId: 1 },
        changes: { name: { to: 'Minka' }, categoryId: { to: 2 }, status: { to: 'available' } },
      });
      assert.deepEqual(updated!.data, {
        id,
        name: 'Minki',
        categoryId: 2,
        status: 'available',
        price: { amount: 5, currency: 'EUR' },
        accountId: 1,
      });
      assert.deepEqual(updated!.changes, {
        name: { from: 'Minka', to: 'Minki' },
        price: { to: { amount: 5, currency: 'EUR' } },
      });
      assert.equal(updated!.time, '2026-11-21T12:00:01.000Z');
      assert.deepEqual([deleted!.type, deleted!.changes['name']], ['pet.deleted', { from: 'Minki' }]);
    });

    it('includes holds and orders without their times and steps', async () => {
      const { database, write, all, clock } = await open();
      await write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      await write(tx => createPet(tx, 1, { name: 'Moritz', categoryId: 2 }, 'open'));
      const hold = await write(tx => createHold(tx, buyer, { petIds: [1, 2], note: 'Both' }, 100));
      const order = await write(tx => placeOrder(tx, buyer, { petId: 1, holdId: hold.id, note: 'MaybePromise' }));
      const asAnswered = async () => {
        const [told, ...more] = (await all(buyer, { types: ['order.*'] })).slice(-1);
        assert.deepEqual(more, []);
        const { createdAt, updatedAt, approval, delivery, ...shown } = orderOf(
          await getOrder(database, buyer, order.id, clock.now()),
          buyer,
        );
        assert.deepEqual(told!.data, shown);
        return told!.changes;
      };
      assert.deepEqual((await asAnswered())['complete'], { to: false });
      await write(tx => approveOrder(tx, owner, order.id, {}));
      assert.deepEqual(await asAnswered(), {
        status: { from: 'placed', to: 'approved' },
        expiresAt: { from: '2026-11-28T12:00:00.000Z' },
      });
      await write(tx => deliverOrder(tx, owner, order.id, {}));
      assert.deepEqual(await asAnswered(), {
        status: { from: 'approved', to: 'delivered' },
        complete: { from: false, to: true },
      });
      clock.advance(20 * 60_000);
      await expireHolds(database, clock.now());
      const [ended] = (await all(buyer, { types: ['hold.*'] })).slice(-1);
      const { createdAt, updatedAt, ...shown } = holdValues.fullOf(
        await getHold(database, buyer, hold.id, clock.now()),
      );
      assert.deepEqual(ended!.data, shown);
      assert.deepEqual(ended!.changes, {
        status: { from: 'active', to: ended!.type.slice('hold.'.length) },
        endedAt: { to: shown.endedAt },
      });
    });

    it('shows each account the events that it can see, and the actor to those who may know', async () => {
      const { write, all } = await open();
      for (const name of ['Minka', 'Moritz']) await write(tx => createPet(tx, 1, { name, categoryId: 2 }, 'open'));
      const hold = await write(tx => createHold(tx, buyer, { petIds: [1, 2] }, 100));
      await write(tx => releaseHold(tx, owner, hold.id));
      const order = await write(tx => placeOrder(tx, buyer, { petId: 1 }));
      await write(tx => approveOrder(tx, owner, order.id, { note: 'Gladly.' }));
      await write(tx => createCategory(tx, owner, { name: 'Coons' }));

      const told = async (actor: Parameters<typeof all>[0]) =>
        (await all(actor)).map(({ type, accountId, cause }) =>
          [type, accountId ?? '-', ...(cause?.holdId ? ['hold'] : []), ...(cause?.orderId ? ['order'] : [])].join(' '),
        );
      assert.deepEqual(await told(owner), [
        'pet.created 1',
        'pet.created 1',
        'pet.updated 2 hold',
        'pet.updated 2 hold',
        'hold.created -',
        'pet.updated 1 hold',
        'pet.updated 1 hold',
        'hold.released 1',
        'pet.updated 2 order',
        'order.placed 2',
        'order.approved 1',
        'category.created 1',
      ]);
      assert.deepEqual(await told(buyer), [
        'pet.created -',
        'pet.created -',
        'pet.updated 2 hold',
        'pet.updated 2 hold',
        'hold.created 2',
        'pet.updated -',
        'pet.updated -',
        'hold.released 1',
        'pet.updated 2 order',
        'order.placed 2',
        'order.approved -',
        'category.created -',
      ]);
      assert.deepEqual(await told(stranger), [
        'pet.created -',
        'pet.created -',
        ...Array(5).fill('pet.updated -'),
        'category.created -',
      ]);
      assert.equal((await told(operator)).length, 12);
      const approved = (await all(buyer)).at(-2)!;
      assert.deepEqual(approved.cause, { note: 'Gladly.' });
      assert.deepEqual(approved.changes, {
        status: { from: 'placed', to: 'approved' },
        expiresAt: { from: '2026-11-28T12:00:00.000Z' },
      });
    });

    it('shows events of an account and its keys to that account and admins only', async () => {
      const { write, all, clock } = await open();
      for (const email of ['a@example.org', 'b@example.org'])
        await write(tx => createAccount(tx, { email, name: 'A' }));
      const key = await write(tx => createKey(tx, { accountId: 1, deployment: 'staging' }));
      const foreign = await write(tx => createKey(tx, { accountId: 2, deployment: 'production' }));
      clock.advance(1000);
      const { issued } = await write(tx => rotateKey(tx, key.id, DAY));
      await write(tx => revokeKey(tx, issued.id));
      const told = async (actor: Parameters<typeof all>[0], ...types: string[]) =>
        (await all(actor, { types })).map(({ type, data }) => `${type} ${data.id}`);
      const own = ['account.created 1', `key.created ${key.id}`];
      const changes = [`key.rotated ${key.id}`, `key.created ${issued.id}`, `key.revoked ${issued.id}`];
      assert.deepEqual(await told(owner, 'account.*', 'key.*'), [...own, ...changes]);
      assert.deepEqual(await told(buyer, 'account.*', 'key.*'), ['account.created 2', `key.created ${foreign.id}`]);
      assert.deepEqual(await told(stranger, 'account.*', 'key.*'), []);
      assert.equal((await told(operator, 'account.*', 'key.*')).length, 7);
      assert.deepEqual(await told(owner, 'account.created', 'key.revoked'), [own[0], changes[2]]);

      const [account, , rotated, created, revoked] = await all(owner);
      assert.deepEqual(account, {
        id: 'evt_1',
        type: 'account.created',
        time: '2026-11-21T12:00:00.000Z',
        sequence: 1,
        data: {
          id: 1,
          name: 'A',
          plan: 'free',
          limits: { perMinute: 60, perDay: 1000 },
          admin: false,
          createdAt: '2026-11-21T12:00:00.000Z',
        },
        changes: {
          name: { to: 'A' },
          plan: { to: 'free' },
          limits: { to: { perMinute: 60, perDay: 1000 } },
          admin: { to: false },
          createdAt: { to: '2026-11-21T12:00:00.000Z' },
        },
      });
      const shared = { accountId: 1, deployment: 'staging', scopes: ['*'] };
      assert.deepEqual(rotated!.data, {
        id: key.id,
        ...shared,
        createdAt: '2026-11-21T12:00:00.000Z',
        expiresAt: '2026-11-22T12:00:01.000Z',
      });
      assert.deepEqual(rotated!.changes, { expiresAt: { to: '2026-11-22T12:00:01.000Z' } });
      assert.deepEqual(rotated!.cause, { keyId: issued.id });
      assert.deepEqual(created!.cause, { keyId: key.id });
      assert.deepEqual(created!.changes['deployment'], { to: 'staging' });
      assert.equal('id' in created!.changes, false);
      assert.deepEqual(revoked!.changes, { revokedAt: { to: '2026-11-21T12:00:01.000Z' } });
      assert.equal(revoked!.cause, undefined);
    });

    it('finds the owners for events of earlier releases', async () => {
      const { database, write, all } = await open();
      for (const name of ['Minka', 'Moritz']) await write(tx => createPet(tx, 1, { name, categoryId: 2 }, 'open'));
      const hold = await write(tx => createHold(tx, buyer, { petIds: [1, 2] }, 100));
      await write(tx => releaseHold(tx, buyer, hold.id));
      await write(tx => placeOrder(tx, buyer, { petId: 1 }));
      const before = await Promise.all([owner, buyer, stranger].map(actor => all(actor)));
      for (const { id, data } of await database.all(everything, {})) {
        const { ownerId: _, ownerIds: __, ...rest } = JSON.parse(data);
        await write(tx => Promise.resolve(tx.run(rewrite, { id, data: JSON.stringify(rest) })));
      }
      assert.deepEqual(await Promise.all([owner, buyer, stranger].map(actor => all(actor))), before);
    });

    it('filters by type and by kind', async () => {
      const { write, all } = await open();
      await write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 9000 }, 'open'));
      await write(tx => createHold(tx, owner, { petIds: [1] }, 100));
      const types = async (...types: string[]) => (await all(owner, { types })).map(({ type }) => type);
      assert.deepEqual(await types('pet.*'), ['pet.created', 'pet.updated']);
      assert.deepEqual(await types('pet.updated', 'category.created'), ['category.created', 'pet.updated']);
      assert.deepEqual(await types('order.*'), []);
    });

    it('returns every event once, page by page and from the end of the last page', async () => {
      const { database, write, all, clock } = await open();
      const add = () => write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      for (let added = 0; added < 7; added++) await add();
      assert.deepEqual(
        (await all(stranger, {}, 3)).map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7].map(position => `evt_${position}`),
      );
      const page = await listEvents(database, stranger, {}, { limit: 100 }, clock.now(), DAY);
      assert.equal(page.end, 'evt_7');
      assert.deepEqual(await all(stranger, { after: page.end }), []);
      await add();
      assert.deepEqual(
        (await all(stranger, { after: page.end })).map(({ id }) => id),
        ['evt_8'],
      );
    });

    it('rejects a cursor of other filters', async () => {
      const { database, write, clock } = await open();
      for (let added = 0; added < 3; added++) {
        await write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      }
      const { next } = await listEvents(database, owner, {}, { limit: 1 }, clock.now(), DAY);
      for (const [filter, cursor] of [
        [{ types: ['pet.*'] }, next],
        [{}, 'abc'],
        [{}, Buffer.from('[1,"x",2]').toString('base64url')],
      ] as const) {
        await assert.rejects(
          listEvents(database, owner, filter, { limit: 1, cursor }, clock.now(), DAY),
          hasCode('invalid_parameter'),
        );
      }
    });

    it('returns events within the retention period and rejects earlier positions', async () => {
      const { database, write, clock } = await open();
      const add = () => write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      const read = (after?: string) =>
        listEvents(database, owner, after === undefined ? {} : { after }, { limit: 100 }, clock.now(), 30 * DAY);
      await add();
      clock.advance(DAY);
      await add();
      clock.advance(29 * DAY);
      assert.deepEqual(
        (await read()).events.map(({ id }) => id),
        ['evt_1', 'evt_2'],
      );
      clock.advance(1);
      assert.deepEqual(
        (await read()).events.map(({ id }) => id),
        ['evt_2'],
      );
      clock.advance(20_000);
      await assert.rejects(read('evt_0'), hasCode('events_expired'));
      assert.deepEqual(
        (await read('evt_1')).events.map(({ id }) => id),
        ['evt_2'],
      );
      clock.advance(40 * DAY);
      await assert.rejects(read('evt_1'), hasCode('events_expired'));
      assert.deepEqual(await read('evt_2'), { events: [], end: 'evt_2' }, 'a reader who has them all misses nothing');
      await assert.rejects(read('evt_3'), hasCode('events_expired'));
    });

    it('scans a bounded number of events per page and continues', async () => {
      const { database, write, all, clock } = await open();
      await write(tx => createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open'));
      const insert = Array.from({ length: 500 }, () => ({
        at: START,
        kind: 'pet' as const,
        action: 'updated',
        subject_id: 1,
        data: '{"pet":{"name":"x","categoryId":2,"status":"available"},"was":{},"ownerId":1}',
      }));
      const many = query(db => db.insertInto('events').values(insert));
      await write(async tx => {
        for (let part = 0; part < 50; part++) await tx.run(many, {});
      });
      await write(tx => createHold(tx, owner, { petIds: [1] }, 100));
      // The list waits only briefly for positions, and so many may take longer.
      await assignPositions(database);
      const first = await listEvents(database, owner, { types: ['hold.*'] }, { limit: 100 }, clock.now(), DAY);
      assert.deepEqual(first.events, []);
      assert.notEqual(first.next, undefined);
      assert.deepEqual(
        (await all(owner, { types: ['hold.*'] })).map(({ type }) => type),
        ['hold.created'],
      );
    });
  });
});

/** Returns every event, from all pages. */
async function readAll(
  database: Database,
  actor: { accountId: number | null; admin: boolean },
  filter: EventFilter,
  limit: number,
  now: () => number,
): Promise<PublicEvent[]> {
  const all: PublicEvent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listEvents(database, actor, filter, { limit, cursor }, now(), 30 * DAY);
    assert.ok(page.events.length <= limit);
    all.push(...page.events);
    if (page.next === undefined) return all;
    cursor = page.next;
  }
}

function hasCode(code: string) {
  return (error: unknown) => error instanceof Problem && error.code === code;
}

const everything = query(db => db.selectFrom('events').select(['id', 'data']));

const rewrite = query((db, p: Params<{ id: number; data: string }>) =>
  db.updateTable('events').set({ data: p.data }).where('id', '=', p.id),
);
