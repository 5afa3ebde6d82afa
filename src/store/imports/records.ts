import { problem } from '../../model/errors.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import { IMPORT_ROW_LENGTH_MAX } from '../../model/rules.ts';
import { CsvParser } from './csv.ts';
import { invalidImport } from './errors.ts';
import { FileDecoder } from './file-decoder.ts';
import type { ImportOptions } from './import.ts';
import type { ImportRecord } from './rows.ts';

/**
 * Yields the rows of a file as it arrives; the first row of CSV has the names of the columns.
 * @throws {Problem} `invalid_import` if rows cannot be separated; any error of reading the file
 */
export async function* readRecords(
  file: AsyncIterable<Buffer>,
  format: ImportOptions['format'],
): AsyncGenerator<ImportRecord[]> {
  const parser = format === 'csv' ? new CsvParser() : new LineParser();
  const decoder = new FileDecoder(format === 'ndjson');
  const decode = (bytes?: Buffer) => {
    try {
      return decoder.decode(bytes);
    } catch {
      throw invalidImport(parser.line, 'This line or one soon after it is not UTF-8. Save the file as UTF-8.');
    }
  };
  let beginning = Buffer.alloc(0);
  for await (const bytes of file) {
    if (beginning.length < BEGINNING_BYTES) {
      beginning = Buffer.concat([beginning, bytes.subarray(0, BEGINNING_BYTES)]);
      rejectOtherKind(beginning);
    }
    yield [...parser.push(decode(bytes))].filter(isRow);
  }
  yield [...parser.push(decode()), ...parser.end()].filter(isRow);
}

/** The number of bytes that identify the kind of a file. */
const BEGINNING_BYTES = 64;
const SAVE_AS_CSV = 'Save it as CSV in your spreadsheet program, and send that file.';
const EXPORT_CSV = 'Export the animals as CSV from the program that manages them, and send that file.';

/** Kinds of files that people send by mistake, by their first bytes as Latin-1. */
const otherKinds: readonly (readonly [beginning: string, kind: string, remedy: string])[] = [
  ['PK\x03\x04', 'a spreadsheet (.xlsx, .ods, .numbers) or a ZIP archive', SAVE_AS_CSV],
  ['\xD0\xCF\x11\xE0', 'an Excel workbook (.xls)', SAVE_AS_CSV],
  ['\x1F\x8B', 'compressed with gzip', 'Decompress it, and send the decompressed file.'],
  ['%PDF', 'a PDF document', EXPORT_CSV],
  ['{\\rtf', 'an RTF document', EXPORT_CSV],
  ['<', 'HTML or XML', EXPORT_CSV],
  ['[{', 'a JSON array', 'Write each animal as an object on a line of its own (NDJSON), without brackets and commas.'],
];

/** @throws {Problem} `invalid_import` for the first bytes of a file that is neither CSV nor NDJSON */
function rejectOtherKind(beginning: Buffer): void {
  const text = beginning
    .toString('latin1')
    .replace(/^\xEF\xBB\xBF/, '')
    .trimStart();
  const found = otherKinds.find(([first]) => text.replace(/^\[\s+/, '[').startsWith(first));
  if (found === undefined) return;
  throw problem('invalid_import', `The file is ${found[1]}. ${found[2]} Nothing was imported.`);
}

/** Reports whether a record is a row: it has a text, and is not the line `sep=;` that some programs write first. */
function isRow([line, content]: ImportRecord): boolean {
  if (typeof content === 'string') return content.trim() !== '';
  const isSeparator = line === 1 && content.length === 2 && /^sep=$/i.test(content[0]!) && content[1] === '';
  return !isSeparator && content.some(cell => cell.trim() !== '');
}

/** Splits text into lines. */
class LineParser {
  /** The current line. */
  line = 1;
  #rest: string[] = [];
  #length = 0;

  *push(text: string): Generator<ImportRecord> {
    let at = 0;
    for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', at)) {
      this.#append(text.slice(at, feed));
      yield* this.end();
      this.line++;
      at = feed + 1;
    }
    this.#append(text.slice(at));
  }

  *end(): Generator<ImportRecord> {
    const text = this.#rest.join('');
    this.#rest = [];
    this.#length = 0;
    yield [this.line, text];
  }

  #append(text: string): void {
    this.#rest.push(text);
    this.#length += text.length;
    if (this.#length > IMPORT_ROW_LENGTH_MAX)
      throw invalidImport(this.line, `The line is longer than ${IMPORT_ROW_LENGTH_MAX / MEBIBYTE} MiB.`);
  }
}
