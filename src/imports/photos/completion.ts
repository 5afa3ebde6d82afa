import { DAY_MS } from '../../lib/time.ts';
import { type Params, query, sql, type Transaction } from '../../schema.ts';
import type { ImportRow } from '../import.ts';
import { recordErrors } from '../record-errors.ts';
import type { Progress } from '../steps.ts';
import { waitsForPhotos } from './sources.ts';

/** How long an import may take with its photos, in milliseconds. */
const IMPORT_MS = DAY_MS;
/** How often an import looks whether photos still wait: the animals of the last ones may be deleted. */
const CHECK_MS = 10_000;

/** Ends an import whose animals are imported, or lets it wait for photos. */
export async function afterAnimals(tx: Transaction, row: ImportRow): Promise<Partial<Progress>> {
  const completed = { state: 'completed', ended_at: tx.now } as const;
  if (row.dry_run !== 0 || row.photos_wanted === row.photos_failed || !(await waitsForPhotos(tx, row.id))) {
    return completed;
  }
  if (tx.now < row.started_at! + IMPORT_MS) return { state: 'fetching', due_at: tx.now + CHECK_MS };
  const { waiting } = (await tx.first(countWaiting, { id: row.id }))!;
  const message = `${waiting} photos could not be fetched within a day. Send the file again to fetch them.`;
  await recordErrors(tx, row.id, [{ level: 'error', code: 'photos_late', message }]);
  return { ...completed, photos_failed: row.photos_failed + waiting };
}

/** Makes the next step of an import due at once if its last photo is done. */
export async function noteProgress(tx: Transaction, importId: number): Promise<void> {
  if (!(await waitsForPhotos(tx, importId))) await tx.run(makeDue, { id: importId, now: tx.now });
}

const countWaiting = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('photo_sources')
    .select(sql<number>`count(*)`.as('waiting'))
    .where('import_id', '=', p.id)
    .where('due_at', 'is not', null),
);

/** Makes the next step of an import due. */
export const makeDue = query((db, p: Params<{ id: number; now: number }>) =>
  db.updateTable('imports').set({ due_at: p.now }).where('id', '=', p.id).where('state', '=', sql.lit('fetching')),
);
