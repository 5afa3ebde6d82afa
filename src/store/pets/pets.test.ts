import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { etagOf } from '../../lib/etag.ts';
import { formatTime } from '../../lib/time.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type NewPet, type PetPatch, petValues } from '../../model/pet.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { createHold } from '../holds/holds.ts';
import type { PetEventData } from './change.ts';
import { countByStatus, countPets } from './counts.ts';
import { createPet, deletePet, getPet, replacePet, updatePet } from './pets.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const owner: Actor = { accountId: 7, admin: false };
const minka = { name: 'Minka', categoryId: 2 };

onEachEngine(engine => {
  const add = (database: Database, pet: NewPet, categories: 'open' | 'strict' = 'open') =>
    database.write(async tx => petValues.plainOf(await createPet(tx, 7, pet, categories)));

  describe('createPet', () => {
    it('creates a pet that belongs to the account, at the time of the clock', async () => {
      const database = await engine.open({ clock: testClock(1_795_000_000_123.5) });
      const pet = await add(database, { name: 'Minka', categoryId: 2 });
      assert.deepEqual(pet, { id: pet.id, name: 'Minka', categoryId: 2, status: 'available' });
      const stored = Object.entries((await database.first(wholePet, { id: pet.id }))!);
      assert.deepEqual(Object.fromEntries(stored.filter(([, value]) => value !== null)), {
        id: pet.id,
        name: 'Minka',
        category_id: 2,
        status: 'available',
        account_id: 7,
        created_at: 1_795_000_000_123,
        updated_at: 1_795_000_000_123,
        version: 1,
      });
      assert.deepEqual(petValues.plainOf(await getPet(database, pet.id, 0)), pet);
    });

    it('assigns increasing ids from 1 and reuses none, also concurrently', async () => {
      const database = await engine.open();
      const pets = await Promise.all(Array.from({ length: 200 }, () => add(database, { name: 'x', categoryId: 1 })));
      const ids = pets.map(({ id }) => id).toSorted((a, b) => a - b);
      assert.equal(ids[0], 1);
      assert.equal(new Set(ids).size, 200);
      await database.write(tx => tx.run(removeAll, {}));
      assert.ok((await add(database, { name: 'x', categoryId: 1 })).id > ids.at(-1)!);
    });

    it('stores every name unchanged, and every category up to 2^53 − 1', async () => {
      const database = await engine.open();
      for (const name of ['  x ', 'é', 'e\u0301', '🐈', '\'"\\%_', '\u200d', '\u{10ffff}', '\ufffe', 'x'.repeat(255)]) {
        const pet = await add(database, { name, categoryId: Number.MAX_SAFE_INTEGER });
        assert.deepEqual(petValues.plainOf(await getPet(database, pet.id, 0)), pet);
        assert.equal(pet.name, name);
        assert.equal(pet.categoryId, Number.MAX_SAFE_INTEGER);
      }
    });

    it('creates one placeholder for an unknown category, also concurrently', async () => {
      const database = await engine.open();
      await Promise.all(
        Array.from({ length: 30 }, (_, index) => add(database, { name: 'x', categoryId: 5000 + (index % 2) })),
      );
      const rows = await database.all(categoriesFrom, { id: 5000 });
      assert.deepEqual(
        rows.map(({ id, name, placeholder }) => [id, name, placeholder]),
        [
          [5000, 'Category 5000', 1],
          [5001, 'Category 5001', 1],
        ],
      );
    });

    it('rejects an unknown category if categories are strict, and changes nothing', async () => {
      const database = await engine.open();
      await assert.rejects(add(database, { name: 'x', categoryId: 9 }, 'strict'), {
        code: 'category_not_found',
        status: 400,
      });
      assert.equal(await countPets(database, {}, 0), 0);
      assert.deepEqual(await database.all(categoriesFrom, { id: 9 }), []);
      assert.equal((await add(database, { name: 'x', categoryId: 8 }, 'strict')).categoryId, 8);
    });
  });

  describe('getPet', () => {
    it('rejects an unknown id', async () => {
      const database = await engine.open();
      await assert.rejects(async () => getPet(database, 1, 0), { code: 'pet_not_found', status: 404 });
      await assert.rejects(async () => getPet(database, Number.MAX_SAFE_INTEGER, 0), { code: 'pet_not_found' });
    });
  });

  describe('updatePet', () => {
    it('changes the given members, and deletes those that are null', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const { id } = await add(database, { ...minka, statusReason: 'new', price: { amount: 5, currency: 'EUR' } });
      clock.advance(10);
      const change = (patch: PetPatch) => database.write(tx => updatePet(tx, owner, id, patch, 'open'));
      assert.deepEqual(petValues.fullOf(await change({ name: 'Moritz', statusReason: null })), {
        id,
        name: 'Moritz',
        categoryId: 2,
        status: 'available',
        price: { amount: 5, currency: 'EUR' },
        accountId: 7,
        createdAt: '2026-11-21T12:00:00.000Z',
        updatedAt: '2026-11-21T12:00:00.010Z',
        etag: `"${id}.2"`,
      });
      await change({ price: null, status: 'pending', statusReason: 'in foster' });
      const pet = petValues.fullOf(await getPet(database, id, clock.now()));
      assert.deepEqual([pet.price, pet.status, pet.statusReason], [undefined, 'pending', 'in foster']);
      assert.equal((await change({})).version, 3);
      assert.equal((await change({ name: 'Moritz', categoryId: 2, price: null })).version, 3);
    });

    it('changes the given members of a price, and rejects an incomplete price', async () => {
      const database = await engine.open();
      const { id } = await add(database, { ...minka, price: { amount: 5, currency: 'EUR' } });
      const change = async (price: PetPatch['price']) =>
        petValues.fullOf(
          await database.write(tx => updatePet(tx, owner, id, price === undefined ? {} : { price }, 'open')),
        ).price;
      assert.deepEqual(await change({ amount: 7 }), { amount: 7, currency: 'EUR' });
      assert.deepEqual(await change({ currency: 'USD' }), { amount: 7, currency: 'USD' });
      assert.deepEqual(await change({}), { amount: 7, currency: 'USD' });
      assert.equal(await change(null), undefined);
      for (const half of [{ amount: 7 }, { currency: 'USD' }, {}]) {
        await assert.rejects(change(half), { code: 'invalid_body', status: 400 }, JSON.stringify(half));
      }
      assert.equal(petValues.fullOf(await getPet(database, id, 0)).price, undefined);
      assert.deepEqual(await change({ amount: 0, currency: 'EUR' }), { amount: 0, currency: 'EUR' });
    });

    it('allows only the owner, admins and the operator', async () => {
      const database = await engine.open();
      const { id } = await add(database, minka);
      const change = (actor: Actor, name: string) => database.write(tx => updatePet(tx, actor, id, { name }, 'open'));
      await assert.rejects(change({ accountId: 8, admin: false }, 'x'), { code: 'not_owner', status: 403 });
      const actors = [owner, { accountId: 8, admin: true }, operator];
      for (const actor of actors) await change(actor, `by ${actor.accountId}`);
      const events = await eventsOf(database, 'pet', id);
      assert.deepEqual(
        events.map(({ accountId }) => accountId),
        [7, 7, 8, null],
      );
    });

    it('rejects an unknown pet for every caller', async () => {
      const database = await engine.open();
      for (const actor of [owner, operator]) {
        await assert.rejects(
          database.write(tx => updatePet(tx, actor, 1, {}, 'open')),
          { code: 'pet_not_found' },
        );
      }
    });

    it('checks the precondition against the current version, also after an expiry', async () => {
      const { database, id, clock } = await heldPet();
      const seen: string[] = [];
      const change = (name: string) =>
        database.write(tx => updatePet(tx, owner, id, { name }, 'open', etag => seen.push(etag)));
      await change('y');
      clock.advance(1000);
      const shown = etagOf(await getPet(database, id, clock.now()));
      await change('z');
      assert.deepEqual(seen, [`"${id}.2"`, `"${id}.5"`]);
      assert.equal(shown, seen[1]);

      const refused = new Error('another version');
      await assert.rejects(
        database.write(tx =>
          updatePet(tx, owner, id, { name: 'no' }, 'open', () => {
            throw refused;
          }),
        ),
        refused,
      );
      assert.equal((await getPet(database, id, clock.now())).name, 'z');
    });

    it('rejects only a new status while a hold is active', async () => {
      const { database, id, clock } = await heldPet();
      const change = (patch: PetPatch) => database.write(tx => updatePet(tx, owner, id, patch, 'open'));
      for (const status of ['available', 'sold'] as const) {
        await assert.rejects(change({ status, name: 'no' }), {
          code: 'pet_reserved',
          status: 409,
          message: `Animal ${id} is on hold until 2026-11-21T12:00:01.000Z; it may be available then.`,
          headers: ['Retry-After', '1'],
        });
      }
      await change({ status: 'pending', name: 'y', categoryId: 3, price: { amount: 1, currency: 'EUR' } });
      clock.advance(999);
      await assert.rejects(change({ status: 'sold' }), { code: 'pet_reserved' });
      clock.advance(1);
      const pet = await change({ status: 'sold' });
      assert.deepEqual([pet.status, pet.name, pet.categoryId, pet.version], ['sold', 'y', 3, 6]);
      const reasons = (await eventsOf<PetEventData>(database, 'pet', id)).map(({ data }) => [
        data.reason,
        data.was?.status,
      ]);
      assert.deepEqual(reasons, [
        [undefined, undefined],
        ['held', 'available'],
        [undefined, undefined],
        ['hold_expired', 'pending'],
        [undefined, 'available'],
      ]);
      assert.deepEqual(await countByStatus(database, clock.now()), { available: 0, pending: 0, sold: 1 });
    });

    it('allows every change of status without a reservation', async () => {
      const database = await engine.open();
      const statuses = ['available', 'pending', 'sold'] as const;
      for (const from of statuses) {
        for (const to of statuses) {
          const { id } = await add(database, { ...minka, status: from });
          const pet = await database.write(tx => updatePet(tx, owner, id, { status: to }, 'open'));
          assert.deepEqual([pet.status, pet.version], [to, from === to ? 1 : 2]);
        }
      }
      assert.deepEqual(await countByStatus(database, 0), { available: 3, pending: 3, sold: 3 });
    });

    it('creates a placeholder for an unknown category, or rejects it if categories are strict', async () => {
      const database = await engine.open();
      const { id } = await add(database, minka);
      const change = (categoryId: number, categories: 'open' | 'strict') =>
        database.write(tx => updatePet(tx, owner, id, { categoryId }, categories));
      await assert.rejects(change(4711, 'strict'), { code: 'category_not_found', status: 400 });
      assert.deepEqual(await database.all(categoriesFrom, { id: 9 }), []);
      assert.equal((await change(4711, 'open')).categoryId, 4711);
      assert.equal((await change(4711, 'strict')).categoryId, 4711);
      assert.equal(await countPets(database, { categoryId: [2] }, 0), 0);
      assert.equal(await countPets(database, { categoryId: [4711] }, 0), 1);
    });
  });

  describe('replacePet', () => {
    const replace = (database: Database, id: number, pet: NewPet, actor: Actor = owner) =>
      database.write(tx => replacePet(tx, actor, id, pet, 'open'));

    it('replaces all members, deletes absent optional ones, and defaults the status to available', async () => {
      const database = await engine.open({ clock: testClock(START) });
      const whole = { statusReason: 'adopted', price: { amount: 5, currency: 'EUR' } };
      const { id } = await add(database, { ...minka, status: 'sold', ...whole });
      const pet = petValues.fullOf(await replace(database, id, { name: 'Rex', categoryId: 1 }));
      assert.deepEqual([pet.name, pet.categoryId, pet.status, pet.etag], ['Rex', 1, 'available', `"${id}.2"`]);
      assert.ok(!('price' in pet) && !('statusReason' in pet));
      assert.equal(pet.createdAt, '2026-11-21T12:00:00.000Z');
      const again = await replace(database, id, { name: 'Rex', categoryId: 1 });
      assert.equal(again.version, 2);
      assert.equal((await replace(database, id, { ...minka, ...whole, status: 'sold' })).statusReason, 'adopted');
    });

    it('allows only the owner and admins, and rejects an unknown pet', async () => {
      const database = await engine.open();
      const { id } = await add(database, minka);
      await assert.rejects(replace(database, id, minka, { accountId: 8, admin: false }), { code: 'not_owner' });
      await assert.rejects(replace(database, id + 1, minka, operator), { code: 'pet_not_found' });
      assert.equal((await replace(database, id, { ...minka, name: 'y' }, operator)).name, 'y');
    });

    it('rejects a new status of a held pet', async () => {
      const { database, id, clock } = await heldPet();
      await assert.rejects(replace(database, id, { ...minka, name: 'y' }), { code: 'pet_reserved' });
      assert.equal((await replace(database, id, { ...minka, name: 'y', status: 'pending' })).name, 'y');
      clock.advance(1000);
      assert.equal((await replace(database, id, minka)).status, 'available');
    });
  });

  describe('deletePet', () => {
    it('deletes the pet, records its last state, and never reuses its id', async () => {
      const clock = testClock(START);
      const database = await engine.open({ clock });
      const { id } = await add(database, { ...minka, status: 'sold', price: { amount: 5, currency: 'EUR' } });
      clock.advance(10);
      await database.write(tx => deletePet(tx, owner, id));
      await assert.rejects(async () => getPet(database, id, clock.now()), { code: 'pet_not_found' });
      await assert.rejects(
        database.write(tx => deletePet(tx, owner, id)),
        { code: 'pet_not_found' },
      );
      const [, removal, ...more] = await eventsOf<PetEventData>(database, 'pet', id);
      assert.deepEqual([removal!.action, removal!.accountId, removal!.at, more], ['deleted', 7, START + 10, []]);
      assert.deepEqual(removal!.data, {
        pet: { ...minka, status: 'sold', price: { amount: 5, currency: 'EUR' } },
        ownerId: 7,
      });
      assert.deepEqual(await countByStatus(database, 0), { available: 0, pending: 0, sold: 0 });
      assert.equal(await countPets(database, { categoryId: [2] }, 0), 0);
      assert.ok((await add(database, minka)).id > id);
    });

    it('allows only the owner and admins, and only the expected version', async () => {
      const database = await engine.open();
      const { id } = await add(database, minka);
      await assert.rejects(
        database.write(tx => deletePet(tx, { accountId: 8, admin: false }, id)),
        { code: 'not_owner' },
      );
      const expecting = (tag: string) =>
        database.write(tx => deletePet(tx, operator, id, etag => assert.equal(etag, tag)));
      await assert.rejects(expecting(`"${id}.2"`), { name: 'AssertionError' });
      await expecting(`"${id}.1"`);
    });

    it('rejects a held pet until the millisecond of the expiry', async () => {
      const { database, id, clock } = await heldPet();
      const remove = () => database.write(tx => deletePet(tx, owner, id));
      clock.advance(999);
      await assert.rejects(remove(), { code: 'pet_reserved', status: 409 });
      clock.advance(1);
      await remove();
      const reasons = (await eventsOf<PetEventData>(database, 'pet', id)).map(({ action, data }) => [
        action,
        data.reason,
      ]);
      assert.deepEqual(reasons.slice(2), [
        ['updated', 'hold_expired'],
        ['deleted', undefined],
      ]);
      assert.deepEqual(await countByStatus(database, clock.now()), { available: 0, pending: 0, sold: 0 });
    });
  });

  /** An animal of account 7 that another account holds for a second. */
  async function heldPet() {
    const clock = testClock(START);
    const database = await engine.open({ clock });
    const { id } = await add(database, minka);
    const hold = { petIds: [id], expiresAt: formatTime(START + 1000) };
    await database.write(tx => createHold(tx, { accountId: 9, admin: false }, hold, 100));
    return { database, id, clock };
  }

  describe('countPets', () => {
    it('counts by one status, by one category and in total, and by no other filter', async () => {
      const database = await engine.open();
      const statuses = ['available', 'pending', 'sold'] as const;
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          add(database, { name: 'x', categoryId: (index % 4) + 1, status: statuses[index % 3]! }),
        ),
      );
      assert.equal(await countPets(database, {}, 0), 60);
      assert.equal(await countPets(database, { status: ['sold'] }, 0), 20);
      assert.equal(await countPets(database, { categoryId: [3] }, 0), 15);
      assert.equal(await countPets(database, { categoryId: [99] }, 0), 0);
      for (const filter of [
        { status: ['sold', 'pending'] as const },
        { status: ['sold'] as const, categoryId: [1] },
        { id: [1] },
      ]) {
        assert.equal(await countPets(database, filter, 0), undefined);
      }
    });

    it('counts nothing that was rolled back', async () => {
      const database = await engine.open();
      const undone = database.write(async tx => {
        await createPet(tx, 7, { name: 'x', categoryId: 1 }, 'open');
        throw new Error('undone');
      });
      await assert.rejects(undone, /undone/);
      assert.equal(await countPets(database, {}, 0), 0);
      assert.equal(await countPets(database, { categoryId: [1] }, 0), 0);
    });
  });
});

const wholePet = query((db, p: Params<{ id: number }>) => db.selectFrom('pets').selectAll().where('id', '=', p.id));

const removeAll = query(db => db.deleteFrom('pets'));

const categoriesFrom = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').selectAll().where('id', '>=', p.id).orderBy('id'),
);
