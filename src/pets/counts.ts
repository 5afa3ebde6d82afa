import type { MaybePromise } from '../lib/maybe-promise.ts';
import { onePer } from '../lib/one-per.ts';
import {
  type CounterTable,
  type Params,
  queriesByShape,
  query,
  type Reader,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../schema.ts';
import type { PetFilter } from './filter.ts';
import type { PetStatus } from './pet.ts';

/** A change of the number of pets with a status, in a category, or both. */
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

const petCounters: CounterTable = {
  table: 'pet_counts',
  add(tx, sums) {
    const slot = tx.engine === 'sqlite' ? 0 : slotOf(tx);
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
      written.push(tx.run(incrementBy({ counters: rows.length }), values as unknown as IncrementValues));
    }
    return tx.engine === 'sqlite' ? undefined : Promise.all(written);
  },
};

/** How many counters one statement updates: there is one prepared statement per number. */
const ROWS_MAX = 8;

/** A filter by statuses, or by the categories with these ids. */
type CountFilter = Pick<PetFilter, 'id' | 'status'> & { readonly categoryId?: readonly number[] | undefined };

/**
 * Returns how many pets match a filter as of `now`, from the counters: all pets, those with one status, or those in some
 * categories. Returns `undefined` for any other filter.
 */
export async function countPets(
  reader: Reader,
  { id, status, categoryId }: CountFilter,
  now: number,
): Promise<number | undefined> {
  if (id !== undefined || (status !== undefined && (status.length > 1 || categoryId !== undefined))) return undefined;
  if (status !== undefined) return (await countByStatus(reader, now))[status[0]!];
  const rows =
    categoryId === undefined
      ? await reader.all(countsOfAll, {})
      : await reader.all(countsByCategory, { keys: JSON.stringify(categoryId.map(String)) });
  return rows.reduce((sum, { pets }) => sum + pets, 0);
}

/** Returns the exact number of pets with each status as of `now`. */
export async function countByStatus(reader: Reader, now: number): Promise<Record<PetStatus, number>> {
  const counts: Record<PetStatus, number> = { available: 0, pending: 0, sold: 0 };
  // One query: between two, a pet could become available and be counted twice or not at all.
  for (const { key, pets } of await reader.all(countsAndExpired, { now })) {
    if (key !== EXPIRED) counts[key as PetStatus] += pets;
    else {
      counts.available += pets;
      counts.pending -= pets;
    }
  }
  return counts;
}

const EXPIRED = 'expired';

/**
 * On PostgreSQL concurrent transactions would wait for each other's counter rows, so each counter is the sum of several
 * slots. A transaction uses one slot, so that two of them meet at the first row and cannot deadlock.
 */
const slotOf = onePer((): number => Math.floor(Math.random() * SLOTS));
const SLOTS = 32;

type Kind = 'status' | 'category';
type IncrementValues = { readonly slot: number } & Readonly<Record<`kind${number}`, Kind>> &
  Readonly<Record<`key${number}`, string>> &
  Readonly<Record<`by${number}`, number>>;

const incrementBy = queriesByShape(['counters'], ({ counters }: { readonly counters: number }) =>
  query((db, p: Params<IncrementValues>) =>
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
  ),
);

const countsByCategory = query((db, p: Params<{ keys: string }>, engine) =>
  db
    .selectFrom('pet_counts')
    .select('pets')
    .where('kind', '=', 'category')
    .where('key', 'in', selectJsonTexts(p.keys, engine)),
);

const countsOfAll = query(db => db.selectFrom('pet_counts').select('pets').where('kind', '=', 'status'));

const countsAndExpired = query((db, p: Params<{ now: number }>) =>
  db
    .selectFrom('pet_counts')
    .select(['key', 'pets'])
    .where('kind', '=', 'status')
    .unionAll(
      db
        .selectFrom('pets')
        .select(eb => [sql.lit(EXPIRED).as('key'), eb.fn.countAll<number>().as('pets')])
        .where('reserved_until', '<=', p.now),
    ),
);
