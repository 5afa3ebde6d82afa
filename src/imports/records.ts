import { problem } from '../errors.ts';
import { CsvParser, type CsvRecord } from './csv.ts';
import { FileDecoder } from './file-decoder.ts';
import { invalidImport, RECORD_MAX } from './invalid-import.ts';

/** The formats of imports. */
export type ImportFormat = 'csv' | 'ndjson';

/**
 * A row of a file: the number of its first line, and its cells, or the text of its line where it is JSON. A stored row also
 * has the line of an earlier one with the same identifier.
 */
export type ImportRecord = readonly [line: number, content: readonly string[] | string, firstLine?: number];

/** The most rows of a chunk, which one transaction applies. */
export const CHUNK_ROWS = 25;

/**
 * Yields the rows of a file as it arrives; of CSV, the first one has the names of the columns.
 * @throws {Problem} `invalid_import` where they cannot be told apart; what reading throws
 */
export async function* readRecords(file: AsyncIterable<Buffer>, format: ImportFormat): AsyncGenerator<ImportRecord[]> {
  const parser = format === 'csv' ? new CsvRecords() : new LineParser();
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
    yield [...parser.push(decode(bytes))];
  }
  yield [...parser.push(decode()), ...parser.end()];
}

/** The bytes of a file that say what it is. */
const BEGINNING_BYTES = 64;
const SAVE_AS_CSV = 'Save it as CSV in your spreadsheet program, and send that file.';
const EXPORT_CSV = 'Export the animals as CSV from the program that has them, and send that file.';

/** Files that people send instead of CSV and NDJSON, by their first bytes as Latin-1. */
const otherKinds: readonly (readonly [beginning: string, kind: string, remedy: string])[] = [
  ['PK\x03\x04', 'a spreadsheet (.xlsx, .ods, .numbers) or a ZIP archive', SAVE_AS_CSV],
  ['\xD0\xCF\x11\xE0', 'an Excel workbook (.xls)', SAVE_AS_CSV],
  ['\x1F\x8B', 'compressed with gzip', 'Decompress it, and send the file in it.'],
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

/** Reads CSV, without empty rows and without the line `sep=;` that some programs begin a file with. */
class CsvRecords {
  readonly #parser = new CsvParser();
  line = 1;

  *push(text: string): Generator<ImportRecord> {
    yield* this.#recordsOf(this.#parser.push(text));
  }

  *end(): Generator<ImportRecord> {
    yield* this.#recordsOf(this.#parser.end());
  }

  *#recordsOf(records: Iterable<CsvRecord>): Generator<ImportRecord> {
    for (const { line, cells } of records) {
      this.line = line;
      const isSeparator = line === 1 && cells.length === 2 && /^sep=$/i.test(cells[0]!) && cells[1] === '';
      if (!isSeparator && cells.some(cell => cell.trim() !== '')) yield [line, cells];
    }
  }
}

/** Splits text into lines, without those of white space. */
class LineParser {
  #rest: string[] = [];
  #length = 0;
  line = 1;

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
    if (text.trim() !== '') yield [this.line, text];
  }

  #append(text: string): void {
    this.#rest.push(text);
    this.#length += text.length;
    if (this.#length > RECORD_MAX) throw invalidImport(this.line, 'The line is longer than 1 MiB.');
  }
}
