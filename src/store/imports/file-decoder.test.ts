import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRecords } from './records.ts';
import type { ImportRecord } from './rows.ts';

const text = 'externalId;name\r\nÄ-1;Zoë “Zee” €\r\n;\r\n  ; \r\nB-2;Ünal\r\n';
const rows = [
  [1, ['externalId', 'name']],
  [2, ['Ä-1', 'Zoë “Zee” €']],
  [5, ['B-2', 'Ünal']],
];

const utf16be = (part: string) => Buffer.from(part, 'utf16le').swap16();
/** The encoding of spreadsheet programs besides UTF-8. */
const windows1252 = (part: string) =>
  Buffer.from(part.replaceAll('“', '\x93').replaceAll('”', '\x94').replaceAll('€', '\x80'), 'latin1');

/** The encoding of Excel's "CSV (Macintosh)". */
const macRoman = (part: string) =>
  Buffer.from(
    part.replace(/[Äë“”€Ü]/g, char => '\x80\x91\xD2\xD3\xDB\x86'['Äë“”€Ü'.indexOf(char)]!),
    'latin1',
  );

describe('a file to import', () => {
  const read = async (bytes: Buffer, length: number, format: 'csv' | 'ndjson' = 'csv') => {
    const found: ImportRecord[] = [];
    const parts = async function* () {
      for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
    };
    for await (const records of readRecords(parts(), format)) found.push(...records);
    return found;
  };

  for (const [name, bytes] of Object.entries({
    'UTF-8': Buffer.from(text),
    'UTF-8 with a byte order mark': Buffer.from(`\uFEFF${text}`),
    'Windows-1252': windows1252(text),
    'Mac Roman, with CR': macRoman(text.replaceAll('\n', '')),
    'UTF-16': Buffer.from(`\uFEFF${text}`, 'utf16le'),
    'UTF-16 in the other byte order': utf16be(`\uFEFF${text}`),
    'UTF-16 without a byte order mark': Buffer.from(text, 'utf16le'),
    'CSV that names its separator': Buffer.from(`sep=;\r\n${text}`),
  })) {
    it(`can be ${name}, in parts of any length`, async () => {
      const shift = name.startsWith('CSV') ? 1 : 0;
      const expected = rows.map(([line, cells]) => [(line as number) + shift, cells]);
      for (const length of [1, 2, 3, 7, bytes.length]) assert.deepEqual(await read(bytes, length), expected);
    });
  }

  it('is not read as Windows-1252 if a part of it is UTF-8', async () => {
    const damaged = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0x0a])]);
    for (const length of [1, 8, damaged.length]) {
      await assert.rejects(read(damaged, length), { code: 'invalid_import', message: /is not UTF-8/ });
    }
  });

  it('is UTF-8 if it is NDJSON', async () => {
    await assert.rejects(read(windows1252('{"name":"Zoë"}\n'), 100, 'ndjson'), { code: 'invalid_import' });
    assert.deepEqual(await read(Buffer.from('\uFEFF{"name":"Zoë"}\n'), 4, 'ndjson'), [[1, '{"name":"Zoë"}']]);
  });
});
