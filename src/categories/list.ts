import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { type KeysetParams, keysetEnd, keysetPage } from '../lib/storage/keyset.ts';
import { type Params, queriesByShape, query, type Reader } from '../schema.ts';
import { type CategoryRow, categoryColumns } from './category.ts';

interface CategoryFilter {
  /** Only direct children of this category. */
  readonly parentId?: number | undefined;
  /** Only placeholders, or only other categories. */
  readonly placeholder?: boolean | undefined;
  readonly slug?: string | undefined;
}

/**
 * Returns one page of the categories that match a filter, by id ascending. It follows an index, but for `placeholder`:
 * then a page scans up to 20,000 rows.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listCategories(
  reader: Reader,
  { parentId, placeholder, slug }: CategoryFilter,
  page: PageRequest,
): Promise<Page<CategoryRow>> {
  const shape = {
    byParent: parentId !== undefined,
    byPlaceholder: placeholder !== undefined,
    bySlug: slug !== undefined,
  };
  const values = { parentId: parentId ?? 0, placeholder: placeholder ? 1 : 0, slug: slug ?? '' };
  return paginate({
    list: ['categories', parentId ?? 0, placeholder ?? null, slug ?? ''],
    page,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    // A slug matches one row at most.
    ...(shape.byPlaceholder &&
      !shape.bySlug && { end: scan => reader.first(endQuery({ ...shape, ...scan }), { ...values, ...scan }) }),
  });
}

interface Shape {
  readonly byParent: boolean;
  readonly byPlaceholder: boolean;
  readonly bySlug: boolean;
  readonly descending: boolean;
}

type Values = KeysetParams & { parentId: number; placeholder: number; slug: string };

const pageQuery = queriesByShape(
  ['byParent', 'byPlaceholder', 'bySlug', 'descending'],
  ({ byParent, byPlaceholder, bySlug, descending }: Shape) =>
    query((db, p: Params<Values>) => {
      const rows = db
        .selectFrom('categories')
        .select(categoryColumns.stored())
        .$if(byParent, rows => rows.where('parent_id', '=', p.parentId))
        .$if(byPlaceholder, rows => rows.where('placeholder', '=', p.placeholder))
        .$if(bySlug, rows => rows.where('slug', '=', p.slug));
      return keysetPage(rows, 'id', descending, p);
    }),
);

const endQuery = queriesByShape(['byParent', 'descending'], ({ byParent, descending }: Shape) =>
  query((db, p: Params<Values & { scanLimit: number }>) => {
    const rows = db.selectFrom('categories').select('id');
    return keysetEnd(byParent ? rows.where('parent_id', '=', p.parentId) : rows, 'id', descending, p);
  }),
);
