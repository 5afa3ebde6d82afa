import { createAccount, findAccountByEmail, getAccount } from '../../access/accounts/accounts.ts';
import { createKey } from '../../access/keys/keys.ts';
import { UserError } from '../../lib/user-error.ts';
import type { NewAccount } from '../../model/account.ts';
import { factNamed, insertFact, storeFact } from '../../model/facts.ts';
import type { IssuedKey } from '../../model/key.ts';
import type { NewOrganization } from '../../model/organization.ts';
import type { Database } from '../../model/schema.ts';
import shelterData from './shelters.json' with { type: 'json' };

/** The first account, for new users: on the free plan, and not an admin. */
const owner: NewAccount = { email: 'owner@localhost', name: 'Owner' };

/** A fictional shelter that owns sample pets. */
interface Shelter extends NewOrganization {
  /** The e-mail address of its account too. */
  readonly email: string;
  /** The categories that it takes. */
  readonly takes: readonly number[];
}

/** The shelters that own half of the sample pets. */
export const shelters: readonly Shelter[] = shelterData;

/**
 * Returns the id of the first account. Creates the account if it does not exist or was deleted. Idempotent, also under
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
  /** The shelters by the ids of their accounts. */
  readonly shelters: ReadonlyMap<number, NewOrganization>;
}

/** Returns the owners of the sample pets, and creates missing accounts. Idempotent, also under concurrency. */
export async function ensureSampleOwners(accountsDatabase: Database): Promise<SampleOwners> {
  const ownerId = await ensureOwner(accountsDatabase);
  const ids = new Map<number, number[]>();
  const found = new Map<number, NewOrganization>();
  for (const { takes, ...organization } of shelters) {
    const { email, name } = organization;
    const id = await ensureAccount(accountsDatabase, { email, name });
    found.set(id, organization);
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
 * createFirstKey creates a staging key for an account, once per accounts database. Returns the key with its token, or
 * `undefined` if the first key was created before.
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
