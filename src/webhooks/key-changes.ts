import { endImportsOfKey, handOverImports, importsEndedWith } from '../imports/authority.ts';
import type { ImportRow } from '../imports/import.ts';
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
  /** The database of the key's deployment, with its webhooks and imports; absent if it cannot be opened. */
  readonly own: Database | undefined;
}

/** A key that was changed, with the webhooks that were changed with it, and the imports that it has ended. */
export interface ChangedKey {
  readonly key: Key;
  readonly webhooks: readonly WebhookRow[];
  readonly imports: readonly ImportRow[];
}

/**
 * Revokes a key, disables its webhooks and ends its imports: in the same transaction if one database has all. Otherwise the
 * second transaction may be missing after a crash; then the jobs of the serving process do it, and until they do, nothing is
 * sent or imported. Idempotent.
 * @param keepWebhooks whether the webhooks stay active, and depend on their account alone
 * @returns the key, the webhooks that its revocation disabled, or that this call kept, and the imports that it ended
 * @throws {UserError} when the key does not exist
 */
export async function revokeKeyAndDependents(
  { accounts, own }: KeyDatabases,
  id: string,
  { keepWebhooks = false, origin }: { readonly keepWebhooks?: boolean; readonly origin?: Origin } = {},
): Promise<ChangedKey> {
  const changeWebhooks = async (tx: Transaction) => {
    if (keepWebhooks) return handOverWebhooks(tx, id, null);
    await disableWebhooksOfKey(tx, id, 'key_revoked');
    // The serving process may have been faster.
    return disabledWebhooksOfKey(tx, id, 'key_revoked');
  };
  const key = await getKey(accounts, id);
  if (own === accounts) {
    return accounts.write(async tx => {
      await endImportsOfKey(tx, key);
      const revoked = await revokeKey(tx, id);
      return { key: revoked, webhooks: await changeWebhooks(tx), imports: await importsEndedWith(tx, key) };
    }, origin);
  }
  // Webhooks to keep must no longer depend on the key when it is revoked.
  const kept = keepWebhooks ? await own?.write(changeWebhooks, origin) : undefined;
  const revoked = await accounts.write(tx => revokeKey(tx, id), origin);
  const changed = await own?.write(async tx => {
    await endImportsOfKey(tx, key);
    return { webhooks: kept ?? (await changeWebhooks(tx)), imports: await importsEndedWith(tx, key) };
  }, origin);
  return { key: revoked, webhooks: [], imports: [], ...changed };
}

/**
 * Rotates a key, and makes its webhooks and imports depend on the new one, as `revokeKeyAndDependents` does.
 * @see rotateKey
 */
export async function rotateKeyAndDependents(
  { accounts, own }: KeyDatabases,
  id: string,
  { overlapMs, expiresAt, maxDays, origin }: RotationOptions,
): Promise<{ readonly issued: IssuedKey; readonly previous: Key; readonly webhooks: readonly WebhookRow[] }> {
  const rotate = (tx: Transaction) => rotateKey(tx, id, overlapMs, expiresAt, maxDays);
  const handOver = async (tx: Transaction, { accountId, id: toId }: IssuedKey) => {
    await handOverImports(tx, { accountId, keyId: id }, toId);
    return handOverWebhooks(tx, id, toId);
  };
  if (own === accounts) {
    return accounts.write(async tx => {
      const rotated = await rotate(tx);
      return { ...rotated, webhooks: await handOver(tx, rotated.issued) };
    }, origin);
  }
  const rotated = await accounts.write(rotate, origin);
  const webhooks = (await own?.write(tx => handOver(tx, rotated.issued), origin)) ?? [];
  return { ...rotated, webhooks };
}

/** How to rotate a key; see `rotateKey`. */
export interface RotationOptions {
  readonly overlapMs: number;
  readonly expiresAt?: number | null | undefined;
  readonly maxDays?: number | undefined;
  readonly origin?: Origin;
}
