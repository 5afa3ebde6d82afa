import assert from 'node:assert/strict';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { type Actor, operator } from '../../src/model/log/event.ts';
import { type NewOrder, type NewOrderReturn, petIdsOf } from '../../src/model/order.ts';
import type { NewPet, PetStatus } from '../../src/model/pet.ts';
import { type Database, type Params, query } from '../../src/model/schema.ts';
import { createHold } from '../../src/store/holds/holds.ts';
import { countOpen, isOpen } from '../../src/store/orders/open-orders.ts';
import { getOrder, placeOrder } from '../../src/store/orders/orders.ts';
import type { OrderWithSteps } from '../../src/store/orders/rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from '../../src/store/orders/steps.ts';
import { countByStatus, countPets } from '../../src/store/pets/counts.ts';
import { createPet, getPet } from '../../src/store/pets/pets.ts';
import type { Engine, OpenOptions } from './engines.ts';

/** The time at which a test's store opens. */
export const START = Date.parse('2026-11-21T12:00:00Z');
export const DAY = 24 * 60 * 60 * 1000;

/** The owner of the animals, the account that orders them, an uninvolved account and an admin. */
export const owner = { accountId: 1, admin: false };
export const placer = { accountId: 2, admin: false };
export const stranger = { accountId: 3, admin: false };
export const admin = { accountId: 4, admin: true };

type Account = Actor & { readonly accountId: number };

/** A store with animals of `owner`, with shorthands for orders and their steps. */
export interface OrderStore {
  readonly database: Database;
  readonly clock: TestClock;
  now(): number;
  place(petId: number, more?: { by?: Account } & Omit<NewOrder, 'petId' | 'petIds'>): Promise<OrderWithSteps>;
  placeSeveral(petIds: number[], more?: { by?: Account } & Omit<NewOrder, 'petId' | 'petIds'>): Promise<OrderWithSteps>;
  approve(id: number, by?: Actor): Promise<OrderWithSteps>;
  deliver(id: number, by?: Actor): Promise<OrderWithSteps>;
  cancel(id: number, by?: Actor): Promise<OrderWithSteps>;
  takeBack(id: number, more?: NewOrderReturn, by?: Actor): Promise<OrderWithSteps>;
  hold(petIds: number[], by?: Account): Promise<number>;
  add(pet?: Partial<NewPet>): Promise<number>;
  order(id: number, by?: Actor): Promise<OrderWithSteps>;
  petStatus(id: number): Promise<PetStatus>;
  /** Asserts that redundant data agrees: counters, reservations, statuses and expiries. */
  assertSound(): Promise<void>;
}

/** Opens a store at `START` with available animals, whose ids begin at 1. */
export async function openOrderStore(
  engine: Engine,
  animals = 4,
  options: Pick<OpenOptions, 'location'> = {},
): Promise<OrderStore> {
  const clock = testClock(START);
  const database = await engine.open({ ...options, clock });
  const now = () => clock.now();
  const store: OrderStore = {
    database,
    clock,
    now,
    place: (petId, { by = placer, ...more } = {}) => database.write(tx => placeOrder(tx, by, { petId, ...more })),
    placeSeveral: (petIds, { by = placer, ...more } = {}) =>
      database.write(tx => placeOrder(tx, by, { petIds, ...more })),
    approve: (id, by = owner) => database.write(tx => approveOrder(tx, by, id, {})),
    deliver: (id, by = owner) => database.write(tx => deliverOrder(tx, by, id, {})),
    cancel: (id, by = placer) => database.write(tx => cancelOrder(tx, by, id, {})),
    takeBack: (id, more = {}, by = owner) => database.write(tx => returnOrder(tx, by, id, more)),
    hold: async (petIds, by = placer) => (await database.write(tx => createHold(tx, by, { petIds }, 100))).id,
    add: async pet =>
      (await database.write(tx => createPet(tx, owner.accountId, { name: 'x', categoryId: 1, ...pet }, 'open'))).id,
    order: (id, by = operator) => getOrder(database, by, id, now()),
    petStatus: async id => (await getPet(database, id, now())).status,
    assertSound: () => assertSound(database, now()),
  };
  for (let index = 0; index < animals; index++) await store.add({ name: `Animal ${index + 1}` });
  return store;
}

async function assertSound(database: Database, now: number): Promise<void> {
  const pets = await database.all(allPets, {});
  const orders = await database.all(allOrders, {});
  const reservations = await database.all(activeReservations, {});

  const expired = (until: number | null) => until !== null && until <= now;
  const recount = { available: 0, pending: 0, sold: 0 };
  for (const pet of pets) recount[expired(pet.until) ? 'available' : pet.status]++;
  assert.deepEqual(await countByStatus(database, now), recount);
  for (const [category, members] of Map.groupBy(pets, pet => pet.categoryId)) {
    assert.equal(await countPets(database, { categoryId: [category] }, now), members.length);
  }

  const open = orders.filter(({ status, expiresAt }) => isOpen(status) && !expired(expiresAt));
  for (const accountId of new Set(orders.map(order => order.accountId))) {
    const counted = await countOpen(database, accountId, now);
    assert.equal(counted, open.filter(order => order.accountId === accountId).length, `open orders of ${accountId}`);
  }

  const byPet = new Map(reservations.map(one => [one.petId, one]));
  assert.equal(byPet.size, reservations.length, 'an animal has two active reservations');
  for (const { id, status, until } of pets) {
    const reservation = byPet.get(id);
    if (reservation !== undefined) assert.deepEqual([status, until], ['pending', reservation.until], `animal ${id}`);
    else assert.equal(until, null, `animal ${id}`);
  }
  for (const { id, status, expiresAt, ...pets } of orders) {
    const open = (status === 'placed' && !expired(expiresAt)) || status === 'approved';
    for (const petId of petIdsOf(pets)) {
      const reservation = byPet.get(petId);
      if (open) assert.deepEqual([reservation?.orderId, reservation?.until], [id, expiresAt], `order ${id}`);
      else
        assert.ok(
          reservation?.orderId !== id || expired(reservation.until),
          `order ${id} has ended but reserves animal ${petId}`,
        );
    }
  }
}

const allPets = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('pets').select(['id', 'status', 'category_id as categoryId', 'reserved_until as until']),
);

const allOrders = query((db, _: Params<Record<never, never>>) =>
  db
    .selectFrom('orders')
    .select([
      'id',
      'pet_id as petId',
      'pet_ids as petIds',
      'account_id as accountId',
      'status',
      'expires_at as expiresAt',
    ]),
);

const activeReservations = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('reservations').select(['pet_id as petId', 'order_id as orderId', 'until']).where('active', '=', 1),
);
