import type { Kysely } from 'kysely';
import type { EngineName } from '../lib/storage/query.ts';
import {
  type MaybePromise,
  type Params,
  query,
  type Reader,
  selectJsonNumbers,
  selectJsonTexts,
  sql,
  type Tables,
  type Transaction,
} from '../schema.ts';
import { type AuthorityReason, type WebhookRow, webhookColumns } from './webhook.ts';
import { disabledFor, storeVersion } from './webhooks.ts';

// A webhook acts for the key that it depends on, and for its account. When one of them may no longer act, its webhooks are
// disabled: in production by the transaction of that change; in staging, whose database has no keys, by `authority-job.ts`.

/** Disables the active webhooks that depend on these keys, and records `webhook.disabled`. Idempotent. Returns them. */
export async function disableWebhooksOfKeys(
  tx: Transaction,
  keyIds: readonly string[],
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  return disableAll(tx, await tx.all(activeOfKeys, { keyIds: JSON.stringify(keyIds) }), reason);
}

/** Disables the active webhooks of these accounts, and records `webhook.disabled`. Idempotent. Returns them. */
export async function disableWebhooksOfAccounts(
  tx: Transaction,
  accountIds: readonly number[],
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  return disableAll(tx, await tx.all(activeOfAccounts, { accountIds: JSON.stringify(accountIds) }), reason);
}

/** Disables the active webhooks that depend on the same key or account, whichever of them may no longer act. */
export function disableUnauthorized(
  tx: Transaction,
  { accountId, keyId }: Pick<WebhookRow, 'accountId' | 'keyId'>,
  reason: AuthorityReason,
): Promise<WebhookRow[]> {
  const isOfKey = reason === 'key_revoked' || reason === 'key_expired';
  return isOfKey ? disableWebhooksOfKeys(tx, [keyId!], reason) : disableWebhooksOfAccounts(tx, [accountId], reason);
}

/** Returns the webhooks that depend on a key and are disabled for this reason, by id ascending. */
export function disabledWebhooksOfKey(
  reader: Reader,
  keyId: string,
  reason: AuthorityReason,
): MaybePromise<WebhookRow[]> {
  return reader.all(disabledOfKey, { keyId, reason });
}

/** Makes the webhooks of a key depend on another one, which has the same scopes. Idempotent. */
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

/** Selects and locks webhooks by id ascending, like every transaction that locks several. */
const lockWebhooks = (db: Kysely<Tables>, engine: EngineName) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns.full())
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .$if(engine === 'postgres', rows => rows.forUpdate());

const activeOfKeys = query((db, p: Params<{ keyIds: string }>, engine) =>
  lockWebhooks(db, engine)
    .where('status', '=', sql.lit('active'))
    .where('key_id', 'in', selectJsonTexts(p.keyIds, engine)),
);

const activeOfAccounts = query((db, p: Params<{ accountIds: string }>, engine) =>
  lockWebhooks(db, engine)
    .where('status', '=', sql.lit('active'))
    .where('account_id', 'in', selectJsonNumbers(p.accountIds, engine)),
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
