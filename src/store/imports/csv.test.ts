import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { csvLine } from '../exports/export-pets.ts';
import { CsvParser } from './csv.ts';
import type { ImportRecord } from './rows.ts';

function parse(...parts: string[]): ImportRecord[] {
  const parser = new CsvParser();
  return [...parts.flatMap(part => [...parser.push(part)]), ...parser.end()];
}

describe('a parser of CSV', () => {
  it('returns the cells of any table as exports write it, however it is cut into parts', () => {
    const cell = fc.oneof(fc.string(), fc.stringMatching(/^[",;\t\r\n x]*$/));
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1 }), fc.nat(), (rows, cut) => {
        const text = csvLine(['a', 'b']) + rows.map(csvLine).join('');
        const at = cut % text.length;
        const records = parse(text.slice(0, at), text.slice(at));
        assert.deepEqual(
          records.slice(1).map(([, cells]) => cells),
          rows,
        );
      }),
    );
  });

  it('counts lines within cells, and skips empty ones', () => {
    assert.deepEqual(parse('a,b\r\n"1\n2",3\n\n\r\n4,'), [
      [1, ['a', 'b']],
      [2, ['1\n2', '3']],
      [6, ['4', '']],
    ]);
  });

  it('takes semicolons and tabs if they come first', () => {
    assert.deepEqual(parse('a;b\n1,5;x\n')[1]?.[1], ['1,5', 'x']);
    assert.deepEqual(parse('a\tb\n1;5\tx\n')[1]?.[1], ['1;5', 'x']);
  });

  it('takes lines that end with CR alone if the first one does', () => {
    const expected = [
      [1, ['a', 'b']],
      [3, ['1\r2', '3']],
      [4, ['4', '']],
    ];
    const text = 'a,b\r\r"1\r2",3\r4,';
    for (let at = 0; at < text.length; at++) assert.deepEqual(parse(text.slice(0, at), text.slice(at)), expected);
    assert.deepEqual(parse(`${text}\r`), expected);
  });

  it('rejects ambiguous rows, with their line', () => {
    for (const [text, line] of [
      ['a,b\n1,"2\n', 2],
      ['a,b\n1,2"3"\n', 2],
      ['a,b\n1,"2"3\n', 2],
      ['a,b\n1,2\r3,4\n', 2],
      ['a,b\r1,2\n', 2],
      [`a,b\n1,${'x'.repeat(1024 * 1024)}\n`, 2],
      [`a${',b'.repeat(1001)}\n`, 1],
    ] as const) {
      assert.throws(
        () => parse(text),
        { code: 'invalid_import', message: new RegExp(`^Line ${line}: `) },
        text.slice(0, 20),
      );
    }
  });
});
