import { randomBytes } from 'node:crypto';
import { isUniqueViolation } from '../../lib/storage/database.ts';
import { foldedText } from '../../lib/text.ts';
import { SLUG_LENGTH_MAX } from '../../model/category.ts';
import { problem } from '../../model/errors.ts';
import { type Params, query, type Reader, sql } from '../../model/schema.ts';

/** Derives a slug from a name: lower case, Latin letters only, hyphens for other characters. May be empty. */
export function slugOf(name: string): string {
  const words = foldedText(name)
    .replaceAll(/[ßøæœłđðþı]/g, letter => TRANSLITERATIONS[letter]!)
    .replaceAll(/[^a-z0-9]+/g, '-');
  return trim(words, SLUG_LENGTH_MAX);
}

/** Letters that Unicode does not decompose. */
const TRANSLITERATIONS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/**
 * Returns a slug that no category has: the given slug, or with the first free number from 2 appended; if a thousand
 * numbers are taken, with a random suffix. Another transaction may take it first.
 */
export async function freeSlug(reader: Reader, slug: string): Promise<string> {
  if (!(await isSlugTaken(reader, slug))) return slug;
  const base = trim(slug, SLUG_LENGTH_MAX - RANDOM_LENGTH - 1);
  const { number } = (await reader.first(firstFree, { base }))!;
  return `${base}-${number < NUMBERS_MAX ? number : randomBytes(RANDOM_LENGTH / 2).toString('hex')}`;
}

/** Reports whether a category has this slug. */
export async function isSlugTaken(reader: Reader, slug: string): Promise<boolean> {
  return (await reader.first(categoryBySlug, { slug })) !== undefined;
}

/** Returns the error for a slug that another category has. */
export function slugTaken(slug: string) {
  const message = `Another category has the slug ${slug}.`;
  return problem('category_slug_taken', message, {
    errors: [{ path: '/slug', code: 'category_slug_taken', message }],
  });
}

/**
 * Runs a transaction that may set a slug, and throws `category_slug_taken` if the unique index rejects the slug because
 * another transaction took it at the same time.
 */
export async function withSlugConflict<T>(slug: string | undefined, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    throw slug !== undefined && isUniqueViolation(error) ? slugTaken(slug) : error;
  }
}

const NUMBERS_MAX = 1000;
const RANDOM_LENGTH = 8;

/** Trims hyphens at both ends, and shortens a slug to a length. */
function trim(text: string, lengthMax: number): string {
  return text.replace(/^-/, '').slice(0, lengthMax).replace(/-$/, '');
}

const categoryBySlug = query((db, p: Params<{ slug: string }>) =>
  db.selectFrom('categories').select('id').where('slug', '=', p.slug),
);

/** Counts up while a category has the slug with this number: one index lookup per number. */
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
