import { randomBytes } from 'node:crypto';
import { batchJob } from '../../lib/jobs/batch-job.ts';
import { lockedFact, storeFact } from '../../model/facts.ts';
import type { PhotoFiles } from '../../model/photo-files/photo-files.ts';
import {
  type Database,
  type NextDue,
  type Params,
  query,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { factColumns, photoBytes, photosOf, storedPhotoOf } from '../photo-references.ts';

interface SizesDeps {
  readonly database: Database;
  readonly files: PhotoFiles;
}

/**
 * The progress is a fact of the deployment: `complete`, or the table and the id up to which photos count with their
 * sizes. It restarts from the beginning when the sizes of another photo become known.
 */
const PROGRESS = 'photo-sizes';
const START = 'pets 0';
const COMPLETE = 'complete';

/**
 * The maximum that a photo of an earlier release counts, as a multiple of its original. The quotas of the plans grew by
 * this factor, so that no account exceeded its quota.
 */
export const COUNTED_RATIO = 4;

/** Few enough that a transaction stays short. */
const HOLDERS_PER_BATCH = 200;
/** The pause after each photo and after each batch. */
const PAUSE_MS = 200;

/**
 * Returns the job for photos of earlier releases. It remakes the sizes of small photos, which earlier releases
 * enlarged, and counts the sizes of all photos for their accounts. Several processes can run it.
 */
export function sizesJob({ database, files }: SizesDeps) {
  const run = async () => {
    // Uploads have priority.
    if (files.isEncoding) return 0;
    return (await countSizesOfOne(database, files)) ? 1 : countHolders(database);
  };
  return batchJob('photo_sizes', run, PAUSE_MS);
}

/** Due now if there are photos whose sizes are unknown or not counted. */
export const nextUncountedSizes: NextDue = db =>
  db
    .selectFrom(
      sql<{ due_at: number }>`(
        select 0 as due_at from facts where name = ${sql.lit(PROGRESS)} and value <> ${sql.lit(COMPLETE)}
        union all select 0 from photos where sizes_bytes is null and refs > 0)`.as('uncounted'),
    )
    .select('due_at as dueAt')
    .limit(1);

/** Remakes the sizes of one photo if they are too large, and records their bytes. Returns false if no photo is left. */
export async function countSizesOfOne(database: Database, files: PhotoFiles): Promise<boolean> {
  // Start at a random hash, so that processes rarely choose the same photo.
  const from = randomBytes(32).toString('hex');
  const photo = (await database.first(uncountedFrom, { from })) ?? (await database.first(uncountedFrom, { from: '' }));
  if (photo === undefined) return false;
  const bytes = Math.min(await files.remakeSizes(photo), (COUNTED_RATIO - 1) * photo.bytes);
  await database.write(async tx => {
    // Lock the fact first, like countHolders.
    await tx.run(storeFact, { name: PROGRESS, value: START });
    await tx.run(setSizesBytes, { hash: photo.hash, bytes });
  });
  return true;
}

/** Counts the sizes of the photos of some pets or organizations for their accounts. Returns 0 once all are counted. */
export async function countHolders(database: Database): Promise<number> {
  return database.write(async tx => {
    const progress = (await tx.first(lockedFact, { name: PROGRESS }))?.value ?? COMPLETE;
    if (progress === COMPLETE) return 0;
    const [table, after] = progress.split(' ') as [HolderTable, string];
    const holders = await tx.all(holdersAfter[table], { after: Number(after), limit: HOLDERS_PER_BATCH });
    await countSizesOf(tx, table, holders);
    const last = holders.at(-1);
    const next = table === 'pets' ? 'organizations 0' : COMPLETE;
    await tx.run(storeFact, { name: PROGRESS, value: last === undefined ? next : `${table} ${last.id}` });
    return holders.length + 1;
  });
}

type HolderTable = 'pets' | 'organizations';

interface Holder {
  readonly id: number;
  readonly accountId: number;
  readonly photos: string | null;
}

/** @param holders locked */
async function countSizesOf(tx: Transaction, table: HolderTable, holders: readonly Holder[]): Promise<void> {
  const uncounted = holders.flatMap(photosOf).filter(({ original }) => original === undefined);
  if (uncounted.length === 0) return;
  const rows = await tx.all(countedAmong, { hashes: JSON.stringify(uncounted.map(({ id }) => id)) });
  const facts = new Map(rows.map(row => [row.hash, row]));
  for (const holder of holders) {
    const before = photosOf(holder);
    const after = before.map(photo => {
      const known = photo.original === undefined ? facts.get(photo.id) : undefined;
      return known === undefined ? photo : storedPhotoOf(known, photo.alt);
    });
    if (after.every((photo, index) => photo === before[index])) continue;
    const added = after.reduce((sum, { bytes }, index) => sum + bytes - before[index]!.bytes, 0);
    photoBytes.addLater(tx, holder.accountId, added);
    // Record neither an event nor a version, because no visible data has changed.
    await tx.run(setPhotos[table], { id: holder.id, photos: JSON.stringify(after) });
  }
}

const uncountedFrom = query((db, p: Params<{ from: string }>) =>
  db
    .selectFrom('photos')
    .select(factColumns)
    .where('sizes_bytes', 'is', null)
    .where('refs', '>', sql.lit(0))
    .where('hash', '>=', p.from)
    .orderBy('hash')
    .limit(1),
);

const setSizesBytes = query((db, p: Params<{ hash: string; bytes: number }>) =>
  db.updateTable('photos').set({ sizes_bytes: p.bytes }).where('hash', '=', p.hash).where('sizes_bytes', 'is', null),
);

const countedAmong = query((db, p: Params<{ hashes: string }>, engine) =>
  db
    .selectFrom('photos')
    .select(factColumns)
    .where('hash', 'in', selectJsonTexts(p.hashes, engine))
    .where('sizes_bytes', 'is not', null),
);

const selectHolders = (table: HolderTable, account: 'account_id' | 'id') =>
  query((db, p: Params<{ after: number; limit: number }>, engine) =>
    db
      .selectFrom(table)
      .select(['id', sql<number>`${sql.ref(account)}`.as('accountId'), 'photos'])
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.limit)
      .$if(engine === 'postgres', rows => rows.forUpdate()),
  );
const holdersAfter = {
  pets: selectHolders('pets', 'account_id'),
  organizations: selectHolders('organizations', 'id'),
};

const updatePhotos = (table: HolderTable) =>
  query((db, p: Params<{ id: number; photos: string }>) =>
    db.updateTable(table).set({ photos: p.photos }).where('id', '=', p.id),
  );
const setPhotos = { pets: updatePhotos('pets'), organizations: updatePhotos('organizations') };
