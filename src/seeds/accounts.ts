import type { NewAccount } from '../accounts/account.ts';
import { createAccount, findAccountByEmail, getAccount } from '../accounts/accounts.ts';
import { factNamed, insertFact, storeFact } from '../facts.ts';
import type { IssuedKey } from '../keys/key.ts';
import { createKey } from '../keys/keys.ts';
import { UserError } from '../lib/user-error.ts';
import type { Database } from '../schema.ts';

/** The first account, which a newcomer uses: on the free plan, and no admin. */
const owner: NewAccount = { email: 'owner@localhost', name: 'Owner' };

/** The shelters that own half of the sample pets, each with the categories that it takes. */
const shelters = [
  { email: 'hello@maple-lane.example', name: 'Maple Lane Dog Rescue', takes: [1] },
  { email: 'adopt@riverside.example', name: 'Riverside Animal Shelter', takes: [1, 2] },
  { email: 'cats@harbour-street.example', name: 'Harbour Street Cats', takes: [2] },
  { email: 'team@long-ears.example', name: 'Long Ears & Little Paws', takes: [3, 4] },
  { email: 'info@featherstone.example', name: 'Featherstone Bird and Reptile Haven', takes: [6, 7] },
  { email: 'farm@second-chance.example', name: 'Second Chance Farm', takes: [5, 8] },
] as const;

/**
 * Returns the id of the first account, and creates it if necessary: also if it was deleted. Idempotent, also under
 * concurrency. A fact names the account, whose e-mail address can change.
 */
export async function ensureOwner(accountsDatabase: Database): Promise<number> {
  const known = await accountsDatabase.first(factNamed, { name: OWNER });
  const account = known && (await getAccount(accountsDatabase, Number(known.value)));
  if (account !== undefined && account.deletedAt === undefined) return account.id;
  const id = await ensureAccount(accountsDatabase, owner);
  await accountsDatabase.write(tx => tx.run(storeFact, { name: OWNER, value: String(id) }));
  return id;
}

const OWNER = 'first-account';

/** The accounts that own the sample pets. */
export interface SampleOwners {
  /** Returns the account that owns the sample pet with this index, of a built-in category. */
  ownerOf(index: number, categoryId: number): number;
  /** The shelters. */
  readonly shelters: readonly { readonly id: number; readonly email: string }[];
}

/** Returns the owners of the sample pets, and creates missing accounts. Idempotent, also under concurrency. */
export async function ensureSampleOwners(accountsDatabase: Database): Promise<SampleOwners> {
  const ownerId = await ensureOwner(accountsDatabase);
  const ids = new Map<number, number[]>();
  const found: { id: number; email: string }[] = [];
  for (const { email, name, takes } of shelters) {
    const id = await ensureAccount(accountsDatabase, { email, name });
    found.push({ id, email });
    for (const category of takes) ids.set(category, [...(ids.get(category) ?? []), id]);
  }
  return {
    ownerOf(index, categoryId) {
      const takers = ids.get(categoryId)!;
      return index % 2 === 0 ? ownerId : takers[Math.floor(index / 2) % takers.length]!;
    },
    shelters: found,
  };
}

/**
 * createFirstKey creates a staging key for an account, once in the life of the accounts database. Returns the key with
 * its token, or `undefined` if the first key was created before.
 * @param maxDays the number of days after which it expires; never by default
 */
export function createFirstKey(
  accountsDatabase: Database,
  accountId: number,
  maxDays?: number,
): Promise<IssuedKey | undefined> {
  return accountsDatabase.write(async tx => {
    const isFirst = (await tx.run(insertFact, { name: 'first-key', value: 'given' })) === 1;
    return isFirst ? createKey(tx, { accountId, deployment: 'staging' }, maxDays) : undefined;
  });
}

async function ensureAccount(accountsDatabase: Database, account: NewAccount): Promise<number> {
  const find = async () => (await findAccountByEmail(accountsDatabase, account.email))?.id;
  try {
    return (await find()) ?? (await accountsDatabase.write(tx => createAccount(tx, account))).id;
  } catch (error) {
    // Another process may have created it meanwhile.
    const id = error instanceof UserError ? await find() : undefined;
    if (id === undefined) throw error;
    return id;
  }
}
