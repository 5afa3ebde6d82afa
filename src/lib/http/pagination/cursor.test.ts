import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeCursor, encodeCursor, encodeOpaque } from './cursor.ts';

describe('a cursor', () => {
  const list = ['shelves', 'sold'];
  const position = { backward: true, id: 7 };
  const cursor = encodeCursor(list, position);

  it('holds a position of its list and of no other', () => {
    assert.deepEqual(decodeCursor(list, cursor), position);
    assert.equal(decodeCursor(['shelves', 'pending'], cursor), undefined);
  });

  it('holds the sort key of a list that is sorted by one', () => {
    const keyed = { backward: false, id: 7, key: 'Brünö' };
    const text = encodeCursor(list, keyed);
    assert.deepEqual(decodeCursor(list, text, true), keyed);
    assert.equal(decodeCursor(list, text), undefined);
    assert.equal(decodeCursor(list, cursor, true), undefined);
    for (const key of ['a\0b', '\ud800', 7]) {
      assert.equal(decodeCursor(list, encodeCursor(list, { ...keyed, key: key as string }), true), undefined);
    }
  });

  it('is rejected with a character more or less', () => {
    for (const more of ['A', '=', '.', '!', ' ', '\n', 'é']) {
      assert.equal(decodeCursor(list, `${cursor}${more}`), undefined, more);
      assert.equal(decodeCursor(list, `${more}${cursor}`), undefined, more);
    }
    assert.equal(decodeCursor(list, cursor.slice(0, -1)), undefined);
  });

  it('is rejected if it holds other values', () => {
    for (const values of [[], [1], [1, 'x', 0, 1], [1, 'x', 0, 1, 2]]) {
      assert.equal(decodeCursor(list, encodeOpaque(values)), undefined);
    }
    for (const text of ['', 'x', Buffer.from('7').toString('base64url'), Buffer.from('null').toString('base64url')]) {
      assert.equal(decodeCursor(list, text), undefined, text);
    }
  });
});
