import { decodeListToken, encodeListToken, invalidCursor, isCount } from '../../lib/http/pagination/cursor.ts';
import { type Page, type PageRequest, scanBudget } from '../../lib/http/pagination/paginate.ts';
import type { PetReader } from '../../model/pet.ts';
import { query, type Reader } from '../../model/schema.ts';
import { type PetFilter, petList } from './filter.ts';
import { listPets, type PetViews } from './list.ts';

/**
 * Returns one page of the pets that match a filter, by id, starting at a random id. After the last pet, the list
 * continues with the first. The cursor contains the random id, so that each pet is listed once. There are no previous
 * pages.
 * @throws {Problem} like `listPets`
 */
export async function listRandomPets<View extends keyof PetViews>(
  reader: Reader,
  filter: Omit<PetFilter, 'sort' | 'range'>,
  page: PageRequest,
  now: number,
  view: View | undefined,
  viewer?: PetReader,
): Promise<Page<PetViews[View]>> {
  const sorted = { ...filter, sort: 'id' } as const;
  const list = [...petList(sorted), 'random'];
  const position = page.cursor === undefined ? await randomPosition(reader) : decode(list, page.cursor);
  if (position === undefined) throw invalidCursor();
  const { start, wrapped, cursor } = position;
  const budget = scanBudget();
  const read = (isWrapped: boolean, cursor: string | undefined, limit: number) => {
    const range = isWrapped ? { after: 0, upTo: start - 1 } : { after: start - 1, upTo: Number.MAX_SAFE_INTEGER };
    return listPets(reader, { ...sorted, range }, { ...page, limit, cursor, budget }, now, view, viewer);
  };
  const encode = (isWrapped: boolean, next = '') => encodeListToken(list, [start, isWrapped ? 1 : 0, next]);
  const first = await read(wrapped, cursor, page.limit);
  if (first.next !== undefined) return { rows: first.rows, next: encode(wrapped, first.next) };
  if (wrapped) return { rows: first.rows };
  const missing = page.limit - first.rows.length;
  if (missing === 0 || budget.left === 0) return { rows: first.rows, next: encode(true) };
  const second = await read(true, undefined, missing);
  const rows = [...first.rows, ...second.rows];
  return second.next === undefined ? { rows } : { rows, next: encode(true, second.next) };
}

interface RandomPosition {
  /** The id at which the list begins. */
  readonly start: number;
  /** Whether the list has reached the last pet and continued with the first. */
  readonly wrapped: boolean;
  /** The cursor within this part of the list. */
  readonly cursor: string | undefined;
}

async function randomPosition(reader: Reader): Promise<RandomPosition> {
  const { id } = (await reader.first(newestPet, {})) ?? { id: 1 };
  return { start: 1 + Math.floor(Math.random() * id), wrapped: false, cursor: undefined };
}

function decode(list: readonly unknown[], text: string): RandomPosition | undefined {
  const [start, wrapped, cursor] = decodeListToken(list, text, 3) ?? [];
  if (!isCount(start) || start === 0 || (wrapped !== 0 && wrapped !== 1) || typeof cursor !== 'string')
    return undefined;
  return { start, wrapped: wrapped === 1, cursor: cursor || undefined };
}

/** Selects the id of the newest pet. */
export const newestPet = query(db => db.selectFrom('pets').select('id').orderBy('id', 'desc').limit(1));
