import type { NewCategories, newCategoriesOf } from '../categories/bound.ts';
import { findCategory } from '../categories/rows.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';
import { insertKeys } from './chunk-writer.ts';
import type { ImportRow } from './import.ts';

/**
 * Applies the bound of categories to the rows of a chunk. A dry run rolls its chunks back, so the categories that they would
 * have created are among the keys of the import, and count for later chunks.
 */
export class CategoryPlanner {
  readonly #tx: Transaction;
  readonly #row: ImportRow;
  readonly #categories: ReturnType<typeof newCategoriesOf>;
  readonly #unknown = new Set<number>();

  /** @param categories what becomes of the account's animals in unknown categories */
  constructor(tx: Transaction, row: ImportRow, categories: ReturnType<typeof newCategoriesOf>) {
    this.#tx = tx;
    this.#row = row;
    this.#categories = categories;
  }

  /** Returns what becomes of a row if its category is unknown. */
  async rulesFor(categoryId: number | undefined): Promise<NewCategories> {
    const max = this.#categories;
    if (this.#row.dry_run === 0 || max === 'strict' || categoryId === undefined) return max;
    if ((await findCategory(this.#tx, categoryId)) !== undefined) return max;
    this.#unknown.add(categoryId);
    const { planned } = (await this.#tx.first(countPlanned, { id: this.#row.id, beside: keyOfCategory(categoryId) }))!;
    return { max, planned };
  }

  /** Returns the categories that the rows of a dry run have created. */
  async created(): Promise<number[]> {
    const created: number[] = [];
    for (const id of this.#unknown) if ((await findCategory(this.#tx, id)) !== undefined) created.push(id);
    return created;
  }
}

/** Records the categories that a chunk of a dry run would have created. */
export async function recordPlanned(tx: Transaction, importId: number, categoryIds: readonly number[]): Promise<void> {
  const keys = categoryIds.map(id => [keyOfCategory(id), 0]);
  if (keys.length > 0) await tx.all(insertKeys, { id: importId, keys: JSON.stringify(keys) });
}

/** Returns the key of a category. Those of animals begin otherwise; see `keyOf`. */
function keyOfCategory(id: number): string {
  return `c${id}`;
}

/** Counts the planned categories that the transaction has not created, beside one. */
const countPlanned = query((db, p: Params<{ id: number; beside: string }>) =>
  db
    .selectFrom('import_keys')
    .select(({ fn }) => fn.countAll<number>().as('planned'))
    .where('import_id', '=', p.id)
    .where('key', '>', sql.lit('c'))
    .where('key', '<', sql.lit('d'))
    .where('key', '<>', p.beside)
    .where(sql<boolean>`not exists (select 1 from categories where id = cast(substr(key, 2) as bigint))`),
);
