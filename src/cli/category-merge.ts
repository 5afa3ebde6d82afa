import { categoryArgument, categoryPrinted } from './category-show.ts';
import { readId, storeCommand } from './store-command.ts';

/** `petstore category merge` */
export const command = storeCommand({
  name: 'category merge',
  sentence: 'Moves all that is in a category into another one, and takes it away.',
  details: 'A great many animals move in portions; when it breaks off amid them, repeat it.',
  arguments: categoryArgument,
  options: { into: { sentence: 'The category that takes over; it is shown then.', value: 'ID', required: true } },
  examples: [
    { line: 'petstore category merge 9000 --into 4', sentence: 'a placeholder that turns out to be an old kind' },
  ],
  read: ({ arguments: { ID }, options: { into } }) => ({ id: readId('ID', ID!), intoId: readId('--into', into!) }),
  async work({ database }, merger) {
    const [{ mergeCategory, movingAhead }, { operator }] = await Promise.all([
      import('../categories/merge/merge-category.ts'),
      import('../events/event.ts'),
    ]);
    const { value, text } = await categoryPrinted(
      await movingAhead(database, operator, merger, () => database.write(tx => mergeCategory(tx, operator, merger))),
    );
    return { value, text: style => `The category ${merger.id} is merged into this one:\n\n${text(style)}` };
  },
});
