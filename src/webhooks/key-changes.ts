import type { IssuedKey, Key } from '../keys/key.ts';
import { getKey, revokeKey, rotateKey } from '../keys/keys.ts';
import type { Origin } from '../lib/origin.ts';
import type { Database, Transaction } from '../schema.ts';
import { disabledWebhooksOfKey, disableWebhooksOfKey, handOverWebhooks } from './disable.ts';
import type { WebhookRow } from './webhook.ts';

/** The databases that a change of a key concerns. */
export interface KeyDatabases {
  /** Production's database, which stores all keys. */
  readonly accounts: Database;
  /** The database of the key's deployment, with its webhooks; absent if it cannot be opened. */
  readonly webhooks: Database | undefined;
}

/** A key that was changed, with the webhooks that were changed with it. */
export interface ChangedKey {
  readonly key: Key;
  readonly webhooks: readonly WebhookRow[];
}

/**
 * Revokes a key, and disables its webhooks: in the same transaction if one database has both. Otherwise the second
 * transaction may be missing after a crash; then the job of the serving process disables them, and until it does, nothing
 * is sent. Idempotent.
 * @param keepWebhooks whether the webhooks stay active, and depend on their account alone
 * @returns the key, and the webhooks that its revocation disabled, or that this call kept
 * @throws {UserError} when the key does not exist
 */
export async function revokeKeyAndWebhooks(
  databases: KeyDatabases,
  id: string,
  { keepWebhooks = false, origin }: { readonly keepWebhooks?: boolean; readonly origin?: Origin } = {},
): Promise<ChangedKey> {
  const { accounts, webhooks: own } = databases;
  const change = async (tx: Transaction) => {
    if (keepWebhooks) return handOverWebhooks(tx, id, null);
    await disableWebhooksOfKey(tx, id, 'key_revoked');
    // The serving process may have been faster.
    return disabledWebhooksOfKey(tx, id, 'key_revoked');
  };
  if (own === accounts) {
    return accounts.write(async tx => ({ key: await revokeKey(tx, id), webhooks: await change(tx) }), origin);
  }
  await getKey(accounts, id);
  // Webhooks to keep must no longer depend on the key when it is revoked.
  const kept = keepWebhooks ? await own?.write(change, origin) : undefined;
  const key = await accounts.write(tx => revokeKey(tx, id), origin);
  return { key, webhooks: kept ?? (await own?.write(change, origin)) ?? [] };
}

/**
 * Rotates a key, and makes its webhooks depend on the new one, as `revokeKeyAndWebhooks` does.
 * @see rotateKey
 */
export async function rotateKeyAndWebhooks(
  { accounts, webhooks: own }: KeyDatabases,
  id: string,
  { overlapMs, expiresAt, maxDays, origin }: RotationOptions,
): Promise<{ readonly issued: IssuedKey; readonly previous: Key; readonly webhooks: readonly WebhookRow[] }> {
  const rotate = (tx: Transaction) => rotateKey(tx, id, overlapMs, expiresAt, maxDays);
  if (own === accounts) {
    return accounts.write(async tx => {
      const rotated = await rotate(tx);
      return { ...rotated, webhooks: await handOverWebhooks(tx, id, rotated.issued.id) };
    }, origin);
  }
  const rotated = await accounts.write(rotate, origin);
  const webhooks = (await own?.write(tx => handOverWebhooks(tx, id, rotated.issued.id), origin)) ?? [];
  return { ...rotated, webhooks };
}

/** How to rotate a key; see `rotateKey`. */
export interface RotationOptions {
  readonly overlapMs: number;
  readonly expiresAt?: number | null | undefined;
  readonly maxDays?: number | undefined;
  readonly origin?: Origin;
}
