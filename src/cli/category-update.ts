import type { CategoryPatch } from '../categories/category.ts';
import { categoryOptions } from './category-create.ts';
import { categoryArgument, categoryPrinted } from './category-show.ts';
import { NONE, readBody, readId, requireSome, storeCommand } from './store-command.ts';

/** `petstore category update` */
export const command = storeCommand({
  name: 'category update',
  sentence: 'Changes a category; what is left out stays as it is.',
  details: 'A placeholder that gets a name is none any more. With its parent a category moves with all that is in it.',
  arguments: categoryArgument,
  options: {
    ...categoryOptions,
    parent: { ...categoryOptions.parent, sentence: `${categoryOptions.parent.sentence} ${NONE}: at the top.` },
  },
  examples: [
    { line: 'petstore category update 9000 --name Alpacas --slug alpacas', sentence: 'a name for a placeholder' },
    { line: 'petstore category update 1001 --parent none', sentence: 'to the top' },
  ],
  async read({ arguments: { ID }, options: { name, slug, parent } }) {
    const { CategoryPatch } = await import('../categories/category.ts');
    const patch = await readBody<CategoryPatch>(CategoryPatch, {
      ...(name !== undefined && { name }),
      ...(slug !== undefined && { slug }),
      ...(parent !== undefined && { parentId: parent === NONE ? null : readId('--parent', parent) }),
    });
    requireSome(patch, categoryOptions);
    return { id: readId('ID', ID!), patch };
  },
  async work({ database }, { id, patch }) {
    const [{ updateCategory }, { withFreeSlug }, { operator }] = await Promise.all([
      import('../categories/categories.ts'),
      import('../categories/slugs.ts'),
      import('../events/event.ts'),
    ]);
    return categoryPrinted(
      await withFreeSlug(patch.slug, () => database.write(tx => updateCategory(tx, operator, id, patch))),
    );
  },
});
