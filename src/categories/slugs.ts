import { randomBytes } from 'node:crypto';
import { problem } from '../errors.ts';
import { isUniqueViolation } from '../lib/storage/database.ts';
import { type Params, query, type Reader, sql } from '../schema.ts';
import { SLUG_LENGTH_MAX } from './category.ts';

/**
 * The slug that a name makes: lower case, without accents, everything but letters and digits a hyphen. Empty where
 * nothing is left.
 */
export function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-');
  return cut(words, SLUG_LENGTH_MAX);
}

/**
 * A slug that no category has: this one, or else with the first number from 2 behind it that is free; after a thousand
 * of them with something random.
 *
 * Another transaction may still be first.
 */
export async function freeSlug(reader: Reader, slug: string): Promise<string> {
  if (!(await isSlugTaken(reader, slug))) return slug;
  const base = cut(slug, SLUG_LENGTH_MAX - RANDOM_LENGTH - 1);
  const { number } = (await reader.first(firstFree, { base }))!;
  return `${base}-${number < NUMBERS_MAX ? number : randomBytes(RANDOM_LENGTH / 2).toString('hex')}`;
}

/** Whether a category has this slug. */
export async function isSlugTaken(reader: Reader, slug: string): Promise<boolean> {
  return (await reader.first(categoryBySlug, { slug })) !== undefined;
}

/** The refusal of a slug that another category has. */
export function slugTaken(slug: string) {
  const message = `Another category has the slug ${slug}.`;
  return problem('category_slug_taken', message, {
    errors: [{ path: '/slug', code: 'category_slug_taken', message }],
  });
}

/**
 * Does a change that may give a category a slug, outside of its transaction: where the database refuses the slug, since
 * another one got it at the same moment, that is said as every other refusal of it is.
 */
export async function withFreeSlug<T>(slug: string | undefined, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    throw slug !== undefined && isUniqueViolation(error) ? slugTaken(slug) : error;
  }
}

const NUMBERS_MAX = 1000;
const RANDOM_LENGTH = 8;

/** Without hyphens at its ends, and no longer than that. */
function cut(text: string, lengthMax: number): string {
  return text.replace(/^-/, '').slice(0, lengthMax).replace(/-$/, '');
}

const categoryBySlug = query((db, p: Params<{ slug: string }>) =>
  db.selectFrom('categories').select('id').where('slug', '=', p.slug),
);

/** Counts up while there is a category; one look at the index for each number. */
const firstFree = query((db, p: Params<{ base: string }>) =>
  db
    .withRecursive('numbers(number)', with_ =>
      with_.selectNoFrom(sql<number>`2`.as('number')).unionAll(
        with_
          .selectFrom('numbers')
          .select(sql<number>`number + 1`.as('number'))
          .where('number', '<', NUMBERS_MAX)
          .where(({ exists, selectFrom }) =>
            exists(
              selectFrom('categories')
                .select('categories.id')
                .where('slug', '=', sql<string>`cast(${p.base} as text) || '-' || numbers.number`),
            ),
          ),
      ),
    )
    .selectFrom('numbers')
    .select(eb => eb.fn.max<number>('number').as('number')),
);
