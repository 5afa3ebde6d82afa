import type { Kysely } from 'kysely';
import type { EngineName } from '../../lib/storage/query.ts';
import {
  type MaybePromise,
  type Params,
  query,
  type Reader,
  sql,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';
import { type AuthorityReason, type WebhookRow, webhookColumns } from '../../model/webhook.ts';
import { disabledFor, storeVersion } from './webhooks.ts';

// A webhook acts for its key and its account. When one of them may no longer act, the webhook is disabled: on
// production by the transaction of that change; on staging, whose database has no keys, by `authority-job.ts`.

/** Disables the active webhooks of a key, and records `webhook.disabled`. Idempotent. Returns the webhooks. */
export async function disableWebhooksOfKey(
  tx: Transaction,
  keyId: string,
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  return disableAll(tx, await tx.all(activeOfKey, { keyId }), reason);
}

/** Disables the active webhooks of an account, and records `webhook.disabled`. Idempotent. Returns the webhooks. */
export async function disableWebhooksOfAccount(
  tx: Transaction,
  accountId: number,
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  return disableAll(tx, await tx.all(activeOfAccount, { accountId }), reason);
}

/** Disables the active webhooks of the same key or account: of the one that may no longer act. */
export function disableUnauthorized(
  tx: Transaction,
  { accountId, keyId }: Pick<WebhookRow, 'accountId' | 'keyId'>,
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  const isOfKey = reason === 'key_revoked' || reason === 'key_expired';
  return isOfKey ? disableWebhooksOfKey(tx, keyId!, reason) : disableWebhooksOfAccount(tx, accountId, reason);
}

/** Returns the webhooks that depend on a key and are disabled for this reason, by id ascending. */
export function disabledWebhooksOfKey(
  reader: Reader,
  keyId: string,
  reason: AuthorityReason,
): MaybePromise<WebhookRow[]> {
  return reader.all(disabledOfKey, { keyId, reason });
}

/** Makes the webhooks of a key depend on another key with the same scopes. Idempotent. */
export async function handOverWebhooks(tx: Transaction, keyId: string, toKeyId: string | null): Promise<WebhookRow[]> {
  const reason = toKeyId === null ? 'key_detached' : 'key_rotated';
  const changed: WebhookRow[] = [];
  for (const webhook of await tx.all(ofKey, { keyId })) {
    tx.refreshNow(webhook.updatedAt);
    changed.push(await storeVersion(tx, webhook, { keyId: toKeyId }, 'updated', undefined, reason));
  }
  return changed;
}

async function disableAll(
  tx: Transaction,
  webhooks: readonly WebhookRow[],
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  const disabled: WebhookRow[] = [];
  for (const webhook of webhooks) {
    tx.refreshNow(webhook.updatedAt);
    disabled.push(await storeVersion(tx, webhook, disabledFor(reason), 'disabled'));
  }
  return disabled;
}

/** Selects and locks webhooks by id ascending, like every transaction that locks several webhooks. */
const lockWebhooks = (db: Kysely<Tables>, engine: EngineName) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.full())
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .$if(engine === 'postgres', rows => rows.forUpdate());

const activeOfKey = query((db, p: Params<{ keyId: string }>, engine) =>
  lockWebhooks(db, engine).where('status', '=', sql.lit('active')).where('key_id', '=', p.keyId),
);

const activeOfAccount = query((db, p: Params<{ accountId: number }>, engine) =>
  lockWebhooks(db, engine).where('status', '=', sql.lit('active')).where('account_id', '=', p.accountId),
);

const disabledOfKey = query((db, p: Params<{ keyId: string; reason: AuthorityReason }>) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.full())
    .where('key_id', '=', p.keyId)
    .where('disabled_reason', '=', p.reason)
    .where('deleted_at', 'is', null)
    .orderBy('id'),
);

const ofKey = query((db, p: Params<{ keyId: string }>, engine) =>
  lockWebhooks(db, engine).where('key_id', '=', p.keyId),
);
