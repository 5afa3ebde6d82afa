import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeCursor, encodeCursor, opaque } from './cursor.ts';

describe('a cursor', () => {
  const place = { backward: true, id: 7 };
  const cursor = encodeCursor(['pets', 'sold'], place);

  it('stands for its place in its list, and in no other', () => {
    assert.deepEqual(decodeCursor(['pets', 'sold'], cursor), place);
    assert.equal(decodeCursor(['pets', 'pending'], cursor), undefined);
  });

  it('is taken as it is, not with a character more or less', () => {
    for (const more of ['A', '=', '.', '!', ' ', '\n', 'é']) {
      assert.equal(decodeCursor(['pets', 'sold'], `${cursor}${more}`), undefined, more);
      assert.equal(decodeCursor(['pets', 'sold'], `${more}${cursor}`), undefined, more);
    }
    assert.equal(decodeCursor(['pets', 'sold'], cursor.slice(0, -1)), undefined);
  });

  it('is none where it is of another shape', () => {
    for (const values of [[], [1], [1, 'x', 0, 1], [1, 'x', 0, 1, 2]]) {
      assert.equal(decodeCursor(['pets', 'sold'], opaque(values)), undefined);
    }
    for (const text of ['', 'x', Buffer.from('7').toString('base64url'), Buffer.from('null').toString('base64url')]) {
      assert.equal(decodeCursor(['pets', 'sold'], text), undefined, text);
    }
  });
});
