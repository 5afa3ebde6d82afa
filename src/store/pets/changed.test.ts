import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { formatTime } from '../../lib/time.ts';
import { operator } from '../../model/log/event.ts';
import { recordEvents } from '../../model/log/log.ts';
import { assignPositions } from '../../model/log/ordering.ts';
import type { NewPet, PetPatch } from '../../model/pet.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import { type ChangeFilter, changedPets } from './changed.ts';
import { createPet, deletePet, getPet, updatePet } from './pets.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const ever = '1970-01-01T00:00:00Z';

onEachEngine(engine => {
  describe('changedPets', () => {
    it('lists each pet once, at its last change, with its current values', async () => {
      const { add, change, list } = await open(engine);
      for (const name of ['a', 'b', 'c', 'd']) await add({ name });
      await change(2, { name: 'b2' });
      await change(1, { status: 'sold' });
      await change(2, { name: 'b3', categoryId: 5 });
      const { rows: pets, token } = await list(ever);
      assert.deepEqual(pets, [
        { id: 3, name: 'c', categoryId: 2, status: 'available' },
        { id: 4, name: 'd', categoryId: 2, status: 'available' },
        { id: 1, name: 'a', categoryId: 2, status: 'sold' },
        { id: 2, name: 'b3', categoryId: 5, status: 'available' },
      ]);
      assert.equal(typeof token, 'string');
    });

    it('lists the changes at the time or later, even if they were committed out of order', async () => {
      const { database, add, change, ids, clock } = await open(engine);
      await add({ name: 'a' });
      clock.advance(1000);
      await add({ name: 'b' });
      clock.advance(1000);
      await change(1, { name: 'a2' });
      for (const [since, expected] of [
        [0, [2, 1]],
        [1, [2, 1]],
        [1000, [2, 1]],
        [1001, [1]],
        [2000, [1]],
        [2001, []],
        [1_000_000_000, []],
      ] as const) {
        assert.deepEqual(await ids(formatTime(START + since)), expected, `since ${since}`);
      }
      assert.deepEqual(await ids('2026-11-21T13:00:01.001+01:00'), [1]);
      // Written by processes whose clocks are behind and ahead.
      await writtenAt(database, 2, START + 111_000);
      await writtenAt(database, 1, START + 125_000);
      await writtenAt(database, 2, START + 119_000);
      assert.deepEqual(await ids(formatTime(START + 119_000)), [1, 2]);
      assert.deepEqual(await ids(formatTime(START + 119_001)), [1]);
      assert.deepEqual(await ids(formatTime(START + 125_001)), []);
    });

    it('continues from its token, and returns a token when nothing changed', async () => {
      const { add, change, list, remove } = await open(engine);
      await add({ name: 'a' });
      const first = await list(ever);
      const second = await list(first.token!);
      assert.deepEqual([second.rows, second.next], [[], undefined]);
      await add({ name: 'b' });
      await change(1, { name: 'a2' });
      const third = await list(second.token!);
      assert.deepEqual(
        third.rows.map(({ id }) => id),
        [2, 1],
      );
      await remove(2);
      const fourth = await list(third.token!, { includeRemoved: true });
      assert.deepEqual(fourth.rows, [{ id: 2, name: 'b', categoryId: 2, deletedAt: formatTime(START) }]);
      assert.deepEqual(
        (await list(first.token!)).rows.map(({ id }) => id),
        [1],
      );
    });

    it('is empty for a future time, and its token continues from now', async () => {
      const { add, list } = await open(engine);
      await add({ name: 'a' });
      const { rows: pets, token } = await list('2100-01-01T00:00:00Z');
      assert.deepEqual(pets, []);
      await add({ name: 'b' });
      assert.deepEqual(
        (await list(token!)).rows.map(({ id }) => id),
        [2],
      );
    });

    it('lists deletions only with includeRemoved, within the requested categories', async () => {
      const { add, remove, change, list, clock } = await open(engine);
      await add({ name: 'a' });
      await add({ name: 'b', categoryId: 3, status: 'sold' });
      clock.advance(500);
      await change(1, { name: 'a2' });
      await remove(1);
      await remove(2);
      const one = { id: 1, name: 'a2', categoryId: 2, deletedAt: formatTime(START + 500) };
      const two = { id: 2, name: 'b', categoryId: 3, deletedAt: formatTime(START + 500) };
      assert.deepEqual((await list(ever)).rows, []);
      assert.deepEqual((await list(ever, { includeRemoved: false })).rows, []);
      assert.deepEqual((await list(ever, { includeRemoved: true })).rows, [one, two]);
      assert.deepEqual((await list(ever, { includeRemoved: true, categoryId: 3 })).rows, [two]);
      assert.deepEqual((await list(ever, { includeRemoved: true, status: ['available'] })).rows, [one, two]);
    });

    it('filters by current status, category and descendants, in both views', async () => {
      const { database, add, change, ids, list } = await open(engine);
      await database.write(tx => tx.run(addCategory, { id: 1001, parent: 2 }));
      await add({ name: 'a' });
      await add({ name: 'b', categoryId: 1001, status: 'sold' });
      await add({ name: 'c', categoryId: 3, status: 'pending' });
      await change(1, { status: 'pending' });
      assert.deepEqual(await ids(ever, { status: ['available'] }), []);
      assert.deepEqual(await ids(ever, { status: ['pending'] }), [3, 1]);
      assert.deepEqual(await ids(ever, { status: ['sold', 'pending'] }), [2, 3, 1]);
      assert.deepEqual(await ids(ever, { categoryId: 2 }), [1]);
      assert.deepEqual(await ids(ever, { categoryId: 2, includeDescendants: true }), [2, 1]);
      assert.deepEqual(await ids(ever, { categoryId: 2, includeDescendants: true, status: ['sold'] }), [2]);
      const { rows: pets } = await changedPets(
        database,
        { updatedSince: ever, status: ['sold'] },
        { limit: 20 },
        START,
        'full',
      );
      assert.deepEqual(pets, [
        {
          id: 2,
          name: 'b',
          categoryId: 1001,
          status: 'sold',
          accountId: 1,
          createdAt: formatTime(START),
          updatedAt: formatTime(START),
          etag: '"2.1"',
        },
      ]);
      assert.equal((await list(ever)).rows.length, 3);
    });

    it('ends where the first page set the end; later changes come with the next token', async () => {
      const { add, change, remove, list } = await open(engine);
      for (let id = 1; id <= 7; id++) await add({ name: `${id}` });
      const first = await list(ever, {}, 3);
      assert.deepEqual([first.rows.map(({ id }) => id), first.token], [[1, 2, 3], undefined]);
      await change(1, { name: 'changed' });
      await change(5, { name: 'changed' });
      await remove(6);
      await add({ name: 'new' });
      const second = await list(ever, {}, 3, first.next);
      assert.deepEqual(second.rows, [
        { id: 4, name: '4', categoryId: 2, status: 'available' },
        { id: 5, name: 'changed', categoryId: 2, status: 'available' },
        { id: 7, name: '7', categoryId: 2, status: 'available' },
      ]);
      assert.equal(second.next, undefined);
      const third = await list(second.token!, { includeRemoved: true });
      assert.deepEqual(
        third.rows.map(pet => [pet.id, 'deletedAt' in pet]),
        [
          [1, false],
          [5, false],
          [6, true],
          [8, false],
        ],
      );
    });

    it('accepts only cursors of the same list', async () => {
      const { add, list } = await open(engine);
      for (let id = 1; id <= 3; id++) await add({ name: `${id}` });
      const { next } = await list(ever, { categoryId: 2 }, 1);
      assert.equal((await list(ever, { categoryId: 2 }, 2, next)).rows.length, 2);
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const [version, digest] = JSON.parse(Buffer.from(next!, 'base64url').toString()) as [number, string];
      for (const [since, filter, cursor] of [
        [ever, {}, next],
        [ever, { categoryId: 2, includeRemoved: true }, next],
        [ever, { categoryId: 2, includeDescendants: true }, next],
        ['1970-01-01T00:00:01Z', { categoryId: 2 }, next],
        [ever, { categoryId: 2 }, 'abc'],
        [ever, { categoryId: 2 }, encode([version, digest, 3, 1])],
        [ever, { categoryId: 2 }, encode([version, digest, 1, 4711])],
        [ever, { categoryId: 2 }, encode([version, digest, -1, 3])],
        [ever, { categoryId: 2 }, encode(null)],
      ] as const) {
        await assert.rejects(list(since, filter, 2, cursor), { code: 'invalid_parameter', status: 400 });
      }
    });

    it('accepts a token for thirty days, then returns sync_token_expired', async () => {
      const { add, list, clock } = await open(engine);
      await add({ name: 'a' });
      const { token } = await list(ever);
      clock.advance(30 * DAY - 1);
      assert.deepEqual((await list(token!)).rows, []);
      clock.advance(1);
      await assert.rejects(list(token!), { code: 'sync_token_expired', status: 410 });
    });

    it('returns the same token for up to an hour without changes, each valid for thirty days', async () => {
      const { add, list, clock } = await open(engine);
      await add({ name: 'a' });
      clock.advance(1);
      const { token } = await list(ever);
      clock.advance(HOUR - 1);
      assert.equal((await list(token!)).token, token);
      clock.advance(1);
      assert.notEqual((await list(token!)).token, token);
      clock.advance(30 * DAY - HOUR);
      assert.deepEqual((await list(token!)).rows, []);
    });

    it('rejects a token after a restore from a backup', async () => {
      const { add, list } = await open(engine);
      const restored = await open(engine);
      for (const name of ['a', 'b']) await add({ name });
      await restored.add({ name: 'a' });
      const { token } = await list(ever);
      await assert.rejects(restored.list(token!), { code: 'sync_token_expired', message: /restored/ });
    });

    it('rejects a value that is neither a time nor a token', async () => {
      const { list } = await open(engine);
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      for (const since of [
        'yesterday',
        '2026-11-20',
        '2026-02-30T00:00:00Z',
        '2026-11-20T12:00:00 01:00',
        '2026-11-20T12:00:00',
        '1795000000000',
        'abc',
        encode([1, 0]),
        encode([2, 0, 0]),
        encode([1, -1, 0]),
        encode([1, 0.5, 0]),
        encode([1, '0', 0]),
        encode({}),
        encode(null),
      ]) {
        await assert.rejects(list(since), { code: 'invalid_parameter', status: 400 }, since);
      }
    });

    it('lists an expiry that no job has recorded yet', async () => {
      const { database, add, list, clock } = await open(engine);
      const { id } = await add({ name: 'a' });
      const hold = { petIds: [id], expiresAt: formatTime(START + 1000) };
      await database.write(tx => createHold(tx, { accountId: 5, admin: false }, hold, 100));
      const { rows: pets, token } = await list(ever);
      assert.equal((pets[0] as { status?: string }).status, 'pending');
      clock.advance(999);
      const before = await list(token!);
      assert.deepEqual(before.rows, []);
      clock.advance(1);
      assert.deepEqual((await list(before.token!)).rows, [{ id, name: 'a', categoryId: 2, status: 'available' }]);
    });

    it('works while storage rejects writes, and lists the expiry later', async () => {
      const { database, add, clock } = await open(engine);
      const { id } = await add({ name: 'a' });
      const hold = { petIds: [id], expiresAt: formatTime(START + 1000) };
      await database.write(tx => createHold(tx, { accountId: 5, admin: false }, hold, 100));
      const list = (on: Database, since: string) =>
        changedPets(on, { updatedSince: since }, { limit: 20 }, clock.now());
      const { token } = await list(database, ever);
      const { id: late } = await add({ name: 'late' });
      clock.advance(1000);
      const full: Database = {
        ...database,
        engine: database.engine,
        all: (query, params) => database.all(query, params),
        first: (query, params) => database.first(query, params),
        write: () => Promise.reject(new StorageError('full', 'The disk is full.')),
      };
      const some = await list(full, token!);
      // Events without a position are not listed, and the token is not beyond them.
      const placed = engine.name === 'sqlite' ? [late] : [];
      assert.deepEqual(
        some.rows.map(({ id }) => id),
        placed,
      );
      const rest = await list(database, some.token!);
      assert.deepEqual([...placed, ...rest.rows.map(({ id }) => id)].sort(), [id, late]);
      assert.equal((await getPet(database, id, clock.now())).status, 'available');
    });

    it('scans 20,000 events per page, and continues after them', async () => {
      const { database, add, list } = await open(engine);
      await add({ name: 'first' });
      for (let done = 0; done < 45_000; done += 500) {
        await database.write(tx =>
          recordEvents(
            tx,
            Array.from({ length: 500 }, () => ({
              kind: 'order',
              action: 'placed',
              subjectId: 1,
              accountId: null,
              data: {},
            })),
          ),
        );
      }
      await add({ name: 'last' });
      // So many events get their positions in more time than a reader waits.
      await assignPositions(database);
      let page = await list(ever);
      const pages = [page.rows.map(({ id }) => id)];
      while (page.next !== undefined) {
        page = await list(ever, {}, 20, page.next);
        pages.push(page.rows.map(({ id }) => id));
      }
      assert.deepEqual(pages, [[1], [], [2]]);
      assert.deepEqual((await list(page.token!)).rows, []);
    });
  });
});

async function open(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  const list = (updatedSince: string, filter: Partial<ChangeFilter> = {}, limit = 20, cursor?: string) =>
    changedPets(database, { ...filter, updatedSince }, { limit, cursor }, Math.floor(clock.now()));
  return {
    clock,
    database,
    list,
    ids: async (since: string, filter: Partial<ChangeFilter> = {}) =>
      (await list(since, filter)).rows.map(({ id }) => id),
    add: (pet: Partial<NewPet> & { name: string }) =>
      database.write(tx => createPet(tx, 1, { categoryId: 2, ...pet }, 'open')),
    change: (id: number, patch: PetPatch) => database.write(tx => updatePet(tx, operator, id, patch, 'open')),
    remove: (id: number) => database.write(tx => deletePet(tx, operator, id)),
  };
}

/** Inserts an event of an animal, as another process could have written it. */
function writtenAt(database: Database, subjectId: number, at: number): Promise<unknown> {
  return database.write(tx => tx.run(insertEvent, { subjectId, at }));
}

const insertEvent = query((db, p: Params<{ subjectId: number; at: number }>) =>
  db.insertInto('events').values({
    at: p.at,
    kind: 'pet',
    action: 'updated',
    subject_id: p.subjectId,
    account_id: null,
    data: '{"pet":{}}',
  }),
);

const addCategory = query((db, p: Params<{ id: number; parent: number }>) =>
  db.insertInto('categories').values({
    id: p.id,
    name: 'x',
    slug: 'x',
    parent_id: p.parent,
    placeholder: 0,
    created_at: 0,
    updated_at: 0,
  }),
);
