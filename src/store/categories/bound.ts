import { lockBound } from '../../access/plans/lock.ts';
import { problem } from '../../model/errors.ts';
import { BOUND_MAX, type Bounds, boundOf } from '../../model/plan.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/**
 * How unknown categories of pets are treated: `strict` rejects the pet, otherwise a placeholder is created. A number is
 * the maximum number of categories of the account; `open` sets no maximum.
 */
export type NewCategories = 'open' | 'strict' | Bounds['categories'] | PlannedCategories;

interface PlannedCategories {
  readonly max: Bounds['categories'];
  /** The number of categories of a dry run, which count in addition to those of the account. */
  readonly planned: number;
}

/** Returns how unknown categories of a caller's pets are treated. */
export function newCategoriesOf(
  { categories, bounds }: { readonly categories: 'open' | 'strict'; readonly bounds: Partial<Bounds> },
  caller: { readonly plan: string },
): 'strict' | Bounds['categories'] {
  return categories === 'strict' ? 'strict' : boundOf(bounds, caller, 'categories');
}

/**
 * Reports whether an account may create another category. If so, no other transaction creates one for the account until
 * this one ends, so that concurrent transactions cannot exceed the bound. The operator, who has no account, has no
 * bound.
 */
export async function hasRoom(tx: Transaction, creatorId: number | null, max: number = BOUND_MAX): Promise<boolean> {
  if (creatorId === null) return true;
  await lockBound(tx, 'categories', creatorId);
  return (await countCategories(tx, creatorId)) < max;
}

/** Returns the number of categories that an account created, including placeholders. */
export async function countCategories(reader: Reader, accountId: number): Promise<number> {
  return (await reader.first(createdBy, { accountId }))!.count;
}

/** Returns the error for an account that may create no more categories. */
export function categoryLimitExceeded(max: number) {
  const message = `The account has created ${max} categories, the maximum of its plan, including those that its animals named.`;
  return problem('category_limit_exceeded', `${message} Delete an empty category.`);
}

const createdBy = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('categories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('creator_id', '=', p.accountId),
);
