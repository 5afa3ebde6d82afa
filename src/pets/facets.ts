import { DAY_MS } from '../lib/time.ts';
import { type Params, query, type Reader, selectJsonTexts, sql, type Transaction } from '../schema.ts';
import { updateTraitCounts } from './counts.ts';
import type { PetFilter } from './filter.ts';
import { findTraits } from './list.ts';
import { MERGED_MAX } from './page-query.ts';
import { type PetRow, PetStatus } from './pet.ts';
import { ageAt } from './profile.ts';
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
 * Returns what a pet counts for, such as `sex/female`. A date of birth without an age counts as its day since 1970, `~19844`:
 * the age follows from it at any time.
 */
function traitKeysOf(pet: Pick<CountedRow, 'age' | 'birthDate'>): string[] {
  const keys: string[] = [];
  for (const { name, key } of storedTraits) {
    const value = pet[key as keyof typeof pet];
    if (value !== null && value !== undefined) keys.push(`${name}/${value}`);
  }
  if (pet.age === null && pet.birthDate !== null) keys.push(`~${pet.birthDate / DAY_MS}`);
  return keys;
}

/**
 * Returns how many pets have each value of each trait, as of `now`: from the counters for categories and statuses, otherwise
 * of the matching pets among the first 20,000 that the list reads.
 * @param categories the categories of the filter
 * @throws {Problem} as `listPets`
 */
export async function countFacets(
  reader: Reader,
  filter: Omit<PetFilter, 'sort'>,
  categories: readonly number[] | undefined,
  request: Parameters<typeof findTraits>[2],
  now: number,
): Promise<FacetCounts> {
  const isKept = filter.traits === undefined && filter.words === undefined;
  if (isKept && (categories?.length ?? 0) <= MERGED_MAX) {
    return { exact: true, facets: await keptFacets(reader, filter.status ?? PetStatus.enum, categories, now) };
  }
  const { rows, next } = await findTraits(reader, filter, request, now);
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
    const [name, value] = key.split('/');
    if (value === undefined) facets.add('age', ageAt(Number(key.slice(1)) * DAY_MS, now), by);
    else facets.add(name!, value, by);
  };
  const prefixes = (categories ?? [0]).flatMap(category =>
    [...new Set(statuses)].map(status => `${category}/${status}/`),
  );
  // The row of an expired reservation says `pending`, but its pet is available.
  const expiredBy = Number(statuses.includes('available')) - Number(statuses.includes('pending'));
  // One query: between two, a pet could become available and be counted twice or not at all.
  for (const { key, pets } of await reader.all(countsAndExpired, { prefixes: JSON.stringify(prefixes), now })) {
    const [category, second, ...rest] = key.split('/');
    if (!key.startsWith(EXPIRED)) {
      add(rest.join('/'), pets);
    } else if (expiredBy !== 0 && (categories === undefined || categories.includes(Number(category!.slice(1))))) {
      const row = Object.fromEntries(storedTraits.map(({ key }, index) => [key, rest[index] || null]));
      const birthDate = second === '' ? null : Number(second);
      for (const key of traitKeysOf({ ...row, birthDate } as CountedRow)) add(key, expiredBy);
    }
  }
  return facets.counts;
}

/** Begins the rows of pets among those of counters: the category, the date of birth and the traits. */
const EXPIRED = '=';

const countsAndExpired = query((db, p: Params<{ prefixes: string; now: number }>, engine) => {
  const values = ['birth_date', ...storedTraits.map(({ column }) => column)].map(
    column => sql`'/' || coalesce(cast(${sql.ref(column)} as text), '')`,
  );
  return db
    .selectFrom(sql<{ prefix: string }>`(select value as prefix from ${textsOf(p.prefixes, engine)})`.as('prefixes'))
    .innerJoin('pet_counts', join =>
      join.on('kind', '=', sql.lit('trait')).on(sql<boolean>`key >= prefix`).on(sql<boolean>`key < prefix || '~~'`),
    )
    .select(['key', 'pets'])
    .unionAll(
      db
        .selectFrom('pets')
        .select(eb => [
          sql<string>`${sql.lit(EXPIRED)} || cast(category_id as text) || ${sql.join(values, sql` || `)}`.as('key'),
          eb.lit(1).as('pets'),
        ])
        .where('reserved_until', '<=', p.now),
    );
});

const textsOf = (json: Parameters<typeof selectJsonTexts>[0], engine: Reader['engine']) =>
  sql`${selectJsonTexts(json, engine)} as given`;
