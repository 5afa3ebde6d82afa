import type { FileHeader } from './columns.ts';
import { isPhotoData } from './photos/url.ts';
import type { CellRow } from './rows.ts';

/**
 * Joins consecutive lines of an animal. asm3 writes a line for the animal, and another line for each photo,
 * vaccination, test, regimen, cost and log entry, which repeats only the animal's code and name. Photos of all lines
 * belong to the animal.
 */
export class FurtherLines {
  readonly #header: FileHeader;
  readonly #code: number;
  readonly #photo: number;
  #first: CsvRow | undefined;

  constructor(header: FileHeader) {
    this.#header = header;
    this.#code = header.columns.findIndex(column => column?.from === 'ownId');
    this.#photo = header.columns.findIndex(column => column?.derived?.holds === 'photo');
  }

  /** Adds a row. Returns the animal before it, if it is complete. */
  add([line, given]: CsvRow): CsvRow | undefined {
    const cells = this.#withoutPhoto(given);
    const first = this.#first;
    if (first !== undefined && this.#continues(first[1], cells)) {
      this.#first = [first[0], this.#joined(first[1], cells)];
      return undefined;
    }
    this.#first = [line, cells];
    return first;
  }

  /** Returns the last animal. */
  end(): CsvRow | undefined {
    return this.#first;
  }

  /** Returns a row without the data of a photo (`data:`), which is an error. */
  #withoutPhoto(cells: readonly string[]): readonly string[] {
    const photo = cells[this.#photo] ?? '';
    return isPhotoData(photo) ? cells.with(this.#photo, photo.slice(0, 100)) : cells;
  }

  #continues(first: readonly string[], cells: readonly string[]): boolean {
    const code = cells[this.#code]?.trim();
    if (!code || code !== first[this.#code]?.trim()) return false;
    return isOfOtherRecord({ ...this.#header, cells }, first);
  }

  #joined(first: readonly string[], cells: readonly string[]): readonly string[] {
    const [photos, photo] = [first[this.#photo], cells[this.#photo]];
    if (!photo || photos === undefined || photos.length + photo.length > PHOTOS_LENGTH_MAX) return first;
    return first.with(this.#photo, photos === '' ? photo : `${photos}\n${photo}`);
  }
}

type CsvRow = readonly [line: number, cells: readonly string[]];

/** More than the URLs of all photos that an animal can have. */
const PHOTOS_LENGTH_MAX = 50_000;

/** Reports whether a row has no other data of its animal than an earlier row, besides a photo. */
export function isOfOtherRecord({ columns, cells }: CellRow, first?: readonly string[]): boolean {
  return columns.every((column, index) => {
    if (column === undefined || column.derived?.holds === 'photo') return true;
    if (first === undefined && (column.from === 'ownId' || column.from === 'name')) return true;
    const cell = cells[index] ?? '';
    return cell === '' || cell === first?.[index];
  });
}
