import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/time.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import type { PetEventData } from './change.ts';
import { countByStatus } from './counts.ts';
import { expireReservations } from './expiry.ts';
import { createPet, getPet } from './pets.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const holder = { accountId: 5, admin: false };

onEachEngine(engine => {
  describe('expireReservations', () => {
    /** Creates animals, each held until a number of milliseconds after the start. */
    async function held(database: Database, ends: readonly number[]): Promise<number[]> {
      const ids: number[] = [];
      for (let from = 0; from < ends.length; from += 100) {
        await database.write(async tx => {
          for (const _ of ends.slice(from, from + 100)) {
            ids.push((await createPet(tx, 1, { name: 'x', categoryId: 2 }, 'open')).id);
          }
        });
      }
      for (const end of new Set(ends)) {
        const petIds = ids.filter((_, index) => ends[index] === end);
        const expiresAt = formatTime(START + end);
        await database.write(tx => createHold(tx, holder, { petIds, expiresAt }, 1000));
      }
      return ids;
    }

    it('ends each expired reservation as of its expiry, and no other', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const ids = await held(database, [1000, 2000, 3000]);
      clock.advance(2000);
      await expireReservations(database, START + 2000);
      assert.deepEqual(await Promise.all(ids.map(id => database.first(stored, { id }))), [
        { status: 'available', until: null, updatedAt: START + 1000, version: 3 },
        { status: 'available', until: null, updatedAt: START + 2000, version: 3 },
        { status: 'pending', until: START + 3000, updatedAt: START, version: 2 },
      ]);
      const [, , expired] = await eventsOf<PetEventData>(database, 'pet', ids[0]!);
      assert.deepEqual([expired!.at, expired!.accountId], [START + 2000, null]);
      assert.deepEqual(expired!.data, {
        pet: { name: 'x', categoryId: 2, status: 'available' },
        was: { status: 'pending' },
        reason: 'hold_expired',
        holdId: 1,
        at: START + 1000,
        ownerId: 1,
      });
      assert.deepEqual(await countByStatus(database, START + 2000), { available: 2, pending: 1, sold: 0 });
    });

    it('changes nothing that readers see', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const [id] = (await held(database, [1000])) as [number];
      clock.advance(5000);
      const before = [await getPet(database, id, START + 5000), await countByStatus(database, START + 5000)];
      await expireReservations(database, START + 5000);
      assert.deepEqual([await getPet(database, id, START + 5000), await countByStatus(database, START + 5000)], before);
    });

    it('writes nothing if nothing has expired', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      await held(database, [1000]);
      const reading = { ...readerOf(database), write: () => Promise.reject(new Error('nothing is to be written')) };
      await expireReservations(reading, START + 999);
      await assert.rejects(expireReservations(reading, START + 1000), /nothing is to be written/);
    });

    it('ends any number of reservations in several processes, each once', async () => {
      const clock = testClock(START);
      const location = await engine.newLocation();
      const database = await engine.open({ location, clock });
      const others = engine.name === 'postgres' ? [await engine.open({ location, clock })] : [];
      const ends = Array.from({ length: 260 }, (_, index) => 1000 + (index % 7));
      const ids = await held(database, ends);
      clock.advance(10_000);
      await Promise.all([database, ...others, database].map(one => expireReservations(one, START + 10_000)));
      // If one process skipped an animal that another had locked, the other has freed it.
      await expireReservations(database, START + 10_000);
      assert.deepEqual(await countByStatus(database, 0), { available: 260, pending: 0, sold: 0 });
      for (const [index, id] of ids.entries()) {
        const events = await eventsOf<PetEventData>(database, 'pet', id);
        assert.deepEqual(
          events.map(({ data }) => data.at),
          [undefined, undefined, START + ends[index]!],
        );
      }
    });
  });
});

function readerOf(database: Database): Database {
  return {
    ...(database as Database),
    engine: database.engine,
    all: (query, params) => database.all(query, params),
    first: (query, params) => database.first(query, params),
  };
}

const stored = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('pets')
    .select(['status', 'reserved_until as until', 'updated_at as updatedAt', 'version'])
    .where('id', '=', p.id),
);
