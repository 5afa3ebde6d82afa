import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { type CategoryRow, categoryColumns } from '../../model/category.ts';
import { declareList } from '../../model/list.ts';
import type { Reader } from '../../model/schema.ts';

interface CategoryFilter {
  /** Only direct children of this category. */
  readonly parentId?: number | undefined;
  /** Only placeholders, or only other categories. */
  readonly placeholder?: boolean | undefined;
  readonly slug?: string | undefined;
}

/**
 * Returns one page of the categories that match a filter, by id ascending. It uses an index, except with `placeholder`:
 * then a page scans up to 20,000 rows.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listCategories(
  reader: Reader,
  { parentId, placeholder, slug }: CategoryFilter,
  page: PageRequest,
): Promise<Page<CategoryRow>> {
  const isPlaceholder = placeholder === undefined ? undefined : Number(placeholder);
  return pageOf(
    reader,
    { parentId, placeholder: isPlaceholder, slug },
    {
      list: ['categories', parentId ?? 0, placeholder ?? null, slug ?? ''],
      page,
      // A slug matches one row at most.
      scans: placeholder !== undefined && slug === undefined,
    },
  );
}

const pageOf = declareList({
  table: 'categories',
  rows: db => db.selectFrom('categories').select(categoryColumns.stored()),
  filters: {
    parentId: (rows, id: Expression<number>) => rows.where('parent_id', '=', id),
    placeholder: (rows, value: Expression<number>) => rows.where('placeholder', '=', value),
    slug: (rows, slug: Expression<string>) => rows.where('slug', '=', slug),
  },
  indexed: ['parentId'],
});
