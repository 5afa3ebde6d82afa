import { keyIdsOfMember, listKeys } from '../../access/keys/keys.ts';
import { removeMember } from '../../access/people/members.ts';
import type { Origin } from '../../lib/origin.ts';
import type { Account } from '../../model/account.ts';
import type { Key } from '../../model/key.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import { endImportsOfAccount, endImportsOfMember } from '../../store/imports/authority.ts';
import { disableWebhooksOfAccount } from './disable.ts';
import { type ChangedKey, revokeKeyAndDependents } from './key-changes.ts';

/** The databases that a change of an account may affect. */
export interface AccountDatabases {
  /** Production's database, which stores all accounts. */
  readonly accounts: Database;
  /** Staging's database; absent if it cannot be opened. */
  readonly staging: Database | undefined;
}

/**
 * Runs a change that suspends an account, disables the account's webhooks and ends its imports. Production's change in
 * the same transaction; staging's follow, as for a revoked key; see `revokeKeyAndDependents`.
 */
export async function suspendWithDependents(
  { accounts, staging }: AccountDatabases,
  id: number,
  suspend: (tx: Transaction, id: number) => Promise<Account>,
  origin?: Origin,
): Promise<Account> {
  const endImports = (tx: Transaction) => endImportsOfAccount(tx, id, 'account_suspended');
  const disable = (tx: Transaction) => disableWebhooksOfAccount(tx, id, 'account_suspended');
  const account = await accounts.write(async tx => {
    await endImports(tx);
    const suspended = await suspend(tx, id);
    await disable(tx);
    return suspended;
  }, origin);
  await staging?.write(async tx => {
    await endImports(tx);
    await disable(tx);
  }, origin);
  return account;
}

/**
 * Removes a member of an account, and ends the import that the member started; optionally revokes the keys that the
 * member created. Imports and keys of staging follow in transactions of their own.
 * @throws {UserError} when the person is no member, or is the last owner
 */
export async function removeMemberWithDependents(
  databases: AccountDatabases,
  { accountId, personId }: { readonly accountId: number; readonly personId: number },
  { revokesKeys, origin, emailUrl }: { revokesKeys: boolean; origin?: Origin; emailUrl?: string | undefined },
): Promise<void> {
  const { accounts, staging } = databases;
  await accounts.write(async tx => {
    await removeMember(tx, accountId, personId, emailUrl);
    await endImportsOfMember(tx, accountId, personId);
  }, origin);
  await staging?.write(tx => endImportsOfMember(tx, accountId, personId), origin);
  if (!revokesKeys) return;
  const ids = new Set(await keyIdsOfMember(accounts, accountId, personId));
  await revokeKeysAndDependents(databases, accountId, origin, ({ id }) => ids.has(id));
}

/**
 * Revokes all active keys of an account, one after the other; see `revokeKeyAndDependents`.
 * @param isChosen reports whether to revoke a key; by default all are revoked
 */
export async function revokeKeysAndDependents(
  { accounts, staging }: AccountDatabases,
  id: number,
  origin?: Origin,
  isChosen: (key: Key) => boolean = () => true,
): Promise<ChangedKey[]> {
  const revoked: ChangedKey[] = [];
  for (const key of await listKeys(accounts, id)) {
    if (key.revokedAt !== null || !isChosen(key)) continue;
    const own = key.deployment === 'production' ? accounts : staging;
    revoked.push(await revokeKeyAndDependents({ accounts, own }, key.id, { ...(origin && { origin }) }));
  }
  return revoked;
}
