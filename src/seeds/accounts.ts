import type { NewAccount } from '../accounts/account.ts';
import { createAccount, findAccountByEmail } from '../accounts/accounts.ts';
import { UserError } from '../lib/user-error.ts';
import type { Database } from '../schema.ts';

/** The first account: the one that a newcomer acts for. On the plan free, and no admin. */
export const owner: NewAccount = { email: 'owner@localhost', name: 'Owner' };

/** The shelters that half of the sample animals belong to, each with the categories that it takes in. */
const shelters = [
  { email: 'hello@maple-lane.example', name: 'Maple Lane Dog Rescue', takes: [1] },
  { email: 'adopt@riverside.example', name: 'Riverside Animal Shelter', takes: [1, 2] },
  { email: 'cats@harbour-street.example', name: 'Harbour Street Cats', takes: [2] },
  { email: 'team@long-ears.example', name: 'Long Ears & Little Paws', takes: [3, 4] },
  { email: 'info@featherstone.example', name: 'Featherstone Bird and Reptile Haven', takes: [6, 7] },
  { email: 'farm@second-chance.example', name: 'Second Chance Farm', takes: [5, 8] },
] as const;

/** The ids of the accounts that sample animals belong to. */
export interface SampleOwners {
  readonly owner: number;
  /** The sample shelters that take in a category, one at least. */
  shelters(categoryId: number): readonly number[];
}

/** Makes sure that the owner is registered, and answers with the id. Safe to repeat, also by several at once. */
export function ensureOwner(registry: Database): Promise<number> {
  return ensureAccount(registry, owner);
}

/** Makes sure that the owner and the sample shelters are registered. Safe to repeat, also by several at once. */
export async function ensureSampleOwners(registry: Database): Promise<SampleOwners> {
  const ownerId = await ensureOwner(registry);
  const byCategory = new Map<number, number[]>();
  for (const { email, name, takes } of shelters) {
    const id = await ensureAccount(registry, { email, name });
    for (const category of takes) byCategory.set(category, [...(byCategory.get(category) ?? []), id]);
  }
  return { owner: ownerId, shelters: category => byCategory.get(category)! };
}

async function ensureAccount(registry: Database, account: NewAccount): Promise<number> {
  const find = async () => (await findAccountByEmail(registry, account.email))?.id;
  try {
    return (await find()) ?? (await registry.write(tx => createAccount(tx, account))).id;
  } catch (error) {
    // Another process was first.
    const id = error instanceof UserError ? await find() : undefined;
    if (id === undefined) throw error;
    return id;
  }
}
