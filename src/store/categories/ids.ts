import { factNamed, storeFact } from '../../model/facts.ts';
import { type Params, query, type Transaction } from '../../model/schema.ts';

/**
 * Returns the smallest id above 1,000 that no category has or ever had. Lock the tree first. Before the category is
 * inserted, a pet that names the id may still create a placeholder with it.
 */
export async function unusedId(tx: Transaction): Promise<number> {
  let id = Number((await tx.first(factNamed, { name: FACT }))?.value ?? FIRST_ID);
  while (true) {
    const used = await tx.all(idsFrom, { id });
    for (const row of used) {
      if (row.id !== id) break;
      id++;
    }
    const allUsed = used.length === BATCH && used.at(-1)!.id === id - 1;
    if (allUsed) continue;
    if ((await tx.first(anyEvent, { id })) === undefined) return id;
    id++;
  }
}

/** Stores that every id up to this one is used, so that `unusedId` skips them. */
export async function markUsed(tx: Transaction, id: number): Promise<void> {
  await tx.run(storeFact, { name: FACT, value: String(id + 1) });
}

/** Ids up to 1,000 are reserved for clients that choose ids themselves. */
export const FIRST_ID = 1001;
/** The name of the fact that stores the lowest id that was not checked yet. */
const FACT = 'category ids';
const BATCH = 500;

const idsFrom = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').select('id').where('id', '>=', p.id).orderBy('id').limit(BATCH),
);

const anyEvent = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('events').select('id').where('kind', '=', 'category').where('subject_id', '=', p.id).limit(1),
);
