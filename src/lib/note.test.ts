import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTE_LENGTH_MAX, noteFault } from './note.ts';

test('accepts 1–1,000 code points of well-formed text with line breaks', () => {
  for (const text of ['x', ' x ', 'a\nb', 'a\r\nb', '🐈'.repeat(NOTE_LENGTH_MAX), '\u202ertl', 'a\u2028b']) {
    assert.equal(noteFault(text), undefined, JSON.stringify(text));
  }
});

test('rejects blank text, other control characters, lone surrogates and overlong text', () => {
  for (const text of [
    '',
    ' ',
    '\n\r\n',
    'a\tb',
    'a\0',
    'a\u007f',
    'a\u0085',
    '\ud800',
    'x'.repeat(NOTE_LENGTH_MAX + 1),
  ]) {
    assert.notEqual(noteFault(text), undefined, JSON.stringify(text));
  }
});
