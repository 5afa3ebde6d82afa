import type { IdRange } from '../../lib/http/pagination/paginate.ts';
import type { ScanRequest } from '../../lib/http/pagination/scan-queue.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import { countText } from '../../lib/text.ts';
import type { PetStatus } from '../../model/pet.ts';
import type { Reader } from '../../model/schema.ts';
import { descendantsOf } from '../categories/tree.ts';
import type { TraitFilter } from '../profile/traits.ts';

/** The order of a list: by id, or by name (by code point) and then id; `-` reverses it. */
export type PetSort = 'id' | '-id' | 'name' | '-name';

/** The criteria and the order of a list of pets. */
export interface PetFilter {
  readonly id?: readonly number[] | undefined;
  /** Pets with any of these statuses. */
  readonly status?: readonly PetStatus[] | undefined;
  readonly categoryId?: number | undefined;
  /** Whether to include the descendants of the category. */
  readonly includeDescendants?: boolean | undefined;
  /** Only the pets of this account. */
  readonly ownerId?: number | undefined;
  /** Only the pets of these accounts, ascending. */
  readonly ownerIds?: readonly number[] | undefined;
  /**
   * The input that determined `ownerIds` or `ownerId`, if they may change between pages; cursors are bound to it
   * instead.
   */
  readonly place?: unknown;
  /** Only the pets with these traits. */
  readonly traits?: TraitFilter | undefined;
  /** Only the pets that match a search for these words, from `wordsIn`; see `termsOf`. */
  readonly words?: readonly string[] | undefined;
  readonly sort: PetSort;
  /** Only the pets with ids in this range, in a list by ascending id. Cursors are not bound to it. */
  readonly range?: IdRange | undefined;
}

/** Returns the value that binds cursors to the filters and the order of a list. */
export function petList({
  id = [],
  status = [],
  categoryId,
  includeDescendants,
  ownerId,
  ownerIds,
  place,
  traits,
  words,
  sort,
}: PetFilter): unknown[] {
  const list: unknown[] = [[...id].sort((a, b) => a - b), [...status].sort(), categoryId ?? 0, sort];
  if (includeDescendants) list.push('descendants');
  if (place !== undefined) list.push({ place });
  else if (ownerId !== undefined) list.push({ ownerId });
  else if (ownerIds !== undefined) list.push({ ownerIds });
  if (traits !== undefined) list.push({ traits: Object.entries(traits).sort() });
  if (words !== undefined) list.push({ words: beginningsAmong(words) });
  return list;
}

/**
 * Returns the words sorted, without those that begin another word. Cursors of lists are bound to this since the first
 * release, because two releases can serve the pages of one list.
 */
function beginningsAmong(words: readonly string[]): string[] {
  const sorted = [...new Set(words)].sort();
  return sorted.filter((word, index) => sorted[index + 1]?.startsWith(word) !== true);
}

/** Returns the accounts that are in all of the given lists. */
export function ownersOf(lists: readonly (readonly number[] | undefined)[]): Pick<PetFilter, 'ownerId' | 'ownerIds'> {
  const [first, ...others] = lists.filter(list => list !== undefined).map(list => new Set(list));
  if (first === undefined) return {};
  const ids = [...others.reduce((all, other) => all.intersection(other), first)].sort((one, other) => one - other);
  return ids.length === 1 ? { ownerId: ids[0] } : { ownerIds: ids };
}

/**
 * Returns the ids of the categories that a filter includes, ascending; `undefined` for all.
 * @param request the request that needs them: it waits in the scan queue if there are many
 * @throws {Problem} `invalid_parameter` if a category has more than 10,000 descendants; `overloaded`
 */
export async function categoriesOf(
  reader: Reader,
  { categoryId, includeDescendants = false }: Pick<PetFilter, 'categoryId' | 'includeDescendants'>,
  request?: ScanRequest,
): Promise<readonly number[] | undefined> {
  if (categoryId === undefined) return undefined;
  if (!includeDescendants) return [categoryId];
  const ids = await descendantsOf(reader, categoryId, CATEGORIES_MAX, request);
  if (ids !== undefined) return ids;
  const message = `Must be a category with at most ${countText(CATEGORIES_MAX)} descendants.`;
  throw invalidParameter('categoryId', message);
}

const CATEGORIES_MAX = 10_000;
