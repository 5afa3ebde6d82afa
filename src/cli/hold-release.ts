import { holdArgument, holdPrinted } from './hold-show.ts';
import { readId, storeCommand } from './store-command.ts';

/** `petstore hold release` */
export const command = storeCommand({
  name: 'hold release',
  sentence: 'Ends a hold before its time: its animals are available again.',
  arguments: holdArgument,
  examples: [{ line: 'petstore hold release 3', sentence: 'for someone who changed their mind' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ releaseHold }, { operator }] = await Promise.all([
      import('../holds/holds.ts'),
      import('../events/event.ts'),
    ]);
    return holdPrinted(await database.write(tx => releaseHold(tx, operator, id)));
  },
});
