import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import { StorageError } from '../lib/storage/database.ts';

/** How long a start is repeated. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;

/**
 * Starts something, and again while PostgreSQL can be reached but does not respond in time, for up to a minute: a busy
 * server must not end a start. After a signal to stop, it does not start again.
 */
export async function whileSlow<T>(log: Log, stopped: Promise<void>, start: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + PATIENCE_MS;
  let isStopped = false;
  stopped.then(() => {
    isStopped = true;
  });
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof StorageError && error.isSlow) || isStopped || performance.now() > endMs) throw error;
      log.warn(`${error.message} The server tries to start again.`);
    }
    await pause(PAUSE_MS);
  }
}
