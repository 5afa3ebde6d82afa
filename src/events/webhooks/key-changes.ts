import { getKey, revokeKey, rotateKey } from '../../access/keys/keys.ts';
import type { Origin } from '../../lib/origin.ts';
import type { IssuedKey, Key } from '../../model/key.ts';
import type { Database, Transaction } from '../../model/schema.ts';
import type { WebhookRow } from '../../model/webhook.ts';
import { endImportsOfKey, handOverImports, importsEndedWith } from '../../store/imports/authority.ts';
import type { ImportRow } from '../../store/imports/import.ts';
import { disabledWebhooksOfKey, disableWebhooksOfKey, handOverWebhooks } from './disable.ts';

/** The databases that a change of a key may affect. */
export interface KeyDatabases {
  /** Production's database, which stores all keys. */
  readonly accounts: Database;
  /** The database of the key's deployment, with its webhooks and imports; absent if it cannot be opened. */
  readonly own: Database | undefined;
}

/** A changed key, with the webhooks that changed and the imports that ended with it. */
export interface ChangedKey {
  readonly key: Key;
  readonly webhooks: readonly WebhookRow[];
  readonly imports: readonly ImportRow[];
}

/**
 * Revokes a key, disables its webhooks and ends its imports, in one transaction if one database has all of them.
 * Otherwise a crash may prevent the second transaction; then jobs of the serving process do its work, and until then no
 * event is sent and no pet imported. Idempotent.
 * @param keepWebhooks whether the webhooks stay active, and depend only on their account
 * @returns the key, the webhooks that were disabled or kept, and the imports that were ended
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
    // The serving process may have disabled them already.
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
  // Webhooks that are kept must no longer depend on the key when it is revoked.
  const kept = keepWebhooks ? await own?.write(changeWebhooks, origin) : undefined;
  const revoked = await accounts.write(tx => revokeKey(tx, id), origin);
  const changed = await own?.write(async tx => {
    await endImportsOfKey(tx, key);
    return { webhooks: kept ?? (await changeWebhooks(tx)), imports: await importsEndedWith(tx, key) };
  }, origin);
  return { key: revoked, webhooks: [], imports: [], ...changed };
}

/**
 * Rotates a key, and makes its webhooks and imports depend on the new key, with the transactions of
 * `revokeKeyAndDependents`.
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

/** The options of a rotation; see `rotateKey`. */
interface RotationOptions {
  readonly overlapMs: number;
  readonly expiresAt?: number | null | undefined;
  readonly maxDays?: number | undefined;
  readonly origin?: Origin;
}
