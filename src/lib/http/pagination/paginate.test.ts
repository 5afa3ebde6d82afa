import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeCursor } from './cursor.ts';
import { type ListSource, type Page, paginate, type Scan } from './paginate.ts';
import { ScanQueue } from './scan-queue.ts';

/** A list of 45,000 rows; the filter matches every thousandth. */
const ROWS = 45_000;
const matching = Array.from({ length: ROWS / 1000 }, (_, index) => ({ id: (index + 1) * 1000 }));
const list = ['rows'];

const scanned: Omit<ListSource<{ id: number }>, 'page'> = {
  list,
  end: ({ fromId, descending, scanLimit }) => {
    const id = descending ? Math.min(fromId, ROWS + 1) - scanLimit : fromId + scanLimit;
    return id >= 1 && id <= ROWS ? { id } : undefined;
  },
  rows: scan => inRange(matching, scan),
};

describe('paginate', () => {
  it('returns every row of a sparse list in both directions, within the scan limit', async () => {
    const { pages, last } = await readAll(scanned, 4, 'next');
    assert.deepEqual(pages.flat(), idsOf(matching));

    const backward = (await readAll(scanned, 4, 'previous', last.previous)).pages;
    assert.deepEqual(backward.flat(), pages.flat().slice(0, -last.rows.length || undefined));
  });

  it('scans up to 20,000 rows, at most 2,000 in each turn, until the client has gone', async () => {
    const scans = new ScanQueue({ atOnce: 1, maxOf: () => 1 });
    const caller = { accountId: 1, plan: 'free' };
    const connection = { destroyed: false, readableEnded: false };
    const limits: number[] = [];
    let goneAfter = Number.POSITIVE_INFINITY;
    const source: typeof scanned = {
      ...scanned,
      rows: ({ scanLimit }) => {
        limits.push(scanLimit);
        connection.destroyed = limits.length >= goneAfter;
        return [];
      },
    };
    const page = { limit: 4, request: { context: { scans }, caller, connection } };
    const { next } = await paginate({ ...source, page });
    assert.equal(decodeCursor(list, next!)?.id, 20_000);
    assert.deepEqual(limits, [500, ...new Array(9).fill(2000), 1500]);

    limits.length = 0;
    goneAfter = 3;
    const { next: early } = await paginate({ ...source, page });
    assert.equal(decodeCursor(list, early!)?.id, 4500);
    assert.deepEqual(limits, [500, 2000, 2000]);
    assert.equal(scans.size, 0);
  });

  it('returns a descending list in both directions', async () => {
    const source = { ...scanned, descending: true };
    const { pages, last } = await readAll(source, 4, 'next');
    assert.deepEqual(pages.flat(), idsOf(matching.toReversed()));
    const backward = (await readAll(source, 4, 'previous', last.previous)).pages;
    assert.deepEqual(backward.flat(), pages.flat().slice(0, -last.rows.length || undefined));
  });

  it('returns a list that is sorted by another column in both directions', async () => {
    const named = ['b', 'a', 'b', 'c', 'a', 'b'].map((name, index) => ({ id: index + 1, name }));
    const byName = (a: { name: string; id: number }, b: { name: string; id: number }) =>
      a.name.localeCompare(b.name) || a.id - b.id;
    for (const descending of [false, true]) {
      const source: Omit<ListSource<(typeof named)[number]>, 'page'> = {
        list,
        descending,
        sortKey: ({ name }) => name,
        rows: ({ descending, from, rows }) => {
          const sign = descending ? -1 : 1;
          const sorted = named.toSorted((a, b) => sign * byName(a, b));
          return sorted.filter(row => !from || sign * byName(row, { id: from.id, name: from.key! }) > 0).slice(0, rows);
        },
      };
      const { pages, last } = await readAll(source, 2, 'next');
      const wanted = idsOf(named.toSorted(byName));
      assert.deepEqual(pages.flat(), descending ? wanted.toReversed() : wanted);
      assert.deepEqual((await readAll(source, 2, 'previous', last.previous)).pages, pages.slice(0, -1));
    }
  });

  it('links from an empty page back to the row before it', async () => {
    const first = await paginate({ ...scanned, page: { limit: 1 } });
    const empty = await paginate({ list, page: { limit: 1, cursor: first.next }, rows: () => [] });
    assert.deepEqual([empty.rows, empty.next], [[], undefined]);
    const back = await paginate({ ...scanned, page: { limit: 1, cursor: empty.previous } });
    assert.deepEqual(back.rows, first.rows);
  });

  it('reads the cursors of earlier releases', async () => {
    const scanOf = async (source: Omit<ListSource<{ id: number; name?: string }>, 'page' | 'rows'>, cursor: string) => {
      let found: Scan | undefined;
      const rows = (scan: Scan) => {
        found = scan;
        return [];
      };
      await paginate({ ...source, page: { limit: 1, cursor }, rows });
      return found!;
    };
    const plain = await scanOf({ list: ['categories', 0, null, ''] }, 'WzEsIjhHZldMeEg4IiwwLDIwXQ');
    assert.deepEqual([plain.fromId, plain.backward], [20, false]);

    const keyed = await scanOf(
      { list: [[], ['sold'], 0, 'name'], sortKey: ({ name }) => name! },
      'WzEsIkdRckc0eWtzIiwwLDcsIkJydW5vIl0',
    );
    assert.deepEqual(keyed.from, { id: 7, key: 'Bruno' });

    const cursorId = (id: number) => Number.MAX_SAFE_INTEGER - id;
    const mirrored = await scanOf(
      { list: ['deliveries', 3, '', ''], descending: true, cursorId },
      'WzEsIndhU20yN0hHIiwxLDkwMDcxOTkyNTQ3NDA5ODRd',
    );
    assert.deepEqual([mirrored.fromId, mirrored.backward, mirrored.descending], [7, true, false]);
    const page = await paginate({ list, descending: true, cursorId, page: { limit: 1 }, rows: () => matching });
    assert.equal(decodeCursor(list, page.next!)?.id, Number.MAX_SAFE_INTEGER - 1000);
  });

  it('rejects the cursors of other lists', async () => {
    const { next } = await paginate({ ...scanned, page: { limit: 1 } });
    for (const cursor of [next!, 'x', toBase64('[1,"x",0,1]'), toBase64('7')]) {
      await assert.rejects(paginate({ ...scanned, list: ['other'], page: { limit: 1, cursor } }), {
        code: 'invalid_parameter',
        status: 400,
      });
    }
  });
});

/** Follows the links of a list to its end. Returns the pages in the order of the list. */
async function readAll<Row extends { readonly id: number }>(
  source: Omit<ListSource<Row>, 'page'>,
  limit: number,
  link: 'next' | 'previous',
  start?: string,
) {
  const pages: number[][] = [];
  let cursor = start;
  let last: Page<Row>;
  do {
    last = await paginate({ ...source, page: { limit, cursor } });
    pages[link === 'next' ? 'push' : 'unshift'](idsOf(last.rows));
    cursor = last[link];
  } while (cursor !== undefined);
  return { pages, last };
}

function inRange(rows: readonly { id: number }[], { descending, fromId, endId, rows: most }: Scan) {
  const [low, high] = descending ? [endId, fromId - 1] : [fromId + 1, endId];
  const found = rows.filter(({ id }) => id >= low && id <= high);
  return (descending ? found.toReversed() : found).slice(0, most);
}

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id);
const toBase64 = (text: string) => Buffer.from(text).toString('base64url');
