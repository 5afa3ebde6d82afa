import { petPhotos } from '../../photos/holders.ts';
import type { StoredPhoto } from '../../photos/photo.ts';
import { addReceived } from '../../photos/receive.ts';
import type { PhotoFacts } from '../../photos/references.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../schema.ts';
import { shortened } from '../convert.ts';
import { originOf } from '../import.ts';
import { recordErrors } from '../record-errors.ts';
import type { ClaimedSource } from './claim.ts';
import { noteProgress } from './completion.ts';
import type { Failure } from './failure.ts';
import { type FetchDeps, uploaderOf } from './fetch.ts';
import { sourcesOfPet } from './sources.ts';

/** How long to wait after each failed attempt. The last one is final. */
const BACKOFF_MS = [30_000, 5 * 60_000];
const RETRY_AFTER_MAX_MS = 10 * 60_000;
/** How long to wait if this process is busy. */
const BUSY_MS = 5000;
/** The URLs of a host that fail in one transaction. */
const FAILED_AT_ONCE = 500;

/** Thrown to roll back a transaction if another process fetches the photo: the lease has expired. */
class ClaimLost extends Error {}

/**
 * Adds a fetched photo to its pet, at the position of its URL in the row, and counts it. Does nothing if the import has ended.
 * @throws {Problem} what `addReceived` throws
 */
export async function recordFetched(
  deployment: FetchDeps['deployment'],
  source: ClaimedSource,
  facts: PhotoFacts,
): Promise<void> {
  const { id, import_id: importId, pet_id: petId, due_at: dueAt } = source;
  const add = async (tx: Transaction) => {
    // The row of the import is locked first, as by its steps.
    if ((await tx.run(countFetched, { id: importId })) === 0) return;
    const sources = await tx.all(sourcesOfPet, { petId });
    const positions = new Map(sources.map(({ hash, position }) => [hash, position]));
    const indexIn = (photos: readonly StoredPhoto[]) => {
      const index = photos.findIndex(photo => (positions.get(photo.id) ?? -1) > source.position);
      return index < 0 ? photos.length : index;
    };
    await addReceived(tx, deployment, petPhotos, uploaderOf(source), petId, facts, { indexIn });
    if ((await tx.run(markFetched, { id, dueAt, hash: facts.hash })) === 0) throw new ClaimLost();
    await noteProgress(tx, importId);
  };
  await deployment.database.write(add, originOf(source.import)).catch(ignoreLostClaim);
}

/**
 * Records that a photo was not fetched: when to try again, or an error of the import. If a host fails, all its URLs that
 * were due when the attempt began have failed as often.
 * @param startedAt when the attempt began
 */
export async function recordFailure(
  database: Database,
  source: ClaimedSource,
  failure: Failure,
  startedAt: number,
): Promise<void> {
  const { id, import_id: importId, due_at: dueAt, host } = source;
  const { code, message, retry, retryAfterMs = 0 } = failure;
  await database.write(async tx => {
    if ((await tx.run(lockInProgress, { id: importId })) === 0) return;
    if (retry === 'always') {
      await tx.run(postpone, { id, dueAt, until: tx.now + Math.max(BUSY_MS, retryAfterMs) });
      return;
    }
    const upTo = retry === 'host' ? startedAt : 0;
    const concerned = { importId, host, upTo, id, dueAt };
    const last = retry === 'never' ? 0 : BACKOFF_MS.length;
    const failed = await tx.all(deleteFailed, { ...concerned, last, limit: FAILED_AT_ONCE });
    for (const [attempts, backoffMs] of BACKOFF_MS.entries()) {
      const until = tx.now + Math.max(backoffMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
      await tx.run(retryLater, { ...concerned, attempts, until });
    }
    const errors = failed.map(({ line, column, url, petId }) => {
      return { level: 'error', line, column, petId, code, message, value: shortened(url) } as const;
    });
    await recordErrors(
      tx,
      importId,
      errors.sort((one, other) => one.line - other.line),
    );
    if (failed.length > 0) await tx.run(countFailed, { id: importId, failed: failed.length });
    await noteProgress(tx, importId);
  });
}

function ignoreLostClaim(error: unknown): void {
  if (!(error instanceof ClaimLost)) throw error;
}

const countFetched = query((db, p: Params<{ id: number }>) =>
  db
    .updateTable('imports')
    .set(eb => ({ photos_fetched: eb('photos_fetched', '+', 1) }))
    .where('id', '=', p.id)
    .where('ended_at', 'is', null),
);

const countFailed = query((db, p: Params<{ id: number; failed: number }>) =>
  db
    .updateTable('imports')
    .set(eb => ({ photos_failed: eb('photos_failed', '+', p.failed) }))
    .where('id', '=', p.id),
);

const lockInProgress = query((db, p: Params<{ id: number }>) =>
  db
    .updateTable('imports')
    .set(eb => ({ photos_failed: eb.ref('photos_failed') }))
    .where('id', '=', p.id)
    .where('ended_at', 'is', null),
);

const markFetched = query((db, p: Params<{ id: number; dueAt: number; hash: string }>) =>
  db
    .updateTable('photo_sources')
    .set({ hash: p.hash, due_at: null, attempts: sql.lit(0) })
    .where('id', '=', p.id)
    .where('due_at', '=', p.dueAt),
);

const postpone = query((db, p: Params<{ id: number; dueAt: number; until: number }>) =>
  db.updateTable('photo_sources').set({ due_at: p.until }).where('id', '=', p.id).where('due_at', '=', p.dueAt),
);

/** The claimed URL, and those of its host that are due up to a time. */
type Concerned = { importId: number; host: string; upTo: number; id: number; dueAt: number };

const isConcerned = (p: Params<Concerned>) => sql<boolean>`import_id = ${p.importId}
  and (id = ${p.id} and due_at = ${p.dueAt} or host = ${p.host} and due_at <= ${p.upTo})`;

const deleteFailed = query((db, p: Params<Concerned & { last: number; limit: number }>) =>
  db
    .deleteFrom('photo_sources')
    .where('id', 'in', eb =>
      eb.selectFrom('photo_sources').select('id').where(isConcerned(p)).where('attempts', '>=', p.last).limit(p.limit),
    )
    .returning(['line', 'column_name as column', 'url', 'pet_id as petId']),
);

const retryLater = query((db, p: Params<Concerned & { attempts: number; until: number }>) =>
  db
    .updateTable('photo_sources')
    .set(eb => ({ due_at: p.until, attempts: eb('attempts', '+', 1) }))
    .where(isConcerned(p))
    .where('attempts', '=', p.attempts),
);
