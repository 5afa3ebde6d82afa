import assert from 'node:assert/strict';
import type { Actor, Event } from '../../src/model/log/event.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import type { PetState } from '../../src/model/pet.ts';
import { type Database, type EventKind, type Params, query } from '../../src/model/schema.ts';
import type { PetEventData } from '../../src/store/pets/change.ts';
import { petHistory } from '../../src/store/pets/history.ts';
import { holdVersion, orderVersion, petVersion } from '../support/versions.ts';
import { holdAt, type Model, orderAt, reservationAt } from './model.ts';

/**
 * Asserts the invariants of storage: the events of a resource lead to its row without gaps and in chronological order,
 * versions match the log, each reservation expires once, and the active reservations are those of the model.
 * @param petIds including deleted pets
 * @param how.swept whether expiries were recorded
 */
export async function assertInvariants(
  database: Database,
  model: Model,
  petIds: Iterable<number>,
  now: number,
  how: { readonly swept: boolean },
): Promise<void> {
  await Promise.all([
    ...Array.from(petIds, id => assertPetInvariants(database, model, id, now, how)),
    ...Array.from(model.holds.keys(), id => assertEndsOnce('hold', id, storedHold, holdAt(model, id, now)!)),
    ...Array.from(model.orders.keys(), id => assertEndsOnce('order', id, storedOrder, orderAt(model, id, now)!)),
  ]);

  /** A hold or an order expires at most once, and its events are chronological. */
  async function assertEndsOnce(
    kind: EventKind,
    id: number,
    stored: typeof storedHold | typeof storedOrder,
    { status }: { readonly status: string },
  ): Promise<void> {
    const events = await eventsOf<{ readonly at?: number }>(database, kind, id);
    const { version, expired } = (await database.first(stored, { id }))!;
    const counted = (kind === 'hold' ? holdVersion : orderVersion)(events);
    assert.equal(version, counted, `${kind} ${id}: its version`);
    assertChronological(`${kind} ${id}`, events);
    assert.equal(expired, events.filter(({ action }) => action === 'expired').length, `${kind} ${id}: expired`);
    assert.ok(!how.swept || status !== 'expired' || expired === 1, `${kind} ${id}: not swept`);
  }
}

async function assertPetInvariants(
  database: Database,
  model: Model,
  id: number,
  now: number,
  { swept }: { readonly swept: boolean },
): Promise<void> {
  const events = await eventsOf<PetEventData>(database, 'pet', id);
  const last = lastOf(id, events);
  assertChronological(`animal ${id}`, events);
  const stored = await database.first(storedPet, { id });
  const inForce = await database.all(claims, { id });
  const pet = model.pets.get(id);
  await assertHistoryAgrees(database, id, pet && last);
  if (pet === undefined) {
    assert.deepEqual([stored, inForce, events.at(-1)!.action], [undefined, [], 'deleted'], `animal ${id} is gone`);
    return;
  }
  assert.equal(stored!.version, petVersion(events), `animal ${id}: its version`);
  assert.deepEqual(stateOf(stored!), last, `animal ${id}: row and log`);

  const { holdId = null, orderId = null, until = null } = reservationAt(pet, now) ?? {};
  const reservation = inForce.filter(one => one.until === null || one.until > now);
  const expected = holdId === null && orderId === null ? [] : [{ holdId, orderId, until }];
  assert.deepEqual(reservation, expected, `animal ${id}: active reservation`);
  assert.equal(stored!.reservedUntil, inForce[0]?.until ?? null, `animal ${id}: its expiry`);
  assert.ok(inForce.length <= (swept ? reservation.length : 1), `animal ${id}: one reservation at most`);
}

/** Asserts that no event is earlier than the one before. */
function assertChronological(resource: string, events: readonly Event<{ readonly at?: number }>[]): void {
  const times = events.map(({ at, data }) => data.at ?? at);
  const back = times.findIndex((time, index) => time < (times[index - 1] ?? time));
  assert.equal(back, -1, `${resource}: not chronological at event ${events[back]?.id}, ${times}`);
}

/** Returns the state of a pet at the end of its log. Each change must start with the state that the one before left. */
function lastOf(id: number, [created, ...changes]: readonly Event<PetEventData>[]): PetState {
  assert.equal(created?.action, 'created', `animal ${id}`);
  let before = created.data.pet;
  for (const event of changes) {
    const { pet, was = {} } = event.data;
    if (event.action === 'updated') assert.deepEqual(undone(pet, was), before, `animal ${id}, event ${event.id}`);
    else assert.deepEqual([event.action, pet, event === changes.at(-1)], ['deleted', before, true], `animal ${id}`);
    before = pet;
  }
  return before;
}

/** Asserts that the public history matches the log field by field, and reveals nothing private. */
async function assertHistoryAgrees(database: Database, id: number, last: PetState | undefined): Promise<void> {
  const described: Record<string, unknown> = {};
  let cursor: string | undefined;
  do {
    const { rows: entries, next } = await petHistory(database, stranger, id, { limit: 5, cursor });
    for (const { changes = {}, ...entry } of entries) {
      assert.deepEqual([entry.accountId, entry.holdId, entry.orderId], [undefined, undefined, undefined]);
      for (const [member, { from, to }] of Object.entries(changes)) {
        assert.deepEqual(described[member], from, `animal ${id}: ${member} in its history`);
        if (to === undefined) delete described[member];
        else described[member] = to;
      }
    }
    cursor = next;
  } while (cursor !== undefined);
  assert.deepEqual(described, last ?? {}, `animal ${id}: its history`);
}

const stranger: Actor = { accountId: 0, admin: false };

/** Returns the state of a pet before a change. */
function undone(pet: PetState, was: NonNullable<PetEventData['was']>): PetState {
  const before = Object.entries({ ...pet, ...was }).filter(([, value]) => value !== null);
  return Object.fromEntries(before) as unknown as PetState;
}

function stateOf({ name, categoryId, status, statusReason, priceAmount, priceCurrency }: StoredPet): PetState {
  return {
    ...{ name, categoryId, status },
    ...(statusReason !== null && { statusReason }),
    ...(priceAmount !== null && { price: { amount: priceAmount, currency: priceCurrency! } }),
  };
}

type StoredPet = NonNullable<(typeof storedPet)['row']>;

const storedPet = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('pets')
    .select([
      'name',
      'category_id as categoryId',
      'status',
      'status_reason as statusReason',
      'price_amount as priceAmount',
      'price_currency as priceCurrency',
      'version',
      'reserved_until as reservedUntil',
    ])
    .where('id', '=', p.id),
);

const claims = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('reservations')
    .select(['hold_id as holdId', 'order_id as orderId', 'until'])
    .where('pet_id', '=', p.id)
    .where('active', '=', 1),
);

const storedHold = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('holds')
    .select(eb => ['version', eb.case().when('outcome', '=', 'expired').then(1).else(0).end().as('expired')])
    .where('id', '=', p.id),
);

const storedOrder = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('orders')
    .select(eb => ['version', eb.case().when('status', '=', 'expired').then(1).else(0).end().as('expired')])
    .where('id', '=', p.id),
);
