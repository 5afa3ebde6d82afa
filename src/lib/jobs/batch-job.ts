import type { JobType } from './job-loop.ts';

/**
 * Returns a job that does its whole work in batches, one at a time.
 * @param runBatch returns the number of rows that it changed; 0 if other processes have done the rest
 * @param pauseMs the pause after each batch that changed rows, so that other work can run
 */
export function batchJob<Name extends string>(
  name: Name,
  runBatch: () => Promise<number>,
  pauseMs = 0,
): JobType<never, Name> {
  return { name, concurrency: 1, pauseMs, claim: async () => ({ rows: await runBatch(), jobs: [] }), async run() {} };
}
