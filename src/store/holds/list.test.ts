import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/time.ts';
import type { HoldRow } from '../../model/hold.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { lockPet } from '../pets/lock.ts';
import { createPet } from '../pets/pets.ts';
import { endReservation } from '../pets/reservations.ts';
import { createHold, endIfUsed, getHold, releaseHold } from './holds.ts';
import { type HoldFilter, listHolds } from './list.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;

const [one, two, three, nobody] = [1, 2, 3, 4].map(accountId => ({ accountId, admin: false }));
const admin = { accountId: 9, admin: true };
const statuses = ['active', 'released', 'used', 'expired'] as const;

onEachEngine(engine => {
  afterEach(closeAll);

  describe('listHolds', () => {
    it('pages through the visible, matching holds by id, forward and backward', async () => {
      const { database, now, all } = await store(engine);
      const pets = [undefined, 1, 4, 7];
      const filters = [undefined, ...statuses.map(status => [status]), ['active', 'expired'] as const, [...statuses]];
      for (const actor of [one!, two!, three!, nobody!, admin, operator]) {
        for (const petId of pets) {
          for (const status of filters) {
            const expected = all.filter(
              ({ hold, owners }) =>
                (actor.admin || hold.accountId === actor.accountId || owners.includes(actor.accountId!)) &&
                (petId === undefined || hold.petIds.includes(petId)) &&
                (status === undefined || (status as readonly string[]).includes(hold.status)),
            );
            for (const limit of [1, 3, 100]) {
              const ids = expected.map(({ hold }) => hold.id);
              await assertWalk(database, actor, { petId, status }, limit, now, ids);
            }
          }
        }
      }
    });

    it('returns each hold as getHold does', async () => {
      const { database, now } = await store(engine);
      for (const hold of (await listHolds(database, admin, {}, { limit: 100 }, now)).rows) {
        assert.deepEqual(hold, await getHold(database, admin, hold.id, now));
      }
    });

    it('rejects the cursor of another list and a malformed one', async () => {
      const { database, now } = await store(engine);
      const { next } = await listHolds(database, admin, {}, { limit: 1 }, now);
      for (const [filter, cursor] of [
        [{ status: ['active'] }, next!],
        [{ petId: 1 }, next!],
        [{}, 'abc'],
        [{}, Buffer.from('[1,2,3]').toString('base64url')],
        [{}, Buffer.from('null').toString('base64url')],
      ] as [HoldFilter, string][]) {
        await assert.rejects(listHolds(database, admin, filter, { limit: 1, cursor }, now), {
          code: 'invalid_parameter',
        });
      }
      await listHolds(database, admin, {}, { limit: 1, cursor: next! }, now);
    });

    it('ends a page after scanning 20,000 holds and continues from there', async () => {
      const { database, now } = await store(engine);
      await database.write(tx => tx.run(manyHolds, {}));
      for (let doubled = 0; doubled < 15; doubled++) await database.write(tx => tx.run(doubleHolds, {}));
      const [{ last }] = (await database.all(lastHold, {})) as [{ last: number }];
      await database.write(async tx => {
        await createHold(tx, one!, { petIds: [3] }, 100);
      });
      const holds: number[] = [];
      let pages = 0;
      let cursor: string | undefined;
      do {
        const page = await listHolds(database, one!, { status: ['active'] }, { limit: 20, cursor }, now);
        holds.push(...page.rows.map(({ id }) => id));
        cursor = page.next;
        pages++;
      } while (cursor !== undefined && pages < 10);
      assert.equal(pages, 2);
      assert.ok(holds.includes(last + 1));
      const own = await listHolds(database, one!, {}, { limit: 100 }, now);
      assert.equal(own.rows.length, 100);
    });
  });
});

async function assertWalk(
  database: Database,
  actor: Actor,
  filter: HoldFilter,
  limit: number,
  now: number,
  expected: readonly number[],
) {
  const note = JSON.stringify([actor, filter, limit]);
  const forward: number[] = [];
  let page = await listHolds(database, actor, filter, { limit }, now);
  assert.equal(page.previous, undefined, note);
  for (forward.push(...idsOf(page.rows)); page.next !== undefined; forward.push(...idsOf(page.rows))) {
    page = await listHolds(database, actor, filter, { limit, cursor: page.next }, now);
    assert.ok(page.rows.length <= limit && page.rows.length > 0, note);
  }
  assert.deepEqual(forward, expected, note);
  const backward = idsOf(page.rows);
  for (; page.previous !== undefined; backward.unshift(...idsOf(page.rows))) {
    page = await listHolds(database, actor, filter, { limit, cursor: page.previous }, now);
    assert.ok(page.rows.length <= limit, note);
  }
  assert.deepEqual(backward, expected, `back: ${note}`);
}

const idsOf = (rows: readonly HoldRow[]) => rows.map(({ id }) => id);

const opened: Database[] = [];

async function closeAll() {
  await Promise.all(opened.splice(0).map(database => database.close()));
}

/**
 * Opens a store with eight animals of three accounts and holds of three accounts in every status, some expired but not
 * ended.
 */
async function store(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  opened.push(database);
  const ownerOf = (petId: number) => (petId % 3) + 1;
  for (let petId = 1; petId <= 8; petId++) {
    await database.write(tx => createPet(tx, ownerOf(petId), { name: 'x', categoryId: 2 }, 'open'));
  }
  const sets = [[1, 2], [3], [4, 7], [5, 6], [8]];
  for (let round = 0; round < 4; round++) {
    for (const [index, petIds] of sets.entries()) {
      const actor = [one!, two!, three!][(round + index) % 3]!;
      await database.write(async tx => {
        const expiresAt = formatTime(tx.now + (round === 3 && index % 2 === 0 ? 60 : 10) * MINUTE);
        // Each hold ends before the next hold of the same animals begins.
        const hold = await createHold(tx, actor, { petIds, expiresAt }, 100);
        if (round === 0) await releaseHold(tx, actor, hold.id);
        if (round === 1) {
          for (const petId of petIds) await endReservation(tx, await lockPet(tx, petId), 'available', { accountId: 1 });
          await endIfUsed(tx, hold);
        }
      });
      if (round === 1) clock.advance(1);
    }
    if (round === 2) clock.advance(10 * MINUTE);
  }
  clock.advance(10 * MINUTE);
  const now = clock.now();
  const { rows } = await listHolds(database, admin, {}, { limit: 100 }, now);
  assert.deepEqual(new Set(rows.map(({ status }) => status)), new Set(statuses));
  return { database, now, all: rows.map(hold => ({ hold, owners: hold.petIds.map(ownerOf) })) };
}

const columns = ['account_id', 'expires_at', 'ended_at', 'outcome', 'created_at', 'updated_at'] as const;

const manyHolds = query((db, _: Params<Record<never, never>>) =>
  db
    .insertInto('holds')
    .values({ account_id: 1, expires_at: 1, ended_at: 1, outcome: 'expired', created_at: 0, updated_at: 0 }),
);

const doubleHolds = query((db, _: Params<Record<never, never>>) =>
  db
    .insertInto('holds')
    .columns(columns)
    .expression(db.selectFrom('holds').select(columns).where('expires_at', '=', 1)),
);

const lastHold = query(db => db.selectFrom('holds').select(eb => eb.fn.max('id').as('last')));
