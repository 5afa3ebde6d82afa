import { StorageError } from './database.ts';

/** How long it is waited for: with a read behind it, an answer still comes in time. */
const MOMENT_MS = 500;

/**
 * Does what can as well be done later: where storage refuses it, it is left; where storage does not take it in a moment,
 * it goes on by itself. Every other error that comes in that time is thrown.
 */
export async function bestEffort(work: Promise<unknown>): Promise<void> {
  const moment = Promise.withResolvers<void>();
  const timer = setTimeout(moment.resolve, MOMENT_MS);
  try {
    await Promise.race([work, moment.promise]);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  } finally {
    clearTimeout(timer);
  }
}
