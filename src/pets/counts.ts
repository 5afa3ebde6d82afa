import type { SqlBool } from 'kysely';
import { type Params, type Query, query, type Reader, sql, type Transaction } from '../schema.ts';
import type { PetStatus } from './pet.ts';

/** By how many the animals of a status and a category change. */
export interface CountChange {
  readonly status?: PetStatus;
  readonly categoryId?: number;
  readonly by: number;
}

/** Counts a change in the kept counters, in the transaction of the change. */
export async function updateCounts(tx: Transaction, changes: readonly CountChange[]): Promise<void> {
  const sums = new Map<string, Sum>();
  const note = (kind: 'status' | 'category', key: string | number | undefined, by: number) => {
    if (key === undefined) return;
    const sum = sums.get(`${kind} ${key}`) ?? { kind, key: String(key), by: 0 };
    sum.by += by;
    sums.set(`${kind} ${key}`, sum);
  };
  for (const { status, categoryId, by } of changes) {
    note('category', categoryId, by);
    note('status', status, by);
  }
  // In one order for everybody: who waits for a counter holds none that comes after it.
  const ordered = [...sums].filter(([, { by }]) => by !== 0).sort(([one], [other]) => (one < other ? -1 : 1));
  await add(
    tx,
    ordered.map(([, sum]) => sum),
  );
}

/** Counts one new animal: the same as `count`, which would have to sum up first. */
export async function countNewPet(tx: Transaction, status: PetStatus, categoryId: number): Promise<void> {
  await add(tx, [
    { kind: 'category', key: String(categoryId), by: 1 },
    { kind: 'status', key: status, by: 1 },
  ]);
}

/** By how much one counter changes. */
interface Sum {
  readonly kind: 'status' | 'category';
  readonly key: string;
  by: number;
}

async function add(tx: Transaction, sums: readonly Sum[]): Promise<void> {
  if (sums.length === 0) return;
  const values: Record<string, unknown> = { slot: slotOf(tx) };
  for (const [row, { kind, key, by }] of sums.entries()) {
    values[`kind${row}`] = kind;
    values[`key${row}`] = key;
    values[`by${row}`] = by;
  }
  await tx.run(addTo(sums.length), values as unknown as SumValues);
}

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
 * On PostgreSQL many transactions count at once, and each would wait for the row of the one before: there a counter is
 * spread over slots that add up. A transaction keeps to its slot, so that two of them that count several times meet at
 * the first row and nowhere else.
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
