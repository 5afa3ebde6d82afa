import { StorageError } from './database.ts';

/** Short enough that a request can still read and respond afterwards. */
const WAIT_MS = 500;

/**
 * Waits briefly for optional work. Ignores a StorageError; work that takes longer continues in the background.
 * @throws any other error that occurs during the wait
 */
export async function bestEffort(work: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, WAIT_MS);
  try {
    await Promise.race([work, timeout.promise]);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  } finally {
    clearTimeout(timer);
  }
}
