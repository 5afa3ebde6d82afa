import type { RemovedPet } from '../pets/pet.ts';
import { petArgument } from './pet-show.ts';
import { readId, storeCommand } from './store-command.ts';

/** `petstore pet delete` */
export const command = storeCommand({
  name: 'pet delete',
  sentence: 'Takes an animal out of the store, whoever it belongs to, without asking; its history stays.',
  arguments: petArgument,
  examples: [{ line: 'petstore pet delete 7', sentence: 'an animal that was added by mistake' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ deletePet, getPet }, { operator }, { formatTime }] = await Promise.all([
      import('../pets/pets.ts'),
      import('../events/event.ts'),
      import('../lib/time.ts'),
    ]);
    const removed = await database.write(async (tx): Promise<RemovedPet> => {
      const { name, categoryId } = await getPet(tx, id, tx.now);
      await deletePet(tx, operator, id);
      return { id, name, categoryId, deletedAt: formatTime(tx.now) };
    });
    return {
      value: removed,
      text: () =>
        `The animal ${id}, ${removed.name}, is taken out; \`petstore pet show ${id} --history\` still tells of it.`,
    };
  },
});
