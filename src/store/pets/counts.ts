import type { PetRow, PetStatus } from '../../model/pet.ts';
import {
  type CounterSums,
  type Params,
  query,
  type Reader,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import type { PetFilter } from './filter.ts';

/**
 * Adds `by` to the numbers of pets with a status, in a category, and of an account, in the transaction of the change.
 */
export function updateCounts(
  tx: Transaction,
  { status, categoryId, accountId }: Partial<Pick<PetRow, 'status' | 'categoryId' | 'accountId'>>,
  by: number,
): void {
  if (accountId !== undefined) tx.increment(petCounters, ownerKey(accountId), by);
  if (status !== undefined) tx.increment(petCounters, `status ${status}`, by);
  if (categoryId !== undefined) tx.increment(petCounters, `category ${categoryId}`, by);
}

/** Returns the number of pets of an account; in a transaction, including its own changes. */
export async function countOwned(reader: Reader, accountId: number): Promise<number> {
  return (await reader.first(ownedBy, { key: ownerKey(accountId) }))?.number ?? 0;
}

/** The key of the counter of an account's pets. */
export const ownerKey = (accountId: number) => `owner ${accountId}`;

const ownedBy = query((db, p: Params<{ key: string }>) =>
  db
    .selectFrom('pet_counts')
    .select(({ fn }) => sql<number>`cast(${fn.sum('pets')} as bigint)`.as('number'))
    .where('kind', '=', sql.lit('owner'))
    .where('key', '=', sql<string>`substr(${p.key}, ${sql.lit('owner '.length + 1)})`)
    .having(({ fn }) => fn.countAll(), '>', 0),
);

/** A filter by statuses, or by the categories with these ids. */
type CountFilter = Pick<PetFilter, 'id' | 'status' | 'ownerId' | 'ownerIds' | 'traits' | 'words'> & {
  readonly categoryId?: readonly number[] | undefined;
};

/**
 * Returns the number of pets that match a filter as of `now`, from the counters: all pets, pets with one status, or
 * pets in some categories. Returns `undefined` for any other filter.
 */
export async function countPets(
  reader: Reader,
  { status, categoryId, ...others }: CountFilter,
  now: number,
): Promise<number | undefined> {
  const { id, ownerId, ownerIds, traits, words } = others;
  if ([id, ownerId, ownerIds, traits, words].some(filter => filter !== undefined)) return undefined;
  if (status !== undefined && (status.length > 1 || categoryId !== undefined)) return undefined;
  if (status !== undefined) return (await countByStatus(reader, now))[status[0]!];
  const rows =
    categoryId === undefined
      ? await reader.all(countsOfAll, {})
      : await reader.all(countsByCategory, { keys: JSON.stringify(categoryId.map(String)) });
  return rows.reduce((sum, { pets }) => sum + pets, 0);
}

/** Returns the number of pets in each of the categories with these ids; omits empty ones. */
export async function countByCategory(
  reader: Reader,
  categoryIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  for (const { key, pets } of await reader.all(countsByCategory, { keys: JSON.stringify(categoryIds.map(String)) })) {
    counts.set(Number(key), (counts.get(Number(key)) ?? 0) + pets);
  }
  return counts;
}

/** Returns the exact number of pets with each status as of `now`. */
export async function countByStatus(reader: Reader, now: number): Promise<Record<PetStatus, number>> {
  const counts: Record<PetStatus, number> = { available: 0, pending: 0, sold: 0 };
  // Use one query: between two, a pet could become available and be counted twice or not at all.
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

/** Adds to counters in the order of the given rows, each with a kind, a key and a number. */
const addToCounts = query((db, p: Params<CounterSums>, engine) =>
  db
    .insertInto('pet_counts')
    .columns(['slot', 'kind', 'key', 'pets'])
    .expression(
      engine === 'sqlite'
        ? sql`select ${p.slot}, value ->> 0, value ->> 1, value ->> 2 from json_each(${p.rows}) where true`
        : sql`select cast(${p.slot} as bigint), row ->> 0, row ->> 1, (row ->> 2)::bigint
              from json_array_elements(cast(${p.rows} as json)) with ordinality as rows (row, number) order by number`,
    )
    .onConflict(conflict =>
      conflict
        .columns(['kind', 'key', 'slot'])
        .doUpdateSet(eb => ({ pets: eb('pet_counts.pets', '+', eb.ref('excluded.pets')) })),
    ),
);

/** The numbers of pets. Only SQLite reads them with `Transaction.incrementAndGet`. */
export const petCounters = { table: 'pet_counts', add: addToCounts, numberOf: ownedBy };

const countsByCategory = query((db, p: Params<{ keys: string }>, engine) =>
  db
    .selectFrom('pet_counts')
    .select(['key', 'pets'])
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
