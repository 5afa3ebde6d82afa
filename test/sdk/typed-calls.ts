// The compiler checks these calls; nothing runs them.
import { type FullPet, type Page, type Pet, PetStore, PetstoreError, type RemovedPet } from '../../sdk/src/index.ts';

export async function typedCalls(store: PetStore) {
  const pets: Page<Pet> = await store.listPets({ status: ['available', 'sold'], cursor: undefined }, { total: true });
  const price: FullPet['price'] = (await store.getPet(1, { view: 'full' })).price;
  const changed: FullPet = await store.updatePet(1, { price: null }, { view: 'full', ifMatch: '"1.1"' });
  for await (const pet of store.mirror()) if ('deletedAt' in pet) void (pet satisfies RemovedPet);
  for await (const event of store.streamEvents({ types: ['order.*', 'pet.created'] })) {
    if (event.type === 'order.placed') void (event.data.petId satisfies number);
    if (event.type === 'pet.deleted') void (event.data.name satisfies string);
  }
  try {
    await store.approveOrder(1);
    await store.importPets('pets.csv', { mode: 'replace', dryRun: true });
  } catch (error) {
    // @ts-expect-error the code is misspelled
    if (error instanceof PetstoreError && error.code === 'pet_not_fond') return;
  }
  // @ts-expect-error categoryId is required
  await store.createPet({ name: 'Nameless' });
  // @ts-expect-error there is no such status
  await store.listPets({ status: 'lost' });
  // @ts-expect-error there is no such parameter
  await store.listPets({ statu: 'available' });
  // @ts-expect-error there is no such operation
  await store.listUnicorns();
  return [pets.next, price, changed];
}

export const client = new PetStore({ baseUrl: 'http://localhost:8081/v1', apiKey: 'k' });
