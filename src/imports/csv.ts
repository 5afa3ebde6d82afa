import { invalidImport, RECORD_MAX } from './invalid-import.ts';

/** A record of a file: the number of its first line, from 1, and its cells. */
export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

const CELLS_MAX = 1000;
/** The characters that are kept of a photo inside a file, more than a text of an animal can have. */
const PHOTO_MAX = 20_000;

/** What ends a plain cell, by the separator; until the first one is found, any separator does. */
const endings = { ',': /[,"\r\n]/g, ';': /[;"\r\n]/g, '\t': /[\t"\r\n]/g, any: /[,;\t"\r\n]/g };

/**
 * Parses CSV (RFC 4180) as it arrives. The first separator decides whether commas, semicolons or tabs separate the cells. A
 * line ends with CRLF or LF, or all with CR if the first one does; empty lines are skipped. Cells are returned byte for byte.
 * @throws {Problem} `invalid_import` where it is not clear which cells a file has
 */
export class CsvParser {
  #separator: keyof typeof endings = 'any';
  /** The end of the last part, whose meaning depends on the next one. */
  #carry = '';
  #line = 1;
  /** Whether lines end with CR alone, as Excel saves "CSV (Macintosh)". */
  #isMacintosh: boolean | undefined;
  #record = { line: 1, length: 0, cells: [] as string[] };
  #cell = '';
  /** Whether the rest of the cell is the data of a photo. */
  #isPhoto = false;
  #state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';

  /** Yields the records that the next part of a file completes. */
  *push(part: string): Generator<CsvRecord> {
    yield* this.#parse(this.#carry + part, false);
  }

  /** Yields the record that the end of a file completes. */
  *end(): Generator<CsvRecord> {
    yield* this.#parse(this.#carry, true);
    if (this.#state === 'quoted') throw invalidImport(this.#record.line, 'A quotation mark is missing.');
    yield* this.#endRecord();
  }

  *#parse(text: string, isLast: boolean): Generator<CsvRecord> {
    this.#carry = '';
    for (let at = 0; at < text.length; ) {
      const special = this.#state === 'quoted' ? text.indexOf('"', at) : this.#nextEnding(text, at);
      const end = special < 0 ? text.length : special;
      if (end > at) this.#append(text.slice(at, end));
      if (special < 0) return;
      const mark = text[end]!;
      const next = text[end + 1];
      if (next === undefined && !isLast && (mark === '\r' || (mark === '"' && this.#state === 'quoted'))) {
        this.#carry = mark;
        return;
      }
      at = end + 1;
      if (mark === '"') at += this.#quote(next);
      else if (mark === '\n' || (mark === '\r' && next !== '\n')) {
        this.#requireLineEnd(mark);
        this.#line++;
        yield* this.#endRecord();
      } else if (mark !== '\r') this.#separate(mark as ',');
    }
  }

  #nextEnding(text: string, at: number): number {
    const ending = endings[this.#separator];
    ending.lastIndex = at;
    return ending.exec(text)?.index ?? -1;
  }

  #requireLineEnd(mark: '\r' | '\n'): void {
    this.#isMacintosh ??= mark === '\r';
    if (this.#isMacintosh === (mark === '\r')) return;
    const name = mark === '\r' ? 'carriage return' : 'line feed';
    throw invalidImport(this.#line, `A cell with a ${name} must be in quotation marks.`);
  }

  /** Returns how many further characters belong to a quotation mark. */
  #quote(next: string | undefined): number {
    if (this.#state === 'quoted' && next === '"') {
      this.#append('"');
      return 1;
    }
    if (this.#state === 'quoted') this.#state = 'closed';
    else if (this.#state === 'start') this.#state = 'quoted';
    else
      throw invalidImport(this.#line, 'A cell with quotation marks must be in quotation marks, with each one doubled.');
    return 0;
  }

  #append(text: string): void {
    if (this.#state === 'closed') {
      throw invalidImport(this.#line, 'Text follows the closing quotation mark of a cell.');
    }
    if (this.#state === 'start') this.#state = 'plain';
    this.#extend(text);
    if (this.#record.length > RECORD_MAX) {
      throw invalidImport(this.#record.line, 'The row is longer than 1 MiB. Is a quotation mark missing?');
    }
    if (this.#state === 'quoted') {
      for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', feed + 1)) this.#line++;
    }
  }

  /** Adds a text to the cell, but only the beginning of a photo, such as asm3 writes beside an animal (`data:`). */
  #extend(text: string): void {
    if (this.#isPhoto) return;
    const before = this.#cell.length;
    this.#cell += text;
    this.#isPhoto = before < PHOTO_MAX && this.#cell.length >= PHOTO_MAX && this.#cell.startsWith('data:image/');
    if (this.#isPhoto) this.#cell = this.#cell.slice(0, PHOTO_MAX);
    this.#record.length += this.#cell.length - before;
  }

  #separate(separator: ',' | ';' | '\t'): void {
    this.#separator = separator;
    this.#endCell();
    if (this.#record.cells.length < CELLS_MAX) return;
    throw invalidImport(this.#record.line, 'The row has more than 1,000 cells.');
  }

  #endCell(): void {
    this.#record.cells.push(this.#cell);
    this.#cell = '';
    this.#isPhoto = false;
    this.#state = 'start';
  }

  *#endRecord(): Generator<CsvRecord> {
    const isEmpty = this.#record.cells.length === 0 && this.#state === 'start';
    if (!isEmpty) this.#endCell();
    const { line, cells } = this.#record;
    this.#record = { line: this.#line, length: 0, cells: [] };
    if (!isEmpty) yield { line, cells };
  }
}
