import type { MaybePromise } from '../../maybe-promise.ts';
import { type CursorPosition, decodeCursor, encodeCursor, invalidCursor } from './cursor.ts';
import type { PageLinks } from './page-links.ts';

/** What was found of a page, in the order in which it was looked for. */
export interface Found<Row> {
  readonly rows: readonly Row[];
  /** The last id that was looked at, where looking ended before the list did. */
  readonly edge: number | undefined;
}

/** One page of a list. */
export interface Page<Row> extends PageLinks {
  readonly rows: Row[];
}

/**
 * One page of a list that goes by rising ids, where an index alone does not decide what is on it: looking ends after
 * 20,000 rows, and the page is then short, even empty, and still has a next one.
 * @param list says which list it is, with its filters: a cursor is good for that one alone
 * @param limit how many rows at most
 * @param cursorText where to read on, from another page of the same list
 * @param look finds `limit` + 1 rows from a place on, backward by falling ids, and passes over so many at most
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function pageById<Row extends { readonly id: number }>(
  list: readonly unknown[],
  limit: number,
  cursorText: string | undefined,
  look: (from: CursorPosition, rowsMax: number) => MaybePromise<Found<Row>>,
): Promise<Page<Row>> {
  const from = cursorText === undefined ? { backward: false, id: 0 } : decodeCursor(list, cursorText);
  if (from === undefined) throw invalidCursor();
  let found = await look(from, FEW_ROWS);
  if (found.rows.length <= limit && found.edge !== undefined) found = await look(from, ROWS_LOOKED_AT_MAX);

  const rows = found.rows.slice(0, limit);
  const onward = found.rows.length > limit ? rows.at(-1)!.id : found.edge;
  const ahead = onward === undefined ? undefined : encodeCursor(list, { backward: from.backward, id: onward });
  // The way back begins before the first row; from a page without any, where this one began, with what stands there.
  const first = rows[0]?.id ?? (from.backward ? from.id - 1 : from.id + 1);
  const back = cursorText === undefined ? undefined : encodeCursor(list, { backward: !from.backward, id: first });
  return from.backward ? { rows: rows.reverse(), next: back, previous: ahead } : { rows, next: ahead, previous: back };
}

/** The most rows that a page looks at, and how many it looks at first: enough for most filters, and soon done. */
const ROWS_LOOKED_AT_MAX = 20_000;
const FEW_ROWS = 500;
