import { descendantsOf } from '../categories/tree.ts';
import type { Reader } from '../schema.ts';
import { invalidParameter, type PetFilter } from './filter.ts';

/**
 * The categories that a filter lets through, ascending; `undefined` where it lets all through.
 * @throws {Problem} `invalid_parameter` where there are more than anyone would look through
 */
export async function categoriesOf(
  reader: Reader,
  { categoryId, includeDescendants = false }: Pick<PetFilter, 'categoryId' | 'includeDescendants'>,
): Promise<readonly number[] | undefined> {
  if (categoryId === undefined) return undefined;
  if (!includeDescendants) return [categoryId];
  const ids = await descendantsOf(reader, categoryId, CATEGORIES_MAX);
  if (ids === undefined) {
    const message = `Must be a category with at most ${CATEGORIES_MAX.toLocaleString('en')} below it.`;
    throw invalidParameter('categoryId', message);
  }
  return ids;
}

const CATEGORIES_MAX = 10_000;
