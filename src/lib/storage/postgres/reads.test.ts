import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import pg from 'pg';
import { type Engine, onPostgres } from '../../../../test/support/engines.ts';
import type { Database } from '../database.ts';
import { createQueryFactory, type Params, sql } from '../query.ts';

onPostgres(engine => {
  describe('reads of one turn', () => {
    it('share a round trip once their query has proven fast', async t => {
      const database = await open(engine);
      await repeat(20, () => database.first(quotient, { of: 1, by: 1 }));
      const roundTrips = mock.method(pg.Client.prototype, 'query').mock;
      t.after(() => mock.restoreAll());
      const read = [1, 2, 3].map(of => database.first(quotient, { of, by: 1 }));
      assert.deepEqual(await Promise.all(read), [{ number: 1 }, { number: 2 }, { number: 3 }]);
      assert.equal(roundTrips.callCount(), 1);
    });

    it('do not fail because another one fails', async () => {
      const database = await open(engine);
      await repeat(20, () => database.first(quotient, { of: 1, by: 1 }));
      const read = [1, 0, 1, 0, 1].map(by => database.first(quotient, { of: 1, by }));
      const outcomes = (await Promise.allSettled(read)).map(({ status }) => status);
      assert.deepEqual(outcomes, ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
      await assert.rejects(async () => read[1], { code: '22012' });
    });

    it('do not wait for a slow query', async () => {
      const database = await open(engine);
      await repeat(20, () => database.first(quotient, { of: 1, by: 1 }));
      await database.first(pause, { seconds: 0.05 });
      const order: string[] = [];
      await Promise.all([
        Promise.resolve(database.first(pause, { seconds: 0.5 })).then(() => order.push('slow')),
        Promise.resolve(database.first(quotient, { of: 1, by: 1 })).then(() => order.push('fast')),
      ]);
      assert.deepEqual(order, ['fast', 'slow']);
    });
  });
});

const query = createQueryFactory<Record<never, never>>();
const quotient = query((db, p: Params<{ of: number; by: number }>) =>
  db.selectNoFrom(sql<number>`cast(${p.of} as int) / cast(${p.by} as int)`.as('number')),
);
const pause = query((db, p: Params<{ seconds: number }>) =>
  db.selectNoFrom(sql<string>`cast(pg_sleep(${p.seconds}) as text)`.as('paused')),
);

async function open(engine: Engine): Promise<Database> {
  return engine.open({ role: 'cli', location: await engine.newLocation({ empty: true }), migrations: [] });
}

async function repeat(times: number, work: () => unknown): Promise<void> {
  for (let time = 0; time < times; time++) await work();
}
