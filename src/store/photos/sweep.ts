import type { JobType } from '../../lib/jobs/job-loop.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { deleteDrafts } from '../../model/photo-files/disk-store.ts';
import type { PhotoStore } from '../../model/photo-files/photo-store.ts';
import { type Database, type Params, query, selectJsonTexts, sql, type Transaction } from '../../model/schema.ts';

/** How long unused files stay, because backups in progress may still need them. */
const KEPT_MS = DAY_MS;
/**
 * The time after which another process may delete the files of a photo because the first process was killed. A bucket
 * takes a minute.
 */
const RETRY_MS = HOUR_MS / 6;
const EVERY_MS = HOUR_MS;
const PHOTOS_AT_ONCE = 20;

interface SweepDeps {
  readonly database: Database;
  readonly store: PhotoStore;
  now(): number;
}

/**
 * Returns the job that deletes the files of photos that have been unused for a day, and the remains of interrupted
 * uploads. It runs at the start and once an hour; several processes can run it.
 */
export function sweepJob({ database, store, now }: SweepDeps): {
  readonly type: JobType<unknown, 'photos'>;
  dueAt(): number;
} {
  let next = 0;
  const claim = async () => {
    const rows = await deleteUnused(database, store);
    if (rows === 0) {
      await deleteDrafts(store.drafts, KEPT_MS);
      next = now() + EVERY_MS;
    }
    return { rows, jobs: [] };
  };
  return { type: { name: 'photos', concurrency: 1, pauseMs: 10, claim, async run() {} }, dueAt: () => next };
}

/**
 * Deletes some photos that have been unused for a day. Returns their number. Marks them first: while its files are
 * being deleted, a photo cannot be uploaded again.
 */
export async function deleteUnused(database: Database, store: PhotoStore): Promise<number> {
  return deleteMarkedBy(database, store, async tx => {
    const bounds = { upTo: tx.now - KEPT_MS, markedUpTo: tx.now - RETRY_MS, limit: PHOTOS_AT_ONCE };
    return (await tx.all(unusedSince, bounds)).map(({ hash }) => hash);
  });
}

/**
 * Immediately deletes a photo whose upload failed after storing its files. Keeps it if a holder has it, or another
 * upload of the same bytes is about to use its files.
 * @param keptAt the result of `keepPhoto` for the upload
 */
export async function deleteFailedUpload(
  database: Database,
  store: PhotoStore,
  hash: string,
  keptAt: number,
): Promise<void> {
  await deleteMarkedBy(database, store, async tx =>
    (await tx.first(lockedUnused, { hash, keptAt })) === undefined ? [] : [hash],
  );
}

/** @param choose returns unused photos to delete, locked until the transaction ends */
async function deleteMarkedBy(
  database: Database,
  store: PhotoStore,
  choose: (tx: Transaction) => Promise<readonly string[]>,
): Promise<number> {
  const { hashes, since } = await database.write(async tx => {
    const hashes = await choose(tx);
    if (hashes.length > 0) await tx.run(mark, { hashes: JSON.stringify(hashes), now: tx.now });
    return { hashes, since: tx.now };
  });
  if (hashes.length === 0) return 0;
  const results = await Promise.allSettled(hashes.map(hash => store.delete(hash)));
  const marked = (status: 'fulfilled' | 'rejected') => {
    return { hashes: JSON.stringify(hashes.filter((_, index) => results[index]!.status === status)), since };
  };
  // A photo that cannot be deleted does not prevent the deletion of others.
  const deleted = await database.write(async tx => {
    await tx.run(unmark, marked('rejected'));
    return tx.run(deleteMarked, marked('fulfilled'));
  });
  const failed = results.find(one => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return deleted;
}

const unusedSince = query((db, p: Params<{ upTo: number; markedUpTo: number; limit: number }>, engine) =>
  db
    .selectFrom('photos')
    .select('hash')
    .where('refs', '=', sql.lit(0))
    .where(eb =>
      eb.or([
        eb('released_at', '<=', p.upTo).and('deleting_since', 'is', null),
        eb('deleting_since', '<=', p.markedUpTo),
      ]),
    )
    .orderBy('released_at')
    .limit(p.limit)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const lockedUnused = query((db, p: Params<{ hash: string; keptAt: number }>, engine) =>
  db
    .selectFrom('photos')
    .select('hash')
    .where('hash', '=', p.hash)
    .where('refs', '=', sql.lit(0))
    .where('released_at', '=', p.keptAt)
    .where('deleting_since', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const mark = query((db, p: Params<{ hashes: string; now: number }>, engine) =>
  db.updateTable('photos').set({ deleting_since: p.now }).where('hash', 'in', selectJsonTexts(p.hashes, engine)),
);

const unmark = query((db, p: Params<{ hashes: string; since: number }>, engine) =>
  db
    .updateTable('photos')
    .set({ deleting_since: null })
    .where('hash', 'in', selectJsonTexts(p.hashes, engine))
    .where('deleting_since', '=', p.since),
);

const deleteMarked = query((db, p: Params<{ hashes: string; since: number }>, engine) =>
  db.deleteFrom('photos').where('hash', 'in', selectJsonTexts(p.hashes, engine)).where('deleting_since', '=', p.since),
);
