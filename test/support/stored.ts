import assert from 'node:assert/strict';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { PetState } from '../../src/model/pet.ts';
import type { HoldEventData } from '../../src/store/holds/events.ts';
import type { OrderEventData } from '../../src/store/orders/events.ts';
import type { PetEventData } from '../../src/store/pets/change.ts';
import { onServer, run } from './engines.ts';
import { holdVersion, orderVersion, petVersion } from './versions.ts';

/** The tables of a store. */
export interface StoredTables {
  readonly pets: readonly {
    id: number;
    name: string;
    category_id: number;
    status: string;
    status_reason: string | null;
    version: number;
    updated_at: number;
    reserved_until: number | null;
    account_id: number;
  }[];
  readonly holds: readonly {
    id: number;
    expires_at: number;
    ended_at: number | null;
    outcome: string | null;
    version: number;
  }[];
  readonly orders: readonly {
    id: number;
    pet_id: number;
    status: string;
    expires_at: number | null;
    version: number;
  }[];
  readonly reservations: readonly {
    pet_id: number;
    hold_id: number | null;
    order_id: number | null;
    until: number | null;
  }[];
  readonly counts: readonly { kind: string; key: string; pets: number }[];
  readonly events: readonly LoggedEvent[];
}

/** A row of the event log. */
export interface LoggedEvent {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly action: string;
  readonly subject_id: number;
  readonly data: string;
}

/** The query for each table, in order of its ids. */
const TABLES: Readonly<Record<keyof StoredTables, string>> = {
  pets: 'select * from pets order by id',
  holds: 'select * from holds order by id',
  orders: 'select * from orders order by id',
  reservations: 'select * from reservations where active = 1 order by pet_id',
  counts: 'select kind, key, sum(pets) as pets from pet_counts group by kind, key',
  events: 'select * from events order by id',
};

/** Reads the tables of the production database in a data directory that no process serves. */
export function storedIn(directory: string): StoredTables {
  const file = new Sqlite(join(directory, 'production.db'), { readonly: true });
  try {
    assert.deepEqual(file.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    return Object.fromEntries(Object.entries(TABLES).map(([name, text]) => [name, file.prepare(text).all()])) as never;
  } finally {
    file.close();
  }
}

/** Reads the tables of a PostgreSQL database in one snapshot. */
export function storedAt(url: string): Promise<StoredTables> {
  return onServer(async connection => {
    await run(connection, 'begin isolation level repeatable read');
    const tables: Record<string, unknown> = {};
    for (const [name, text] of Object.entries(TABLES)) {
      const rows = await run(connection, text);
      tables[name] = rows.map(row => ({ ...row, ...(name === 'counts' && { pets: Number(row.pets) }) }));
    }
    await run(connection, 'commit');
    return tables as never;
  }, url);
}

/**
 * Asserts the invariants of a store: a pet has at most one active reservation and is pending while it has one; each
 * change in the log starts from the state that the one before left, up to the row; versions match the log; each
 * reservation ends once; the counters are exact.
 */
export function assertStoredInvariants({ pets, holds, orders, reservations, counts, events }: StoredTables): void {
  const kept = new Map(reservations.map(one => [one.pet_id, one]));
  assert.equal(kept.size, reservations.length, 'an animal has two that are in force');
  const log = Map.groupBy(events, ({ kind, subject_id }) => `${kind} ${subject_id}`);
  const there = new Map(pets.map(pet => [pet.id, pet]));

  for (const pet of pets) {
    const what = `animal ${pet.id}`;
    const reservation = kept.get(pet.id);
    assert.equal(pet.reserved_until, reservation?.until ?? null, `${what}: its end`);
    if (reservation !== undefined) assert.equal(pet.status, 'pending', what);
    assert.equal(
      pet.version,
      petVersion((log.get(`pet ${pet.id}`) ?? []).map(parsed<PetEventData>)),
      `${what}: its version`,
    );
  }
  for (const [thing, itsEvents] of log) {
    if (!thing.startsWith('pet ')) continue;
    const pet = there.get(itsEvents[0]!.subject_id);
    const { last, keptFor } = replayed(thing, itsEvents);
    if (pet === undefined) {
      assert.equal(itsEvents.at(-1)!.action, 'deleted', `${thing} is gone`);
      assert.equal(kept.get(itsEvents[0]!.subject_id), undefined, `${thing} is gone and kept for somebody`);
      continue;
    }
    const { name, category_id: categoryId, status, status_reason: statusReason } = pet;
    assert.deepEqual(
      { statusReason: null, ...last },
      { statusReason, name, categoryId, status },
      `${thing}: as the log has it`,
    );
    const { hold_id = null, order_id = null } = kept.get(pet.id) ?? {};
    assert.deepEqual(keptFor, { hold_id, order_id }, `${thing}: whom it is kept for`);
  }

  const byHold = Map.groupBy(reservations, ({ hold_id }) => hold_id);
  for (const { id, ended_at, expires_at, outcome, version } of holds) {
    const itsEvents = log.get(`hold ${id}`) ?? [];
    assert.equal(version, holdVersion(itsEvents.map(parsed<HoldEventData>)), `hold ${id}: its version`);
    const ends = itsEvents.filter(({ action }) => action !== 'created' && action !== 'extended');
    assert.deepEqual(
      ends.map(({ action }) => action),
      outcome === null ? [] : [outcome],
      `hold ${id}: its end`,
    );
    for (const { until, pet_id } of byHold.get(id) ?? []) {
      assert.equal(ended_at, null, `hold ${id} has ended and keeps animal ${pet_id}`);
      assert.equal(until, expires_at, `hold ${id} and animal ${pet_id}`);
    }
  }
  const byOrder = new Map(reservations.map(one => [one.order_id, one]));
  for (const { id, pet_id, status, expires_at, version } of orders) {
    const itsEvents = log.get(`order ${id}`) ?? [];
    assert.equal(version, orderVersion(itsEvents.map(parsed<OrderEventData>)), `order ${id}: its version`);
    let before: string | undefined;
    for (const { action, data } of itsEvents) {
      assert.equal((JSON.parse(data) as OrderEventData).was?.status, before, `order ${id}: its steps`);
      before = action;
    }
    assert.equal(before, status, `order ${id}: as the log has it`);
    const reservation = byOrder.get(id);
    const underWay = status === 'placed' || status === 'approved';
    assert.deepEqual(
      reservation && { pet_id: reservation.pet_id, until: reservation.until },
      underWay ? { pet_id, until: expires_at } : undefined,
      `order ${id}: what it keeps`,
    );
  }

  const recount = new Map<string, number>();
  for (const { status, category_id, account_id } of pets) {
    for (const counter of [`status ${status}`, `category ${category_id}`, `owner ${account_id}`]) {
      recount.set(counter, (recount.get(counter) ?? 0) + 1);
    }
  }
  const counted = counts.filter(one => one.pets !== 0).map(one => [`${one.kind} ${one.key}`, one.pets] as const);
  assert.deepEqual(new Map(counted.toSorted()), new Map([...recount].toSorted()), 'the counters');
}

function parsed<Data>({ action, data }: LoggedEvent): { readonly action: string; readonly data: Data } {
  return { action, data: JSON.parse(data) as Data };
}

/** Returns the last state of a pet and its reservation according to the log. */
function replayed(thing: string, events: readonly LoggedEvent[]) {
  let last: PetState | undefined;
  let keptFor: { hold_id: number | null; order_id: number | null } = { hold_id: null, order_id: null };
  for (const { id, action, data } of events) {
    const { pet, was, reason, holdId, orderId } = JSON.parse(data) as PetEventData;
    if (last === undefined) assert.equal(action, 'created', thing);
    else if (action === 'deleted') assert.deepEqual(pet, last, `${thing}, event ${id}`);
    else {
      const before = Object.entries({ ...pet, ...was }).filter(([, value]) => value !== null);
      assert.deepEqual(Object.fromEntries(before), last, `${thing}, event ${id}`);
    }
    last = pet;
    if (reason === 'held') keptFor = { hold_id: holdId!, order_id: null };
    else if (reason === 'order_placed') keptFor = { hold_id: null, order_id: orderId! };
    else if (was?.status === 'pending') keptFor = { hold_id: null, order_id: null };
  }
  return { last: last!, keptFor };
}
