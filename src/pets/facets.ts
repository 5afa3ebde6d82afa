import { DAY_MS } from '../lib/time.ts';
import { type Params, query, type Reader, selectJsonTexts, sql, type Transaction } from '../schema.ts';
import { updateTraitCounts } from './counts.ts';
import type { PetFilter } from './filter.ts';
import { findTraits } from './list.ts';
import { MERGED_MAX } from './merged-ids.ts';
import { type PetRow, PetStatus } from './pet.ts';
import { ageAt, ages } from './profile.ts';
import { storedTraits } from './traits.ts';

/** The numbers of pets by trait and value. */
export interface FacetCounts {
  /** Whether all matching pets were counted. */
  readonly exact: boolean;
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The columns that decide what a pet counts for, besides those of traits. */
type CountedRow = Pick<PetRow, 'status' | 'categoryId' | 'age' | 'birthDate'>;

/** Moves a pet between the counters of traits, in the transaction of the change. `undefined`: it is new, or deleted. */
export function updateFacets(tx: Transaction, before: CountedRow | undefined, after: CountedRow | undefined): void {
  for (const [pet, by] of [[before, -1] as const, [after, 1] as const]) {
    if (pet !== undefined) updateTraitCounts(tx, pet, traitKeysOf(pet), by);
  }
}

/**
 * Returns what a pet counts for, such as `sex/female`. A date of birth without an age counts in blocks of days of several
 * sizes, such as `~16/1240` and `born/4`: the age follows from it at any time.
 */
function traitKeysOf(pet: Pick<CountedRow, 'age' | 'birthDate'>): string[] {
  const keys: string[] = [];
  for (const { name, key } of storedTraits) {
    const value = pet[key as keyof typeof pet];
    if (value !== null && value !== undefined) keys.push(`${name}/${value}`);
  }
  if (pet.age === null && pet.birthDate !== null) {
    const day = pet.birthDate / DAY_MS;
    for (const size of birthBlocks) keys.push(blockKey(size, Math.floor(day / size)));
  }
  return keys;
}

/**
 * The sizes of the blocks that births are counted in, in days since 1970. Animals of one age are those of a few hundred
 * blocks at most: large ones, and smaller ones where the age changes. With days alone, it would be thousands.
 */
const LARGEST = 4096;
export const birthBlocks = [LARGEST, 256, 16, 1] as const;

/** Returns the key of a block. Those of the largest are before `~`, with the other traits; there are few of them. */
function blockKey(size: number, index: number): string {
  return size === LARGEST ? `${BORN}/${index}` : `~${size}/${index}`;
}

const BORN = 'born';

/** Returns the first day of the block with a key; `undefined` for a block of births of several ages. */
function dayOfBlock(name: string, index: number, now: number): number | undefined {
  if (name !== BORN) return index * Number(name.slice(1));
  const first = index * LARGEST;
  return hasOneAge(first, LARGEST, now) ? first : undefined;
}

function hasOneAge(first: number, days: number, now: number): boolean {
  return ageAt(first * DAY_MS, now) === ageAt((first + days - 1) * DAY_MS, now);
}

/** Returns the keys of the smaller blocks that fill up the largest ones with births of several ages. */
function blocksBetweenAges(now: number): string[] {
  const keys: string[] = [];
  const split = (level: number, index: number) => {
    const size = birthBlocks[level]!;
    if (level > 0 && hasOneAge(index * size, size, now)) return keys.push(blockKey(size, index));
    const parts = size / birthBlocks[level + 1]!;
    for (let part = 0; part < parts; part++) split(level + 1, index * parts + part);
  };
  const turns = new Set(ages.map(({ upTo }) => Math.floor((now - upTo) / DAY_MS / LARGEST)));
  for (const index of turns) if (!hasOneAge(index * LARGEST, LARGEST, now)) split(0, index);
  return keys;
}

/**
 * Returns how many pets have each value of each trait, as of `now`: from the counters for categories and statuses, otherwise
 * of the matching pets among the first 20,000 that the list reads, or as many as `scan` has a budget for.
 * @param categories the categories of the filter
 * @throws {Problem} as `listPets`
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
  const facets = new Facets();
  for (const row of rows) {
    for (const { name } of storedTraits) if (row[name] !== null) facets.add(name, row[name] as string, 1);
  }
  return { exact: next === undefined, facets: facets.counts };
}

/** Numbers by trait and value, in the order of traits. */
class Facets {
  readonly counts: Record<string, Record<string, number>> = Object.fromEntries(
    storedTraits.map(({ name }) => [name, {}]),
  );

  add(name: string, value: string, by: number): void {
    const values = this.counts[name]!;
    const count = (values[value] ?? 0) + by;
    if (count === 0) delete values[value];
    else values[value] = count;
  }
}

async function keptFacets(
  reader: Reader,
  statuses: readonly PetStatus[],
  categories: readonly number[] | undefined,
  now: number,
): Promise<FacetCounts['facets']> {
  const facets = new Facets();
  const add = (key: string, by: number) => {
    const [name, value] = key.split('/') as [string, string];
    if (name !== BORN && !name.startsWith('~')) return facets.add(name, value, by);
    const day = dayOfBlock(name, Number(value), now);
    if (day !== undefined) facets.add('age', ageAt(day * DAY_MS, now), by);
  };
  const prefixes = (categories ?? [0]).flatMap(category =>
    [...new Set(statuses)].map(status => `${category}/${status}/`),
  );
  const blocks = new Set(blocksBetweenAges(now));
  const keys = prefixes.flatMap(prefix => Array.from(blocks, block => prefix + block));
  // The row of an expired reservation says `pending`, but its pet is available.
  const expiredBy = Number(statuses.includes('available')) - Number(statuses.includes('pending'));
  // One query: between two, a pet could become available and be counted twice or not at all.
  const values = { prefixes: JSON.stringify(prefixes), keys: JSON.stringify(keys), now };
  for (const { key, pets } of await reader.all(countsAndExpired, values)) {
    if (!key.startsWith(EXPIRED)) {
      add(key.split('/').slice(2).join('/'), pets);
      continue;
    }
    const traits = expiredBy === 0 ? [] : traitsOfExpired(key, categories);
    for (const trait of traits) if (!trait.startsWith('~') || blocks.has(trait)) add(trait, expiredBy);
  }
  return facets.counts;
}

/** Returns what the pet of a row counts for; nothing if it is in none of the categories. */
function traitsOfExpired(key: string, categories: readonly number[] | undefined): string[] {
  const [category, birthDate, ...values] = key.slice(EXPIRED.length).split('/');
  if (categories?.includes(Number(category)) === false) return [];
  const row = Object.fromEntries(storedTraits.map(({ key }, index) => [key, values[index] || null]));
  return traitKeysOf({ ...row, birthDate: birthDate === '' ? null : Number(birthDate) } as CountedRow);
}

/** Begins the rows of pets among those of counters: the category, the date of birth and the traits. */
const EXPIRED = '=';

const countsAndExpired = query((db, p: Params<{ prefixes: string; keys: string; now: number }>, engine) => {
  const values = ['birth_date', ...storedTraits.map(({ column }) => column)].map(
    column => sql`'/' || coalesce(cast(${sql.ref(column)} as text), '')`,
  );
  return (
    db
      .selectFrom(sql<{ prefix: string }>`(select value as prefix from ${textsOf(p.prefixes, engine)})`.as('prefixes'))
      // SQLite reads a cross join in this order; of an inner join, it would read every counter of a trait.
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
