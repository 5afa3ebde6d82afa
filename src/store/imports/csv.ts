import { countText } from '../../lib/text.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import { IMPORT_ROW_LENGTH_MAX } from '../../model/rules.ts';
import { invalidImport } from './errors.ts';
import type { ImportRecord } from './rows.ts';

const CELLS_MAX = 1000;
/** The number of characters kept of a photo inside a file; more than any text of an animal. */
const PHOTO_MAX = 20_000;

/** The ends of a plain cell, by separator. Before the first separator is found, any separator ends it. */
const endings = { ',': /[,"\r\n]/g, ';': /[;"\r\n]/g, '\t': /[\t"\r\n]/g, any: /[,;\t"\r\n]/g };

/**
 * Parses CSV (RFC 4180) as it arrives. The first separator in the file (comma, semicolon or tab) separates all cells.
 * Lines end with CRLF or LF, or all with CR if the first line does; empty lines are skipped. Cells are returned byte
 * for byte.
 * @throws {Problem} `invalid_import` if the cells of the file are ambiguous
 */
export class CsvParser {
  /** The first line of the last record. */
  line = 1;
  #separator: keyof typeof endings = 'any';
  /** The last characters of a part whose meaning depends on the next part. */
  #carry = '';
  #currentLine = 1;
  /** Whether lines end with CR alone, as in Excel's "CSV (Macintosh)". */
  #isMacintosh: boolean | undefined;
  #record = { line: 1, length: 0, cells: [] as string[] };
  #cell = '';
  /** Whether the cell is the data of a photo. */
  #isPhoto = false;
  #state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';

  /** Yields the records that the next part of a file completes. */
  *push(part: string): Generator<ImportRecord> {
    yield* this.#parse(this.#carry + part, false);
  }

  /** Yields the record that the end of a file completes. */
  *end(): Generator<ImportRecord> {
    yield* this.#parse(this.#carry, true);
    if (this.#state === 'quoted') throw invalidImport(this.#record.line, 'A quotation mark is missing.');
    yield* this.#endRecord();
  }

  *#parse(text: string, isLast: boolean): Generator<ImportRecord> {
    this.#carry = '';
    for (let at = 0; at < text.length; ) {
      const special = this.#nextSpecial(text, at);
      const end = special < 0 ? text.length : special;
      if (end > at) this.#append(text.slice(at, end));
      if (special < 0) return;
      const mark = text[end]!;
      const next = text[end + 1];
      if (next === undefined && !isLast && this.#dependsOnNext(mark)) {
        this.#carry = mark;
        return;
      }
      at = end + 1;
      if (mark === '"') at += this.#quote(next);
      else yield* this.#endCellOrLine(mark, next);
    }
  }

  *#endCellOrLine(mark: string, next: string | undefined): Generator<ImportRecord> {
    if (mark !== '\n' && mark !== '\r') this.#separate(mark as ',');
    else if (mark === '\n' || next !== '\n') {
      this.#requireLineEnd(mark);
      this.#currentLine++;
      yield* this.#endRecord();
    }
  }

  /** Reports whether the meaning of a character depends on the next one. */
  #dependsOnNext(mark: string): boolean {
    return mark === '\r' || (mark === '"' && this.#state === 'quoted');
  }

  /** Returns the index of the next special character; -1 if there is none. */
  #nextSpecial(text: string, at: number): number {
    if (this.#state === 'quoted') return text.indexOf('"', at);
    const ending = endings[this.#separator];
    ending.lastIndex = at;
    return ending.exec(text)?.index ?? -1;
  }

  #requireLineEnd(mark: '\r' | '\n'): void {
    this.#isMacintosh ??= mark === '\r';
    if (this.#isMacintosh === (mark === '\r')) return;
    const name = mark === '\r' ? 'carriage return' : 'line feed';
    throw invalidImport(this.#currentLine, `A cell with a ${name} must be in quotation marks.`);
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
      throw invalidImport(
        this.#currentLine,
        'A cell that contains quotation marks must be in quotation marks, and each quotation mark in it must be doubled.',
      );
    return 0;
  }

  #append(text: string): void {
    if (this.#state === 'closed') {
      throw invalidImport(this.#currentLine, 'Text follows the closing quotation mark of a cell.');
    }
    if (this.#state === 'start') this.#state = 'plain';
    this.#extend(text);
    if (this.#record.length > IMPORT_ROW_LENGTH_MAX) {
      throw invalidImport(
        this.#record.line,
        `The row is longer than ${IMPORT_ROW_LENGTH_MAX / MEBIBYTE} MiB. Is a quotation mark missing?`,
      );
    }
    if (this.#state === 'quoted') {
      for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', feed + 1)) this.#currentLine++;
    }
  }

  /**
   * Adds a text to the cell, but only the first characters of a photo, which asm3 writes beside an animal (`data:`).
   */
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
    throw invalidImport(this.#record.line, `The row has more than ${countText(CELLS_MAX)} cells.`);
  }

  #endCell(): void {
    this.#record.cells.push(this.#cell);
    this.#cell = '';
    this.#isPhoto = false;
    this.#state = 'start';
  }

  *#endRecord(): Generator<ImportRecord> {
    const isEmpty = this.#record.cells.length === 0 && this.#state === 'start';
    if (!isEmpty) this.#endCell();
    const { line, cells } = this.#record;
    this.#record = { line: this.#currentLine, length: 0, cells: [] };
    if (isEmpty) return;
    this.line = line;
    yield [line, cells];
  }
}
