import assert from 'node:assert/strict';
import type { PetStatus } from '../../src/model/pet.ts';
import type { Database } from '../../src/model/schema.ts';
import { getHold } from '../../src/store/holds/holds.ts';
import { listHolds } from '../../src/store/holds/list.ts';
import { listOrders } from '../../src/store/orders/list.ts';
import { getOrder } from '../../src/store/orders/orders.ts';
import { countByStatus, countPets } from '../../src/store/pets/counts.ts';
import type { PetFilter } from '../../src/store/pets/filter.ts';
import { listPets } from '../../src/store/pets/list.ts';
import { getPet } from '../../src/store/pets/pets.ts';
import { nextExpiry } from '../../src/store/pets/reservations.ts';
import { canSeeHold, canSeeOrder, countsAt, endsAfter, holdAt, type Model, orderAt, petAt } from './model.ts';
import type { Account, HoldView, OrderView, PetView } from './operation.ts';
import { holdView, orderView, petView } from './perform.ts';
import type { Callers } from './resolve.ts';

/** The number of pets in a database before a run, by status and by category. */
export interface Others {
  readonly status: Record<PetStatus, number>;
  readonly category: ReadonlyMap<number, number>;
}

const categories = [1, 2, 3];

/** Counts the pets in a database before a run. */
export async function countOthers(database: Database, now: number): Promise<Others> {
  const counts = categories.map(async id => [id, (await countPets(database, { categoryId: [id] }, now))!] as const);
  return { status: await countByStatus(database, now), category: new Map(await Promise.all(counts)) };
}

/** Asserts that each of these pets reads as in the model. */
export async function assertPetsAgree(database: Database, model: Model, ids: Iterable<number>, now: number) {
  await Promise.all(
    Array.from(ids, async id => {
      const expected = petAt(model, id, now);
      const got = getting(async () => petView(await getPet(database, id, now)));
      assert.deepEqual(await got, expected ?? 'pet_not_found', `animal ${id}`);
    }),
  );
}

/** Asserts that each caller reads every hold as in the model, or gets hold_not_found. */
export async function assertHoldsAgree(database: Database, model: Model, callers: Callers, now: number) {
  const each = Array.from(model.holds.keys(), id =>
    callers.map(async caller => {
      const expected = canSeeHold(model, caller, id) ? holdAt(model, id, now) : 'hold_not_found';
      const got = getting(async () => holdView(await getHold(database, caller, id, now)));
      assert.deepEqual(await got, expected, `hold ${id}`);
    }),
  );
  await Promise.all(each.flat());
}

/** Asserts that each caller reads every order as in the model, or gets order_not_found. */
export async function assertOrdersAgree(database: Database, model: Model, callers: Callers, now: number) {
  const each = Array.from(model.orders.keys(), id =>
    callers.map(async caller => {
      const expected = canSeeOrder(model, caller, id) ? orderAt(model, id, now) : 'order_not_found';
      const got = getting(async () => orderView(await getOrder(database, caller, id, now)));
      assert.deepEqual(await got, expected, `order ${id}`);
    }),
  );
  await Promise.all(each.flat());
}

/** Asserts that lists, counts and the next expiry match the model. */
export async function assertListsAgree(
  database: Database,
  model: Model,
  callers: Callers,
  others: Others,
  now: number,
): Promise<void> {
  await Promise.all([
    ...petListsOf(database, model, now),
    ...holdListsOf(database, model, callers, now),
    ...orderListsOf(database, model, callers, now),
  ]);

  const pets = idsOf(model.pets).map(id => petAt(model, id, now)!);
  const { available, pending, sold } = countsAt(model, now);
  const { status, category } = others;
  assert.deepEqual(
    await countByStatus(database, now),
    { available: status.available + available, pending: status.pending + pending, sold: status.sold + sold },
    'counts by status',
  );
  for (const id of categories) {
    const own = pets.filter(({ categoryId }) => categoryId === id).length;
    assert.equal(await countPets(database, { categoryId: [id] }, now), category.get(id)! + own, `count of ${id}`);
  }
  assert.equal(await nextExpiry(database, now), endsAfter(model, now)[0], 'the earliest end');
}

function* petListsOf(database: Database, model: Model, now: number) {
  const pets = idsOf(model.pets).map(id => petAt(model, id, now)!);
  const ids = pets.map(({ id }) => id);
  if (ids.length === 0) return;
  const listed = async (filter: PetFilter, wanted: readonly PetView[]) => {
    const page = await listPets(database, filter, { limit: wanted.length + 1 }, now);
    const own = page.rows.filter(({ id }) => id >= ids[0]!);
    const expected = wanted.map(({ id, name, categoryId, status }) => ({ id, name, categoryId, status }));
    assert.deepEqual(own, filter.sort === '-id' ? expected.reverse() : expected, JSON.stringify(filter));
  };
  for (const status of [['available'], ['pending'], ['sold'], ['available', 'pending']] as const) {
    const wanted = pets.filter(pet => (status as readonly PetStatus[]).includes(pet.status));
    // The newest pets come first, so those of this run do.
    yield listed({ status, sort: '-id' }, wanted);
    yield listed({ status, id: ids, sort: 'id' }, wanted);
    const ofOne = wanted.filter(({ categoryId }) => categoryId === 1);
    yield listed({ status, categoryId: 1, sort: '-id' }, ofOne);
  }
  yield listed({ sort: '-id' }, pets);
}

const holdFilters: readonly (readonly HoldView['status'][] | undefined)[] = [
  undefined,
  ['active'],
  ['expired', 'used'],
];
const orderFilters: readonly (readonly OrderView['status'][] | undefined)[] = [
  undefined,
  ['placed'],
  ['expired', 'delivered'],
];

/** Lists the holds of each caller with one of the filters, a different one each time. */
function* holdListsOf(database: Database, model: Model, callers: Callers, now: number) {
  const holds = idsOf(model.holds).map(id => holdAt(model, id, now)!);
  for (const [index, caller] of callers.entries()) {
    const status = holdFilters[(index + holds.length) % holdFilters.length];
    const petId = ownPetOf(model, caller);
    const wanted = holds
      .filter(hold => canSeeHold(model, caller, hold.id) && (status?.includes(hold.status) ?? true))
      .filter(({ petIds }) => petId === undefined || petIds.includes(petId));
    yield (async () => {
      const { rows } = await listHolds(database, caller, { status, petId }, { limit: 100 }, now);
      assert.deepEqual(rows.map(holdView), wanted, `holds ${status} of ${caller.accountId}`);
    })();
  }
}

function* orderListsOf(database: Database, model: Model, callers: Callers, now: number) {
  const all = idsOf(model.orders).map(id => orderAt(model, id, now)!);
  for (const [index, caller] of callers.entries()) {
    const status = orderFilters[(index + all.length) % orderFilters.length];
    const petId = ownPetOf(model, caller);
    const wanted = all
      .filter(order => canSeeOrder(model, caller, order.id) && (status?.includes(order.status) ?? true))
      .filter(order => petId === undefined || order.petId === petId);
    yield (async () => {
      const { rows: orders } = await listOrders(database, caller, { status, petId }, { limit: 100 }, now);
      assert.deepEqual(orders.map(orderView), wanted, `orders ${status} of ${caller.accountId}`);
    })();
  }
}

/** An admin also sees the holds and orders of other runs, but not for this pet. */
function ownPetOf(model: Model, { admin }: Account): number | undefined {
  return admin ? (idsOf(model.pets)[0] ?? Number.MAX_SAFE_INTEGER) : undefined;
}

/** Returns the ids in ascending order. */
function idsOf(resources: ReadonlyMap<number, unknown>): number[] {
  return [...resources.keys()].sort((a, b) => a - b);
}

/** Returns what `get` returns, or the code of its error. */
async function getting(get: () => Promise<object>): Promise<unknown> {
  try {
    return await get();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return code;
    throw error;
  }
}
