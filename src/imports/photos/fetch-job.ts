import { createAuthorityCheck } from '../../keys/authority-check.ts';
import { RequestError } from '../../lib/http/client/outcome.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import type { Reader } from '../../schema.ts';
import { dependentOf } from '../authority.ts';
import { type ClaimedSource, PhotoClaimer, releaseClaims, TOTAL } from './claim.ts';
import { makeDue } from './completion.ts';
import { failureOf } from './failure.ts';
import { type FetchDeps, fetchPhoto } from './fetch.ts';
import { recordFailure, recordFetched } from './record.ts';

/** What the job needs. */
export interface PhotoFetchDeps extends FetchDeps {
  /** Production's database, which stores accounts and keys. */
  readonly accounts: Reader;
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
  const mayAct = createAuthorityCheck(deps.accounts, now);

  async function requireAuthority(source: ClaimedSource): Promise<void> {
    if (await mayAct(dependentOf(source.import))) return;
    // Its next step ends or pauses the import.
    await database.write(tx => tx.run(makeDue, { id: source.import_id, now: tx.now }));
    throw new RequestError('withdrawn');
  }

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
        await requireAuthority(source);
        await fetchPhoto(deps, source, stopping, async facts => {
          await requireAuthority(source);
          await recordFetched(deployment, source, facts);
        });
      } catch (error) {
        await recordFailure(database, source, failureOf(error), startedAt);
      } finally {
        claimer.release(source);
        deps.onDone?.();
      }
    },
  };
}
