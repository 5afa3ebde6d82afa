import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { listEvents } from '../../events/public/list-events.ts';
import { testClock } from '../../lib/clock.ts';
import { databaseSize } from '../../operate/metrics/database-size.ts';
import { petHistory } from '../../store/pets/history.ts';
import { createPet, deletePet, updatePet } from '../../store/pets/pets.ts';
import { recordUpgraded } from '../facts.ts';
import type { NewPet, PetPatch } from '../pet.ts';
import { type Database, type Params, query } from '../schema.ts';
import { eventBytesOf } from './bytes.ts';
import type { Actor } from './event.ts';
import { withLongValues } from './long-values.ts';
import { assignPositions, eventsAfter } from './ordering.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const owner: Actor = { accountId: 7, admin: false };

/** A text that no engine compresses well. */
const text = (length: number) => randomBytes(length).toString('base64').slice(0, length);

onEachEngine(engine => {
  async function open({ leavesOut = true } = {}) {
    const clock = testClock(START);
    const database = await engine.open({ clock });
    if (leavesOut) await recordUpgraded(database);
    return {
      clock,
      database,
      create: (pet: Partial<NewPet>) =>
        database.write(tx => createPet(tx, 7, { name: 'x', categoryId: 2, ...pet }, 'open')),
      update: (id: number, patch: PetPatch) => database.write(tx => updatePet(tx, owner, id, patch, 'open')),
      remove: (id: number) => database.write(tx => deletePet(tx, owner, id)),
    };
  }

  describe('the size of a change', () => {
    const LENGTH = 8000;
    const ANIMALS = 100;

    it('is at most 1.5 times that of the long text of a new animal, or of its new text', async () => {
      const { database, create, update } = await open();
      const empty = await usedBytes(database);
      for (let id = 1; id <= ANIMALS; id++) await create({ description: text(LENGTH) });
      const created = await usedBytes(database);
      assertAtMost((created - empty) / (ANIMALS * LENGTH), 1.5);
      for (let id = 1; id <= ANIMALS; id++) await update(id, { description: text(LENGTH) });
      // PostgreSQL keeps the replaced row until it vacuums.
      const kept = database.engine === 'postgres' ? 1 : 0;
      assertAtMost(((await usedBytes(database)) - created) / (ANIMALS * LENGTH) - kept, 1.5);
    });

    it('does not grow with unchanged texts', async () => {
      const { database, create } = await open();
      const { id } = await create({ description: text(10_000), extra: { notes: text(2000) } });
      const counted = await eventBytesOf(database, 7, START);
      assert.equal(Math.floor(counted / 1000), 12, 'the new texts count for the account');
      await database.write(tx => updatePet(tx, owner, id, { price: { amount: 1, currency: 'EUR' } }, 'open'));
      const [creation, change] = await database.all(lengths, {});
      assertAtMost(creation!.length, 1000);
      assertAtMost(change!.length, 1000);
      assertAtMost((await eventBytesOf(database, 7, START)) - counted, 1000);
    });
  });

  describe('withLongValues', () => {
    it('returns each event as it was recorded, despite later changes', async () => {
      const { clock, database, create, update, remove } = await open();
      const short = 'Shy.';
      const [first, second, third] = [text(300), text(400), text(5000)];
      const extra = { notes: text(500) };
      const { id } = await create({ description: first, extra });
      clock.advance(1000);
      await update(id, { name: 'y' });
      await update(id, { description: second, videos: [`https://example.org/${text(300)}`] });
      await update(id, { description: short });
      await update(id, { description: third, extra: { notes: null, more: text(700) } });
      await update(id, { description: null });
      await update(id, { description: first, specialNeedsNotes: text(200) });
      const other = await create({ description: second });
      await remove(id);
      const states = await recordedStates(database);
      assert.deepEqual(
        states.map(({ description, extra }) => [description, extra]),
        [
          [first, extra],
          [first, extra],
          [second, extra],
          [short, extra],
          [third, states[4]!.extra],
          [undefined, states[4]!.extra],
          [first, states[4]!.extra],
          [second, undefined],
          [first, states[4]!.extra],
        ],
      );
      assert.equal(states[4]!.extra!['more']!.length, 700);
      assert.equal(states[2]!.videos![0]!.length, states[6]!.videos![0]!.length);
      assert.deepEqual(
        Object.keys(states[0]!),
        Object.keys({ name: 0, categoryId: 0, status: 0, extra, description: 0 }),
      );
      const { rows } = await petHistory(database, owner, id, { limit: 100 });
      assert.deepEqual(
        rows.map(({ changes }) => changes?.description),
        [
          { to: first },
          undefined,
          { from: first, to: second },
          { from: second, to: short },
          { from: short, to: third },
          { from: third },
          { to: first },
          { from: first },
        ],
      );
      const { events } = await listEvents(database, owner, {}, { limit: 100 }, clock.now(), 1e9);
      assert.deepEqual(
        events.map(({ data }) => data['description']),
        [...states.map(({ description }) => description)],
      );
      assert.deepEqual(
        events.map(event => 'omitted' in event || 'omitted' in event.data),
        events.map(() => false),
      );
      assert.equal(
        (await petHistory(database, owner, other.id, { limit: 1 })).rows[0]!.changes!.description!.to,
        second,
      );
    });

    it('returns any sequence of changes as it was recorded', async () => {
      const { database, create, update, remove } = await open();
      const values = [null, 'a', text(199), text(200), text(201), text(900)];
      const any = <T>(items: readonly T[]) => items[Math.floor(Math.random() * items.length)]!;
      const animals = await Promise.all([1, 2, 3].map(() => create({ description: text(250) })));
      const expected = new Map(animals.map(({ id, description }) => [id, [description]]));
      for (let change = 0; change < 60; change++) {
        const { id } = any(animals);
        const { length } = expected.get(id)!;
        const pet = await update(id, { name: `n${length}`, description: any(values), specialNeedsNotes: any(values) });
        expected.get(id)!.push(pet.description);
      }
      await remove(animals[0]!.id);
      for (const { id } of animals) {
        const states = await recordedStates(database, id);
        assert.deepEqual(
          states.slice(0, expected.get(id)!.length).map(({ description = null }) => description),
          expected.get(id),
        );
      }
    });

    if (engine.name === 'postgres') {
      it('finds the values in whole events of a store that older releases served', async () => {
        const { database, create, update, remove } = await open({ leavesOut: false });
        const [first, second, third] = [text(300), text(400), text(500)];
        const { id } = await create({ description: first });
        assertAtMost(300, (await database.all(lengths, {}))[0]!.length);
        await update(id, { description: second });
        await recordUpgraded(database);
        await update(id, { name: 'y' });
        await update(id, { description: third });
        await remove(id);
        const states = await recordedStates(database, id);
        assert.deepEqual(
          states.map(({ description }) => description),
          [first, second, second, third, third],
        );
      });
    }
  });
});

async function recordedStates(database: Database, petId?: number) {
  await assignPositions(database);
  const events = await withLongValues(database, await eventsAfter(database, 0, 1e9, 1000));
  return events
    .filter(({ subjectId }) => petId === undefined || subjectId === petId)
    .map(({ data }) => (data as { pet: Partial<NewPet> }).pet);
}

async function usedBytes(database: Database): Promise<number> {
  return (await databaseSize(database)).used;
}

function assertAtMost(actual: number, most: number) {
  assert.ok(actual <= most, `${actual} is more than ${most}`);
}

const lengths = query((db, _: Params<Record<never, never>>) =>
  db
    .selectFrom('events')
    .select(({ fn }) => fn<number>('length', ['data']).as('length'))
    .orderBy('id'),
);
