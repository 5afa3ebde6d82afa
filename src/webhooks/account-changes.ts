import type { Account } from '../accounts/account.ts';
import { listKeys } from '../keys/keys.ts';
import type { Origin } from '../lib/origin.ts';
import type { Database, Transaction } from '../schema.ts';
import { disableWebhooksOfAccount } from './disable.ts';
import { type ChangedKey, revokeKeyAndWebhooks } from './key-changes.ts';

/** The databases that a change of an account concerns. */
export interface AccountDatabases {
  /** Production's database, which stores all accounts. */
  readonly accounts: Database;
  /** Staging's database; absent if it cannot be opened. */
  readonly staging: Database | undefined;
}

/**
 * Runs a change that suspends an account, and disables the webhooks of the account: production's in the same transaction.
 * Staging's follow as those of a revoked key do; see `revokeKeyAndWebhooks`.
 */
export async function suspendWithWebhooks(
  { accounts, staging }: AccountDatabases,
  id: number,
  suspend: (tx: Transaction, id: number) => Promise<Account>,
  origin?: Origin,
): Promise<Account> {
  const disable = (tx: Transaction) => disableWebhooksOfAccount(tx, id, 'account_suspended');
  const account = await accounts.write(async tx => {
    const suspended = await suspend(tx, id);
    await disable(tx);
    return suspended;
  }, origin);
  await staging?.write(disable, origin);
  return account;
}

/** Revokes the keys of an account that are not revoked yet, one after the other; see `revokeKeyAndWebhooks`. */
export async function revokeKeysAndWebhooks(
  { accounts, staging }: AccountDatabases,
  id: number,
): Promise<ChangedKey[]> {
  const revoked: ChangedKey[] = [];
  for (const key of await listKeys(accounts, id)) {
    if (key.revokedAt !== null) continue;
    const webhooks = key.deployment === 'production' ? accounts : staging;
    revoked.push(await revokeKeyAndWebhooks({ accounts, webhooks }, key.id));
  }
  return revoked;
}
