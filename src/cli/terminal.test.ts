import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Style } from './command.ts';
import { escapeJson, escapeLine, escapeText, list, plain, table, widthOf } from './terminal.ts';

const marked: Style = { bold: text => `\u001b[1m${text}\u001b[22m`, dim: text => `\u001b[2m${text}\u001b[22m` };

/** Sequences that clear the screen, set the window title, ring the bell, move the cursor or reorder text. */
const hostile = 'a\u001b[2J\u001b]0;x\u0007\u009b31m\r\b\u0000\u007f\u202eb\u2067\u2028\ud800';

describe('escaped text', () => {
  it('contains no control character', () => {
    for (const text of [
      escapeLine(hostile),
      escapeText(hostile),
      table(plain, ['NAME'], [[hostile]], ''),
      escapeJson(hostile),
    ]) {
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    }
    assert.equal(escapeLine('a\u001b[2Jb\n'), 'a\\u001b[2Jb\\u000a');
  });

  it('keeps line breaks and the sequences of a style, and no others', () => {
    const text = `${marked.bold('one')}\n${marked.dim('two')}\u001b[31m`;
    assert.equal(escapeText(text), `${marked.bold('one')}\n${marked.dim('two')}\\u001b[31m`);
  });

  it('parses to the same value as JSON', () => {
    assert.equal(JSON.parse(escapeJson(hostile)), hostile);
  });

  it('keeps names in every script, and emoji', () => {
    for (const name of ['Änn', '小雪', 'שָׁלוֹם', '👩‍👩‍👧', '🐈‍⬛', "Bobby'); drop table pets;--"])
      assert.equal(escapeLine(name), name);
  });
});

describe('a table', () => {
  it('aligns columns by display width', () => {
    const rows = [
      ['小雪', 'cat'],
      ['🐈‍⬛ Minka', 'cat'],
      ['Rex\u001b[2J', 'dog'],
    ];
    assert.equal(
      table(plain, ['NAME', 'KIND'], rows, ''),
      'NAME          KIND\n小雪          cat\n🐈‍⬛ Minka      cat\nRex\\u001b[2J  dog',
    );
  });

  it('formats its heading, and prints a hint when it is empty', () => {
    assert.equal(table(marked, ['A'], [['1']], ''), '\u001b[1mA\u001b[22m\n1');
    assert.equal(table(marked, ['A'], [], 'There are none.'), 'There are none.');
  });

  it('has 200,000 rows', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [String(index)]);
    assert.equal(table(plain, ['ID'], rows, '').split('\n').length, 200_001);
  });
});

describe('a list', () => {
  it('aligns values, including the lines of one value', () => {
    assert.equal(
      list([
        ['name', '小雪'],
        ['note', 'one\r\ntwo'],
        ['updated', 'now'],
      ]),
      'name     小雪\nnote     one\n         two\nupdated  now',
    );
  });
});

describe('the width of a text', () => {
  const widths: Record<string, number> = {
    '': 0,
    Minka: 5,
    Änn: 3,
    'A\u0308nn': 3,
    小雪: 4,
    'ポチ (はち)': 11,
    ﾎﾟﾁ: 3,
    복실이: 6,
    'ᄇ\u1169\u11a8': 2,
    Ｍｉａ: 6,
    '🐈': 2,
    '🐈‍⬛': 2,
    '👨‍👩‍👧‍👦': 2,
    '👍🏽': 2,
    '🇩🇪': 2,
    '❤️': 2,
    '❤': 1,
    '1️⃣': 2,
    '©': 1,
    Ре́кс: 4,
    שָׁלוֹם: 4,
    'a\u200bb': 2,
    𠮷野家: 6,
  };
  for (const [text, width] of Object.entries(widths)) {
    it(`is ${width} for ${JSON.stringify(text)}`, () => assert.equal(widthOf(text), width));
  }
});
