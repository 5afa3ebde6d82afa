import { checkUrl } from '../../lib/http/client/target.ts';
import type { PetRow } from '../../pets/pet.ts';
import { petPhotos } from '../../photos/holders.ts';
import { deletePhoto } from '../../photos/photos.ts';
import { findPhoto, photosOf } from '../../photos/references.ts';
import type { Transaction } from '../../schema.ts';
import { type RowError, shortened } from '../convert.ts';
import type { ImportRow } from '../import.ts';
import { deleteSource, insertSource, moveSource, type PhotoSource, sourcesOfPet } from './sources.ts';
import { isPhotoData, photoAddressIn } from './url.ts';

/** A cell of a column with photos. */
export interface PhotoCell {
  readonly column: string;
  readonly url: string;
}

/** How many photos rows want, and what is wrong with their URLs. */
export interface WantedPhotos {
  wanted: number;
  readonly errors: (RowError & { readonly line: number })[];
}

/** The most photos that an import fetches. */
export const WANTED_MAX = 10_000;

/** Records the photos that rows of an import want, so that a job fetches them. */
export class PhotoPlanner {
  readonly #tx: Transaction;
  readonly #row: ImportRow;
  readonly #networks: readonly string[];
  readonly result: WantedPhotos = { wanted: 0, errors: [] };

  /** @param networks the networks that URLs may be in, besides the public internet */
  constructor(tx: Transaction, row: ImportRow, networks: readonly string[]) {
    this.#tx = tx;
    this.#row = row;
    this.#networks = networks;
  }

  /**
   * Records the photos that a row of a pet wants and the pet lacks. `replace` removes those that came from URLs which the
   * row does not list any more.
   * @param cells the cells of all columns with photos
   * @returns whether photos were removed
   */
  async plan(line: number, pet: PetRow, cells: readonly PhotoCell[]): Promise<boolean> {
    const listed = new Map(cells.filter(({ url }) => url !== '').map(({ url, column }) => [url, column]));
    const isReplaced = this.#row.mode === 'replace' && pet.photos !== null;
    if (listed.size === 0 && !isReplaced) return false;
    const ids = new Set(photosOf(pet).map(({ id }) => id));
    const sources = ids.size === 0 ? [] : await this.#tx.all(sourcesOfPet, { petId: pet.id });
    const known = new Map(sources.map(source => [source.url, source]));
    const kept = new Set<string>();
    let position = 0;
    for (const [url, column] of listed) {
      const source = known.get(url);
      const hash = [photoAddressIn(url)?.hash, source?.hash].find(one => one != null && ids.has(one));
      if (hash != null) {
        kept.add(hash);
        if (source && source.position !== position) await this.#tx.run(moveSource, { id: source.id, position });
      } else await this.#want(line, pet.id, { column, url }, position);
      position++;
    }
    // A file cannot list more photos than it has columns: all of an animal with more stay.
    return isReplaced && ids.size <= cells.length && (await this.#remove(pet.id, sources, ids, kept));
  }

  /** Returns what is wrong with the URLs of a row that has other errors. */
  async errorsIn(cells: readonly PhotoCell[]): Promise<RowError[]> {
    const errors: RowError[] = [];
    for (const { column, url } of cells) {
      const error = url === '' ? undefined : await this.#errorOf(url);
      if (error !== undefined) errors.push({ column, ...error, value: shortened(url) });
    }
    return errors;
  }

  async #want(line: number, petId: number, { column, url }: PhotoCell, position: number): Promise<void> {
    const { id, photos_wanted } = this.#row;
    const isFull = photos_wanted + this.result.wanted >= WANTED_MAX;
    this.result.wanted++;
    const error = isFull ? tooMany : await this.#errorOf(url);
    if (error !== undefined) {
      this.result.errors.push({ line, column, ...error, value: shortened(url) });
      return;
    }
    const source = { pet_id: petId, url, import_id: id, line, column_name: column, position, host: new URL(url).host };
    await this.#tx.run(insertSource, { ...source, now: this.#tx.now });
  }

  /** Returns what is wrong with a URL, unless it names a photo that is stored here. */
  async #errorOf(url: string): Promise<RowError | undefined> {
    if (isPhotoData(url)) return photoInFile;
    const message = checkUrl(url, { networks: this.#networks });
    if (message === undefined) return undefined;
    const address = photoAddressIn(url);
    if (address !== undefined && URL.canParse(url) && (await findPhoto(this.#tx, address.hash))) return undefined;
    return { code: 'invalid_url', message: `The URL of the photo ${message}.` };
  }

  async #remove(petId: number, sources: readonly PhotoSource[], ids: Set<string>, kept: Set<string>): Promise<boolean> {
    const actor = { accountId: this.#row.account_id, admin: false };
    let isRemoved = false;
    for (const { id, hash } of sources) {
      if (hash === null || !ids.has(hash) || kept.has(hash)) continue;
      ids.delete(hash);
      isRemoved = true;
      await deletePhoto(this.#tx, petPhotos, actor, petId, hash);
      await this.#tx.run(deleteSource, { id });
    }
    return isRemoved;
  }
}

const photoInFile: RowError = {
  code: 'photo_in_file',
  message:
    'The photo is in the file, but an import only fetches photos from URLs. Add it to the animal, or export URLs.',
};

const tooMany: RowError = {
  code: 'too_many_photos',
  message: `An import fetches at most ${WANTED_MAX.toLocaleString('en')} photos. Send the file again for the next ones.`,
};
