import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CursorPosition } from './cursor.ts';
import { pageById } from './page-by-id.ts';

/** A list in which every thousandth row is wanted. */
const ROWS = 45_000;
const wanted = Array.from({ length: ROWS / 1000 }, (_, index) => ({ id: (index + 1) * 1000 }));

describe('pages by id', () => {
  it('go through a list with few rows in it both ways, looking at no more than they may', async () => {
    const looks: number[] = [];
    const forward: number[] = [];
    let cursor: string | undefined;
    let last: string | undefined;
    do {
      const page = await pageById(['a'], 4, cursor, counted(looks, 4));
      forward.push(...page.rows.map(({ id }) => id));
      last = cursor;
      cursor = page.next;
    } while (cursor !== undefined);
    assert.deepEqual(
      forward,
      wanted.map(({ id }) => id),
    );
    assert.ok(looks.every(rows => rows === 500 || rows === 20_000));

    const backward: number[] = [];
    cursor = last;
    while (cursor !== undefined) {
      const page: Awaited<ReturnType<typeof pageById>> = await pageById(['a'], 4, cursor, counted(looks, 4));
      if (cursor !== last) backward.unshift(...page.rows.map(({ id }) => id));
      cursor = page.previous;
    }
    assert.deepEqual(backward, forward.slice(0, backward.length));
    assert.equal(backward.length, forward.length - (forward.length % 4 || 4));
  });

  it('lead back from a page that is empty to what stands before it', async () => {
    const nothing = () => ({ rows: [], edge: undefined });
    const first = await pageById(['a'], 1, undefined, from => inMemory(from, 1, 20_000));
    const empty = await pageById(['a'], 1, first.next, nothing);
    assert.deepEqual([empty.rows, empty.next], [[], undefined]);
    const back = await pageById(['a'], 1, empty.previous, from => inMemory(from, 1, 20_000));
    assert.deepEqual(back.rows, first.rows);
  });

  it('take no cursor but their own', async () => {
    const { next } = await pageById(['a'], 1, undefined, from => inMemory(from, 1, 20_000));
    const texts = [
      next!,
      'x',
      Buffer.from('[1,"x",0,1]').toString('base64url'),
      Buffer.from('7').toString('base64url'),
    ];
    for (const cursor of texts) {
      await assert.rejects(
        pageById(['b'], 1, cursor, from => inMemory(from, 1, 20_000)),
        { code: 'invalid_parameter', status: 400 },
      );
    }
  });
});

function counted(looks: number[], limit: number) {
  return (from: CursorPosition, rowsMax: number) => {
    looks.push(rowsMax);
    return inMemory(from, limit, rowsMax);
  };
}

function inMemory({ backward, id }: CursorPosition, limit: number, rowsMax: number) {
  const end = backward ? id - rowsMax : id + rowsMax;
  const rows = backward
    ? wanted.filter(row => row.id < id && row.id >= end).toReversed()
    : wanted.filter(row => row.id > id && row.id <= end);
  const edge = backward ? (end >= 1 ? end : undefined) : end <= ROWS ? end : undefined;
  return { rows: rows.slice(0, limit + 1), edge };
}
