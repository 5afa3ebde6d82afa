import type { PetPatch } from '../pets/pet.ts';
import { petOptions, readPrice } from './pet-create.ts';
import { petArgument, petPrinted } from './pet-show.ts';
import { NONE, readBody, readId, requireSome, storeCommand } from './store-command.ts';

/** `petstore pet update` */
export const command = storeCommand({
  name: 'pet update',
  sentence: 'Changes an animal, whoever it belongs to; what is left out stays as it is.',
  details:
    'Another status lets go of the reason for the one before. While a hold or an order keeps an animal, only that moves its status.',
  arguments: petArgument,
  options: {
    ...petOptions,
    reason: { ...petOptions.reason, sentence: `${petOptions.reason.sentence} ${NONE}: without a reason.` },
    price: { ...petOptions.price, sentence: `${petOptions.price.sentence} ${NONE}: without a price.` },
  },
  examples: [
    { line: 'petstore pet update 7 --status pending --reason medical', sentence: 'an animal that is set aside' },
    { line: 'petstore pet update 7 --price none', sentence: 'an animal without a price' },
  ],
  async read({ arguments: { ID }, options: { name, category, status, reason, price } }) {
    const { PetPatch } = await import('../pets/pet.ts');
    const patch = await readBody<PetPatch>(PetPatch, {
      ...(name !== undefined && { name }),
      ...(category !== undefined && { categoryId: readId('--category', category) }),
      ...(status !== undefined && { status: status as NonNullable<PetPatch['status']> }),
      ...(reason !== undefined && { statusReason: reason === NONE ? null : reason }),
      ...(price !== undefined && { price: price === NONE ? null : readPrice(price) }),
    });
    requireSome(patch, petOptions);
    return { id: readId('ID', ID!), patch };
  },
  async work({ database, categories }, { id, patch }) {
    const [{ updatePet }, { operator }] = await Promise.all([import('../pets/pets.ts'), import('../events/event.ts')]);
    return petPrinted(await database.write(tx => updatePet(tx, operator, id, patch, categories)));
  },
});
