import { hash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { type QueuedScan, ScanQueue, type ScanQueueOptions } from '../../lib/http/pagination/scan-queue.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest } from '../../lib/http/server/view.ts';
import { problem } from '../../model/errors.ts';
import type { CalledPage } from './calls.ts';
import type { Parameters } from './parameters.ts';

/** The maximum number of rows on a page of the API. */
const ROWS_PER_CALL = 100;
/** How many rows a request may read: to reach a page of a list, and to test rows against filters that the list lacks. */
const READ_MAX = { listed: SCAN_LIMIT, tested: 2000 };
const LIMIT_DEFAULT = 20;
/** How long numbers of rows and positions of pages are kept, and how many. */
const KEPT_MS = 60_000;
const KEPT_MAX = 10_000;

/** A list of the API whose pages have numbers in the view. */
export interface NumberedList<Row> {
  /** Reads a page of at most 100 rows. @param isShown whether the rows are shown, and not only counted */
  read(limit: number, cursor: string | undefined, isShown: boolean): Promise<CalledPage<Row>>;
  /** Reports whether a row matches the filters that the list of the API does not have. */
  matches?: ((row: Row) => boolean) | undefined;
  /** Whether later rows cannot match after this one. */
  isPast?: ((row: Row) => boolean) | undefined;
  /** Whether pages cannot be reached by their numbers, because each reading has another order. */
  readonly isRandom?: boolean;
}

/** The rows of a page, with the `pagination` of the response. */
export interface NumberedPage<Row> {
  readonly rows: readonly Row[];
  readonly pagination: object;
}

/** A position in a list: the cursor of a page of the API, and the number of its rows before the position. */
interface RowPosition {
  readonly cursor: string | undefined;
  readonly index: number;
}

interface FoundPage<Row> {
  readonly rows: readonly Row[];
  readonly next: RowPosition | undefined;
  /** The number of rows of the list, if it is known. */
  readonly total: number | undefined;
}

const START: RowPosition = { cursor: undefined, index: 0 };

/** Numbers the pages of lists. */
export class PageNumbers {
  readonly #counts: Recent<number>;
  /** The positions of pages, so that clients that count pages themselves need no reading of all rows before each. */
  readonly #positions: Recent<RowPosition>;
  /** The requests that read more than one page of the API. These reads may wait for the queue of the API's own scans. */
  readonly #scans: ScanQueue;

  constructor({ clock, maxOf }: { readonly clock: Clock; readonly maxOf: ScanQueueOptions['maxOf'] }) {
    this.#counts = new Recent(clock);
    this.#positions = new Recent(clock);
    this.#scans = new ScanQueue({ atOnce: 1, maxOf });
  }

  /**
   * Returns the page that the parameters `page` and `limit` select. The link to the next page has a cursor, so that it is
   * found as fast as the first one.
   * @param parameters those of the list, which determine it together with its path
   * @throws {Problem} for a page beyond the rows that a request reads, or when the account has too many such requests
   */
  async page<Row>(
    list: NumberedList<Row>,
    parameters: Parameters,
    path: string,
    { caller, connection }: Pick<AdmittedViewRequest, 'caller' | 'connection'>,
  ): Promise<NumberedPage<Row>> {
    const start = () => this.#scans.start({ context: {}, caller: caller!, connection });
    const limit = parameters.number('limit', ROWS_PER_CALL) ?? LIMIT_DEFAULT;
    const page = parameters.number('page', 1_000_000_000) ?? 1;
    const key = `${path}?${parameters.without('page', 'limit', 'cursor')}`;
    const keyOf = (number: number) => `${number} ${limit} ${key}`;
    const known = decode(parameters.text('cursor'), page) ?? this.#positions.get(keyOf(page));
    const before = known === undefined && !list.isRandom ? (page - 1) * limit : 0;
    const found = await readPage(new RowReader(list, known ?? START, start), { before, limit });
    if (found.next !== undefined && !list.isRandom) this.#positions.set(keyOf(page + 1), found.next);
    const isLast = found.next === undefined && (page === 1 || found.rows.length > 0) && !list.isRandom;
    const total = isLast
      ? (page - 1) * limit + found.rows.length
      : (found.total ?? (await this.#count(key, list, start)));
    const linkTo = (number: number, cursor?: string) => {
      const query = parameters.without('page', 'cursor');
      query.append('page', String(number));
      if (cursor !== undefined) query.append('cursor', cursor);
      return { href: `${path}?${query}` };
    };
    return {
      rows: found.rows,
      pagination: {
        count_per_page: limit,
        total_count: total,
        current_page: page,
        total_pages: Math.ceil(total / limit),
        _links: {
          ...(page > 1 && { previous: linkTo(page - 1) }),
          ...(found.next && { next: linkTo(page + 1, encode(found.next, page + 1)) }),
        },
      },
    };
  }

  /** Returns the number of rows that match, among those that a request reads; up to a minute old. */
  async #count<Row>(key: string, list: NumberedList<Row>, start: () => QueuedScan): Promise<number> {
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    const rows = await countRows(new RowReader(list, START, start, true));
    this.#counts.set(key, rows);
    return rows;
  }
}

/** Values of the last minute. */
class Recent<T> {
  readonly #clock: Clock;
  readonly #values = new Map<string, { readonly value: T; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): T | undefined {
    const known = this.#values.get(shortened(key));
    return known !== undefined && this.#clock.now() - known.at < KEPT_MS ? known.value : undefined;
  }

  set(key: string, value: T): void {
    const short = shortened(key);
    const now = this.#clock.now();
    this.#values.delete(short);
    this.#values.set(short, { value, at: now });
    // Callers choose their cursors, which may be long.
    for (const [oldest, { at }] of this.#values) {
      if (now - at < KEPT_MS && this.#values.size <= KEPT_MAX) break;
      this.#values.delete(oldest);
    }
  }
}

/** Filters may be as long as a URL. */
function shortened(key: string): string {
  return hash('sha256', key, 'base64');
}

/** @param page the number of matching rows to skip, and to return */
async function readPage<Row>(
  rowReader: RowReader<Row>,
  page: { readonly before: number; readonly limit: number },
): Promise<FoundPage<Row>> {
  using reader = rowReader;
  const { limit } = page;
  let { before } = page;
  if (before >= reader.left) throw tooFar();
  const found: Located<Row>[] = [];
  // One more matching row shows that another page follows.
  const most = reader.tests ? limit + 1 : limit;
  while (!reader.isDone && found.length < most) {
    const rows = await reader.read(before > 0 ? Math.min(ROWS_PER_CALL, before) : limit, before === 0);
    found.push(...rows.slice(before));
    before = Math.max(0, before - rows.length);
  }
  if (before > 0 && reader.next !== undefined) throw tooFar();
  const rows = found.slice(0, limit).map(({ row }) => row);
  return { rows, next: found[limit]?.at ?? reader.next, total: reader.total };
}

async function countRows<Row>(rowReader: RowReader<Row>): Promise<number> {
  using reader = rowReader;
  let count = 0;
  while (!reader.isDone) count += (await reader.read(ROWS_PER_CALL, false)).length;
  return count;
}

interface Located<Row> {
  readonly row: Row;
  readonly at: RowPosition;
}

/** Reads the matching rows of a list in order, up to a number of rows that a request may read. */
class RowReader<Row> implements Disposable {
  readonly #list: NumberedList<Row>;
  readonly #start: () => QueuedScan;
  /** Whether rows are tested, so that some may not match. */
  readonly tests: boolean;
  /** The position of the next row; `undefined` at the end of the list. */
  next: RowPosition | undefined;
  /** The number of rows that may still be read. */
  left: number;
  isDone = false;
  total: number | undefined;
  #hasRead: boolean;
  #scan: QueuedScan | undefined;

  /**
   * @param start starts a scan, whose turns all reads of a request but its first wait for
   * @param hasRead whether the request has read rows before
   */
  constructor(list: NumberedList<Row>, from: RowPosition, start: () => QueuedScan, hasRead = false) {
    this.#list = list;
    this.#start = start;
    this.#hasRead = hasRead;
    this.next = from;
    this.tests = list.matches !== undefined;
    this.left = this.tests ? READ_MAX.tested : READ_MAX.listed;
  }

  /** Returns the matching rows among the next ones. @param limit the number of rows, if all match */
  async read(limit: number, isShown: boolean): Promise<readonly Located<Row>[]> {
    const { matches, isPast } = this.#list;
    const { cursor, index } = this.next!;
    if (this.#hasRead) await this.#turn();
    this.#hasRead = true;
    const most = this.tests ? ROWS_PER_CALL : limit;
    const { rows, next, total } = await this.#list.read(most, cursor, isShown || this.tests);
    const past = isPast === undefined ? -1 : rows.findIndex(isPast);
    this.next = next === undefined || past >= 0 ? undefined : { cursor: next, index: 0 };
    this.left -= rows.length;
    // A short page with a next one has read as many rows as a page of the API may.
    this.isDone = this.next === undefined || this.left <= 0 || rows.length < most;
    if (!this.tests) this.total = total;
    const located = rows.map((row, number) => ({ row, at: { cursor, index: number } }));
    return located.slice(index, past < 0 ? rows.length : past).filter(({ row }) => matches?.(row) !== false);
  }

  /** Waits until the next rows may be read. @throws {Problem} when the client has gone, or the queue is full */
  async #turn(): Promise<void> {
    this.#scan ??= this.#start();
    if (!(await this.#scan.turn())) throw problem('malformed_request', 'The client has closed the connection.');
  }

  [Symbol.dispose](): void {
    this.#scan?.[Symbol.dispose]();
  }
}

function tooFar() {
  return invalidParameter('page', 'page is too far from the first page. Follow _links.next instead.');
}

/** The number of the page is part of its cursor: a client may send the cursor of another page. */
function encode({ cursor = '', index }: RowPosition, page: number): string {
  return `${page}.${index}.${cursor}`;
}

/** Returns the position of a cursor; `undefined` if it is not of this page. */
function decode(text: string | undefined, page: number): RowPosition | undefined {
  const [, number, index, cursor] = /^(\d{1,10})\.(\d{1,2})\.(.*)$/.exec(text ?? '') ?? [];
  return Number(number) === page ? { cursor: cursor || undefined, index: Number(index) } : undefined;
}
