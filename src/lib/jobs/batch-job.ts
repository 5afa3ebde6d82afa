import type { Clock } from '../clock.ts';
import type { JobType } from './job-loop.ts';

/**
 * Returns a job that does its whole work in batches, one at a time, as of the clock's time.
 * @param runBatch returns the number of rows that it changed; 0 if other processes have done the rest
 */
export function batchJob(name: string, clock: Clock, runBatch: (now: number) => Promise<number>): JobType<never> {
  return {
    name,
    concurrency: 1,
    async claim() {
      return { rows: await runBatch(Math.floor(clock.now())), jobs: [] };
    },
    async run() {},
  };
}
