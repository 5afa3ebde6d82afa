import type { NewCategory } from '../categories/category.ts';
import { categoryPrinted } from './category-show.ts';
import type { Option } from './command.ts';
import { readBody, readId, storeCommand } from './store-command.ts';

/** What of a category can be said with options, also when it is changed. */
export const categoryOptions = {
  name: { sentence: 'Its name, 1 to 255 characters.', value: 'NAME' },
  slug: { sentence: 'Its short name for URLs: lower-case letters, digits, single hyphens.', value: 'SLUG' },
  parent: { sentence: 'The category that it stands below.', value: 'ID' },
} as const satisfies Record<string, Option>;

/** `petstore category create` */
export const command = storeCommand({
  name: 'category create',
  sentence: 'Adds a category, which belongs to nobody: only admins and operators change it.',
  options: {
    ...categoryOptions,
    name: { ...categoryOptions.name, required: true },
    slug: { ...categoryOptions.slug, sentence: `${categoryOptions.slug.sentence} Made from the name where left out.` },
    parent: { ...categoryOptions.parent, sentence: `${categoryOptions.parent.sentence} At the top where left out.` },
  },
  examples: [
    { line: 'petstore category create --name Reptiles', sentence: 'at the top' },
    { line: 'petstore category create --name "Maine Coon" --parent 2', sentence: 'a kind of cat' },
  ],
  async read({ options: { name, slug, parent } }) {
    const { NewCategory } = await import('../categories/category.ts');
    return readBody<NewCategory>(NewCategory, {
      name: name!,
      ...(slug !== undefined && { slug }),
      ...(parent !== undefined && { parentId: readId('--parent', parent) }),
    });
  },
  async work({ database }, category) {
    const [{ createCategory }, { withFreeSlug }, { operator }] = await Promise.all([
      import('../categories/categories.ts'),
      import('../categories/slugs.ts'),
      import('../events/event.ts'),
    ]);
    return categoryPrinted(
      await withFreeSlug(category.slug, () => database.write(tx => createCategory(tx, operator, category))),
    );
  },
});
