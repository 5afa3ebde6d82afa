import type { CellRow } from './convert.ts';
import { isPhotoData } from './photos/url.ts';
import type { ImportRecord } from './records.ts';

/**
 * Joins the lines of an animal that follow each other: asm3 writes one for the animal, and one more for each photo,
 * vaccination, test, regimen, cost and log entry, which repeats only its code and name. Photos count as those of the animal.
 */
export class FurtherLines {
  readonly #row: Omit<CellRow, 'cells'>;
  readonly #code: number;
  readonly #photo: number;
  #first: ImportRecord | undefined;

  constructor(row: Omit<CellRow, 'cells'>) {
    this.#row = row;
    this.#code = row.columns.findIndex(column => column?.from === 'ownId');
    this.#photo = row.columns.findIndex(column => column?.derived?.holds === 'photo');
  }

  /** Adds a row. Returns the animal before it, if that is complete. */
  add(added: ImportRecord): ImportRecord | undefined {
    const record = this.#withoutPhoto(added);
    const first = this.#first;
    if (first !== undefined && this.#continues(first[1] as readonly string[], record[1] as readonly string[])) {
      this.#first = [first[0], this.#joined(first[1] as readonly string[], record[1] as readonly string[])];
      return undefined;
    }
    this.#first = record;
    return first;
  }

  /** Returns the last animal. */
  end(): ImportRecord | undefined {
    return this.#first;
  }

  /** Returns a row without the data of a photo in it (`data:`), which is an error. */
  #withoutPhoto(record: ImportRecord): ImportRecord {
    const cells = record[1] as readonly string[];
    const photo = cells[this.#photo] ?? '';
    return isPhotoData(photo) ? [record[0], cells.with(this.#photo, photo.slice(0, 100))] : record;
  }

  #continues(first: readonly string[], cells: readonly string[]): boolean {
    const code = cells[this.#code]?.trim();
    if (!code || code !== first[this.#code]?.trim()) return false;
    return isOfOtherRecord({ ...this.#row, cells }, first);
  }

  #joined(first: readonly string[], cells: readonly string[]): readonly string[] {
    const [photos, photo] = [first[this.#photo], cells[this.#photo]];
    if (!photo || photos === undefined || photos.length + photo.length > PHOTOS_LENGTH_MAX) return first;
    return first.with(this.#photo, photos === '' ? photo : `${photos}\n${photo}`);
  }
}

/** More than the URLs of all photos that an animal can have. */
const PHOTOS_LENGTH_MAX = 50_000;

/** Reports whether a row says nothing else about its animal than an earlier one, besides a photo. */
export function isOfOtherRecord({ columns, cells }: CellRow, first?: readonly string[]): boolean {
  return columns.every((column, index) => {
    if (column === undefined || column.derived?.holds === 'photo') return true;
    if (first === undefined && (column.from === 'ownId' || column.from === 'name')) return true;
    const cell = cells[index] ?? '';
    return cell === '' || cell === first?.[index];
  });
}
