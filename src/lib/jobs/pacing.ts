import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** Yields to requests for one turn of the event loop, and for 10 ms more if that turn was long. */
export async function yieldToRequests(): Promise<void> {
  if ((await turnMs()) > LONG_TURN_MS) await pause(PAUSE_MS);
}

/**
 * Returns a function that limits how many jobs start at once, so that requests are served in between. The limit grows
 * while turns of the event loop are short, and halves after a long one.
 * @param min the lowest limit
 * @param max the highest limit
 */
export function adaptiveLimit(min: number, max: number): () => Promise<number> {
  let limit = max;
  return async () => {
    limit = (await turnMs()) > LONG_TURN_MS ? Math.max(min, Math.floor(limit / 2)) : Math.min(max, limit + min);
    return limit;
  };
}

/** Measures the next turn of the event loop. */
async function turnMs(): Promise<number> {
  const startMs = performance.now();
  await nextTurn();
  return performance.now() - startMs;
}

const LONG_TURN_MS = 3;
const PAUSE_MS = 10;
