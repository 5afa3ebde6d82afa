import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';

const THREADS = 2;
const DIRECTORIES = 50;

describe('the directory of photos', () => {
  it('has one complete id for all nodes that open it at the same time', async () => {
    const root = temporaryDirectory();
    const directories = Array.from({ length: DIRECTORIES }, (_, index) => join(root, `${index}`));
    const turns = new Int32Array(new SharedArrayBuffer(4 * DIRECTORIES));
    const program = `
      import { workerData, parentPort } from 'node:worker_threads';
      const { openLocation } = await import(workerData.url);
      const ids = [];
      for (const [index, directory] of workerData.directories.entries()) {
        Atomics.add(workerData.turns, index, 1);
        while (Atomics.load(workerData.turns, index) < ${THREADS});
        ids.push((await openLocation({ directory: directory + '/production' })).id);
      }
      parentPort.postMessage(ids);`;
    const url = new URL('./location.ts', import.meta.url).href;
    const opened = await Promise.all(
      Array.from({ length: THREADS }, async () => {
        const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
          workerData: { url, directories, turns },
        });
        return new Promise<string[]>((resolve, reject) => worker.once('message', resolve).once('error', reject));
      }),
    );
    for (const [index, directory] of directories.entries()) {
      assert.deepEqual(readdirSync(directory), ['id']);
      const id = readFileSync(join(directory, 'id'), 'utf8');
      assert.match(id, /^[\w-]{12}$/);
      assert.deepEqual(
        opened.map(ids => ids[index]),
        new Array(THREADS).fill(id),
      );
    }
  });
});
