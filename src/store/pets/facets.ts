import { DAY_MS } from '../../lib/time.ts';
import { type Age, ages } from '../../model/age.ts';
import { type PetRow, PetStatus } from '../../model/pet.ts';
import { type Params, query, type Reader, selectJsonTexts, sql, type Transaction } from '../../model/schema.ts';
import { storedTraits } from '../profile/traits.ts';
import { MERGED_MAX } from '../search/merged-ids.ts';
import { petCounters } from './counts.ts';
import type { PetFilter } from './filter.ts';
import { findTraits } from './list.ts';

/** The numbers of pets by trait and value. */
export interface FacetCounts {
  /** Whether all matching pets were counted. */
  readonly exact: boolean;
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The columns that determine the counters of a pet, besides those of traits. */
type CountedRow = Pick<PetRow, 'status' | 'categoryId' | 'age' | 'birthDate'>;

/**
 * Moves a pet between the counters of traits, in the transaction of the change. `undefined` stands for a pet that does
 * not exist before or after the change.
 */
export function updateFacets(tx: Transaction, before: CountedRow | undefined, after: CountedRow | undefined): void {
  for (const [pet, by] of [[before, -1] as const, [after, 1] as const]) {
    if (pet === undefined) continue;
    const { categoryId, status } = pet;
    for (const trait of traitKeysOf(pet)) {
      // The category 0 stands for all.
      for (const category of [categoryId, 0]) tx.increment(petCounters, `trait ${category}/${status}/${trait}`, by);
    }
  }
}

/**
 * Returns the keys of a pet's counters, such as `sex/female`. A date of birth without an age counts in blocks of days
 * of several sizes, such as `~16/1240` and `born/4`, from which the age at any time derives.
 */
function traitKeysOf(pet: Pick<CountedRow, 'age' | 'birthDate'>): string[] {
  const keys: string[] = [];
  for (const { name, key } of storedTraits) {
    const value = pet[key as keyof typeof pet];
    if (value !== null && value !== undefined) keys.push(`${name}/${value}`);
  }
  if (pet.age === null && pet.birthDate !== null) {
    const day = pet.birthDate / DAY_MS;
    for (const size of birthBlocks) keys.push(`${blockNames[size]}/${Math.floor(day / size)}`);
  }
  return keys;
}

/**
 * The sizes of the blocks in which births are counted, in days. The animals of one age are in at most a few hundred
 * blocks: large ones, and smaller ones where the age changes. Single days would be thousands of blocks.
 */
const LARGEST = 4096;
export const birthBlocks = [LARGEST, 256, 16, 1] as const;

/**
 * The prefixes of the keys of blocks. Keys of the largest blocks, which are few, sort before `~` together with the
 * other traits.
 */
const BORN = 'born';
const blockNames = { [LARGEST]: BORN, 256: '~256', 16: '~16', 1: '~1' } as const;

/** The ages of the births of blocks, from one change of the age of a day of birth to the next. */
class BirthAges {
  /** The first day of birth of each age except the last age, to which all earlier days belong. */
  readonly #firstDays: readonly number[];
  /** The ages by the keys of the smaller blocks that replace the largest blocks with births of several ages. */
  readonly smaller = new Map<string, Age>();

  constructor(firstDays: readonly number[]) {
    this.#firstDays = firstDays;
    for (const index of new Set(firstDays.map(day => Math.floor(day / LARGEST)))) {
      if (this.ofBlock(index * LARGEST, LARGEST) === undefined) this.#split(0, index);
    }
  }

  /** Returns the age of the births of a block; `undefined` if they have several ages. */
  ofBlock(first: number, days: number): Age | undefined {
    if (this.#firstDays.some(day => first < day && day < first + days)) return undefined;
    return ages[this.#firstDays.findIndex(day => first >= day)]?.age ?? 'senior';
  }

  #split(level: number, index: number): void {
    const size = birthBlocks[level + 1]!;
    const parts = birthBlocks[level]! / size;
    for (let part = index * parts; part < (index + 1) * parts; part++) {
      const age = this.ofBlock(part * size, size);
      if (age === undefined) this.#split(level + 1, part);
      else this.smaller.set(`${blockNames[size]}/${part}`, age);
    }
  }
}

/** Returns the ages of births as of `now`. They are computed a few times a day. */
function birthAgesAt(now: number): BirthAges {
  const firstDays = ages.map(({ upTo }) => Math.floor((now - upTo) / DAY_MS) + 1);
  const key = firstDays.join();
  if (latestAges?.key !== key) latestAges = { key, births: new BirthAges(firstDays) };
  return latestAges.births;
}

let latestAges: { readonly key: string; readonly births: BirthAges } | undefined;

/**
 * Returns the number of pets with each value of each trait, as of `now`: from the counters for filters by categories
 * and statuses, otherwise from the matching pets among the first 20,000 that the list reads, or as many as the budget
 * of `scan`.
 * @param categories the categories of the filter
 * @throws {Problem} like `listPets`
 */
export async function countFacets(
  reader: Reader,
  filter: Omit<PetFilter, 'sort'>,
  categories: readonly number[] | undefined,
  scan: Parameters<typeof findTraits>[2],
  now: number,
): Promise<FacetCounts> {
  const { traits, words, ownerId, ownerIds } = filter;
  const isKept = [traits, words, ownerId, ownerIds].every(part => part === undefined);
  if (isKept && (categories?.length ?? 0) <= MERGED_MAX) {
    return { exact: true, facets: await keptFacets(reader, filter.status ?? PetStatus.enum, categories, now) };
  }
  const { rows, next } = await findTraits(reader, filter, scan, now);
  const facets = emptyFacets();
  for (const { name } of storedTraits) {
    const counts = facets[name]!;
    for (const { [name]: value } of rows as readonly Record<string, string | null>[]) {
      if (value != null) counts[value] = (counts[value] ?? 0) + 1;
    }
  }
  return { exact: next === undefined, facets };
}

function emptyFacets(): Record<string, Record<string, number>> {
  return Object.fromEntries(storedTraits.map(({ name }) => [name, {}]));
}

async function keptFacets(
  reader: Reader,
  statuses: readonly PetStatus[],
  categories: readonly number[] | undefined,
  now: number,
): Promise<FacetCounts['facets']> {
  const births = birthAgesAt(now);
  const prefixes = (categories ?? [0]).flatMap(category =>
    [...new Set(statuses)].map(status => `${category}/${status}/`),
  );
  const keys = prefixes.flatMap(prefix => Array.from(births.smaller.keys(), block => prefix + block));
  // The row of an expired reservation is still `pending`, but its pet is available.
  const expiredBy = Number(statuses.includes('available')) - Number(statuses.includes('pending'));
  // Use one query: between two, a pet could become available and be counted twice or not at all.
  const values = { prefixes: JSON.stringify(prefixes), keys: JSON.stringify(keys), now };
  const rows = await reader.all(countsAndExpired, values);
  const numbers = rows.flatMap(({ key, pets }) =>
    key.startsWith(EXPIRED)
      ? traitsOfExpired(key, categories).map(trait => [trait, expiredBy] as const)
      : [[key.split('/').slice(2).join('/'), pets] as const],
  );
  return facetsOf(numbers, births);
}

/** Returns the sums of numbers by trait and value, in the order of traits, without zeros. */
function facetsOf(
  numbers: readonly (readonly [trait: string, by: number])[],
  births: BirthAges,
): FacetCounts['facets'] {
  const facets = emptyFacets();
  for (const [trait, by] of numbers) {
    const [name, value] = trait.split('/') as [string, string];
    const age = name === BORN ? births.ofBlock(Number(value) * LARGEST, LARGEST) : births.smaller.get(trait);
    // Other blocks count the births of a block that has no age.
    const counts = facets[age === undefined ? name : 'age'];
    if (counts !== undefined) counts[age ?? value] = (counts[age ?? value] ?? 0) + by;
  }
  const withoutZeros = Object.entries(facets).map(([name, counts]) => {
    return [name, Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))];
  });
  return Object.fromEntries(withoutZeros);
}

/** Returns the counters of the pet of a row; an empty list if it is in none of the categories. */
function traitsOfExpired(key: string, categories: readonly number[] | undefined): string[] {
  const [category, birthDate, ...values] = key.slice(EXPIRED.length).split('/');
  if (categories?.includes(Number(category)) === false) return [];
  const row = Object.fromEntries(storedTraits.map(({ key }, index) => [key, values[index] || null]));
  return traitKeysOf({ ...row, birthDate: birthDate === '' ? null : Number(birthDate) } as CountedRow);
}

/** The prefix of rows of pets among those of counters: the category, the date of birth and the traits. */
const EXPIRED = '=';

const countsAndExpired = query((db, p: Params<{ prefixes: string; keys: string; now: number }>, engine) => {
  const values = ['birth_date', ...storedTraits.map(({ column }) => column)].map(
    column => sql`'/' || coalesce(cast(${sql.ref(column)} as text), '')`,
  );
  return (
    db
      .selectFrom(sql<{ prefix: string }>`(select value as prefix from ${textsOf(p.prefixes, engine)})`.as('prefixes'))
      // SQLite reads a cross join in this order; in an inner join, it would read every counter of a trait.
      .crossJoin('pet_counts')
      .where('kind', '=', sql.lit('trait'))
      .where(sql<boolean>`key >= prefix and key < prefix || '~'`)
      .select(['key', 'pets'])
      .unionAll(
        db
          .selectFrom('pet_counts')
          .select(['key', 'pets'])
          .where('kind', '=', sql.lit('trait'))
          .where('key', 'in', selectJsonTexts(p.keys, engine)),
      )
      .unionAll(
        db
          .selectFrom('pets')
          .select(eb => [
            sql<string>`${sql.lit(EXPIRED)} || cast(category_id as text) || ${sql.join(values, sql` || `)}`.as('key'),
            eb.lit(1).as('pets'),
          ])
          .where('reserved_until', '<=', p.now),
      )
  );
});

const textsOf = (json: Parameters<typeof selectJsonTexts>[0], engine: Reader['engine']) =>
  sql`${selectJsonTexts(json, engine)} as given`;
