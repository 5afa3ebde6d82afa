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
  for await (const bytes of file) yield [...parser.push(decode(bytes))];
  yield [...parser.push(decode()), ...parser.end()];
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
