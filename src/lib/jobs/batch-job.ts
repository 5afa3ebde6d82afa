import type { JobType } from './job-loop.ts';

/**
 * Returns a job that does all its work in batches, one after the other.
 * @param runBatch returns the number of rows that it changed; 0 if other processes have done the remaining work
 * @param pauseMs the pause after each batch that changed rows, so that other work can run
 */
export function batchJob<Name extends string>(
  name: Name,
  runBatch: () => Promise<number>,
  pauseMs = 0,
): JobType<never, Name> {
  return { name, concurrency: 1, pauseMs, claim: async () => ({ rows: await runBatch(), jobs: [] }), async run() {} };
}
