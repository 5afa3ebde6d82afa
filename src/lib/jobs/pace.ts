import { setImmediate as turn } from 'node:timers/promises';

/**
 * How many jobs to begin at once, so that others who share the thread are served in between: more while its turns are
 * short, half as many after one that was long.
 * @param least so many are begun at once also where the thread is busy all the time
 * @param most and never more than this
 */
export function paced(least: number, most: number): () => Promise<number> {
  let some = most;
  return async () => {
    const beganMs = performance.now();
    await turn();
    const tookMs = performance.now() - beganMs;
    some = tookMs > LONG_TURN_MS ? Math.max(least, Math.floor(some / 2)) : Math.min(most, some + least);
    return some;
  };
}

const LONG_TURN_MS = 3;
