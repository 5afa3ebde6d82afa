import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { sweeps } from '../../../test/model/sweeps.ts';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import type { HoldRow } from '../../model/hold.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, query } from '../../model/schema.ts';
import type { PetEventData } from '../pets/change.ts';
import { countByStatus } from '../pets/counts.ts';
import { createPet } from '../pets/pets.ts';
import type { HoldEventData } from './events.ts';
import { createHold, extendHold, releaseHold } from './holds.ts';
import { listHolds } from './list.ts';

const ANIMALS = 10;
const CALLERS = 50;
const admin = { accountId: 1, admin: true };

onEachEngine(engine => {
  afterEach(closeAll);
  const rounds = engine.name === 'sqlite' ? 40 : 12;

  describe('concurrent holds', () => {
    it('never hold an animal twice, and hold overlapping sets whole or not at all', async () => {
      const { nodes } = await open(engine, ANIMALS);
      const holds = new Set<number>();
      for (let round = 0; round < rounds; round++) {
        const tries = Array.from({ length: CALLERS }, (_, index) => ({
          accountId: 10 + index,
          petIds: someAnimals(3),
        }));
        const outcomes = await Promise.all(
          tries.map(({ accountId, petIds }, index) => hold(nodes[index % nodes.length]!, accountId, petIds)),
        );
        const won = outcomes.filter(outcome => typeof outcome !== 'string');
        assert.ok(won.length >= 1);
        // Each failed request names a reserved animal of its set.
        const held = new Set(won.flatMap(({ petIds }) => petIds));
        assert.equal(held.size, 3 * won.length, 'an animal is in two holds');
        for (const [index, outcome] of outcomes.entries()) {
          if (typeof outcome !== 'string')
            assert.deepEqual(
              outcome.petIds,
              tries[index]!.petIds.toSorted((a, b) => a - b),
            );
          else {
            assert.equal(outcome, 'pet_reserved');
            assert.ok(tries[index]!.petIds.some(id => held.has(id)));
          }
        }
        const rows = await nodes[0]!.all(activeReservations, {});
        assert.deepEqual(rows.map(({ petId }) => petId).sort(), [...held].sort());
        for (const { id } of won) holds.add(id);
        await Promise.all(won.map(({ id }, index) => release(nodes[index % nodes.length]!, id)));
      }
      assert.deepEqual(await nodes[0]!.all(activeReservations, {}), []);
      const { rows } = await listHolds(nodes[0]!, admin, { status: ['released'] }, { limit: 100 }, 0);
      assert.ok(rows.every(({ id }) => holds.has(id)));
      assert.equal((await nodes[0]!.all(allHolds, {})).length, holds.size, 'failed requests stored nothing');
    });

    it('end each hold once while others extend, release and expire holds', async () => {
      const { nodes, clock } = await open(engine, ANIMALS);
      const known: number[] = [];
      const codes = new Set<string>();
      let steps = 0;
      const caller = async (index: number) => {
        const database = nodes[index % nodes.length]!;
        const accountId = 10 + index;
        for (let step = 0; step < rounds; step++) {
          const id = known[Math.floor(Math.random() * known.length)] ?? 1;
          const chance = Math.random();
          const until = formatTime(clock.now() + 1000 + Math.floor(Math.random() * 1000));
          const outcome =
            chance < 0.5
              ? await hold(database, accountId, someAnimals(1 + Math.floor(Math.random() * 3)), until)
              : chance < 0.7
                ? await release(database, id)
                : chance < 0.9
                  ? await codeOr(database.write(tx => extendHold(tx, admin, id, { expiresAt: until })))
                  : await sweeps.holds(database, clock.now());
          if (typeof outcome === 'string') codes.add(outcome);
          else if (outcome !== undefined) known.push(outcome.id);
          if (++steps % 4 === 0) clock.advance(37);
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)));
      for (const code of codes) {
        // An expiry a second ahead may be too close when the transaction runs.
        assert.ok(['pet_reserved', 'hold_ended', 'hold_not_found', 'invalid_body'].includes(code), code);
      }
      clock.advance(60_000);
      const database = nodes[0]!;
      await sweeps.holds(database, clock.now());
      assert.deepEqual(await database.all(activeReservations, {}), []);
      assert.deepEqual(await countByStatus(database, 0), { available: ANIMALS, pending: 0, sold: 0 });
      for (let petId = 1; petId <= ANIMALS; petId++) {
        const [, ...events] = await eventsOf<PetEventData>(database, 'pet', petId);
        for (const [index, { data }] of events.entries()) {
          const before = events[index - 1]?.data;
          if (index % 2 === 0) assert.equal(data.reason, 'held');
          else {
            assert.match(data.reason!, /^hold_(released|expired)$/);
            assert.equal(data.holdId, before!.holdId);
          }
        }
        assert.equal(events.length % 2, 0);
      }
      for (const { id } of await database.all(allHolds, {})) {
        const actions = (await eventsOf<HoldEventData>(database, 'hold', id)).map(({ action }) => action);
        const ends = actions.filter(action => action === 'released' || action === 'expired');
        assert.equal(ends.length, 1, `hold ${id}: ${actions}`);
        assert.equal(actions.at(-1), ends[0]);
      }
    });

    it('use an account’s limit exactly', async () => {
      const { nodes } = await open(engine, CALLERS);
      for (let round = 0; round < 3; round++) {
        const outcomes = await Promise.all(
          Array.from({ length: CALLERS }, (_, index) =>
            hold(nodes[index % nodes.length]!, 10 + round, [index + 1], undefined, 10),
          ),
        );
        const won = outcomes.filter(outcome => typeof outcome !== 'string');
        const lost = outcomes.filter(outcome => typeof outcome === 'string');
        assert.equal(won.length, 10);
        assert.deepEqual(new Set(lost), new Set(['hold_limit_exceeded']));
        await Promise.all(won.map(({ id }) => release(nodes[0]!, id)));
      }
    });

    it('of an animal whose hold has just expired succeed once, and expire that hold once', async () => {
      const { nodes, clock } = await open(engine, 1);
      for (let round = 0; round < rounds; round++) {
        const before = await hold(nodes[0]!, 9, [1], formatTime(clock.now() + 1000));
        assert.ok(typeof before !== 'string');
        clock.advance(1000);
        const outcomes = await Promise.all([
          ...Array.from({ length: 10 }, (_, index) => hold(nodes[index % nodes.length]!, 10 + index, [1])),
          ...nodes.map(node => sweeps.holds(node, clock.now())),
        ]);
        const won = outcomes.filter(outcome => outcome !== undefined && typeof outcome !== 'string');
        assert.equal(won.length, 1);
        const actions = (await eventsOf(nodes[0]!, 'hold', before.id)).map(({ action }) => action);
        assert.deepEqual(actions, ['created', 'expired']);
        await release(nodes[0]!, won[0]!.id);
      }
    });
  });
});

const opened: Database[] = [];

async function closeAll() {
  await Promise.all(opened.splice(0).map(database => database.close()));
}

/** Opens a store with some animals, on PostgreSQL with two nodes. */
async function open(engine: Engine, animals: number) {
  const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
  const location = await engine.newLocation();
  const nodes = [await engine.open({ location, clock })];
  if (engine.name === 'postgres') nodes.push(await engine.open({ location, clock }));
  opened.push(...nodes);
  for (let pet = 0; pet < animals; pet++) {
    await nodes[0]!.write(tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
  }
  return { nodes, clock };
}

/** Returns random animals in random order. */
function someAnimals(count: number): number[] {
  const ids = Array.from({ length: ANIMALS }, (_, index) => index + 1);
  return Array.from({ length: count }, () => ids.splice(Math.floor(Math.random() * ids.length), 1)[0]!);
}

/** Returns the hold, or the code of the error. */
function hold(database: Database, accountId: number, petIds: number[], expiresAt?: string, heldMax = 100) {
  const wanted = { petIds, ...(expiresAt !== undefined && { expiresAt }) };
  return codeOr(database.write(tx => createHold(tx, { accountId, admin: false }, wanted, heldMax)));
}

function release(database: Database, id: number) {
  return codeOr(database.write(tx => releaseHold(tx, admin, id)));
}

/** Rethrows unexpected errors, which have no code. */
async function codeOr(work: Promise<HoldRow>): Promise<HoldRow | string> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

const activeReservations = query(db =>
  db.selectFrom('reservations').select('pet_id as petId').where('active', '=', 1).orderBy('pet_id'),
);

const allHolds = query(db => db.selectFrom('holds').select('id').orderBy('id'));
