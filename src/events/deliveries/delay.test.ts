import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failWith, MINUTE, SECOND, START, withDeliveryStore } from '../../../test/support/delivery-store.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { startReceiver } from '../../../test/support/receiver.ts';
import { assignPositions } from '../../model/log/ordering.ts';
import { type Params, query } from '../../model/schema.ts';
import { webhooksWaitingSince } from './delay.ts';
import { dispatch } from './dispatch-job.ts';

onEachEngine(engine => {
  describe('webhooksWaitingSince', () => {
    it('ignores a broken receiver, whose deliveries wait for their retries and for each other', () =>
      withDeliveryStore(engine, async ({ webhook, deliver, pet, receiver, clock, database }) => {
        await webhook();
        receiver.respond = failWith(500);
        for (let n = 0; n < 3; n++) await pet();
        await deliver();
        assert.equal(await webhooksWaitingSince(database, clock.now()), null);
        clock.advance(90 * MINUTE);
        assert.equal(await webhooksWaitingSince(database, clock.now()), null);
      }));

    it('finds the work of a stopped dispatch and a stopped delivery, beside a broken receiver', () =>
      withDeliveryStore(engine, async ({ webhook, deliver, pet, receiver, clock, database, accounts }) => {
        const { id } = await webhook();
        receiver.respond = failWith(500);
        await pet();
        await deliver();
        assert.equal((await database.first(failing, { id }))!.failing, 1);
        const other = await startReceiver();
        try {
          await webhook({ to: other });
          clock.advance(MINUTE);
          await pet();
          await assignPositions(database);
          clock.advance(20 * MINUTE);
          assert.equal(await webhooksWaitingSince(database, clock.now()), START + MINUTE);
          while ((await dispatch(database, accounts)) > 0);
          const dispatchedAt = clock.now();
          clock.advance(20 * MINUTE);
          assert.equal(await webhooksWaitingSince(database, clock.now()), dispatchedAt);
          await deliver();
          clock.advance(SECOND);
          assert.equal(await webhooksWaitingSince(database, clock.now()), null);
        } finally {
          await other.close();
        }
      }));
  });
});

const failing = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('webhooks')
    .select(eb => eb.fn.count<number>('failing_since').as('failing'))
    .where('id', '=', p.id),
);
