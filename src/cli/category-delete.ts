import { categoryArgument } from './category-show.ts';
import { readId, storeCommand } from './store-command.ts';
import { shown } from './terminal.ts';

/** `petstore category delete` */
export const command = storeCommand({
  name: 'category delete',
  sentence: 'Takes a category away that nothing is in, without asking.',
  details: 'One that has animals or categories in it is merged into another: `petstore category merge`.',
  arguments: categoryArgument,
  examples: [{ line: 'petstore category delete 1001', sentence: 'a category that nobody needs' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ deleteCategory, getCategory }, { categoryOf }, { operator }, { formatTime }] = await Promise.all([
      import('../categories/categories.ts'),
      import('../categories/category-rows.ts'),
      import('../events/event.ts'),
      import('../lib/time.ts'),
    ]);
    const removed = await database.write(async tx => {
      const category = categoryOf(await getCategory(tx, id));
      await deleteCategory(tx, operator, id);
      return { ...category, deletedAt: formatTime(tx.now) };
    });
    return { value: removed, text: () => `The category ${id}, ${shown(removed.name)}, is taken away.` };
  },
});
