import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../lib/http/problem.ts';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import { problem } from '../errors.ts';
import { AVIF_ADVICE, type Dimensions, HEIC_ADVICE, type PhotoType, photoSizes, sizeOf } from '../photo.ts';
import { isIntact, lacksChecksum, withChecksum } from './checksum.ts';
import { diskProblem } from './disk-problem.ts';
import type { EncodedPhoto } from './encode.ts';
import type { PhotoEncoder } from './encoder.ts';
import { fileOf, ORIGINAL, type PhotoVariant } from './names.ts';
import type { PhotoFile, PhotoStore } from './photo-store.ts';

/** A received photo that is not stored yet. Its directory is deleted when it is disposed. */
export interface Draft extends AsyncDisposable {
  readonly hash: string;
  readonly type: PhotoType;
  readonly bytes: number;
  readonly directory: string;
}

/** The files of the photos of a deployment: stored photos, and photos that are being received. */
export class PhotoFiles {
  readonly store: PhotoStore;
  readonly #encoder: PhotoEncoder;

  constructor(store: PhotoStore, encoder: PhotoEncoder) {
    this.store = store;
    this.#encoder = encoder;
  }

  /**
   * Writes a file as it arrives.
   * @throws {Problem} `invalid_photo` if it is not JPEG, PNG or WebP; `storage_full`; `storage_unavailable`; any error
   *   of reading the chunks
   */
  async receive(chunks: AsyncIterable<Buffer>): Promise<Draft> {
    const directory = join(this.store.drafts, randomUUID());
    // Files that cannot be deleted now are deleted after a day.
    const discard = () => rm(directory, { recursive: true, force: true }).catch(() => {});
    try {
      createDirectory(this.store.drafts);
      await mkdir(directory, { mode: 0o700 });
      await using file = await open(join(directory, ORIGINAL), 'wx', 0o600);
      const hash = createHash('sha256');
      let head = Buffer.alloc(0);
      let bytes = 0;
      for await (const chunk of chunks) {
        if (bytes < HEAD_BYTES) {
          head = Buffer.concat([head, chunk]);
          if (head.length >= HEAD_BYTES) requireType(head);
        }
        hash.update(chunk);
        await file.writeFile(chunk);
        const flushed = Math.floor(bytes / FLUSHED_BYTES);
        bytes += chunk.length;
        // Flush in small steps, because a flush of the database may have to wait for all bytes written here.
        if (Math.floor(bytes / FLUSHED_BYTES) > flushed) await file.datasync();
      }
      const type = requireType(head);
      return { hash: hash.digest('hex'), type, bytes, directory, [Symbol.asyncDispose]: discard };
    } catch (error) {
      await discard();
      throw problemOf(error);
    }
  }

  /**
   * Makes the sizes of a draft beside it, and flushes all files.
   * @param client the account of the photo
   * @throws {Problem} `invalid_photo`; `overloaded`; `storage_full`; `storage_unavailable`
   */
  encode({ directory, type }: Draft, client: number): Promise<EncodedPhoto> {
    return this.#encoder.encode(directory, type, client);
  }

  /** Whether photos are being encoded or wait to be. */
  get isEncoding(): boolean {
    return this.#encoder.queued > 0;
  }

  /**
   * Makes the sizes of a stored photo again if it is so small that an earlier release enlarged or repeated them.
   * Otherwise adds missing checksums to its sizes.
   * @returns the bytes of its sizes; 0 if it has none
   * @throws {Problem} `overloaded`; `storage_full`; `storage_unavailable`
   */
  async remakeSizes({ hash, type, ...dimensions }: Dimensions & { hash: string; type: PhotoType }): Promise<number> {
    const isSmall = sizeOf(dimensions, 450).width < 450 || Math.max(dimensions.width, dimensions.height) <= 600;
    const original = isSmall ? await this.find(hash, ORIGINAL) : undefined;
    const bytes = original && (await this.#remake(hash, type, original));
    return bytes ?? this.#addChecksums(hash);
  }

  /** Returns the bytes of the new sizes; `undefined` if the original cannot be decoded. */
  async #remake(hash: string, type: PhotoType, original: PhotoFile): Promise<number | undefined> {
    try {
      return await this.#replaceSizes(hash, async directory => {
        await writeFile(join(directory, ORIGINAL), original.parts, { mode: 0o600 });
        return (await this.#encoder.encode(directory, type, 0)).sizes_bytes;
      });
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_photo') return undefined;
      throw error;
    }
  }

  /** Returns the bytes of the sizes. Does not change a photo that lacks a size. */
  async #addChecksums(hash: string): Promise<number> {
    const stored: Buffer[] = [];
    for (const size of photoSizes) {
      const file = await this.find(hash, size);
      if (file !== undefined) stored.push(Buffer.concat(await Array.fromAsync(file.parts)));
    }
    const bytesOf = (files: readonly Buffer[]) => files.reduce((sum, { length }) => sum + length, 0);
    // A damaged size gets no checksum, because `verify` would then accept it.
    const summed = stored.map(size => (lacksChecksum(size) && isIntact(size) ? withChecksum(size) : size));
    if (stored.length < photoSizes.length || bytesOf(summed) === bytesOf(stored)) return bytesOf(stored);
    return this.#replaceSizes(hash, async directory => {
      for (const [index, size] of photoSizes.entries()) {
        await writeFile(join(directory, fileOf(size)), summed[index]!, { mode: 0o600, flush: true });
      }
      return bytesOf(summed);
    });
  }

  /** Replaces the sizes of a stored photo by those that `write` writes into a directory. */
  async #replaceSizes<T>(hash: string, write: (directory: string) => Promise<T>): Promise<T> {
    const directory = join(this.store.drafts, randomUUID());
    try {
      createDirectory(this.store.drafts);
      await mkdir(directory, { mode: 0o700 });
      const result = await write(directory);
      await this.store.replaceSizes(hash, directory);
      return result;
    } catch (error) {
      throw problemOf(error);
    } finally {
      await rm(directory, { recursive: true, force: true }).catch(() => {});
    }
  }

  /** Reports whether a photo is stored. @throws {Problem} `storage_unavailable` */
  async has(hash: string): Promise<boolean> {
    try {
      return await this.store.has(hash);
    } catch (error) {
      throw problemOf(error);
    }
  }

  /**
   * Returns one file of a photo; `undefined` if it is not stored.
   * @throws {Problem} `storage_unavailable`; reading the file throws it too
   */
  async find(hash: string, variant: PhotoVariant): Promise<PhotoFile | undefined> {
    try {
      const found = await this.store.find(hash, variant);
      return found && { ...found, parts: withProblems(found.parts) };
    } catch (error) {
      throw problemOf(error);
    }
  }

  /**
   * Stores a draft that has its sizes, unless the photo is already stored.
   * @throws {Problem} `storage_full`, `storage_unavailable`
   */
  async add({ hash, directory }: Draft): Promise<void> {
    try {
      await this.store.add(hash, directory);
    } catch (error) {
      throw problemOf(error);
    }
  }
}

async function* withProblems(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* parts;
  } catch (error) {
    throw problemOf(error);
  }
}

/** Returns the error response for a disk error; any other error unchanged. */
function problemOf(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof Problem || syscall === undefined ? error : diskProblem(code, error);
}

/** The number of received bytes after which a file is flushed. */
const FLUSHED_BYTES = 2 ** 19;

/** The number of bytes that contain the signature of every format. */
const HEAD_BYTES = 12;

/** Returns the format of a file by its first bytes. @throws {Problem} `invalid_photo` */
function requireType(head: Buffer): PhotoType {
  if (head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg';
  if (head.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'image/png';
  const text = head.subarray(0, HEAD_BYTES).toString('latin1');
  if (text.startsWith('RIFF') && text.endsWith('WEBP')) return 'image/webp';
  const brand = text.slice(4, 8) === 'ftyp' ? text.slice(8) : '';
  const advice = heicBrands.has(brand) ? HEIC_ADVICE : avifBrands.has(brand) ? AVIF_ADVICE : undefined;
  throw problem('invalid_photo', advice ?? 'The file must be JPEG, PNG or WebP.');
}

/** The brands of HEIF files with HEVC images (ISO/IEC 23008-12, B.4), and the general brands that iPhones write. */
const heicBrands = new Set(['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs', 'mif1', 'msf1']);
/** The brands of HEIF files with AV1 images (AVIF, 6.3). */
const avifBrands = new Set(['avif', 'avis']);
