import type { Selectable } from 'kysely';
import { DAY_MS, durationIn } from '../../../lib/time.ts';
import { type Params, query, sql, type Tables, type Transaction } from '../../../model/schema.ts';
import { recordErrors } from '../errors.ts';
import type { ImportRow } from '../import.ts';
import { type ImportChange, saveImport } from '../steps.ts';

/**
 * The URL of a photo of a pet. While `due_at` is set, it waits to be fetched; afterwards `hash` is that of the photo.
 */
export type PhotoSource = Selectable<Tables['photo_sources']>;

/** A URL that this process fetches: no other process does until the lease ends. */
export interface ClaimedSource extends PhotoSource {
  readonly import: ImportRow;
  readonly due_at: number;
}

/** The maximum duration of an import with its photos, in milliseconds. */
const IMPORT_MS = DAY_MS;
/** How often an import checks whether photos still wait, because the animals of the last photos may be deleted. */
const CHECK_MS = 10_000;

/** Ends an import whose animals are imported, or makes it wait for its photos. */
export async function afterAnimals(tx: Transaction, row: ImportRow): Promise<ImportChange> {
  const completed = { state: 'completed', ended_at: tx.now } as const;
  if (row.dry_run !== 0 || row.photos_wanted === row.photos_failed || !(await waitsForPhotos(tx, row.id))) {
    return completed;
  }
  if (tx.now < row.started_at! + IMPORT_MS) return { state: 'fetching', due_at: tx.now + CHECK_MS };
  const { waiting } = (await tx.first(countWaiting, { id: row.id }))!;
  const message = `${waiting} photos could not be fetched within ${durationIn('day', IMPORT_MS, 'article')}. Send the file again to fetch them.`;
  await recordErrors(tx, row.id, [{ level: 'error', code: 'photos_late', message }]);
  return { ...completed, photos_failed: row.photos_failed + waiting };
}

/** Saves the change of an import after a photo is done. After its last photo, makes its next step due. */
export async function savePhotoCounts(tx: Transaction, row: ImportRow, change: ImportChange): Promise<void> {
  const isLast = row.state === 'fetching' && !(await waitsForPhotos(tx, row.id));
  await saveImport(tx, row, { ...change, ...(isLast && { due_at: tx.now }) });
}

/** Reports whether photos of an import wait to be fetched. */
async function waitsForPhotos(tx: Transaction, importId: number): Promise<boolean> {
  return (await tx.first(anyWaiting, { importId })) !== undefined;
}

/** Returns the sources of a pet in the order of its row. */
export const sourcesOfPet = query((db, p: Params<{ petId: number }>) =>
  db.selectFrom('photo_sources').selectAll().where('pet_id', '=', p.petId).orderBy('position').orderBy('id'),
);

const anyWaiting = query((db, p: Params<{ importId: number }>) =>
  db
    .selectFrom('photo_sources')
    .select('id')
    .where('import_id', '=', p.importId)
    .where('due_at', 'is not', null)
    .limit(1),
);

const countWaiting = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('photo_sources')
    .select(sql<number>`count(*)`.as('waiting'))
    .where('import_id', '=', p.id)
    .where('due_at', 'is not', null),
);

/** Deletes up to `limit` URLs of an import that are not fetched yet. */
export const deleteWaiting = query((db, p: Params<{ id: number; limit: number }>) =>
  db
    .deleteFrom('photo_sources')
    .where('id', 'in', eb =>
      eb
        .selectFrom('photo_sources')
        .select('id')
        .where('import_id', '=', p.id)
        .where('due_at', 'is not', null)
        .limit(p.limit),
    ),
);
