import { batchJob } from '../../lib/jobs/batch-job.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import type { Database } from '../../model/schema.ts';

/** A job whose next due time is known without a query: milliseconds since the Unix epoch. */
export interface RegistryJob<Name extends string> {
  readonly type: JobType<never, Name>;
  dueAt(): number;
}

/** How often the job runs without a known change, because notifications of PostgreSQL may be lost. */
const INTERVAL_MS = 60_000;

/**
 * Returns a job that runs after every change of an account or key, and every minute: it updates a deployment whose
 * database may have neither accounts nor keys.
 * @param accounts production's database, which stores accounts and keys
 * @param work returns the number of rows that it changed, and the latest time of the next run, if it is known
 */
export function registryJob<Name extends string>(
  name: Name,
  { accounts, now }: { readonly accounts: Database; now(): number },
  work: (now: number) => Promise<{ readonly rows: number; readonly dueAt?: number }>,
): RegistryJob<Name> {
  let version: number | undefined;
  let changed = true;
  let nextAt = 0;
  accounts.onNotification?.(() => {
    changed = true;
  });

  const type = batchJob(name, async () => {
    changed = false;
    version = accounts.engine === 'sqlite' ? accounts.topicVersion('registry') : undefined;
    const startedAt = now();
    try {
      const { rows, dueAt = Number.POSITIVE_INFINITY } = await work(startedAt);
      nextAt = Math.min(dueAt, startedAt + INTERVAL_MS);
      return rows;
    } catch (error) {
      changed = true;
      throw error;
    }
  });
  return {
    type,
    dueAt() {
      // On PostgreSQL, calling `topicVersion` would make the process poll for it.
      const isChanged = changed || (accounts.engine === 'sqlite' && accounts.topicVersion('registry') !== version);
      return isChanged ? 0 : nextAt;
    },
  };
}
