import { formatTime } from '../lib/time.ts';
import { type Params, query, type Reader, sql } from '../schema.ts';
import type { Category } from './category.ts';

/** A category as its columns have it. */
export interface CategoryRow {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly parentId: number | null;
  /** Whose it is; nobody's where `null`. */
  readonly accountId: number | null;
  /** 1 while it has no name but the one that was made for it. */
  readonly placeholder: number;
  /** 0 for the usual ones, which were there before anybody came. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** What the log says of a category's change. */
export interface CategoryEventData {
  /** The category after the change, or as it was at its end. */
  readonly category: CategoryState;
  /** What changed: the members as they were before, `null` for those that were absent. */
  readonly was?: { readonly [Member in keyof CategoryState]?: CategoryState[Member] | null };
  /** Whose it is; absent where it is nobody's, and in what earlier releases wrote down. */
  readonly ownerId?: number;
  /** Why, where it was not changed for its own sake: the one that it stood below was merged into another. */
  readonly reason?: 'category_merged';
  /** Where all that was in it went, when it was merged. */
  readonly intoId?: number;
}

/** A category as the log has it. */
export interface CategoryState {
  readonly name: string;
  readonly slug: string;
  readonly parentId?: number;
  readonly placeholder: boolean;
}

/** The columns of a category. */
export const categoryColumns = [
  'id',
  'name',
  'slug',
  'parent_id as parentId',
  'account_id as accountId',
  'placeholder',
  'created_at as createdAt',
  'updated_at as updatedAt',
  'version',
] as const;

/** The category with this id, or `undefined`. */
export async function findCategory(reader: Reader, id: number): Promise<CategoryRow | undefined> {
  return reader.first(categoryById, { id });
}

/** A category as callers see it. */
export function categoryOf({ id, name, slug, parentId, placeholder, createdAt, updatedAt }: CategoryRow): Category {
  return {
    id,
    name,
    slug,
    ...(parentId !== null && { parentId }),
    placeholder: placeholder === 1,
    ...(createdAt > 0 && { createdAt: formatTime(createdAt) }),
    ...(updatedAt > 0 && { updatedAt: formatTime(updatedAt) }),
  };
}

/** The entity tag of a category: another one after every change, and when its id comes again. */
export function categoryEtag({ id, version }: Pick<CategoryRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

/** The owner of a category, as the log has it. */
export function ownerIn({ accountId }: Pick<CategoryRow, 'accountId'>): Pick<CategoryEventData, 'ownerId'> {
  return accountId === null ? {} : { ownerId: accountId };
}

/** What the log says of a category. */
export function categoryStateOf({
  name,
  slug,
  parentId,
  placeholder,
}: Pick<CategoryRow, 'name' | 'slug' | 'parentId' | 'placeholder'>): CategoryState {
  return { name, slug, ...(parentId !== null && { parentId }), placeholder: placeholder === 1 };
}

/**
 * Puts a category in, and gives its version; nothing where its id or its slug is taken, also by a transaction that goes
 * on at the same time, which is waited for.
 *
 * The id of one that is gone may come again, when an animal names it: then its versions go on where they ended, since
 * each one had its event.
 */
export const insertCategory = query(
  (
    db,
    p: Params<{
      id: number;
      name: string;
      slug: string;
      parentId: number | null;
      accountId: number | null;
      placeholder: number;
      now: number;
    }>,
  ) =>
    db
      .insertInto('categories')
      .values({
        id: p.id,
        name: p.name,
        slug: p.slug,
        parent_id: p.parentId,
        account_id: p.accountId,
        placeholder: p.placeholder,
        version: sql<number>`(select count(*) + 1 from events where kind = 'category' and subject_id = ${p.id})`,
        created_at: p.now,
        updated_at: p.now,
      })
      .onConflict(conflict => conflict.doNothing())
      .returning('version'),
);

const categoryById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('categories').select(categoryColumns).where('id', '=', p.id),
);
