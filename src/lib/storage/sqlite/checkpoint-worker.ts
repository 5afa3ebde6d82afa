import { closeSync, fsyncSync, openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { codeOf, SqliteConnection } from './connection.ts';

/** What the thread is asked to do: a part of a checkpoint, or to end. */
export type CheckpointTask = CheckpointPart | 'close';

/** `passive` lets all go on; `truncate` empties the WAL where nobody needs it; `touch` makes readers keep it as it is. */
export type CheckpointPart = 'passive' | 'truncate' | 'touch';

/** What it answers. */
export type CheckpointAnswer =
  | { readonly left: number; readonly truncated: boolean }
  | { readonly error: { readonly message: string; readonly code: string } };

const { file } = workerData as { file: string };
const port = parentPort!;
const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 256, busyMs: 20 });

port.on('message', (task: CheckpointTask) => {
  if (task === 'close') {
    connection.close();
    port.close();
    return;
  }
  port.postMessage(run(task));
});

function run(task: CheckpointPart): CheckpointAnswer {
  try {
    if (task === 'touch') {
      connection.touch();
      return { left: 1, truncated: false };
    }
    const result = connection.checkpoint(task);
    // No old frame may come back behind new ones: the WAL is empty on disk before the next one is written.
    if (result.truncated) flushWal();
    return result;
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    return { error: { message, code: codeOf(error) || (code ?? '') } };
  }
}

function flushWal(): void {
  const descriptor = openSync(`${file}-wal`, 'r+');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    throw Object.assign(error as Error, { code: 'SQLITE_IOERR_FSYNC' });
  } finally {
    closeSync(descriptor);
  }
}
