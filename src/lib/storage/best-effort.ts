import { endsWithin } from '../timeout.ts';
import { StorageError } from './database.ts';

/** Short enough that a request can still read and respond afterwards. */
const WAIT_MS = 500;

/**
 * Waits briefly for optional work. Ignores a StorageError; work that takes longer continues in the background.
 * @throws any other error that occurs during the wait
 */
export async function bestEffort(work: Promise<unknown>): Promise<void> {
  try {
    await endsWithin(work, WAIT_MS);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}
