import type { SqlBool } from 'kysely';
import {
  type CounterTable,
  type MaybePromise,
  type Params,
  type Query,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../schema.ts';
import type { PetStatus } from './pet.ts';

/** A change of the number of pets with a status or in a category. */
export interface CountChange {
  readonly status?: PetStatus;
  readonly categoryId?: number;
  readonly by: number;
}

/** Updates the counters of pets, in the transaction of the change. */
export function updateCounts(tx: Transaction, changes: readonly CountChange[]): void {
  for (const { status, categoryId, by } of changes) {
    if (status !== undefined) tx.increment(petCounters, `status ${status}`, by);
    if (categoryId !== undefined) tx.increment(petCounters, `category ${categoryId}`, by);
  }
}

/** Counts a new pet. */
export function countNewPet(tx: Transaction, status: PetStatus, categoryId: number): void {
  updateCounts(tx, [{ status, categoryId, by: 1 }]);
}

const petCounters: CounterTable = {
  table: 'pet_counts',
  add(tx, sums) {
    const slot = slotOf(tx);
    const written: MaybePromise<unknown>[] = [];
    for (let start = 0; start < sums.length; start += ROWS_MAX) {
      const rows = sums.slice(start, start + ROWS_MAX);
      const values: Record<string, unknown> = { slot };
      for (const [row, [name, by]] of rows.entries()) {
        const [kind, key] = name.split(' ');
        values[`kind${row}`] = kind;
        values[`key${row}`] = key;
        values[`by${row}`] = by;
      }
      written.push(tx.run(addTo(rows.length), values as unknown as SumValues));
    }
    return tx.engine === 'sqlite' ? undefined : Promise.all(written);
  },
};

/** How many counters one statement updates: there is one prepared statement per number. */
const ROWS_MAX = 8;

/**
 * How many animals a filter lets through, from kept counters: without one, by one status, or by categories.
 * `undefined` for every other filter, which would have to be counted.
 * @param now a hold or order that has run out by then counts as gone
 */
export async function countPets(
  reader: Reader,
  {
    id,
    status,
    categoryId,
  }: { id?: unknown; status?: readonly PetStatus[] | undefined; categoryId?: readonly number[] | undefined },
  now: number,
): Promise<number | undefined> {
  if (id !== undefined || (status !== undefined && (status.length > 1 || categoryId !== undefined))) return undefined;
  if (status !== undefined) return (await countByStatus(reader, now))[status[0]!];
  if (categoryId === undefined) {
    const rows = await reader.all(countsOfAll, {});
    return rows.reduce((sum, { pets }) => sum + pets, 0);
  }
  const rows = await reader.all(countsOf, { kind: 'category', keys: JSON.stringify(categoryId.map(String)) });
  return rows.reduce((sum, { pets }) => sum + pets, 0);
}

/** How many animals there are in each status, exactly. A hold or order that has run out by `now` counts as gone. */
export async function countByStatus(reader: Reader, now: number): Promise<Record<PetStatus, number>> {
  const counts: Record<PetStatus, number> = { available: 0, pending: 0, sold: 0 };
  // One look: between two of them an animal that has run out could be freed, and would count twice or not at all.
  for (const { key, pets } of await reader.all(countsAndRunOut, { now })) {
    if (key !== RUN_OUT) counts[key as PetStatus] += pets;
    else {
      counts.available += pets;
      counts.pending -= pets;
    }
  }
  return counts;
}

const RUN_OUT = 'run out';

/**
 * On PostgreSQL concurrent transactions would wait for each other's counter rows, so each counter is the sum of several
 * slots. A transaction uses one slot, so that two of them meet at the first row and cannot deadlock.
 */
function slotOf(tx: Transaction): number {
  if (tx.engine === 'sqlite') return 0;
  const slot = slots.get(tx) ?? Math.floor(Math.random() * SLOTS);
  slots.set(tx, slot);
  return slot;
}

const SLOTS = 32;
const slots = new WeakMap<Transaction, number>();

type SumValues = { readonly slot: number } & Readonly<Record<`kind${number}`, 'status' | 'category'>> &
  Readonly<Record<`key${number}`, string>> &
  Readonly<Record<`by${number}`, number>>;

const additions = new Map<number, Query<SumValues, unknown>>();

function addTo(counters: number): Query<SumValues, unknown> {
  let addition = additions.get(counters);
  if (addition === undefined) {
    addition = query((db, p: Params<SumValues>) =>
      db
        .insertInto('pet_counts')
        .values(
          Array.from({ length: counters }, (_, row) => ({
            kind: p[`kind${row}`]!,
            key: p[`key${row}`]!,
            slot: p.slot,
            pets: p[`by${row}`]!,
          })),
        )
        .onConflict(conflict =>
          conflict
            .columns(['kind', 'key', 'slot'])
            .doUpdateSet(eb => ({ pets: eb('pet_counts.pets', '+', eb.ref('excluded.pets')) })),
        ),
    );
    additions.set(counters, addition);
  }
  return addition;
}

const countsOf = query((db, p: Params<{ kind: 'status' | 'category'; keys: string }>, engine) =>
  db
    .selectFrom('pet_counts')
    .select('pets')
    .where('kind', '=', p.kind)
    .where(
      engine === 'sqlite'
        ? sql<SqlBool>`key in (select value from json_each(${p.keys}))`
        : sql<SqlBool>`key = any (array(select json_array_elements_text(${p.keys}::json)))`,
    ),
);

const countsOfAll = query(db => db.selectFrom('pet_counts').select(['key', 'pets']).where('kind', '=', 'status'));

const countsAndRunOut = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('pet_counts')
    .select(['key', 'pets'])
    .where('kind', '=', 'status')
    .unionAll(
      db
        .selectFrom('pets')
        .select(eb => [sql.lit(RUN_OUT).as('key'), eb.fn.countAll<number>().as('pets')])
        .where('reserved_until', '<=', p.now),
    ),
);
