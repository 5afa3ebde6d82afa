import { createAuthorityCheck } from '../../../access/keys/authority-check.ts';
import { RequestError } from '../../../lib/http/client/outcome.ts';
import type { JobType } from '../../../lib/jobs/job-loop.ts';
import {
  type Database,
  type NextDue,
  type Params,
  query,
  type Reader,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../../model/schema.ts';
import { dependentOf } from '../authority.ts';
import type { ImportRow } from '../import.ts';
import { lockImport, saveImport } from '../steps.ts';
import { type FetchDeps, failureOf, fetchPhoto } from './fetch.ts';
import { recordFailure, recordFetched } from './record.ts';
import type { ClaimedSource } from './sources.ts';

/** The options of the job. */
export interface PhotoFetchDeps extends FetchDeps {
  /** Production's database, which stores accounts and keys. */
  readonly accounts: Reader;
  /** Called when a photo is done: that may end its import. */
  onDone?(): void;
  now(): number;
}

/**
 * Returns the job that fetches the photos of imports. Imports take turns, and a host that fails delays only its own
 * photos. Several processes can run it; each photo is added once.
 */
export function photoFetchJob(deps: PhotoFetchDeps): JobType<ClaimedSource, 'import_photos'> {
  const { deployment, now } = deps;
  const { database } = deployment;
  const claimer = new PhotoClaimer(database);
  const mayAct = createAuthorityCheck(deps.accounts, now);

  async function requireAuthority(source: ClaimedSource): Promise<void> {
    if (await mayAct(dependentOf(source.import))) return;
    // The next step of the import ends or pauses it.
    await database.write(async tx => {
      const row = await lockImport(tx, source.import_id);
      if (row?.state === 'fetching') await saveImport(tx, row, { due_at: tx.now });
    });
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
      claimer.start(source);
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

/** The maximum number of fetches in progress in a process: of all imports, of one import, and from one host. */
const TOTAL = 32;
const PER_IMPORT = 4;
const PER_HOST = 8;
/** Covers the request, and the wait in the queue for encoding. */
const LEASE_MS = 5 * 60_000;
/** The number of imports that one claim examines; more than can be in progress. */
const IMPORTS = 2 * TOTAL;

/** Claims photos in turn by import, within the limits of this process. */
class PhotoClaimer {
  readonly #database: Database;
  /** The photos that this process fetches. */
  readonly #running = new Set<ClaimedSource>();
  /** The import that was served last. */
  #last = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Claims up to `limit` due photos. Call `start` for each that is fetched, and `release` when it is done. */
  async claim(limit: number): Promise<ClaimedSource[]> {
    const claimed = await this.#database.write(async tx => {
      const claimed: ClaimedSource[] = [];
      for (const row of await tx.all(importsInTurn, { after: this.#last, now: tx.now, limit: IMPORTS })) {
        await this.#claimOf(tx, row, limit, claimed);
        if (claimed.length >= limit) break;
      }
      return claimed;
    });
    this.#last = claimed.at(-1)?.import_id ?? this.#last;
    return claimed;
  }

  start(source: ClaimedSource): void {
    this.#running.add(source);
  }

  release(source: ClaimedSource): void {
    this.#running.delete(source);
  }

  async #claimOf(tx: Transaction, row: ImportRow, limit: number, claimed: ClaimedSource[]): Promise<void> {
    const until = tx.now + LEASE_MS;
    let free = PER_IMPORT - [...this.#running].filter(({ import_id }) => import_id === row.id).length;
    while (free-- > 0 && claimed.length < limit) {
      const hosts = JSON.stringify(this.#fullHosts(claimed));
      const source = await tx.first(claimNext, { id: row.id, now: tx.now, until, hosts });
      if (source === undefined) return;
      claimed.push({ ...source, due_at: until, import: row });
    }
  }

  #fullHosts(claimed: readonly ClaimedSource[]): string[] {
    const byHost = Map.groupBy([...this.#running, ...claimed], ({ host }) => host);
    return [...byHost].filter(([, sources]) => sources.length >= PER_HOST).map(([host]) => host);
  }
}

/**
 * Releases every claim on the embedded engine, where one process serves a database: the claims are those of a process
 * that has ended.
 */
async function releaseClaims(database: Database): Promise<void> {
  if (database.engine === 'sqlite') await database.write(tx => tx.run(releaseAll, { now: tx.now }));
}

/** The time of the earliest photo to fetch. */
export const nextPhotoFetch: NextDue = db =>
  db.selectFrom('photo_sources').select(sql<number | null>`min(due_at)`.as('dueAt')).where('due_at', 'is not', null);

const importsInTurn = query((db, p: Params<{ after: number; now: number; limit: number }>) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('paused_until', 'is', null)
    .where(sql<boolean>`exists (
      select 1 from photo_sources where import_id = imports.id and photo_sources.due_at <= ${p.now}
    )`)
    .orderBy(sql`case when id > ${p.after} then 0 else 1 end`)
    .orderBy('id')
    .limit(p.limit),
);

const claimNext = query((db, p: Params<{ id: number; now: number; until: number; hosts: string }>, engine) =>
  db
    .updateTable('photo_sources')
    .set({ due_at: p.until })
    .where('id', '=', eb =>
      eb
        .selectFrom('photo_sources')
        .select('id')
        .where('import_id', '=', p.id)
        .where('due_at', '<=', p.now)
        .where('host', 'not in', selectJsonTexts(p.hosts, engine))
        .orderBy('due_at')
        .orderBy('line')
        .orderBy('position')
        .limit(1)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returningAll(),
);

const releaseAll = query((db, p: Params<{ now: number }>) =>
  db.updateTable('photo_sources').set({ due_at: p.now }).where('due_at', '>', p.now),
);
