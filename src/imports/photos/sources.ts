import type { Selectable } from 'kysely';
import { type Params, query, sql, type Tables, type Transaction } from '../../schema.ts';

/** The URL of a photo of a pet: it waits to be fetched while `due_at` is set, and has the `hash` of its photo afterwards. */
export type PhotoSource = Selectable<Tables['photo_sources']>;

/** A URL that is to be fetched. */
export type NewSource = Pick<
  PhotoSource,
  'pet_id' | 'url' | 'import_id' | 'line' | 'column_name' | 'position' | 'host'
>;

/** Returns the sources of a pet in the order of its row. */
export const sourcesOfPet = query((db, p: Params<{ petId: number }>) =>
  db.selectFrom('photo_sources').selectAll().where('pet_id', '=', p.petId).orderBy('position').orderBy('id'),
);

/** Inserts a URL that is due at once, or makes a known one due. */
export const insertSource = query((db, p: Params<NewSource & { now: number }>) => {
  const changed = {
    ...{ import_id: p.import_id, line: p.line, column_name: p.column_name, position: p.position, due_at: p.now },
    ...{ attempts: sql.lit(0), hash: null },
  };
  return db
    .insertInto('photo_sources')
    .values({ ...changed, pet_id: p.pet_id, url: p.url, host: p.host })
    .onConflict(conflict => conflict.columns(['pet_id', 'url']).doUpdateSet(changed));
});

export const moveSource = query((db, p: Params<{ id: number; position: number }>) =>
  db.updateTable('photo_sources').set({ position: p.position }).where('id', '=', p.id),
);

export const deleteSource = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('photo_sources').where('id', '=', p.id),
);

/** Reports whether photos of an import wait. */
export async function waitsForPhotos(tx: Transaction, importId: number): Promise<boolean> {
  return (await tx.first(anyWaiting, { importId })) !== undefined;
}

/** Deletes up to `limit` URLs of an import that are not fetched yet, and returns how many. */
export async function deleteWaiting(tx: Transaction, importId: number, limit: number): Promise<number> {
  return tx.run(deleteSome, { importId, limit });
}

const anyWaiting = query((db, p: Params<{ importId: number }>) =>
  db
    .selectFrom('photo_sources')
    .select('id')
    .where('import_id', '=', p.importId)
    .where('due_at', 'is not', null)
    .limit(1),
);

const deleteSome = query((db, p: Params<{ importId: number; limit: number }>) =>
  db
    .deleteFrom('photo_sources')
    .where('id', 'in', eb =>
      eb
        .selectFrom('photo_sources')
        .select('id')
        .where('import_id', '=', p.importId)
        .where('due_at', 'is not', null)
        .limit(p.limit),
    ),
);
