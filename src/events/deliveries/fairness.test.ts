import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliveriesOf, withDeliveryStore } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { recordEvents } from '../../model/log/log.ts';
import { assignPositions, lastPosition } from '../../model/log/ordering.ts';
import { PENDING_MAX } from '../../model/rules.ts';
import type { Database } from '../../model/schema.ts';
import { EVENTS_PER_TURN } from './dispatch-ahead.ts';
import { dispatch } from './dispatch-job.ts';

/** Records events of an account, about pets with successive ids. */
async function recordMany(database: Database, accountId: number, count: number, firstId = accountId * 100_000) {
  const events = Array.from({ length: count }, (_, index) => {
    const data = { pet: { name: 'Minka', categoryId: 2 }, ownerId: accountId };
    return { kind: 'pet' as const, action: 'updated' as const, subjectId: firstId + index, accountId, data };
  });
  await database.write(tx => recordEvents(tx, events));
  await assignPositions(database);
}

async function dispatchAll(database: Database) {
  while ((await dispatch(database, database)) > 0);
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + 1 + index);

onEachEngine(engine => {
  const open = (work: Parameters<typeof withDeliveryStore>[1]) => withDeliveryStore(engine, work);

  describe('Fair deliveries', () => {
    it('send the events of accounts in turns', () =>
      open(async ({ webhook, database, deliver, receiver }) => {
        await webhook();
        await recordMany(database, 1, 1000);
        await recordMany(database, 2, 1);
        await recordMany(database, 3, 30);
        await deliver();
        const sent = receiver.received.map(({ body }) => JSON.parse(body).accountId as number);
        assert.equal(sent.length, 1031);
        assert.ok(sent.indexOf(2) <= EVENTS_PER_TURN, `account 2 is at ${sent.indexOf(2)}`);
        assert.ok(sent.lastIndexOf(3) <= EVENTS_PER_TURN, `account 3 ends at ${sent.lastIndexOf(3)}`);
      }));

    it('are created for an event although thousands of another account precede it', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const before = await lastPosition(database);
        await recordMany(database, 1, 5000);
        await recordMany(database, 2, 1);
        const end = await lastPosition(database);
        const created = async () => (await database.all(deliveriesOf, { id })).map(({ place }) => place!);
        for (let call = 0; call < 3; call++) await dispatch(database, database);
        assert.ok((await created()).includes(end), 'while earlier events are not dispatched');
        assert.ok((await created()).length < 2500);
        await dispatchAll(database);
        assert.deepEqual(
          (await created()).sort((one, other) => one - other),
          range(before, end),
        );
      }));

    it('are created for an event although those of another account fill the webhook, but each ordering key keeps its order', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const before = await lastPosition(database);
        await recordMany(database, 1, PENDING_MAX + 500);
        await dispatchAll(database);
        const waiting = 100_000 + PENDING_MAX + 499;
        const after = await lastPosition(database);
        await recordMany(database, 2, 2);
        await recordMany(database, 2, 1, waiting);
        await recordMany(database, 2, 1, 200_000);
        await dispatchAll(database);
        const rows = await database.all(deliveriesOf, { id });
        assert.deepEqual(
          rows.slice(-3).map(({ place }) => place! - after),
          [1, 2, 4],
        );
        assert.ok(rows.length <= PENDING_MAX);
        assert.equal(new Set(rows.map(({ place }) => place)).size, rows.length);
        assert.ok(rows.every(({ place }) => place! > before));
      }));

    it('are created once although processes dispatch at the same time and transactions fail', () =>
      open(async ({ webhook, database }) => {
        const { id } = await webhook();
        const before = await lastPosition(database);
        for (let call = 0; call < 12; call++) {
          await recordMany(database, 1, 1200, 100_000 + call * 1200);
          await recordMany(database, 2, 3);
          let writes = 0;
          const flaky = Object.assign(Object.create(database) as Database, {
            all: database.all.bind(database),
            first: database.first.bind(database),
            write: (work: Parameters<Database['write']>[0]) =>
              database.write(async tx => {
                const result = await work(tx);
                if (writes++ === call % 4) throw new Error('killed');
                return result;
              }),
          });
          await Promise.all([
            dispatch(flaky, database).catch(error => assert.equal(error.message, 'killed')),
            dispatch(database, database),
          ]);
        }
        await dispatchAll(database);
        const rows = await database.all(deliveriesOf, { id });
        const places = rows.map(({ place }) => place!);
        assert.equal(new Set(places).size, places.length);
        const ofPets = Map.groupBy(rows, ({ lane }) => lane);
        for (const lane of ofPets.values()) {
          const inLane = lane.map(({ place }) => place!);
          assert.deepEqual(
            inLane,
            inLane.toSorted((one, other) => one - other),
          );
        }
        assert.ok(places.filter(place => place > before).length >= PENDING_MAX - 1000);
      }));
  });
});
