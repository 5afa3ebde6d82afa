import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  attemptsOf,
  bound,
  buyer,
  deliveriesMade,
  deliveriesOf,
  MINUTE,
  owner,
  START,
  withDeliveryStore,
} from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { type Receiver, startReceiver } from '../../../test/support/receiver.ts';
import { signatureHeaders } from '../../lib/signature.ts';
import { operator } from '../../model/log/event.ts';
import { assignPositions } from '../../model/log/ordering.ts';
import type { MaybePromise, Transaction } from '../../model/schema.ts';
import { mergeCategory } from '../../store/category-merge/merge.ts';
import { createHold } from '../../store/holds/holds.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import { placeOrder } from '../../store/orders/orders.ts';
import { cancelOrder } from '../../store/orders/steps.ts';
import { deletePet, updatePet } from '../../store/pets/pets.ts';
import { dispatch } from './dispatch-job.ts';
import { redeliverSince } from './redeliveries.ts';

onEachEngine(engine => {
  const open = (work: Parameters<typeof withDeliveryStore>[1]) => withDeliveryStore(engine, work);

  describe('dispatch', () => {
    it('delivers each event since the activation once', () =>
      open(async ({ webhook, deliver, pet, receiver, database, names }) => {
        await pet('before');
        const { id, secret } = await webhook();
        await pet('Minka');
        await deliver();
        await deliver();
        assert.deepEqual(names(), ['Minka']);
        const [{ headers, body }] = receiver.received as [Receiver['received'][0]];
        const event = JSON.parse(body);
        assert.equal(event.type, 'pet.created');
        assert.equal(event.timestamp, '2026-11-21T12:00:00.000Z');
        assert.equal(event.accountId, 1);
        const expected = signatureHeaders(event.id, START, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
        const [delivery, ...others] = await database.all(deliveriesOf, { id });
        assert.deepEqual(others, []);
        assert.equal(delivery!.status, 'delivered');
        const [attempt] = await database.all(attemptsOf, { id: delivery!.id });
        assert.equal(attempt!.status, 204);
      }));

    it('signs with the wall clock, even if the clock of the process is ahead', () =>
      open(async ({ webhook, deliver, pet, receiver, wall }) => {
        const { secret } = await webhook();
        await pet();
        wall.aheadMs = -24 * 60 * MINUTE;
        await deliver();
        const [{ headers, body }] = receiver.received as [Receiver['received'][0]];
        const expected = signatureHeaders(JSON.parse(body).id, START - 24 * 60 * MINUTE, body, [secret]);
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
      }));

    it('creates one delivery per event and webhook, in small transactions, even if one of them fails', () =>
      open(async ({ webhook, pet, database }) => {
        const [first] = await Promise.all(Array.from({ length: 120 }, () => webhook()));
        for (let added = 0; added < 40; added++) await pet();
        await assignPositions(database);
        const statements: number[] = [];
        const counted = Object.assign(Object.create(database) as typeof database, {
          write: <T>(work: (tx: Transaction) => MaybePromise<T>) => {
            if (statements.push(0) === 3) return Promise.reject(new Error('lost'));
            return database.write(tx => {
              const run: Transaction['run'] = (...args) => {
                statements[statements.length - 1]!++;
                return tx.run(...args);
              };
              return work(new Proxy(tx, { get: (of, name) => (name === 'run' ? run : bound(of, name)) }));
            });
          },
          all: database.all.bind(database),
          first: database.first.bind(database),
        });
        await assert.rejects(dispatch(counted, database), /lost/);
        while ((await dispatch(counted, database)) > 0);
        await Promise.all([dispatch(database, database), dispatch(database, database)]);
        assert.ok(Math.max(...statements) <= 200, String(statements));
        const made = await database.all(deliveriesMade, {});
        assert.equal(made.length, 120);
        assert.deepEqual([...new Set(made.map(({ deliveries }) => Number(deliveries)))], [made[0]!.deliveries]);
        const rows = await database.all(deliveriesOf, { id: first!.id });
        assert.equal(new Set(rows.map(({ place }) => place)).size, rows.length);
        assert.ok(rows.length >= 40);
      }));

    it('uses the category that a pet had at the time of the event, also in redeliveries', () =>
      open(async ({ webhook, deliver, pet, database }) => {
        const receivers = await Promise.all(Array.from({ length: 2 }, startReceiver));
        const [before, after] = receivers as [Receiver, Receiver];
        try {
          const ids = [await webhook({ to: before, categoryIds: [2] }), await webhook({ to: after, categoryIds: [9] })];
          const minka = await pet('Minka', 2);
          await database.write(tx => sendMessage(tx, owner, { message: 'A note to myself', petId: minka }));
          const { id: holdId } = await database.write(tx => createHold(tx, buyer, { petIds: [minka] }, 100));
          const { id } = await database.write(tx => placeOrder(tx, buyer, { petId: minka, holdId }));
          await database.write(tx => updatePet(tx, owner, minka, { categoryId: 9 }, 'open'));
          await database.write(tx => cancelOrder(tx, buyer, id, {}));
          await database.write(tx => mergeCategory(tx, operator, { id: 9, intoId: 1 }));
          await database.write(tx => deletePet(tx, owner, minka));
          const typesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).type).sort();
          const expected = [
            [
              'hold.created',
              'hold.used',
              'message.queued',
              'order.placed',
              'pet.created',
              'pet.updated',
              'pet.updated',
              'pet.updated',
            ],
            ['category.created', 'category.merged', 'order.cancelled', 'pet.updated', 'pet.updated', 'pet.updated'],
          ];
          await deliver();
          assert.deepEqual(receivers.map(typesOf), expected);
          for (const one of ids) await database.write(tx => redeliverSince(tx, operator, one.id, START, 0));
          await deliver();
          const twice = expected.map(types => [...types, ...types].sort());
          assert.deepEqual(receivers.map(typesOf), twice);
        } finally {
          await Promise.all(receivers.map(one => one.close()));
        }
      }));

    it('applies the visibility of the owner, the types and the categories', () =>
      open(async ({ webhook, deliver, pet, database }) => {
        const receivers = await Promise.all(Array.from({ length: 5 }, startReceiver));
        const [all, dogs, orders, stranger, admin] = receivers as [Receiver, Receiver, Receiver, Receiver, Receiver];
        try {
          await webhook({ to: all });
          await webhook({ to: dogs, categoryIds: [1] });
          await webhook({ to: orders, types: ['order.*', 'hold.created'] });
          await webhook({ to: stranger, accountId: 3, types: ['order.*', 'hold.*', 'category.created'] });
          await webhook({ to: admin, accountId: 4, types: ['order.placed'] });
          const cat = await pet('Minka', 2);
          const dog = await pet('Rex', 1);
          await database.write(tx => createHold(tx, buyer, { petIds: [cat] }, 100));
          await database.write(tx => placeOrder(tx, buyer, { petId: dog }));
          await deliver();
          const typesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).type).sort();
          const everything = [
            'hold.created',
            'order.placed',
            'pet.created',
            'pet.created',
            'pet.updated',
            'pet.updated',
          ];
          assert.deepEqual(typesOf(all), everything);
          assert.deepEqual(typesOf(dogs), ['order.placed', 'pet.created', 'pet.updated']);
          assert.deepEqual(typesOf(orders), ['hold.created', 'order.placed']);
          assert.deepEqual(typesOf(stranger), []);
          assert.deepEqual(typesOf(admin), ['order.placed']);
        } finally {
          await Promise.all(receivers.map(one => one.close()));
        }
      }));

    it('creates each delivery once under concurrency', () =>
      open(async ({ webhook, pet, database }) => {
        const { id } = await webhook();
        for (let n = 0; n < 40; n++) await pet(`number ${n}`);
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            for (let n = 0; n < 5; n++) await dispatch(database, database);
          }),
        );
        while ((await dispatch(database, database)) > 0);
        const places = (await database.all(deliveriesOf, { id })).map(({ place }) => place);
        assert.equal(places.length, 40);
        assert.equal(new Set(places).size, 40);
      }));
  });
});
