import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { type TestClock, testClock } from '../../lib/clock.ts';
import { etagOf } from '../../lib/etag.ts';
import { JsonText } from '../../lib/http/server/json.ts';
import { isUniqueViolation } from '../../lib/storage/database.ts';
import { formatTime } from '../../lib/time.ts';
import type { HoldRow, NewHold } from '../../model/hold.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import type { PetEventData } from '../pets/change.ts';
import { countByStatus } from '../pets/counts.ts';
import { list as listPets } from '../pets/list-route.ts';
import { lockPet } from '../pets/lock.ts';
import { createPet, deletePet, getPet, updatePet } from '../pets/pets.ts';
import { convertHold, reserve } from '../pets/reservations.ts';
import type { HoldEventData } from './events.ts';
import { expireHolds } from './expiry.ts';
import { createHold, endIfUsed, extendHold, getHold, lockActiveHold, releaseHold } from './holds.ts';
import { holdValues } from './rows.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const owner = { accountId: 1, admin: false };
const caller = { accountId: 2, admin: false };
const other = { accountId: 3, admin: false };
const admin = { accountId: 4, admin: true };

onEachEngine(engine => {
  afterEach(closeAll);

  describe('createHold', () => {
    it('holds every animal, by default for 15 minutes', async () => {
      const store = await open(engine);
      const hold = await store.hold(caller, [3, 1], { note: 'Both\nor none' });
      assert.deepEqual(hold, {
        id: 1,
        petIds: [1, 3],
        ownerIds: [1, 1],
        accountId: 2,
        status: 'active',
        note: 'Both\nor none',
        expiresAt: START + 15 * MINUTE,
        endedAt: null,
        createdAt: START,
        updatedAt: START,
        version: 1,
      });
      assert.deepEqual(await getHold(store.database, caller, 1, START), hold);
      assert.deepEqual(holdValues.fullOf(hold), {
        id: 1,
        petIds: [1, 3],
        accountId: 2,
        status: 'active',
        note: 'Both\nor none',
        expiresAt: '2026-11-21T12:15:00.000Z',
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:00.000Z',
      });
      assert.deepEqual(await store.statuses(START), ['pending', 'available', 'pending', 'available', 'available']);
      assert.deepEqual(await countByStatus(store.database, START), { available: 3, pending: 2, sold: 0 });
    });

    it('records the hold, and the hold of each animal', async () => {
      const store = await open(engine);
      await store.hold(caller, [2]);
      const [created] = await eventsOf<HoldEventData>(store.database, 'hold', 1);
      const expiresAt = '2026-11-21T12:15:00.000Z';
      const state = { petIds: [2], accountId: 2, status: 'active', expiresAt };
      assert.deepEqual(created!.data, { hold: state, ownerIds: [1] });
      assert.deepEqual([created!.action, created!.accountId, created!.at], ['created', 2, START]);
      const held = (await eventsOf<PetEventData>(store.database, 'pet', 2)).at(-1)!;
      assert.deepEqual([held.data.reason, held.data.holdId, held.accountId], ['held', 1, 2]);
    });

    it('holds none if one is reserved, sold, set aside or missing, and names it', async () => {
      const store = await open(engine);
      await store.hold(caller, [2]);
      await store.set(3, 'sold');
      await store.set(4, 'pending');
      const reserved = await failure(store.hold(other, [1, 2]), 'pet_reserved');
      assert.match(reserved.message, /^Animal 2 is on hold until 2026-11-21T12:15:00.000Z/);
      assert.deepEqual(reserved.headers, ['Retry-After', '900']);
      assert.match(
        (await failure(store.hold(other, [1, 3]), 'invalid_status_transition')).message,
        /^Animal 3 is sold/,
      );
      assert.match((await failure(store.hold(other, [1, 4]), 'invalid_status_transition')).message, /^Animal 4 is set/);
      assert.match((await failure(store.hold(other, [1, 99]), 'pet_not_found')).message, /no animal 99\./);
      assert.match((await failure(store.hold(other, [98, 1, 97]), 'pet_not_found')).message, /no animals 97, 98\./);
      assert.match((await failure(store.hold(caller, [2]), 'pet_reserved')).message, /^Animal 2/);
      assert.equal((await getPet(store.database, 1, START)).status, 'available');
      assert.equal((await getPet(store.database, 1, START)).version, 1);
      assert.equal((await store.database.all(allHolds, {})).length, 1);
    });

    it('accepts an expiry from one second to 30 days from now, to the millisecond', async () => {
      const store = await open(engine);
      for (const until of [START + 1000, START + 30 * DAY]) {
        const hold = await store.hold(caller, [1], { expiresAt: formatTime(until) });
        assert.equal(hold.expiresAt, until);
        await store.release(caller, hold.id);
      }
      for (const until of [START - DAY, START, START + 999, START + 30 * DAY + 1, START + 9000 * DAY]) {
        const refused = await failure(store.hold(caller, [1], { expiresAt: formatTime(until) }), 'invalid_body');
        assert.deepEqual(
          refused.errors?.map(({ path, code }) => [path, code]),
          [['/expiresAt', 'out_of_range']],
        );
      }
      const offset = await store.hold(caller, [1], { expiresAt: '2026-11-21T14:00:00.5+01:00' });
      assert.equal(offset.expiresAt, START + 60 * MINUTE + 500);
    });

    it('limits the animals in all active holds of an account', async () => {
      const store = await open(engine);
      await store.hold(caller, [1, 2], {}, 3);
      const refused = await failure(store.hold(caller, [3, 4], {}, 3), 'hold_limit_exceeded');
      assert.match(refused.message, /holds 2 animals, and 2 more would exceed 3, the maximum of its plan/);
      await store.hold(caller, [3], {}, 3);
      await failure(store.hold(caller, [4], {}, 3), 'hold_limit_exceeded');
      await store.hold(other, [4, 5], {}, 3);
      await store.release(caller, 1);
      await store.hold(caller, [1], {}, 3);
      store.clock.advance(15 * MINUTE);
      await store.hold(caller, [1, 2, 3], {}, 3);
    });

    it('does not count animals that were ordered from their hold', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2], {}, 2);
      await store.order(caller, 1, id);
      await store.hold(caller, [3], {}, 2);
      await failure(store.hold(caller, [4], {}, 2), 'hold_limit_exceeded');
    });
  });

  describe('getHold', () => {
    it('returns a hold to its placer, to the owners of its animals and to admins only', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1]);
      for (const actor of [caller, owner, admin, operator]) {
        assert.equal((await getHold(store.database, actor, id, START)).id, id);
      }
      await failure(getHold(store.database, other, id, START), 'hold_not_found');
      await failure(getHold(store.database, caller, id + 1, START), 'hold_not_found');
    });

    it('returns it to an owner whose animal was ordered from it', async () => {
      const store = await open(engine);
      await store.add(other);
      const { id } = await store.hold(caller, [1, 6]);
      await store.order(caller, 6, id);
      assert.deepEqual((await getHold(store.database, other, id, START)).petIds, [1, 6]);
    });
  });

  describe('extendHold', () => {
    it('changes the expiry of the hold and of its reservations, to a later or an earlier time', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2]);
      store.clock.advance(MINUTE);
      const later = await store.extend(caller, id, START + 60 * MINUTE);
      assert.deepEqual([later.expiresAt, later.version, later.updatedAt], [START + 60 * MINUTE, 3, START + MINUTE]);
      assert.deepEqual(await getHold(store.database, caller, id, START + 60 * MINUTE - 1), later);
      const refused = await failure(store.hold(other, [2]), 'pet_reserved');
      assert.match(refused.message, /until 2026-11-21T13:00:00.000Z/);
      assert.equal((await getPet(store.database, 1, START + 60 * MINUTE - 1)).status, 'pending');
      assert.equal((await getPet(store.database, 1, START + 60 * MINUTE)).status, 'available');

      await store.extend(caller, id, START + MINUTE + 1000);
      assert.equal((await getPet(store.database, 1, START + MINUTE + 1000)).status, 'available');
      const events = await eventsOf<HoldEventData>(store.database, 'hold', id);
      assert.deepEqual(
        events.map(({ action, data }) => [action, data.was?.expiresAt]),
        [
          ['created', undefined],
          ['extended', '2026-11-21T12:15:00.000Z'],
          ['extended', '2026-11-21T13:00:00.000Z'],
        ],
      );
    });

    it('changes nothing if the expiry is the same', async () => {
      const store = await open(engine);
      const hold = await store.hold(caller, [1]);
      assert.deepEqual(await store.extend(caller, hold.id, hold.expiresAt), hold);
      assert.equal((await eventsOf(store.database, 'hold', hold.id)).length, 1);
    });

    it('accepts an expiry from one second from now to 30 days after the hold was placed', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1], { expiresAt: formatTime(START + 20 * DAY) });
      store.clock.advance(10 * DAY);
      for (const until of [START + 10 * DAY + 999, START + 30 * DAY + 1]) {
        await failure(store.extend(caller, id, until), 'invalid_body');
      }
      await store.extend(caller, id, START + 30 * DAY);
      await store.extend(admin, id, START + 10 * DAY + 1000);
    });

    it('is allowed for its placer and admins', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1]);
      await failure(store.extend(owner, id, START + DAY), 'not_owner');
      await failure(store.extend(other, id, START + DAY), 'hold_not_found');
      await store.extend(admin, id, START + DAY);
    });

    it('does not change the reservation of an animal that was ordered from it', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2]);
      await store.order(caller, 1, id, START + DAY);
      await store.extend(caller, id, START + 2 * MINUTE);
      assert.equal((await getPet(store.database, 1, START + DAY - 1)).status, 'pending');
      assert.equal((await getPet(store.database, 2, START + 2 * MINUTE)).status, 'available');
    });

    it('rejects a hold that has ended in any way', async () => {
      const store = await open(engine);
      const released = await store.hold(caller, [1]);
      await store.release(caller, released.id);
      const used = await store.hold(caller, [2]);
      await store.order(caller, 2, used.id);
      const expired = await store.hold(caller, [3]);
      store.clock.advance(15 * MINUTE);
      const swept = await store.hold(caller, [3]);
      store.clock.advance(15 * MINUTE);
      await expireHolds(store.database, store.clock.now());
      const ends: [HoldRow, RegExp][] = [
        [released, /^Hold 1 was released/],
        [used, /^Hold 2 was used up/],
        [expired, /^Hold 3 expired at 2026-11-21T12:15:00.000Z/],
        [swept, /^Hold 4 expired at 2026-11-21T12:30:00.000Z/],
      ];
      for (const [{ id }, says] of ends) {
        assert.match((await failure(store.extend(caller, id, START + DAY), 'hold_ended')).message, says);
        assert.match((await failure(store.release(caller, id), 'hold_ended')).message, says);
        assert.match((await failure(store.usable(caller, id), 'hold_ended')).message, says);
      }
    });

    it('evaluates the precondition against the current version', async () => {
      const store = await open(engine);
      const hold = await store.hold(caller, [1]);
      const seen: string[] = [];
      const stale = (etag: string) => {
        seen.push(etag);
        throw new Error('changed');
      };
      const extension = { expiresAt: formatTime(START + DAY) };
      await assert.rejects(
        store.database.write(tx => extendHold(tx, caller, 1, extension, stale)),
        /changed/,
      );
      await assert.rejects(
        store.database.write(tx => releaseHold(tx, caller, 1, stale)),
        /changed/,
      );
      assert.deepEqual(await getHold(store.database, caller, 1, START), hold);
      assert.deepEqual(new Set(seen), new Set(['"1.1"']));
    });
  });

  describe('releaseHold', () => {
    it('ends the hold and makes the animals that it still holds available', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2, 3]);
      await store.order(caller, 1, id);
      store.clock.advance(MINUTE);
      const hold = await store.release(caller, id);
      assert.deepEqual([hold.status, hold.endedAt, hold.version], ['released', START + MINUTE, 3]);
      assert.deepEqual(await getHold(store.database, caller, id, START + DAY), hold);
      assert.deepEqual(await store.statuses(START + MINUTE), [
        'pending',
        'available',
        'available',
        'available',
        'available',
      ]);
      const freed = (await eventsOf<PetEventData>(store.database, 'pet', 2)).at(-1)!;
      assert.deepEqual([freed.data.reason, freed.data.holdId, freed.accountId], ['hold_released', id, 2]);
      const last = (await eventsOf<HoldEventData>(store.database, 'hold', id)).at(-1)!;
      assert.deepEqual([last.action, last.data.was], ['released', { status: 'active' }]);
    });

    it('is allowed for its placer, the owners of its animals and admins', async () => {
      const store = await open(engine);
      for (const actor of [caller, owner, admin]) {
        const { id } = await store.hold(caller, [1]);
        await failure(store.release(other, id), 'hold_not_found');
        assert.equal((await store.release(actor, id)).status, 'released');
      }
    });
  });

  describe('endIfUsed', () => {
    it('ends a hold when the last of its animals is ordered', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2]);
      await store.order(caller, 1, id);
      assert.equal((await getHold(store.database, caller, id, START)).status, 'active');
      await store.order(caller, 2, id);
      const hold = await getHold(store.database, caller, id, START);
      assert.deepEqual([hold.status, hold.endedAt, hold.version], ['used', START, 3]);
      const last = (await eventsOf<HoldEventData>(store.database, 'hold', id)).at(-1)!;
      assert.deepEqual([last.action, last.accountId], ['used', 2]);
    });

    it('ends it once if its animals are ordered concurrently', async () => {
      const store = await open(engine);
      for (let round = 0; round < 10; round++) {
        const { id } = await store.hold(caller, [1, 2, 3]);
        await Promise.all([1, 2, 3].map(petId => store.order(caller, petId, id)));
        const hold = await getHold(store.database, caller, id, START);
        assert.deepEqual([hold.status, hold.version], ['used', 3]);
        await store.database.write(tx => tx.run(freeAll, {}));
        await store.database.write(tx => tx.run(endAll, {}));
      }
    });

    it('accepts only holds of the caller’s own account', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1]);
      assert.equal((await store.usable(caller, id)).id, id);
      for (const actor of [owner, other, admin]) await failure(store.usable(actor, id), 'hold_not_found');
    });
  });

  describe('a hold that has expired before the job ran', () => {
    it('has expired from that millisecond: for its animals, for readers and for the next hold', async () => {
      const store = await open(engine);
      const { id, expiresAt } = await store.hold(caller, [1, 2]);
      const held = await getPet(store.database, 1, expiresAt - 1);
      assert.deepEqual([held.status, held.version], ['pending', 2]);
      const free = await getPet(store.database, 1, expiresAt);
      assert.deepEqual([free.status, free.version, free.updatedAt], ['available', 3, expiresAt]);
      assert.deepEqual(await countByStatus(store.database, expiresAt - 1), { available: 3, pending: 2, sold: 0 });
      assert.deepEqual(await countByStatus(store.database, expiresAt), { available: 5, pending: 0, sold: 0 });
      assert.equal((await getHold(store.database, caller, id, expiresAt - 1)).status, 'active');
      const gone = await getHold(store.database, caller, id, expiresAt);
      assert.deepEqual(
        [gone.status, gone.endedAt, gone.updatedAt, etagOf(gone)],
        ['expired', expiresAt, expiresAt, '"1.2"'],
      );

      store.clock.advance(15 * MINUTE - 1);
      await failure(store.hold(other, [1, 2]), 'pet_reserved');
      store.clock.advance(1);
      const next = await store.hold(other, [1, 2]);
      assert.equal((await getPet(store.database, 1, expiresAt)).version, 4);
      assert.deepEqual(await getHold(store.database, caller, id, expiresAt), gone);
      store.clock.advance(MINUTE);
      await expireHolds(store.database, store.clock.now());
      await expireHolds(store.database, store.clock.now());
      assert.deepEqual(await getHold(store.database, caller, id, store.clock.now()), gone);
      assert.equal((await getHold(store.database, other, next.id, store.clock.now())).status, 'active');
      const events = await eventsOf<HoldEventData>(store.database, 'hold', id);
      assert.deepEqual(
        events.map(({ action }) => action),
        ['created', 'expired'],
      );
      assert.deepEqual(events[1]!.data, {
        hold: { petIds: [1, 2], accountId: 2, status: 'expired', expiresAt: formatTime(expiresAt) },
        ownerIds: [1],
        was: { status: 'active' },
        at: expiresAt,
      });
      const reasons = (await eventsOf<PetEventData>(store.database, 'pet', 1)).map(({ data }) => data.reason);
      assert.deepEqual(reasons, [undefined, 'held', 'hold_expired', 'held']);
    });

    it('reads the same before and after the job, and so do its animals', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1, 2]);
      store.clock.advance(20 * MINUTE);
      const now = store.clock.now();
      const before = [await getHold(store.database, caller, id, now), await getPet(store.database, 1, now)];
      await expireHolds(store.database, now);
      assert.deepEqual([await getHold(store.database, caller, id, now), await getPet(store.database, 1, now)], before);
      assert.deepEqual(await store.database.all(stillActive, {}), []);
    });

    it('no longer affects lists of animals from that moment, cached ones included', async () => {
      const store = await open(engine);
      const { expiresAt } = await store.hold(caller, [1, 2]);
      const urls = ['/v1/pets', '/v1/pets?status=available', '/v1/pets?status=pending,sold', '/v1/pets?categoryId=2'];
      store.clock.advance(15 * MINUTE - 1);
      const before = await Promise.all(urls.map(url => store.page(url)));
      const again = await Promise.all(urls.map(url => store.page(url)));
      assert.deepEqual(again, before);
      if (engine.name === 'sqlite') assert.ok(again.every(({ answer }, index) => answer === before[index]!.answer));
      assert.deepEqual(
        before.map(({ ids, total }) => [ids, total]),
        [
          [[1, 2, 3, 4, 5], '5'],
          [[3, 4, 5], '3'],
          [[1, 2], undefined],
          [[1, 2, 3, 4, 5], '5'],
        ],
      );

      store.clock.advance(1);
      assert.equal(store.clock.now(), expiresAt);
      const after = await Promise.all(urls.map(url => store.page(url)));
      assert.deepEqual(
        after.map(({ ids, total }) => [ids, total]),
        [
          [[1, 2, 3, 4, 5], '5'],
          [[1, 2, 3, 4, 5], '5'],
          [[], undefined],
          [[1, 2, 3, 4, 5], '5'],
        ],
      );
      for (const [index, { etag }] of after.entries()) assert.notEqual(etag, before[index]!.etag);
      await expireHolds(store.database, expiresAt);
      const swept = await Promise.all(urls.map(url => store.page(url)));
      assert.deepEqual(
        swept.map(({ etag }) => etag),
        after.map(({ etag }) => etag),
      );
    });

    it('lets its animals be changed, deleted and set aside', async () => {
      const store = await open(engine);
      await store.hold(caller, [1, 2]);
      await failure(
        store.database.write(tx => deletePet(tx, owner, 1)),
        'pet_reserved',
      );
      store.clock.advance(15 * MINUTE);
      await store.database.write(tx => deletePet(tx, owner, 1));
      await store.set(2, 'pending');
      await expireHolds(store.database, store.clock.now());
      assert.equal((await getHold(store.database, caller, 1, store.clock.now())).status, 'expired');
      assert.equal((await getPet(store.database, 2, store.clock.now())).status, 'pending');
    });
  });

  describe('the unique index', () => {
    it('rejects a second active reservation of an animal', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1]);
      const second = store.database.write(tx => tx.run(insertReservation, { petId: 1, holdId: id }));
      await assert.rejects(second, error => isUniqueViolation(error) || isUniqueViolation((error as Error).cause));
    });

    it('turns a lost race into the error of the existing reservation', async () => {
      const store = await open(engine);
      const { id } = await store.hold(caller, [1]);
      const blind = store.database.write(async tx => {
        const pet = await lockPet(tx, 1);
        return reserve(tx, { ...pet, status: 'available', reservation: undefined }, { holdId: id, until: null }, 3);
      });
      assert.match((await failure(blind, 'pet_reserved')).message, /^Animal 1 is on hold until 2026-11-21T12:15/);
    });
  });
});

const opened: Database[] = [];

/** The server has few connections, and other suites need some too. */
async function closeAll() {
  await Promise.all(opened.splice(0).map(database => database.close()));
}

/** Opens a store with five animals of the owner. */
async function open(engine: Engine) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  opened.push(database);
  const store = storeOn(database, clock);
  for (let pet = 0; pet < 5; pet++) await store.add(owner);
  return store;
}

function storeOn(database: Database, clock: TestClock) {
  return {
    database,
    clock,
    add: ({ accountId }: { accountId: number }) =>
      database.write(tx => createPet(tx, accountId, { name: 'Minka', categoryId: 2 }, 'open')),
    hold: (
      actor: Actor & { accountId: number },
      petIds: number[],
      more: Partial<NewHold> = {},
      heldMax = 100,
    ): Promise<HoldRow> => database.write(tx => createHold(tx, actor, { petIds, ...more }, heldMax)),
    extend: (actor: Actor, id: number, until: number) =>
      database.write(tx => extendHold(tx, actor, id, { expiresAt: formatTime(until) })),
    release: (actor: Actor, id: number) => database.write(tx => releaseHold(tx, actor, id)),
    usable: (actor: Actor, id: number) => database.write(tx => lockActiveHold(tx, actor, id)),
    /** Moves the reservation of an animal from a hold to an order. */
    order: (actor: Actor, petId: number, holdId: number, until: number | null = null) =>
      database.write(async tx => {
        const pet = await lockPet(tx, petId);
        const hold = await lockActiveHold(tx, actor, holdId);
        const { id } = (await tx.first(insertOrder, { petId, holdId, now: tx.now }))!;
        await convertHold(tx, pet, { orderId: id, until }, actor.accountId);
        await endIfUsed(tx, hold);
      }),
    set: (id: number, status: 'sold' | 'pending') => database.write(tx => updatePet(tx, owner, id, { status }, 'open')),
    /** Returns the response of the list of animals, with the total. */
    async page(url: string) {
      const context = { name: 'production', database, clock, categories: 'open', bounds: {} } as const;
      const query = Object.fromEntries(new URL(url, 'http://x').searchParams);
      const request = {
        context,
        query: {
          ...(query['status'] !== undefined && { status: query['status'].split(',') }),
          ...(query['categoryId'] !== undefined && { categoryId: Number(query['categoryId']) }),
        },
        prefer: new Map([['count', 'exact']]),
        url,
        search: new URL(url, 'http://x').search,
        routePath: '/pets',
        path: {},
        baseUrl: 'http://x/v1',
      };
      const answer = await listPets.handle(request as never);
      const pets: { id: number }[] = JSON.parse(
        answer.body instanceof JsonText ? answer.body.text : JSON.stringify(answer.body),
      );
      const headerOf = (name: string) => answer.headers![answer.headers!.indexOf(name) + 1];
      return {
        answer,
        ids: pets.map(({ id }) => id),
        etag: headerOf('ETag'),
        total: answer.headers!.includes('X-Total-Count') ? headerOf('X-Total-Count') : undefined,
      };
    },
    async statuses(now: number) {
      return Promise.all([1, 2, 3, 4, 5].map(async id => (await getPet(database, id, now)).status));
    },
  };
}

async function failure(work: Promise<unknown>, code: string) {
  const error = (await work.then(
    () => assert.fail(`no ${code}`),
    caught => caught,
  )) as Error & { code: string; headers?: readonly string[]; errors?: readonly { path: string; code: string }[] };
  assert.equal(error.code, code, error.stack ?? '');
  return error;
}

const allHolds = query(db => db.selectFrom('holds').select('id'));

const stillActive = query(db => db.selectFrom('reservations').select('id').where('active', '=', 1));

const insertReservation = query((db, p: Params<{ petId: number; holdId: number }>) =>
  db
    .insertInto('reservations')
    .values({ pet_id: p.petId, owner_id: 1, hold_id: p.holdId, order_id: null, until: null, active: 1 }),
);

const insertOrder = query((db, p: Params<{ petId: number; holdId: number; now: number }>) =>
  db
    .insertInto('orders')
    .values({
      pet_id: p.petId,
      account_id: 2,
      owner_id: 1,
      hold_id: p.holdId,
      status: 'placed',
      quantity: 1,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);

const freeAll = query(db => db.updateTable('pets').set({ status: 'available', reserved_until: null }));
const endAll = query(db => db.updateTable('reservations').set({ active: 0 }));
