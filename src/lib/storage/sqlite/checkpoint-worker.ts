import { closeSync, fsyncSync, openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { type CheckpointResult, SqliteConnection } from './connection.ts';
import { codeOf } from './errors.ts';

/**
 * `passive` copies frames without blocking other connections; `truncate` empties an unused WAL; `touch` protects the
 * WAL.
 */
export type CheckpointStep = 'passive' | 'truncate' | 'touch';

export type CheckpointOutcome =
  | CheckpointResult
  | { readonly error: { readonly message: string; readonly code: string } };

const { file } = workerData as { file: string };
const connection = new SqliteConnection(file, { synchronous: 'full', cacheKiB: 256, busyMs: 20 });

parentPort!.on('message', (step: CheckpointStep) => parentPort!.postMessage(run(step)));

function run(step: CheckpointStep): CheckpointOutcome {
  try {
    if (step === 'touch') {
      connection.touch();
      return { left: 1, truncated: false };
    }
    const result = connection.checkpoint(step);
    // The WAL must be empty on disk before the next frame; otherwise, after a power cut, old frames could follow new
    // ones.
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
