import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';

/**
 * Lets others who share the thread go first: for one turn of its loop, and for a while longer where that was a long one.
 * What comes meanwhile can be done together, which takes less than one by one.
 */
export async function giveWay(): Promise<void> {
  if ((await turnMs()) > LONG_TURN_MS) await pause(WHILE_MS);
}

/**
 * How many jobs to begin at once, so that others who share the thread are served in between: more while its turns are
 * short, half as many after one that was long.
 * @param least so many are begun at once also where the thread is busy all the time
 * @param most and never more than this
 */
export function paced(least: number, most: number): () => Promise<number> {
  let some = most;
  return async () => {
    some = (await turnMs()) > LONG_TURN_MS ? Math.max(least, Math.floor(some / 2)) : Math.min(most, some + least);
    return some;
  };
}

/** How long the next turn of the event loop takes. */
async function turnMs(): Promise<number> {
  const beganMs = performance.now();
  await turn();
  return performance.now() - beganMs;
}

const LONG_TURN_MS = 3;
const WHILE_MS = 10;
