import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { DAY, openOrderStore, owner, stranger } from '../../../test/support/order-store.ts';
import { type Params, query, sql } from '../../model/schema.ts';
import { petAttention } from './attention.ts';

describe('petAttention', () => {
  onEachEngine(engine => {
    const range = (now: number) => ({ now, until: now + DAY });

    it('returns zeros for an account without animals', async () => {
      const { database, now } = await openOrderStore(engine, 1);
      assert.deepEqual(await petAttention(database, stranger.accountId, range(now())), {
        ...{ withoutPhoto: 0, withoutDescription: 0, withPhoto: 0, holdEnds: 0 },
        ...{ longest: [], isPartial: false },
      });
    });

    it('counts what the animals lack that are still there, and the holds that end soon', async () => {
      const store = await openOrderStore(engine, 0);
      const { database, now, clock } = store;
      await store.add({ name: 'described', description: 'Calm.' });
      await store.add({ name: 'sold', status: 'sold' });
      await store.add({ name: 'set aside', status: 'pending' });
      const seen = await store.add({ name: 'seen', description: 'x' });
      await database.write(tx => tx.run(addPhoto, { id: seen }));
      const [held, ordered] = [await store.add({ name: 'held' }), await store.add({ name: 'ordered' })];
      await store.hold([held]);
      await store.place(ordered);
      const counted = async () => {
        const { longest: _, ...counts } = await petAttention(database, owner.accountId, range(now()));
        return counts;
      };
      const expected = { withoutPhoto: 4, withoutDescription: 3, withPhoto: 1, holdEnds: 1, isPartial: false };
      assert.deepEqual(await counted(), expected);
      clock.advance(DAY);
      assert.deepEqual(await counted(), { ...expected, holdEnds: 0 }, 'the hold has expired');
      assert.equal((await petAttention(database, owner.accountId, range(now() + 6 * DAY))).holdEnds, 0, 'no order');
    });

    it('returns the five available animals that have waited longest, by their intake or their creation', async () => {
      const store = await openOrderStore(engine, 0);
      const { database, now, clock } = store;
      const came = (date: string) => ({ intake: { date, kind: 'stray' as const } });
      await store.add({ name: 'now' });
      await store.add({ name: 'ancient', ...came('0000-01-01') });
      await store.add({ name: 'gone', status: 'sold', ...came('2020-01-01') });
      await store.add({ name: 'third', ...came('2025-06-01') });
      await store.add({ name: 'second', ...came('2025-01-01') });
      const held = await store.add({ name: 'held', ...came('2020-01-01') });
      await store.hold([held]);
      clock.advance(DAY / 24 / 60);
      await store.add({ name: 'fourth', ...came('2025-06-01') });
      await store.add({ name: 'later' });
      const names = async () =>
        (await petAttention(database, owner.accountId, range(now()))).longest.map(({ name }) => name);
      assert.deepEqual(await names(), ['ancient', 'second', 'third', 'fourth', 'now']);
      clock.advance(DAY);
      assert.deepEqual(await names(), ['ancient', 'held', 'second', 'third', 'fourth'], 'the hold has expired');
      const { longest } = await petAttention(database, owner.accountId, range(now()));
      assert.deepEqual(longest[1], { id: held, name: 'held', since: '2020-01-01' });
    });

    it('reads the newest 20,000 animals only, in turns', async () => {
      const { database, now } = await openOrderStore(engine, 1);
      await database.write(tx => tx.run(copyPets, { copies: 19_998 }));
      const request = (context: object) => ({
        context,
        caller: { accountId: owner.accountId, plan: 'free' },
        connection: { destroyed: false, readableEnded: false },
      });
      const counted = async () => petAttention(database, owner.accountId, range(now()), request({}));
      const { withoutPhoto, isPartial, longest } = await counted();
      assert.deepEqual([withoutPhoto, isPartial, longest.length], [19_999, false, 5]);
      await database.write(tx => tx.run(copyPets, { copies: 2 }));
      const beyond = await counted();
      assert.deepEqual([beyond.withoutPhoto, beyond.isPartial, beyond.longest.length], [20_000, true, 5]);
    });
  });
});

const addPhoto = query((db, p: Params<{ id: number }>) =>
  db
    .updateTable('pets')
    .set({ photos: sql.lit('[{}]') })
    .where('id', '=', p.id),
);

/** Adds copies of the first animal. */
const copyPets = query((db, p: Params<{ copies: number }>) => {
  const columns = ['name', 'category_id', 'status', 'account_id', 'created_at', 'updated_at', 'version'] as const;
  return db
    .insertInto('pets')
    .columns(columns)
    .expression(
      sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${p.copies})
          select ${sql.join(columns.map(column => sql.ref(column)))} from numbers, pets where pets.id = 1`,
    );
});
