import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync, renameSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { problem } from '../../errors.ts';
import { Problem } from '../../lib/http/problem.ts';
import { createDirectory } from '../../lib/storage/sqlite/data-directory.ts';
import type { PhotoSize, PhotoType } from '../photo.ts';
import { diskProblem } from './disk-problem.ts';
import type { Dimensions, PhotoEncoder } from './encoder.ts';
import { DRAFTS, directoryIn, ORIGINAL } from './names.ts';

/** A photo that was received and is not stored yet. Its directory is deleted when it is disposed. */
export interface Draft extends AsyncDisposable {
  readonly hash: string;
  readonly type: PhotoType;
  readonly bytes: number;
  readonly directory: string;
}

/** A file of a photo, to be read. */
export interface PhotoFile {
  readonly length: number;
  /** Opens the file once they are read. */
  readonly parts: AsyncIterable<Buffer>;
}

/**
 * The files of the photos of a deployment. Each photo is a directory with the original and every size, named by the
 * SHA-256 of the original: `ab/ab12…/600.jpg`. It gets this name when it is complete and flushed, and never changes then.
 */
export class PhotoFiles {
  readonly directory: string;
  readonly #encoder: PhotoEncoder;

  /** @param directory is created when it is needed */
  constructor(directory: string, encoder: PhotoEncoder) {
    this.directory = directory;
    this.#encoder = encoder;
  }

  /**
   * Writes a file as it arrives.
   * @throws {Problem} `invalid_photo` if it is no JPEG, PNG or WebP; `storage_full`; what reading the chunks throws
   */
  async receive(chunks: AsyncIterable<Buffer>): Promise<Draft> {
    const directory = join(this.directory, DRAFTS, randomUUID());
    const discard = () => rm(directory, { recursive: true, force: true });
    try {
      createDirectory(dirname(directory));
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
        bytes += chunk.length;
        await file.writeFile(chunk);
      }
      const type = requireType(head);
      return { hash: hash.digest('hex'), type, bytes, directory, [Symbol.asyncDispose]: discard };
    } catch (error) {
      await discard();
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (error instanceof Problem || syscall === undefined) throw error;
      throw diskProblem(code, error);
    }
  }

  /**
   * Makes the sizes of a draft and stores it under its hash, unless it is stored already.
   * @param client the account that the photo is for
   * @throws {Problem} `invalid_photo`; `overloaded`; `storage_full`
   */
  async store(draft: Draft, client: number): Promise<Dimensions> {
    const dimensions = await this.#encoder.encode(draft.directory, draft.type, client);
    const directory = this.directoryOf(draft.hash);
    try {
      createDirectory(dirname(directory));
      await rename(draft.directory, directory);
      await using parent = await open(dirname(directory));
      await parent.sync();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // The same bytes were stored meanwhile.
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw diskProblem(code, error);
    }
    return dimensions;
  }

  /** Reports whether a photo is stored. Synchronous, so that a transaction can ask. */
  has(hash: string): boolean {
    return existsSync(this.directoryOf(hash));
  }

  /** Returns the original of a photo, or a size; `undefined` if it is not stored. */
  async find(hash: string, size: PhotoSize | 'original'): Promise<PhotoFile | undefined> {
    const path = join(this.directoryOf(hash), size === 'original' ? ORIGINAL : `${size}.jpg`);
    try {
      return { length: (await stat(path)).size, parts: partsOf(path) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Removes the files of a photo from where they are served, and returns the directory in which they are to be deleted;
   * `undefined` if there are none. Synchronous, so that a transaction can do it.
   */
  setAside(hash: string): string | undefined {
    const aside = join(this.directory, DRAFTS, randomUUID());
    createDirectory(dirname(aside));
    try {
      renameSync(this.directoryOf(hash), aside);
      return aside;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Yields the photos that are stored and have not changed for `ageMs`, in groups. */
  async *list(ageMs: number): AsyncGenerator<readonly string[]> {
    for (const prefix of await namesIn(this.directory)) {
      if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
      const hashes: string[] = [];
      for (const hash of await namesIn(join(this.directory, prefix))) {
        if (/^[0-9a-f]{64}$/.test(hash) && (await isOlder(this.directoryOf(hash), ageMs))) hashes.push(hash);
      }
      if (hashes.length > 0) yield hashes;
    }
  }

  /** Deletes what uploads and deletions left behind that were interrupted at least `ageMs` ago. */
  async deleteDrafts(ageMs: number): Promise<void> {
    for (const name of await namesIn(join(this.directory, DRAFTS))) {
      const draft = join(this.directory, DRAFTS, name);
      if (await isOlder(draft, ageMs)) await rm(draft, { recursive: true, force: true });
    }
  }

  directoryOf(hash: string): string {
    return directoryIn(this.directory, hash);
  }
}

/** Returns the names in a directory; none if it does not exist. */
async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Reports whether a directory was last changed at least `ageMs` ago, by the clock of the file system. */
async function isOlder(directory: string, ageMs: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(directory)).mtimeMs >= ageMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function* partsOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path);
}

/** As many bytes as the signature of every format has. */
const HEAD_BYTES = 12;

/** Returns the format of a file by its first bytes. @throws {Problem} `invalid_photo` */
function requireType(head: Buffer): PhotoType {
  if (head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg';
  if (head.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'image/png';
  const text = head.subarray(0, HEAD_BYTES).toString('latin1');
  if (text.startsWith('RIFF') && text.endsWith('WEBP')) return 'image/webp';
  throw problem('invalid_photo', 'The file is no JPEG, PNG or WebP.');
}
