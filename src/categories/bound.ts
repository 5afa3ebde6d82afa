import { problem } from '../errors.ts';
import { lockBound } from '../plans/lock.ts';
import { BOUND_MAX, type Bounds, boundOf } from '../plans/plan.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';

/**
 * What becomes of a pet in an unknown category: `strict` rejects it, otherwise it creates a placeholder. A number is how many
 * categories the account may have created; `open` is no bound.
 */
export type NewCategories = 'open' | 'strict' | Bounds['categories'] | PlannedCategories;

export interface PlannedCategories {
  readonly max: Bounds['categories'];
  /** How many count beside those that the account has created: those of a dry run. */
  readonly planned: number;
}

/** Returns what becomes of a caller's pets in unknown categories. */
export function newCategoriesOf(
  { categories, bounds }: { readonly categories: 'open' | 'strict'; readonly bounds: Partial<Bounds> },
  caller: { readonly plan: string },
): 'strict' | Bounds['categories'] {
  return categories === 'strict' ? 'strict' : boundOf(bounds, caller, 'categories');
}

/**
 * Reports whether an account may create another category. Then no other transaction creates one for the account until this
 * one ends, so that concurrent ones cannot exceed its bound. The operator, who has no account, always may.
 */
export async function hasRoom(tx: Transaction, creatorId: number | null, max: number = BOUND_MAX): Promise<boolean> {
  if (creatorId === null) return true;
  await lockBound(tx, 'categories', creatorId);
  return (await countCategories(tx, creatorId)) < max;
}

/** Returns how many of the categories an account created, as placeholders too. */
export async function countCategories(reader: Reader, accountId: number): Promise<number> {
  return (await reader.first(createdBy, { accountId }))!.count;
}

/** Returns the error for an account that may create no more categories. */
export function categoryLimitExceeded(max: number) {
  const message = `The account has created ${max} categories, the maximum of its plan, including those that its animals named.`;
  return problem('category_limit_exceeded', `${message} Delete one that is empty.`);
}

const createdBy = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('categories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('creator_id', '=', p.accountId),
);
