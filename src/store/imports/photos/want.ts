import { checkUrl } from '../../../lib/http/client/target.ts';
import { countText } from '../../../lib/text.ts';
import type { PetRow } from '../../../model/pet.ts';
import { type Params, query, sql } from '../../../model/schema.ts';
import { findPhoto, photosOf } from '../../photo-references.ts';
import { petPhotos } from '../../photos/holders.ts';
import { deletePhoto } from '../../photos/photos.ts';
import type { Chunk } from '../chunk.ts';
import { type RowError, shortened } from '../errors.ts';
import { type PhotoSource, sourcesOfPet } from './sources.ts';
import { isPhotoData, photoAddressIn } from './url.ts';

/** A cell of a column with photos. */
export interface PhotoCell {
  readonly column: string;
  readonly url: string;
}

/** The maximum number of photos that an import fetches. */
export const WANTED_MAX = 10_000;

/**
 * Records the photos that a row lists and its pet lacks, so that a job fetches them. `replace` removes photos whose URLs
 * the row no longer lists.
 * @param cells the cells of all columns with photos
 * @returns whether photos were removed
 */
export async function planPhotos(
  chunk: Chunk,
  line: number,
  pet: PetRow,
  cells: readonly PhotoCell[],
): Promise<boolean> {
  const { tx, row } = chunk;
  const listed = new Map(cells.filter(({ url }) => url !== '').map(({ url, column }) => [url, column]));
  const isReplaced = row.mode === 'replace' && pet.photos !== null;
  if (cells.length === 0 || (listed.size === 0 && !isReplaced)) return false;
  const ids = new Set(photosOf(pet).map(({ id }) => id));
  const sources = ids.size === 0 ? [] : await tx.all(sourcesOfPet, { petId: pet.id });
  const known = new Map(sources.map(source => [source.url, source]));
  const kept = new Set<string>();
  let position = 0;
  for (const [url, column] of listed) {
    const source = known.get(url);
    const hash = [photoAddressIn(url)?.hash, source?.hash].find(one => one != null && ids.has(one));
    if (hash != null) {
      kept.add(hash);
      if (source && source.position !== position) await tx.run(moveSource, { id: source.id, position });
    } else await want(chunk, line, pet.id, { column, url }, position);
    position++;
  }
  // A file cannot list more photos than it has columns: if an animal has more, all of them stay.
  return isReplaced && ids.size <= cells.length && (await remove(chunk, pet.id, sources, ids, kept));
}

/** Returns the errors of the URLs of a row that has other errors. */
export async function photoErrors(chunk: Chunk, cells: readonly PhotoCell[]): Promise<RowError[]> {
  const errors: RowError[] = [];
  for (const { column, url } of cells) {
    const error = url === '' ? undefined : await errorOf(chunk, url);
    if (error !== undefined) errors.push({ column, ...error, value: shortened(url) });
  }
  return errors;
}

async function want(
  chunk: Chunk,
  line: number,
  petId: number,
  { column, url }: PhotoCell,
  position: number,
): Promise<void> {
  const { tx, row, counts } = chunk;
  const isFull = chunk.countOf('photos_wanted') >= WANTED_MAX;
  counts.photos_wanted++;
  const error = isFull ? tooMany : await errorOf(chunk, url);
  if (error !== undefined) {
    counts.photos_failed++;
    chunk.report('error', line, { column, ...error, value: shortened(url) });
    return;
  }
  const source = { pet_id: petId, url, host: new URL(url).host, position };
  await tx.run(insertSource, { ...source, import_id: row.id, line, column_name: column, now: tx.now });
}

/** Returns the error of a URL, unless it names a photo stored here. */
async function errorOf({ tx, rules }: Chunk, url: string): Promise<RowError | undefined> {
  if (isPhotoData(url)) return photoInFile;
  const message = checkUrl(url, { networks: rules.webhookNetworks ?? [] });
  if (message === undefined) return undefined;
  const address = photoAddressIn(url);
  if (address !== undefined && URL.canParse(url) && (await findPhoto(tx, address.hash))) return undefined;
  return { code: 'invalid_url', message: `The URL of the photo ${message}.` };
}

async function remove(
  { tx, row }: Chunk,
  petId: number,
  sources: readonly PhotoSource[],
  ids: Set<string>,
  kept: Set<string>,
): Promise<boolean> {
  const actor = { accountId: row.account_id, admin: false };
  let isRemoved = false;
  for (const { id, hash } of sources) {
    if (hash === null || !ids.has(hash) || kept.has(hash)) continue;
    ids.delete(hash);
    isRemoved = true;
    await deletePhoto(tx, petPhotos, actor, petId, hash);
    await tx.run(deleteSource, { id });
  }
  return isRemoved;
}

const photoInFile: RowError = {
  code: 'photo_in_file',
  message:
    'The photo is in the file, but an import only fetches photos from URLs. Add the photo to the animal, or export URLs.',
};

const tooMany: RowError = {
  code: 'too_many_photos',
  message: `An import fetches at most ${countText(WANTED_MAX)} photos. Send the file again to fetch the next photos.`,
};

/** A URL to fetch. */
type NewSource = Pick<PhotoSource, 'pet_id' | 'url' | 'import_id' | 'line' | 'column_name' | 'position' | 'host'>;

/** Inserts a URL that is due immediately, or makes a known URL due. */
const insertSource = query((db, p: Params<NewSource & { now: number }>) => {
  const changed = {
    ...{ import_id: p.import_id, line: p.line, column_name: p.column_name, position: p.position, due_at: p.now },
    ...{ attempts: sql.lit(0), hash: null },
  };
  return db
    .insertInto('photo_sources')
    .values({ ...changed, pet_id: p.pet_id, url: p.url, host: p.host })
    .onConflict(conflict => conflict.columns(['pet_id', 'url']).doUpdateSet(changed));
});

const moveSource = query((db, p: Params<{ id: number; position: number }>) =>
  db.updateTable('photo_sources').set({ position: p.position }).where('id', '=', p.id),
);

const deleteSource = query((db, p: Params<{ id: number }>) => db.deleteFrom('photo_sources').where('id', '=', p.id));
