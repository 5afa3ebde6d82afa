import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../../lib/clock.ts';
import type { Caller } from '../../lib/http/route.ts';
import { type NumberedList, PageNumbers } from './pages.ts';
import { Parameters } from './parameters.ts';

interface Shown {
  readonly total_count: number;
  readonly _links: { readonly previous?: { readonly href: string }; readonly next?: { readonly href: string } };
}

/** A list of the numbers from 0, whose cursors are the numbers, and the number of its reads. */
function numbers(count: number, matches?: (row: number) => boolean) {
  const list = {
    ...{ reads: 0, matches },
    async read(limit: number, cursor = '0') {
      list.reads++;
      const from = Number(cursor);
      const rows = Array.from({ length: Math.max(0, Math.min(limit, count - from)) }, (_, index) => from + index);
      return { rows, next: from + limit < count ? String(from + limit) : undefined, total: undefined };
    },
  };
  return list satisfies NumberedList<number>;
}

describe('numbered pages', () => {
  const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
  const names = ['page', 'limit', 'cursor', 'other'];

  const caller = { accountId: 1, plan: 'free' } as Caller;
  const newPages = () => new PageNumbers({ clock, maxOf: () => 2 });
  const open = { destroyed: false, readableEnded: false };

  async function read(pages: PageNumbers, list: NumberedList<number>, query: string, connection = open) {
    const { rows, pagination } = await pages.page(list, new Parameters(query, names), '/list', { caller, connection });
    const { total_count: total, _links: links } = pagination as Shown;
    return { rows, total, next: links.next?.href.replace('/list', '') };
  }

  it('are read once by the link to the next page, and by the number after the page before', async () => {
    const list = numbers(20_500);
    const pages = newPages();
    const first = await read(pages, list, '?limit=100');
    assert.equal(first.total, 20_000);
    list.reads = 0;
    const second = await read(pages, list, first.next!);
    assert.deepEqual([second.rows[0], second.rows.length, list.reads], [100, 100, 1]);
    list.reads = 0;
    for (let page = 2; page <= 205; page++) {
      assert.deepEqual((await read(pages, list, `?limit=100&page=${page}`)).rows[0], (page - 1) * 100);
    }
    assert.equal(list.reads, 204);
  });

  it('are reached by their numbers up to row 20,000', async () => {
    const list = numbers(30_000);
    assert.equal((await read(newPages(), list, '?limit=100&page=200')).rows[0], 19_900);
    await assert.rejects(read(newPages(), list, '?limit=100&page=201'), { code: 'invalid_parameter' });
  });

  it('are short where the rows that a request may test have few that match, and go on', async () => {
    const list = numbers(5000, row => row % 1000 === 999);
    const pages = newPages();
    const first = await read(pages, list, '');
    assert.deepEqual([first.rows, first.total], [[999, 1999], 2]);
    const second = await read(pages, list, first.next!);
    assert.deepEqual(second.rows, [2999, 3999]);
    const third = await read(pages, list, second.next!);
    assert.deepEqual([third.rows, third.next], [[4999], undefined]);
  });

  it('end where no further row matches', async () => {
    const list = numbers(150, row => row < 3);
    assert.deepEqual(await read(newPages(), list, '?limit=3'), {
      rows: [0, 1, 2],
      total: 3,
      next: undefined,
    });
  });

  it('are counted without delaying other requests', async () => {
    const list = numbers(20_500);
    let [before, most, isDone] = [0, 0, false];
    const noteTurn = () => {
      most = Math.max(most, list.reads - before);
      before = list.reads;
      if (!isDone) setImmediate(noteTurn);
    };
    noteTurn();
    await read(newPages(), list, '?limit=100');
    isDone = true;
    noteTurn();
    // The first one is that of the page.
    assert.deepEqual([list.reads, most], [201, 2]);
  });

  it('are counted one after the other, up to a number for each account', async () => {
    const pages = newPages();
    const lists = [numbers(20_500), numbers(20_500), numbers(20_500)];
    const outcomes = await Promise.allSettled(lists.map((list, i) => read(pages, list, `?limit=100&other=${i}`)));
    const rejected = outcomes.filter(outcome => outcome.status === 'rejected');
    assert.deepEqual(
      rejected.map(({ reason }) => reason.code),
      ['overloaded'],
    );
    assert.deepEqual(
      lists.map(({ reads }) => reads),
      [201, 201, 1],
    );
    assert.equal((await read(pages, lists[2]!, '?limit=100&other=2')).total, 20_000);
  });

  it('are no longer counted once the client has gone', async () => {
    const list = numbers(20_500);
    const pages = newPages();
    const gone = { destroyed: false, readableEnded: false };
    const reading = read(pages, list, '?limit=100', gone);
    setTimeout(() => {
      gone.destroyed = true;
    });
    await assert.rejects(reading, { code: 'malformed_request' });
    assert.ok(list.reads < 200, String(list.reads));
    assert.equal((await read(pages, list, '?limit=100')).total, 20_000);
  });

  it('ignore the cursor of another page', async () => {
    const list = numbers(500);
    const pages = newPages();
    const { next } = await read(pages, list, '?limit=10&page=4');
    assert.deepEqual((await read(pages, list, next!.replace('page=5', 'page=2'))).rows[0], 10);
  });

  it('count rows anew after a minute', async () => {
    const pages = newPages();
    assert.equal((await read(pages, numbers(500), '')).total, 500);
    assert.equal((await read(pages, numbers(600), '')).total, 500);
    clock.advance(60_000);
    assert.equal((await read(pages, numbers(600), '')).total, 600);
  });
});
