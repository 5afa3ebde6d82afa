import { rm } from 'node:fs/promises';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import { type Database, type Params, query, selectJsonTexts, sql, type Transaction } from '../schema.ts';
import type { PhotoFiles } from './files/photo-files.ts';

/** How long files stay that no pet has: backups that are being made may still need them. */
const KEPT_MS = DAY_MS;
const EVERY_MS = HOUR_MS;
const PHOTOS_PER_TRANSACTION = 20;

interface SweepDeps {
  readonly database: Database;
  readonly files: PhotoFiles;
  now(): number;
}

/**
 * Returns the job that deletes the files of photos that no pet has had for a day, and files that an interrupted upload
 * left. It runs at the start and once an hour; several processes can run it.
 */
export function sweepJob({ database, files, now }: SweepDeps): {
  readonly type: JobType<unknown, 'photos'>;
  dueAt(): number;
} {
  let next = 0;
  const claim = async () => {
    const rows = await deleteUnused(database, files);
    if (rows === 0) {
      await deleteOrphans(database, files, KEPT_MS);
      await files.deleteDrafts(KEPT_MS);
      next = now() + EVERY_MS;
    }
    return { rows, jobs: [] };
  };
  return { type: { name: 'photos', concurrency: 1, pauseMs: 10, claim, async run() {} }, dueAt: () => next };
}

/** Deletes some photos that no pet has had for a day, and returns how many. */
export async function deleteUnused(database: Database, files: PhotoFiles): Promise<number> {
  const aside: (string | undefined)[] = [];
  const deleted = await database.write(async tx => {
    const unused = await tx.all(unusedSince, { upTo: tx.now - KEPT_MS, limit: PHOTOS_PER_TRANSACTION });
    // If the transaction fails, the rows stay without files, as if the files had been deleted by themselves.
    for (const { hash } of unused) aside.push(files.setAside(hash));
    if (unused.length > 0) await tx.run(deleteRows, { hashes: JSON.stringify(unused.map(({ hash }) => hash)) });
    return unused.length;
  });
  await deleteAll(aside);
  return deleted;
}

/**
 * Deletes the files of photos that have no row: the process was killed between the file and its row.
 * @param ageMs how long ago they were stored at least, because an upload in progress has no row yet
 */
export async function deleteOrphans(database: Database, files: PhotoFiles, ageMs: number): Promise<void> {
  for await (const hashes of files.list(ageMs)) {
    const known = new Set((await database.all(amongHashes, { hashes: JSON.stringify(hashes) })).map(row => row.hash));
    for (const hash of hashes) {
      if (known.has(hash)) continue;
      const aside = await database.write(tx => setOrphanAside(tx, files, hash));
      await deleteAll([aside]);
    }
  }
}

/** Holds the row of the photo meanwhile: an upload of the same bytes waits, and stores its files again. */
async function setOrphanAside(tx: Transaction, files: PhotoFiles, hash: string): Promise<string | undefined> {
  if ((await tx.run(insertUnused, { hash, now: tx.now })) === 0) return undefined;
  const aside = files.setAside(hash);
  await tx.run(deleteRows, { hashes: JSON.stringify([hash]) });
  return aside;
}

async function deleteAll(directories: readonly (string | undefined)[]): Promise<void> {
  for (const directory of directories) if (directory) await rm(directory, { recursive: true, force: true });
}

const unusedSince = query((db, p: Params<{ upTo: number; limit: number }>, engine) =>
  db
    .selectFrom('photos')
    .select('hash')
    .where('refs', '=', sql.lit(0))
    .where('released_at', '<=', p.upTo)
    .orderBy('released_at')
    .limit(p.limit)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deleteRows = query((db, p: Params<{ hashes: string }>, engine) =>
  db.deleteFrom('photos').where('hash', 'in', selectJsonTexts(p.hashes, engine)),
);

const amongHashes = query((db, p: Params<{ hashes: string }>, engine) =>
  db.selectFrom('photos').select('hash').where('hash', 'in', selectJsonTexts(p.hashes, engine)),
);

const insertUnused = query((db, p: Params<{ hash: string; now: number }>) =>
  db
    .insertInto('photos')
    .values({ hash: p.hash, type: 'image/jpeg', bytes: 0, width: 1, height: 1, refs: 0, released_at: p.now })
    .onConflict(conflict => conflict.column('hash').doNothing()),
);
