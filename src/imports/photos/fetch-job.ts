import type { JobType } from '../../lib/jobs/job-loop.ts';
import { type ClaimedSource, PhotoClaimer, releaseClaims, TOTAL } from './claim.ts';
import { failureOf } from './failure.ts';
import { type FetchDeps, fetchPhoto } from './fetch.ts';
import { recordFailure, recordFetched } from './record.ts';

/** What the job needs. */
export interface PhotoFetchDeps extends FetchDeps {
  /** Called when a photo is done: its import may have ended. */
  onDone?(): void;
  now(): number;
}

/**
 * Returns the job that fetches the photos that imports want. Imports take turns, and a host that fails delays only its own
 * photos. Several processes can run it; each photo is added once.
 */
export function photoFetchJob(deps: PhotoFetchDeps): JobType<ClaimedSource, 'import_photos'> {
  const { deployment, now } = deps;
  const { database } = deployment;
  const claimer = new PhotoClaimer(database);
  return {
    name: 'import_photos',
    concurrency: TOTAL,
    init: () => releaseClaims(database),
    async claim(limit) {
      const jobs = await claimer.claim(limit);
      return { rows: jobs.length, jobs };
    },
    idOf: ({ id }) => id,
    async run(source, stopping) {
      const startedAt = now();
      try {
        await fetchPhoto(deps, source, stopping, facts => recordFetched(deployment, source, facts));
      } catch (error) {
        await recordFailure(database, source, failureOf(error), startedAt);
      } finally {
        claimer.release(source);
        deps.onDone?.();
      }
    },
  };
}
