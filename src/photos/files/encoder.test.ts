import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { silent } from '../../../test/support/engines.ts';
import { image } from '../../../test/support/photos.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { PhotoEncoder } from './encoder.ts';

/** Creates a directory with an original. */
async function draft(bytes?: Buffer): Promise<string> {
  const directory = join(temporaryDirectory(), 'draft');
  await mkdir(directory);
  await writeFile(join(directory, 'original'), bytes ?? (await image('jpeg')));
  return directory;
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
    assert.deepEqual(await encoded, { width: 64, height: 48 });
    assert.deepEqual((await readdir(directory)).toSorted(), [
      '100.jpg',
      '1280.jpg',
      '300.jpg',
      '450.jpg',
      '600.jpg',
      'original',
    ]);
    await waitUntil(async () => encoder.processId === undefined);
    assert.deepEqual(await encoder.encode(await draft(), 'image/jpeg', 1), { width: 64, height: 48 });
  });

  it('is killed if a photo takes too long, and the next photo gets another one', async t => {
    const encoder = new PhotoEncoder({ log: silent, deadlineMs: 1, processorMs: 0 });
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

  it('is no reason to reject a photo if the machine is too busy for it', async t => {
    const encoder = new PhotoEncoder({ log: silent, deadlineMs: 1000 });
    t.after(() => encoder.close());
    await encoder.encode(await draft(), 'image/jpeg', 1);
    process.kill(encoder.processId!, 'SIGSTOP');
    await assert.rejects(encoder.encode(await draft(), 'image/jpeg', 1), { code: 'overloaded' });
  });

  it('runs all its threads with the lowest priority', { skip: process.platform !== 'linux' }, async t => {
    const encoder = new PhotoEncoder({ log: silent });
    t.after(() => encoder.close());
    await encoder.encode(await draft(), 'image/jpeg', 1);
    const threads = await readdir(`/proc/${encoder.processId}/task`);
    assert.deepEqual(
      threads.map(id => getPriority(Number(id))),
      threads.map(() => constants.priority.PRIORITY_LOW),
    );
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
    assert.deepEqual(await encoder.encode(await draft(), 'image/jpeg', 1), { width: 64, height: 48 });
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

  it('knows nothing of the settings of the server', async t => {
    process.env['PETSTORE_TEST_PHOTO_SECRET'] = 'secret';
    t.after(() => delete process.env['PETSTORE_TEST_PHOTO_SECRET']);
    const encoder = new PhotoEncoder({ log: silent });
    t.after(() => encoder.close());
    await encoder.encode(await draft(), 'image/jpeg', 1);
    const environment = await readFile(`/proc/${encoder.processId}/environ`, 'latin1').catch(() => '');
    assert.doesNotMatch(environment, /PETSTORE/);
  });
});
