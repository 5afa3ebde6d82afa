import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { Encryptor } from '../lib/encryption.ts';
import { checkUrl, type OutgoingRules } from '../lib/http/client/target.ts';
import type { Precondition } from '../lib/http/route.ts';
import { type Params, query, type Reader, sql, type Tables, type Transaction } from '../schema.ts';
import { parseRow, type WebhookColumns, type WebhookRow, webhookColumns, webhookEtag } from './rows.ts';
import { addSecret, deleteSecrets, rotateSecret } from './secrets.ts';
import type { NewWebhook, WebhookPatch } from './webhook.ts';

/** The limits on new webhooks. */
export interface WebhookRules extends OutgoingRules {
  /** How many webhooks one account may have. */
  readonly max: number;
}

/**
 * Returns the webhook with this id, for its account and for admins.
 * @throws {Problem} `webhook_not_found`, also if the actor may not see it
 */
export async function getWebhook(reader: Reader, actor: Actor, id: number): Promise<WebhookRow> {
  return requireVisible(await reader.first(webhookById, { id }), actor, id);
}

/**
 * Like `getWebhook`, and locks the webhook until the transaction ends.
 * @throws {Problem} `webhook_not_found`
 */
export async function lockWebhook(tx: Transaction, actor: Actor, id: number): Promise<WebhookRow> {
  const webhook = requireVisible(await tx.first(lockedWebhookById, { id }), actor, id);
  tx.refreshNow(webhook.updatedAt);
  return webhook;
}

/**
 * Creates an inactive webhook with a signing secret. Concurrent calls for one account cannot exceed its limit.
 * @returns the secret as text: the only time that it is readable
 * @throws {Problem} `invalid_body` for a forbidden URL; `webhook_limit_exceeded`
 */
export async function createWebhook(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { url, types, categoryIds, description }: NewWebhook,
  rules: WebhookRules,
  encryptor: Encryptor,
): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
  requireAllowedUrl(url, rules);
  if (tx.engine === 'postgres') await tx.first(lockAccountWebhooks, { account: String(accountId) });
  const { count } = (await tx.first(countWebhooks, { accountId }))!;
  if (count >= rules.max) throw limitExceeded(rules.max);
  const columns = toColumns({ types: types ?? null, categoryIds: categoryIds ?? null });
  const values = { accountId, url, ...columns, description: description ?? null, now: tx.now };
  const webhook = parseRow((await tx.first(insertWebhook, values))!);
  return { webhook, secret: await addSecret(tx, encryptor, webhook.id) };
}

/**
 * Changes members of a webhook; `null` removes one. A new URL makes the webhook inactive, because it was not tested;
 * pending deliveries are kept. A patch that changes nothing creates no version.
 *
 * Deliveries in progress may still go to the old URL.
 * @throws {Problem} `webhook_not_found`; what `expect` throws; `invalid_body` for a forbidden URL
 */
export async function updateWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  { url, types, categoryIds, description }: WebhookPatch,
  rules: OutgoingRules,
  expect: Precondition = () => {},
): Promise<WebhookRow> {
  const before = await lockWebhook(tx, actor, id);
  expect(webhookEtag(before));
  const after: WebhookRow = {
    ...before,
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types }),
    ...(categoryIds !== undefined && { categoryIds }),
    ...(description !== undefined && { description }),
  };
  if (after.url === before.url) {
    return JSON.stringify(after) === JSON.stringify(before) ? before : storeVersion(tx, after);
  }
  requireAllowedUrl(after.url, rules);
  return storeVersion(tx, { ...after, ...INACTIVE });
}

/**
 * Deletes a webhook and its secrets. `deliveries/retention.ts` deletes its deliveries later.
 * @throws {Problem} `webhook_not_found`; what `expect` throws
 */
export async function deleteWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Precondition = () => {},
): Promise<void> {
  expect(webhookEtag(await lockWebhook(tx, actor, id)));
  await deleteSecrets(tx, id);
  await tx.run(markDeleted, { id, now: tx.now });
}

/**
 * Deactivates a webhook; pending deliveries are kept. Deliveries in progress may still be sent.
 *
 * Creates a version even if the webhook is inactive, so that an activation whose test is in progress fails.
 * @throws {Problem} `webhook_not_found`; what `expect` throws
 */
export async function deactivateWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Precondition = () => {},
): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, actor, id);
  expect(webhookEtag(webhook));
  return storeVersion(tx, { ...webhook, ...INACTIVE });
}

/**
 * Disables a webhook on behalf of the operator. Idempotent.
 * @throws {Problem} `webhook_not_found`
 */
export async function disableWebhook(tx: Transaction, actor: Actor, id: number): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, actor, id);
  if (webhook.status === 'disabled' && webhook.disabledReason === 'operator') return webhook;
  return storeVersion(tx, { ...webhook, status: 'disabled', disabledReason: 'operator' });
}

/**
 * Rotates the secret of a webhook. The previous secrets keep signing until the overlap ends.
 * @returns the new secret as text, and the time at which the previous ones have expired
 * @throws {Problem} `webhook_not_found`; `webhook_secret_limit_exceeded`
 */
export async function rotateWebhookSecret(
  tx: Transaction,
  actor: Actor,
  id: number,
  overlapSeconds: number,
  encryptor: Encryptor,
) {
  await lockWebhook(tx, actor, id);
  return rotateSecret(tx, id, overlapSeconds, encryptor);
}

const INACTIVE = { status: 'inactive', disabledReason: null, failingSince: null } as const;

/** Stores the next version of a locked webhook. */
async function storeVersion(tx: Transaction, webhook: WebhookRow): Promise<WebhookRow> {
  const after = { ...webhook, version: webhook.version + 1, updatedAt: tx.now };
  await tx.run(replaceWebhook, { ...after, ...toColumns(after) });
  return after;
}

function toColumns({ types, categoryIds }: Pick<WebhookRow, 'types' | 'categoryIds'>) {
  return {
    types: types === null ? null : JSON.stringify(types),
    categoryIds: categoryIds === null ? null : JSON.stringify(categoryIds),
  };
}

function requireVisible(columns: WebhookColumns | undefined, { accountId, admin }: Actor, id: number): WebhookRow {
  if (columns === undefined || !(admin || columns.accountId === accountId)) {
    throw problem('webhook_not_found', `There is no webhook ${id}.`);
  }
  return parseRow(columns);
}

function requireAllowedUrl(url: string, rules: OutgoingRules): void {
  const fault = checkUrl(url, rules);
  if (fault === undefined) return;
  const message = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  const errors = [{ path: '/url', code: 'invalid_value', message }];
  throw problem('invalid_body', `Invalid body. /url: ${message}`, { errors });
}

function limitExceeded(max: number) {
  const webhooks = max === 1 ? 'one webhook' : `${max} webhooks`;
  return problem('webhook_limit_exceeded', `The account already has the maximum of ${webhooks}. Delete one first.`);
}

const webhookById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').select(webhookColumns).where('id', '=', p.id).where('deleted_at', 'is', null),
);

const lockedWebhookById = query((db, p: Params<{ id: number }>, engine) =>
  db
    .selectFrom('webhooks')
    .select(webhookColumns)
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

/** Held until the transaction ends. */
const lockAccountWebhooks = query((db, p: Params<{ account: string }>) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore webhooks'), hashtext(${p.account}))`.as('locked')),
);

const countWebhooks = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('deleted_at', 'is', null),
);

type Insert = Pick<WebhookColumns, 'accountId' | 'url' | 'description' | 'types' | 'categoryIds'> & { now: number };

const insertWebhook = query((db, p: Params<Insert>) =>
  db
    .insertInto('webhooks')
    .values({
      account_id: p.accountId,
      url: p.url,
      description: p.description,
      types: p.types,
      category_ids: p.categoryIds,
      status: 'inactive',
      behind_place: 0,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning(webhookColumns),
);

const replaceWebhook = query((db, p: Params<Omit<WebhookColumns, 'accountId' | 'createdAt'>>) =>
  db
    .updateTable('webhooks')
    .set({
      url: p.url,
      description: p.description,
      types: p.types,
      category_ids: p.categoryIds,
      status: p.status,
      disabled_reason: p.disabledReason,
      failing_since: p.failingSince,
      version: p.version,
      updated_at: p.updatedAt,
    })
    .where('id', '=', p.id),
);

const markDeleted = query((db, p: Params<{ id: number; now: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({
      status: sql<Tables['webhooks']['status']>`${sql.lit('inactive')}`,
      disabled_reason: null,
      deleted_at: p.now,
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
);
