import { type Params, query, type Transaction } from '../schema.ts';

/**
 * The smallest id above 1,000 that no category has or ever had. Only for one transaction at a time: the tree is locked.
 *
 * An animal that names the id may still be first.
 */
export async function unusedId(tx: Transaction): Promise<number> {
  let id = Number((await tx.first(reached, {}))?.value ?? FIRST_ID);
  while (true) {
    const used = await tx.all(idsFrom, { id });
    for (const row of used) {
      if (row.id !== id) break;
      id++;
    }
    const allUsed = used.length === LOOKED_AT_ONCE && used.at(-1)!.id === id - 1;
    if (allUsed) continue;
    if ((await tx.first(past, { id })) === undefined) return id;
    id++;
  }
}

/** Remembers that this id and every one below it are used, so that nobody looks at them again. */
export async function useId(tx: Transaction, id: number): Promise<void> {
  await tx.run(reach, { value: String(id + 1) });
}

/** Those up to 1,000 are left to who names categories by ids of his own. */
const FIRST_ID = 1001;
/** The id below which none above 1,000 is unused, as a fact of the deployment. */
const FACT = 'category ids';
const LOOKED_AT_ONCE = 500;

const reached = query(db => db.selectFrom('facts').select('value').where('name', '=', FACT));

const reach = query((db, p: Params<{ value: string }>) =>
  db
    .insertInto('facts')
    .values({ name: FACT, value: p.value })
    .onConflict(conflict => conflict.column('name').doUpdateSet(eb => ({ value: eb.ref('excluded.value') }))),
);

const idsFrom = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').select('id').where('id', '>=', p.id).orderBy('id').limit(LOOKED_AT_ONCE),
);

/** Anything that is written down about the category with this id. */
const past = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('events').select('id').where('kind', '=', 'category').where('subject_id', '=', p.id).limit(1),
);
