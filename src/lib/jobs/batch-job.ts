import type { Clock } from '../clock.ts';
import type { Work } from './job-loop.ts';

/**
 * Returns a job that does its whole work in batches, one at a time, as of the clock's time.
 * @param runBatch returns the number of rows that it changed; 0 if other processes have done the rest
 */
export function batchJob(name: string, clock: Clock, runBatch: (now: number) => Promise<number>): Work<never> {
  return {
    name,
    atOnce: 1,
    async take() {
      return { rows: await runBatch(Math.floor(clock.now())), jobs: [] };
    },
    async work() {},
  };
}
