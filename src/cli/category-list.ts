import type { Category } from '../categories/category.ts';
import type { CategoryFilter } from '../categories/list-categories.ts';
import { readOptionalId, storeCommand } from './store-command.ts';
import { listed, readPages, readSection, sectionOptions } from './store-list.ts';

/** `petstore category list` */
export const command = storeCommand({
  name: 'category list',
  sentence: 'Lists categories, by id.',
  options: {
    parent: { sentence: 'Only categories directly below this one.', value: 'ID' },
    placeholders: { sentence: 'Only those that an animal named and nobody gave a name yet.' },
    ...sectionOptions,
  },
  examples: [
    { line: 'petstore category list', sentence: 'what kinds there are' },
    { line: 'petstore category list --placeholders', sentence: 'what is to be named, or merged into another' },
  ],
  read: call => {
    const filter: CategoryFilter = {
      parentId: readOptionalId('--parent', call.options['parent']),
      placeholder: call.options['placeholders'] === undefined ? undefined : true,
    };
    return { filter, section: readSection(call) };
  },
  async work({ database }, { filter, section }) {
    const [{ listCategories }, { categoryOf }] = await Promise.all([
      import('../categories/list-categories.ts'),
      import('../categories/category-rows.ts'),
    ]);
    const found = await readPages(section, async (limit, cursor) => {
      const { rows, next } = await listCategories(database, filter, { limit, cursor });
      return { items: rows.map(categoryOf), next };
    });
    const all = filter.parentId === undefined && filter.placeholder === undefined && section.cursor === undefined;
    return listed(found, columns, all ? NONE : NONE_SUCH);
  },
});

const columns = {
  ID: (category: Category) => String(category.id),
  NAME: (category: Category) => category.name,
  SLUG: (category: Category) => category.slug,
  BELOW: (category: Category) => category.parentId?.toString() ?? '-',
  PLACEHOLDER: (category: Category) => (category.placeholder ? 'yes' : 'no'),
  UPDATED: (category: Category) => category.updatedAt ?? 'never',
};

const NONE = 'There are no categories; `petstore category create --name NAME` adds one.';
const NONE_SUCH = 'There are no such categories; `petstore category list` lists all that there are.';
