// The program of the process that makes the sizes of photos. It reads one file at a time, when its parent requests it.

import { readdirSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { PHOTO_PIXELS_MAX, photoSizes, SQUARE_SIZE, sizeOf } from '../photo.ts';
import { withChecksum } from './checksum.ts';
import { linkOrCopy } from './disk-store.ts';
import { fileOf, ORIGINAL, photoVariants } from './names.ts';

/** The request of the parent: to make the sizes of the original in a directory, whose format is known. */
export interface EncodeRequest {
  readonly directory: string;
  readonly format: string;
}

/** The result: the sizes, why the file is not a photo, or the code of a disk error. */
export type EncodeResponse = EncodedPhoto | { readonly rejected: string } | { readonly failed: string };

/** The dimensions of an upright photo, and the bytes of its sizes. */
export interface EncodedPhoto {
  readonly width: number;
  readonly height: number;
  /** A file that serves as several sizes counts once. */
  readonly sizes_bytes: number;
}

const QUALITY = 80;

// Only three decoders can run, because those of SVG, PDF, AVIF and others are a larger attack surface for hostile
// files.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] });
sharp.cache(false);
sharp.concurrency(1);

// If memory runs out, the system kills this process first.
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {});

// The terminal also sends its signals to this process, but the parent decides when it ends.
process.on('SIGINT', () => {}).on('SIGTERM', () => {});
process.on('disconnect', () => process.exit());
process.on('message', async (request: EncodeRequest) => process.send!(await respond(request)));
process.send!('ready');

// The server has priority. On Linux, each thread has its own priority.
for (const thread of threadsOfProcess()) setPriority(thread, Number(process.argv[2]));

/** Returns the ids of the threads that have started; later ones get the priority of the thread that starts them. */
function threadsOfProcess(): readonly number[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
}

async function respond(request: EncodeRequest): Promise<EncodeResponse> {
  try {
    return await encode(request);
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) return { failed: code };
    return { rejected: message.split('\n')[0]! };
  }
}

/**
 * Writes every size beside the original, without metadata and with a checksum, and flushes all of them. No size is
 * larger than the original; equal sizes are one file.
 */
async function encode({ directory, format }: EncodeRequest): Promise<EncodeResponse> {
  const options = { limitInputPixels: PHOTO_PIXELS_MAX, failOn: 'error', pages: 1 } as const;
  const original = sharp(join(directory, ORIGINAL), options);
  const metadata = await original.metadata();
  if (metadata.format !== format) return { rejected: `it is ${metadata.format}, not ${format}` };
  const { width, height } = metadata.autoOrient;
  const [largest] = photoSizes.toReversed();
  const { data, info } = await original
    .autoOrient()
    .resize(largest!, largest!, { fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .flatten({ background: '#fff' })
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const raw = { width: info.width, height: info.height, channels: info.channels };
  const files = new Map<string, string>();
  let sizesBytes = 0;
  for (const size of photoSizes) {
    const file = join(directory, fileOf(size));
    const { width, height } = sizeOf(info, size);
    // A killed process may have left a linked file, and writing to it would change the other file.
    await rm(file, { force: true });
    const same = files.get(`${width}x${height}`);
    if (same !== undefined) {
      await linkOrCopy(same, file);
      continue;
    }
    files.set(`${width}x${height}`, file);
    const image = sharp(data, { raw });
    const resized =
      size === SQUARE_SIZE
        ? image.extract(middleOf(info)).resize(width, height, { fit: 'cover', position: 'attention' })
        : image.resize(width, height, { fit: 'fill' });
    const jpeg = withChecksum(await resized.jpeg({ quality: QUALITY }).toBuffer());
    await writeFile(file, jpeg, { mode: 0o600 });
    sizesBytes += jpeg.length;
  }
  // Flush all at once: the file system then writes its journal once or twice, for which flushes of the database wait
  // too.
  await Promise.all(photoVariants.map(variant => flush(join(directory, fileOf(variant)))));
  await flush(directory);
  return { width, height, sizes_bytes: sizesBytes };
}

async function flush(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}

/**
 * Returns the middle of an image, at most four times as long as wide, because a square of a narrow strip would first
 * enlarge the whole strip.
 */
function middleOf({ width, height }: { readonly width: number; readonly height: number }) {
  const middle = { width: Math.min(width, 4 * height), height: Math.min(height, 4 * width) };
  return { ...middle, left: Math.floor((width - middle.width) / 2), top: Math.floor((height - middle.height) / 2) };
}
