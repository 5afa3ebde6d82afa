import {
  decodeCursor,
  decodeListToken,
  encodeCursor,
  encodeListToken,
  invalidCursor,
  isCount,
} from '../../lib/http/pagination/cursor.ts';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import type { PetReader } from '../../model/pet.ts';
import type { SearchedReader } from '../search/search.ts';
import { type PetFilter, petList } from './filter.ts';
import { findRanked, listPets, type PetViews } from './list.ts';

/**
 * Returns one page of the pets that match a search, the most relevant first; equally relevant ones newest first.
 *
 * A page ranks the newest matching pets among the 20,000 that the list may read. Older pets follow after these, ranked
 * in the same way, so that each pet is listed once. A page may be short and still have a next page. There are no
 * previous pages.
 * @throws {Problem} like `listPets`
 */
export async function listRelevantPets<View extends keyof PetViews>(
  reader: SearchedReader,
  filter: Omit<PetFilter, 'sort' | 'range'> & { readonly words: readonly string[] },
  page: PageRequest,
  now: number,
  view: View | undefined,
  viewer?: PetReader,
): Promise<Page<PetViews[View]>> {
  const newestFirst = { ...filter, sort: '-id' } as const;
  const list = petList(newestFirst);
  const ranking = [...list, 'relevance'];
  const position = page.cursor === undefined ? BEFORE_ALL : decode(ranking, page.cursor);
  if (position === undefined) throw invalidCursor();
  const { end, relevance, id } = position;
  const cursor = position.start === undefined ? undefined : encodeCursor(list, { backward: false, id: position.start });
  const read = await findRanked(reader, newestFirst, { ...page, cursor }, now);
  const start = position.start ?? (read.rows[0]?.id ?? 0) + 1;
  const ranked = read.rows
    .filter(row => row.id >= end)
    .filter(row => row.relevance < relevance || (row.relevance === relevance && row.id < id))
    .sort((one, other) => other.relevance - one.relevance || other.id - one.id);
  const shown = ranked.slice(0, page.limit);
  const rows = await listInOrder(shown.map(row => row.id));
  const reached = Math.max(end, read.next === undefined ? 0 : decodeCursor(list, read.next)!.id);
  const last = shown.at(-1);
  if (last !== undefined && ranked.length > shown.length) {
    return { rows, next: encode(ranking, { start, end: reached, ...last }) };
  }
  return reached === 0 ? { rows } : { rows, next: encode(ranking, { ...BEFORE_ALL, start: reached }) };

  async function listInOrder(ids: readonly number[]): Promise<PetViews[View][]> {
    if (ids.length === 0) return [];
    const found = await listPets(reader, { id: ids, sort: 'id' }, { limit: ids.length }, now, view, viewer);
    const byId = new Map(found.rows.map(pet => [pet.id, pet]));
    return ids.map(one => byId.get(one)).filter(pet => pet !== undefined);
  }
}

/** The start of a page among pets that are ranked together: those with ids below `start`, down to `end`. */
interface RankedPosition {
  readonly start: number;
  readonly end: number;
  /** The relevance and the id of the last pet on the page before. */
  readonly relevance: number;
  readonly id: number;
}

/** A position before all pets that are ranked together. */
const BEFORE_ALL = { start: undefined, end: 0, relevance: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

function encode(list: readonly unknown[], { start, end, relevance, id }: RankedPosition): string {
  return encodeListToken(list, [start, end, relevance, id]);
}

function decode(list: readonly unknown[], text: string): RankedPosition | undefined {
  const [start, end, relevance, id] = decodeListToken(list, text, 4) ?? [];
  const isPosition = isCount(start) && isCount(end) && isCount(id) && typeof relevance === 'number';
  return isPosition ? { start, end, relevance, id } : undefined;
}
