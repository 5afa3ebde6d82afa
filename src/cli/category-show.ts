import type { Category } from '../categories/category.ts';
import type { CategoryRow } from '../categories/category-rows.ts';
import type { CommandOutput } from './command.ts';
import { readId, storeCommand } from './store-command.ts';
import { list, shown } from './terminal.ts';

/** What stands behind the name of a command on one category. */
export const categoryArgument = { ID: 'The category, as `petstore category list` shows it.' };

/** `petstore category show` */
export const command = storeCommand({
  name: 'category show',
  sentence: 'Shows a category, and how much is directly in it.',
  arguments: categoryArgument,
  examples: [{ line: 'petstore category show 2', sentence: 'how many cats there are' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ getCategory }, { contentsOf }] = await Promise.all([
      import('../categories/categories.ts'),
      import('../categories/category-contents.ts'),
    ]);
    return categoryPrinted(
      await getCategory(database, id),
      (await contentsOf(database, id)) ?? { pets: 0, categories: 0 },
    );
  },
});

/**
 * A category as a command tells it.
 * @param contents how many animals and categories are directly in it, where that was counted
 */
export async function categoryPrinted(
  row: CategoryRow,
  contents?: { readonly pets: number; readonly categories: number },
): Promise<CommandOutput> {
  const { categoryOf } = await import('../categories/category-rows.ts');
  const category = categoryOf(row);
  const counted = contents && { animals: contents.pets, categories: contents.categories };
  return { value: { ...category, ...counted }, text: () => categoryText(category, contents) };
}

function categoryText(
  category: Category,
  contents: { readonly pets: number; readonly categories: number } | undefined,
): string {
  return list([
    ['category', String(category.id)],
    ['name', `${shown(category.name)}${category.placeholder ? ' (a placeholder)' : ''}`],
    ['slug', category.slug],
    ...(category.parentId === undefined ? [] : [['below', String(category.parentId)] as const]),
    ...(contents === undefined
      ? []
      : ([
          ['animals', String(contents.pets)],
          ['categories', String(contents.categories)],
        ] as const)),
    ['added', category.createdAt ?? 'from the start'],
    ['updated', category.updatedAt ?? 'never'],
  ]);
}
