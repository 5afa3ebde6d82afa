import type { NewPet } from '../pets/pet.ts';
import { type Option, UsageError } from './command.ts';
import { parsePrice } from './money.ts';
import { statusOption } from './pet-list.ts';
import { petPrinted } from './pet-show.ts';
import { readBody, readId, storeCommand } from './store-command.ts';

/** What of an animal can be said with options, also when it is changed. */
export const petOptions = {
  name: { sentence: 'Its name, 1 to 255 characters.', value: 'NAME' },
  category: { sentence: 'What kind of animal it is; see `petstore category list`.', value: 'ID' },
  status: statusOption,
  reason: { sentence: 'Why it has this availability, such as "in foster".', value: 'TEXT' },
  price: { sentence: 'What it costs, such as "125.00 EUR".', value: 'PRICE' },
} as const satisfies Record<string, Option>;

/** `petstore pet create` */
export const command = storeCommand({
  name: 'pet create',
  sentence: 'Adds an animal, which belongs to an account.',
  options: {
    account: { sentence: 'Whose animal it is; see `petstore account list`.', value: 'ID', required: true },
    ...petOptions,
    name: { ...petOptions.name, required: true },
    category: { ...petOptions.category, required: true },
    status: { ...petOptions.status, default: 'available' },
  },
  examples: [
    { line: 'petstore pet create --account 1 --name Minka --category 2', sentence: 'a cat that is available' },
    {
      line: 'petstore pet create --account 1 --name Rex --category 1 --status pending --reason "in foster" --price "125.00 EUR"',
      sentence: 'a dog that is not to be had yet',
    },
  ],
  async read({ options }) {
    const { NewPet } = await import('../pets/pet.ts');
    const pet = await readBody<NewPet>(NewPet, {
      name: options['name']!,
      categoryId: readId('--category', options['category']!),
      status: options['status'] as NonNullable<NewPet['status']>,
      ...(options['reason'] !== undefined && { statusReason: options['reason'] }),
      ...(options['price'] !== undefined && { price: readPrice(options['price']) }),
    });
    return { accountId: readId('--account', options['account']!), pet };
  },
  async work(store, { accountId, pet }) {
    await store.requireAccount(accountId);
    const { createPet, getPet } = await import('../pets/pets.ts');
    const made = await store.database.write(async tx => {
      const { id } = await createPet(tx, accountId, pet, store.categories);
      return getPet(tx, id, tx.now);
    });
    return petPrinted(made);
  },
});

/**
 * The price that `--price` names.
 * @throws {UsageError}
 */
export function readPrice(text: string): NonNullable<NewPet['price']> {
  const price = parsePrice(text);
  if (price === undefined) {
    throw new UsageError('--price must be an amount and a currency, such as "125.00 EUR" or "1500 JPY".');
  }
  return price;
}
