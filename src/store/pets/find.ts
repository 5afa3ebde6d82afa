import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import type { PetCard, PetReader } from '../../model/pet.ts';
import type { Reader } from '../../model/schema.ts';
import type { PetFilter, PetSort } from './filter.ts';
import { listPets, type PetViews } from './list.ts';
import { listNearestPets, type Nearby, withDistances } from './near.ts';
import { listRandomPets } from './random.ts';
import { listRelevantPets } from './relevance.ts';

/** A list that a caller requests: a filter, an order, and the organizations near a place. */
export interface PetSearch extends Omit<PetFilter, 'sort' | 'range'> {
  /** `relevance` requires `words`. */
  readonly sort: PetSort | 'recent' | 'random' | 'distance' | 'relevance';
  /** Requires the filter by their accounts. */
  readonly nearby?: Nearby | undefined;
}

/**
 * Returns one page of a list in any order. In the full view and on cards, the pets of a list near a place have their
 * distances.
 * @throws {Problem} like `listPets`
 */
export async function findPets<View extends keyof PetViews = 'plain'>(
  reader: Reader,
  { nearby, sort, ...filter }: PetSearch,
  page: PageRequest,
  now: number,
  view?: View,
  viewer?: PetReader,
): Promise<Page<PetViews[View]>> {
  const found = await listed();
  if (nearby === undefined || view === undefined || view === 'plain') return found;
  return { ...found, rows: withDistances(found.rows as PetCard[], nearby) as PetViews[View][] };

  function listed(): Promise<Page<PetViews[View]>> {
    if (sort === 'random') return listRandomPets(reader, filter, page, now, view, viewer);
    if (sort === 'distance') return listNearestPets(reader, filter, owned(), page, now, view, viewer);
    if (sort === 'relevance') {
      return listRelevantPets(reader, { ...filter, words: filter.words! }, page, now, view, viewer);
    }
    return listPets(reader, { ...filter, sort: sort === 'recent' ? '-id' : sort }, page, now, view, viewer);
  }

  /** Omits the organizations that the other filters exclude. */
  function owned() {
    const ids = new Set(filter.ownerIds ?? [filter.ownerId]);
    return nearby!.organizations.filter(({ id }) => ids.has(id));
  }
}
