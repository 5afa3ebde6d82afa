import type { StoredPhoto } from '../../../model/photo.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../../model/schema.ts';
import type { PhotoFacts } from '../../photo-references.ts';
import { petPhotos } from '../../photos/holders.ts';
import { addReceived } from '../../photos/receive.ts';
import { recordErrors, shortened } from '../errors.ts';
import { originOf } from '../import.ts';
import { lockImport } from '../steps.ts';
import { type Failure, type FetchDeps, uploaderOf } from './fetch.ts';
import { type ClaimedSource, savePhotoCounts, sourcesOfPet } from './sources.ts';

/** The delays after each failed attempt. The attempt after the last delay is final. */
const BACKOFF_MS = [30_000, 5 * 60_000];
const RETRY_AFTER_MAX_MS = 10 * 60_000;
/** The delay if this process is busy. */
const BUSY_MS = 5000;
/** The maximum number of URLs of a host that fail in one transaction. */
const FAILED_AT_ONCE = 500;

/** Thrown to roll back a transaction because the lease has expired and another process fetches the photo. */
class ClaimLost extends Error {}

/**
 * Adds a fetched photo to its pet, at the position of its URL in the row, and counts it. Does nothing if the import has
 * ended.
 * @throws {Problem} any error of `addReceived`
 */
export async function recordFetched(
  deployment: FetchDeps['deployment'],
  source: ClaimedSource,
  facts: PhotoFacts,
): Promise<void> {
  const { id, import_id: importId, pet_id: petId, due_at: dueAt } = source;
  const add = async (tx: Transaction) => {
    // Lock the import first, like its steps do.
    const row = await lockImport(tx, importId);
    if (row === undefined || row.ended_at !== null) return;
    const sources = await tx.all(sourcesOfPet, { petId });
    const positions = new Map(sources.map(({ hash, position }) => [hash, position]));
    const indexIn = (photos: readonly StoredPhoto[]) => {
      const index = photos.findIndex(photo => (positions.get(photo.id) ?? -1) > source.position);
      return index < 0 ? photos.length : index;
    };
    await addReceived(tx, deployment, petPhotos, uploaderOf(source), petId, facts, { indexIn });
    if ((await tx.run(markFetched, { id, dueAt, hash: facts.hash })) === 0) throw new ClaimLost();
    await savePhotoCounts(tx, row, { photos_fetched: row.photos_fetched + 1 });
  };
  await deployment.database.write(add, originOf(source.import)).catch(ignoreLostClaim);
}

/**
 * Records that a photo was not fetched: the time of the next attempt, or an error of the import. If the host failed,
 * the failure counts for all its URLs that were due when the attempt began.
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
    const row = await lockImport(tx, importId);
    if (row === undefined || row.ended_at !== null) return;
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
    await savePhotoCounts(tx, row, { photos_failed: row.photos_failed + failed.length });
  });
}

function ignoreLostClaim(error: unknown): void {
  if (!(error instanceof ClaimLost)) throw error;
}

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

/** The claimed URL, and the URLs of its host that are due up to a time. */
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
