import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { silent } from '../../../test/support/engines.ts';
import { image } from '../../../test/support/photos.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { EncodedPhoto } from './encode.ts';
import { PhotoEncoder } from './encoder.ts';

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

/** Creates a directory with an original. */
async function draft(bytes?: Buffer): Promise<string> {
  const directory = join(temporaryDirectory(), 'draft');
  await mkdir(directory);
  await writeFile(join(directory, 'original'), bytes ?? (await image('jpeg')));
  return directory;
}

function assertDimensions({ width, height }: EncodedPhoto, ...expected: [number, number]): void {
  assert.deepEqual([width, height], expected);
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('the process that encodes photos', () => {
  it('starts with the first photo, and ends when it is idle', async t => {
    const encoder = new PhotoEncoder({ log: silent, idleMs: 10 });
    t.after(() => encoder.close());
    assert.equal(encoder.processId, undefined);
    const directory = await draft();
    const encoded = encoder.encode(directory, 'image/jpeg', 1);
    assertDimensions(await encoded, 64, 48);
    assert.deepEqual((await readdir(directory)).toSorted(), [
      '100.jpg',
      '1280.jpg',
      '300.jpg',
      '450.jpg',
      '600.jpg',
      'original',
    ]);
    await waitUntil(async () => encoder.processId === undefined);
    assertDimensions(await encoder.encode(await draft(), 'image/jpeg', 1), 64, 48);
  });

  it('is killed if a photo takes too long, and the next photo gets a new process', async t => {
    const encoder = new PhotoEncoder({ log: silent, deadlineMs: 1, processorShare: 0 });
    t.after(() => encoder.close());
    const large = await draft(await image('png', { width: 2000, height: 2000, noise: true }));
    const pids: (number | undefined)[] = [];
    for (let tries = 0; tries < 2; tries++) {
      const encoded = encoder.encode(large, 'image/png', 1);
      await waitUntil(() => encoder.processId !== undefined);
      pids.push(encoder.processId);
      await assert.rejects(encoded, { code: 'invalid_photo' });
    }
    assert.notEqual(pids[0], pids[1]);
    await waitUntil(async () => !isRunning(pids[0]!));
  });

  it('runs all its threads with the lowest priority, and with a higher one if it is starved', async t => {
    const encoder = new PhotoEncoder({ log: silent, starvedMs: 5000 });
    t.after(() => encoder.close());
    const priorities = async () => {
      const threads = await readdir(`/proc/${encoder.processId}/task`);
      return new Set(threads.map(id => getPriority(Number(id))));
    };
    await encoder.encode(await draft(), 'image/jpeg', 1);
    assert.deepEqual(await priorities(), new Set([PRIORITY_LOW]));
    const pid = encoder.processId!;
    process.kill(pid, 'SIGSTOP');
    assertDimensions(await encoder.encode(await draft(), 'image/jpeg', 1), 64, 48);
    assert.deepEqual(await priorities(), new Set([PRIORITY_BELOW_NORMAL]));
    await waitUntil(async () => !isRunning(pid));
  });

  it('makes no size larger than the photo, and the same size once', async t => {
    const encoder = new PhotoEncoder({ log: silent });
    t.after(() => encoder.close());
    for (const [width, height, expected] of [
      [64, 48, { 100: '64x48', 300: '64x48', 450: '48x48', 600: '64x48', 1280: '64x48' }],
      [500, 500, { 100: '100x100', 300: '300x300', 450: '450x450', 600: '500x500', 1280: '500x500' }],
      [200, 200, { 100: '100x100', 300: '200x200', 450: '200x200', 600: '200x200', 1280: '200x200' }],
      [2560, 401, { 100: '100x16', 300: '300x47', 450: '201x201', 600: '600x94', 1280: '1280x201' }],
      [30, 1000, { 100: '3x100', 300: '9x300', 450: '30x30', 600: '18x600', 1280: '30x1000' }],
    ] as const) {
      const directory = await draft(await image('png', { width, height, noise: true }));
      // Encode again over existing files, as after a killed process.
      await encoder.encode(directory, 'image/png', 1);
      const { sizes_bytes: bytes } = await encoder.encode(directory, 'image/png', 1);
      const files = new Map<number, number>();
      for (const [size, dimensions] of Object.entries(expected)) {
        const file = join(directory, `${size}.jpg`);
        const made = await sharp(await readFile(file)).metadata();
        assert.equal(`${made.width}x${made.height}`, dimensions, `${size} of ${width}x${height}`);
        const { ino, size: length, mode } = await stat(file);
        assert.equal(mode & 0o777, 0o600);
        files.set(ino, length);
      }
      assert.equal(files.size, new Set(Object.values(expected)).size);
      assert.equal(
        [...files.values()].reduce((sum, length) => sum + length, 0),
        bytes,
      );
    }
  });

  it('rejects a photo whose process is killed', async t => {
    const encoder = new PhotoEncoder({ log: silent });
    t.after(() => encoder.close());
    await encoder.encode(await draft(), 'image/jpeg', 1);
    const pid = encoder.processId!;
    const encoded = encoder.encode(
      await draft(await image('png', { width: 2000, height: 2000, noise: true })),
      'image/png',
      1,
    );
    await waitUntil(async () => encoder.queued === 1);
    process.kill(pid, 'SIGKILL');
    await assert.rejects(encoded, { code: 'invalid_photo' });
    assertDimensions(await encoder.encode(await draft(), 'image/jpeg', 1), 64, 48);
  });

  it('rejects photos while too many wait, and all once it is closed', async () => {
    const encoder = new PhotoEncoder({ log: silent, waitingMax: 2 });
    const waiting = [1, 2].map(async () => encoder.encode(await draft(), 'image/jpeg', 1));
    await waitUntil(async () => encoder.queued === 2);
    await assert.rejects(encoder.encode(await draft(), 'image/jpeg', 2), { code: 'overloaded' });
    const rejected = waiting.map(encoded => assert.rejects(encoded, { code: 'shutting_down' }));
    encoder.close();
    await Promise.all(rejected);
    await assert.rejects(encoder.encode(await draft(), 'image/jpeg', 1), { code: 'shutting_down' });
  });

  it('does not get the settings of the server', async t => {
    process.env['PETSTORE_TEST_PHOTO_SECRET'] = 'secret';
    t.after(() => delete process.env['PETSTORE_TEST_PHOTO_SECRET']);
    const encoder = new PhotoEncoder({ log: silent });
    t.after(() => encoder.close());
    await encoder.encode(await draft(), 'image/jpeg', 1);
    const environment = await readFile(`/proc/${encoder.processId}/environ`, 'latin1').catch(() => '');
    assert.doesNotMatch(environment, /PETSTORE/);
  });
});
