import type { MaybePromise } from '../../maybe-promise.ts';
import { decodeCursor, encodeCursor, invalidCursor, type Position } from './cursor.ts';
import type { PageLinks } from './page-links.ts';
import { requireScanRoom, type ScanRequest, startScan } from './scan-queue.ts';

/** The page of a list that a caller requests. */
export interface PageRequest {
  /** The maximum number of rows on the page. */
  readonly limit: number;
  /** The position to continue from; the first page if absent. */
  readonly cursor?: string | undefined;
  /** The request for the page. Its scan waits in the scan queue. */
  readonly request?: ScanRequest | undefined;
  /** The rows that the page may still scan, if it consists of several lists; otherwise 20,000. */
  readonly budget?: ScanBudget | undefined;
}

/** A number of rows that the lists of one page scan together. They count down. */
export interface ScanBudget {
  left: number;
}

/** Returns the budget of one page. */
export function scanBudget(rows = SCAN_LIMIT): ScanBudget {
  return { left: rows };
}

/** One page of a list, with the cursors of the pages before and after it. */
export interface Page<Row> extends PageLinks {
  readonly rows: Row[];
}

/** The range of rows that a page reads. Pass it to the query as its parameters, together with those of the filters. */
export interface Scan {
  /** Whether the page is read in reverse order of the list. */
  readonly backward: boolean;
  /** Whether ids (and sort keys) decrease in reading order. */
  readonly descending: boolean;
  /** The page begins after this position; absent on the first page. */
  readonly from: Position | undefined;
  /** The id of `from`; on the first page an id that precedes every other in reading order. */
  readonly fromId: number;
  /** The page reads up to this position, inclusive; absent if it may read the whole list. */
  readonly end: Position | undefined;
  /** The id of `end`; if `end` is absent, an id that follows every other in reading order. */
  readonly endId: number;
  /** The maximum number of rows to return: one more than the page shows, to find out whether another page follows. */
  readonly rows: number;
  /** The maximum number of rows to scan. */
  readonly scanLimit: number;
}

/** A range of ids: greater than `after`, at most `upTo`. */
export interface IdRange {
  readonly after: number;
  readonly upTo: number;
}

/** A list in the order of its ids, or of another column and then the ids. */
export interface ListSource<Row extends { readonly id: number }> {
  /** Identifies the list and its filters; a cursor works only with an equal value. */
  readonly list: readonly unknown[];
  readonly page: PageRequest;
  /** Whether the list starts with the highest id or key. */
  readonly descending?: boolean;
  /** The range of ids of an ascending list by id. */
  readonly range?: IdRange | undefined;
  /** Returns the column that the list is sorted by before the id. */
  sortKey?(row: Row): string;
  /**
   * Converts between an id and the number in cursors, for lists whose cursors held another number in earlier releases.
   */
  cursorId?(id: number): number;
  /** Returns up to `scan.rows` rows after `scan.from`, up to `scan.end`, in reading order. */
  rows(scan: Scan): MaybePromise<readonly Row[]>;
  /**
   * Returns the position of row number `scan.scanLimit` after `scan.from`, counted without the filters that no index
   * covers. Absent for lists that an index covers: they scan only rows that they return.
   */
  end?(scan: Scan): MaybePromise<Position | undefined>;
}

/**
 * Returns one page of a list. Every list of the product uses it: forward and backward, by id or by another column.
 *
 * A list with `end` scans 500 rows and, if these do not fill the page, waits in the `ScanQueue` for each further 2,000,
 * up to 20,000 in all. The page may then be short or empty and still have a next page.
 * @throws {Problem} `invalid_parameter` for a cursor that does not belong to the list; `overloaded`
 */
export async function paginate<Row extends { readonly id: number }>(source: ListSource<Row>): Promise<Page<Row>> {
  const { list, page, descending = false, sortKey, cursorId = id => id } = source;
  const encode = (backward: boolean, { id, key }: Position) => encodeCursor(list, { backward, id: cursorId(id), key });
  const positionOf = (row: Row): Position => ({ id: row.id, key: sortKey?.(row) });

  const start = page.cursor === undefined ? undefined : decodeCursor(list, page.cursor, sortKey !== undefined);
  if (page.cursor !== undefined && start === undefined) throw invalidCursor();
  const backward = start?.backward === true;
  const from = start && { id: cursorId(start.id), key: start.key };
  const falling = descending !== backward;
  const found = await find(source, rangeOf(from, backward, falling, page.limit + 1, source.range));

  const rows = found.rows.slice(0, page.limit);
  const last = found.rows.length > page.limit ? positionOf(rows.at(-1)!) : found.end;
  const ahead = last && encode(backward, last);
  // Without rows, the page in the other direction begins with `from`, so continue from the position just before it.
  const first = from && { id: falling ? from.id - 1 : from.id + 1, key: from.key };
  const behind = first && encode(!backward, rows[0] === undefined ? first : positionOf(rows[0]));
  return backward ? { rows: rows.reverse(), next: behind, previous: ahead } : { rows, next: ahead, previous: behind };
}

/** Enough rows for most filters. */
const ROWS_FIRST = 500;
/** The rows of each later read, which takes a few milliseconds. */
const ROWS_PER_TURN = 2000;
/** The maximum number of rows that a page scans, which bounds the time of a request. */
export const SCAN_LIMIT = 20_000;

function rangeOf(
  from: Position | undefined,
  backward: boolean,
  descending: boolean,
  rows: number,
  { after, upTo }: IdRange = { after: 0, upTo: Number.MAX_SAFE_INTEGER },
): Scan {
  const [first, last] = descending ? [upTo, after] : [after, upTo];
  const fromId = from?.id ?? first;
  return { backward, descending, from, fromId, end: undefined, endId: last, rows, scanLimit: Number.MAX_SAFE_INTEGER };
}

/** Rows in reading order, and the position at which the scan ended before the list did. */
interface Found<Row> extends Pick<Scan, 'end'> {
  readonly rows: readonly Row[];
}

async function find<Row extends { readonly id: number }>(source: ListSource<Row>, range: Scan): Promise<Found<Row>> {
  if (source.end === undefined) return { rows: await source.rows(range), end: undefined };
  const { request, budget = scanBudget() } = source.page;
  requireScanRoom(request);
  const scanLimit = Math.min(ROWS_FIRST, budget.left);
  budget.left -= scanLimit;
  const found = await read(source, { ...range, scanLimit });
  const enough = found.rows.length === range.rows || found.end === undefined;
  return enough ? found : scanOn(source, range, found, budget);
}

/** Scans further rows after the first ones of a page. */
async function scanOn<Row extends { readonly id: number }>(
  source: ListSource<Row>,
  range: Scan,
  first: Found<Row>,
  budget: ScanBudget,
): Promise<Found<Row>> {
  using scan = startScan(source.page.request);
  const rows = [...first.rows];
  let { end } = first;
  while (end !== undefined && rows.length < range.rows && budget.left > 0 && (await scan.turn())) {
    const scanLimit = Math.min(ROWS_PER_TURN, budget.left);
    const next = { ...range, from: end, fromId: end.id, rows: range.rows - rows.length, scanLimit };
    const found = await read(source, next);
    rows.push(...found.rows);
    ({ end } = found);
    budget.left -= scanLimit;
  }
  return { rows, end };
}

async function read<Row extends { readonly id: number }>(source: ListSource<Row>, range: Scan): Promise<Found<Row>> {
  const next = await source.end!(range);
  const isLast = source.range !== undefined && next !== undefined && next.id >= source.range.upTo;
  const end = isLast ? undefined : next;
  return { rows: await source.rows({ ...range, end, endId: end?.id ?? range.endId }), end };
}
