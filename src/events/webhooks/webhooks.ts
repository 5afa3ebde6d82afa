import type { Expression } from 'kysely';
import { lockBound } from '../../access/plans/lock.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import { checkUrl, type OutgoingRules } from '../../lib/http/client/target.ts';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import type { PreconditionCheck } from '../../lib/http/route.ts';
import { invalidBody, problem } from '../../model/errors.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import type { Params, Reader, Transaction } from '../../model/schema.ts';
import { query } from '../../model/schema.ts';
import { storedScopes } from '../../model/scopes.ts';
import type { DisabledReason, NewWebhook, WebhookPatch, WebhookRow, webhookFields } from '../../model/webhook.ts';
import { webhookColumns, webhookEtag, webhookValues } from '../../model/webhook.ts';
import { webhookEvent } from './events.ts';
import { addSecret, deleteSecrets, rotateSecret } from './secrets.ts';

/** The limits on new webhooks. */
interface WebhookRules extends OutgoingRules {
  /** The maximum number of webhooks of an account. */
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
 * @throws {Problem} `webhook_not_found`; also any error of `checkPreconditions`
 */
export async function lockWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<WebhookRow> {
  const webhook = requireVisible(await tx.first(lockedWebhookById, { id }), actor, id);
  checkPreconditions?.(webhookEtag(webhook));
  tx.refreshNow(webhook.updatedAt);
  return webhook;
}

/**
 * Returns one page of an account's webhooks by id ascending; admins get all webhooks.
 *
 * A page scans up to 20,000 rows, including webhooks that were deleted but not purged.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listWebhooks(
  reader: Reader,
  { accountId, admin }: Actor,
  page: PageRequest,
): Promise<Page<WebhookRow>> {
  return pageOf(reader, { accountId: admin ? undefined : accountId! }, { list: ['webhooks', admin], page });
}

/** Returns the number of webhooks of an account. */
export async function countWebhooks(reader: Reader, accountId: number): Promise<number> {
  return (await reader.first(webhooksOf, { accountId }))!.count;
}

/**
 * Creates an inactive webhook with a signing secret, and records `webhook.created`. It depends on the actor's key.
 * Concurrent calls for one account cannot exceed its limit.
 * @returns the secret as text; it cannot be read again
 * @throws {Problem} `invalid_body` for a forbidden URL; `webhook_limit_exceeded`
 */
export async function createWebhook(
  tx: Transaction,
  actor: Actor & { readonly accountId: number },
  body: NewWebhook,
  rules: WebhookRules,
  encryptor: Encryptor,
): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
  const { accountId } = actor;
  requireAllowedUrl(body.url, rules);
  await lockBound(tx, 'webhooks', accountId);
  if ((await countWebhooks(tx, accountId)) >= rules.max) throw limitExceeded(rules.max);
  const times = { createdAt: tx.now, updatedAt: tx.now };
  const values = { ...webhookValues.toRow(body), ...INACTIVE, ...times, ...authorityOf(actor), accountId };
  const webhook = (await tx.first(insertWebhook, values))!;
  await record(tx, webhookEvent('created', webhook, actor));
  return { webhook, secret: await addSecret(tx, encryptor, webhook.id) };
}

/**
 * Changes members of a webhook; `null` removes one. A new URL makes the webhook inactive, because it was not tested;
 * pending deliveries are kept. A patch that changes nothing creates no version.
 *
 * Deliveries in progress may still go to the old URL.
 * @throws {Problem} `webhook_not_found`; `invalid_body` for a forbidden URL; also any error of `checkPreconditions`
 */
export async function updateWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: WebhookPatch,
  rules: OutgoingRules,
  checkPreconditions?: PreconditionCheck,
): Promise<WebhookRow> {
  const before = await lockWebhook(tx, actor, id, checkPreconditions);
  const after: WebhookRow = { ...before, ...webhookValues.merge(before, patch, () => new Error('No objects.')) };
  if (after.url === before.url) {
    return JSON.stringify(after) === JSON.stringify(before)
      ? before
      : storeVersion(tx, before, after, 'updated', actor);
  }
  requireAllowedUrl(after.url, rules);
  return storeVersion(tx, before, { ...after, ...INACTIVE }, 'updated', actor);
}

/**
 * Deletes a webhook and its secrets. `deliveries/retention.ts` deletes its deliveries later.
 * @throws {Problem} `webhook_not_found`; also any error of `checkPreconditions`
 */
export async function deleteWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const webhook = await lockWebhook(tx, actor, id, checkPreconditions);
  await replaceVersion(tx, { ...webhook, ...INACTIVE });
  await tx.run(deleteSecrets, { webhookId: id });
  await tx.run(markDeleted, { id, now: tx.now });
  await record(tx, webhookEvent('deleted', webhook, actor));
}

/**
 * Deactivates a webhook; pending deliveries are kept. Deliveries in progress may still be sent.
 *
 * Creates a version even if the webhook is inactive, so that an activation whose test is in progress fails.
 * @throws {Problem} `webhook_not_found`; also any error of `checkPreconditions`
 */
export async function deactivateWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, actor, id, checkPreconditions);
  return storeVersion(tx, webhook, INACTIVE, 'deactivated', actor);
}

/**
 * Rotates the secret of a webhook, and records `webhook.secret_rotated`; see `rotateSecret`.
 * @throws {Problem} `webhook_not_found`; `webhook_secret_limit_exceeded`
 */
export async function rotateWebhookSecret(
  tx: Transaction,
  actor: Actor,
  id: number,
  overlapSeconds: number,
  encryptor: Encryptor,
): Promise<{ readonly secret: string; readonly previousExpiresAt: number }> {
  const webhook = await lockWebhook(tx, actor, id);
  const rotated = await rotateSecret(tx, id, overlapSeconds, encryptor);
  await record(tx, webhookEvent('secret_rotated', webhook, actor));
  return rotated;
}

/** Stores the next version of a locked webhook. Records the event if members changed. */
export async function storeVersion(
  tx: Transaction,
  before: WebhookRow,
  change: Partial<WebhookRow>,
  action: 'updated' | 'activated' | 'deactivated' | 'disabled',
  actor?: Actor,
  reason?: string,
): Promise<WebhookRow> {
  const after = await replaceVersion(tx, { ...before, ...change });
  const event = webhookEvent(action, after, actor, { before, reason });
  if ('was' in event.data || reason !== undefined) await record(tx, event);
  return after;
}

async function replaceVersion(tx: Transaction, webhook: WebhookRow): Promise<WebhookRow> {
  const after = { ...webhook, version: webhook.version + 1, updatedAt: tx.now };
  await tx.run(replaceWebhook, after);
  return after;
}

/** Returns the key and the scopes of a webhook that this actor creates or activates. */
export function authorityOf({ keyId, scopes }: Actor): Pick<WebhookRow, 'keyId' | 'scopes'> {
  return { keyId: keyId ?? null, scopes: storedScopes(scopes) };
}

/** Disables a webhook on behalf of the operator. Idempotent. Throws `webhook_not_found`. */
export async function disableWebhook(tx: Transaction, actor: Actor, id: number): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, actor, id);
  if (webhook.status === 'disabled' && webhook.disabledReason === 'operator') return webhook;
  return storeVersion(tx, webhook, disabledFor('operator'), 'disabled', actor);
}

/** Returns the fields of a disabled webhook. */
export function disabledFor(disabledReason: DisabledReason) {
  return { status: 'disabled', disabledReason } as const;
}

const INACTIVE = { status: 'inactive', disabledReason: null, failingSince: null } as const;

function requireVisible(webhook: WebhookRow | undefined, { accountId, admin }: Actor, id: number): WebhookRow {
  if (webhook === undefined || !(admin || webhook.accountId === accountId)) {
    throw problem('webhook_not_found', `There is no webhook ${id}.`);
  }
  return webhook;
}

function requireAllowedUrl(url: string, rules: OutgoingRules): void {
  const fault = checkUrl(url, rules);
  if (fault !== undefined) {
    throw invalidBody('/url', 'invalid_value', `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`);
  }
}

function limitExceeded(max: number) {
  const webhooks = max === 1 ? 'one webhook' : `${max} webhooks`;
  return problem('webhook_limit_exceeded', `The account already has the maximum of ${webhooks}. Delete one first.`);
}

const selectWebhook = ({ lock }: { readonly lock: boolean }) =>
  query((db, p: Params<{ id: number }>, engine) =>
    db
      .selectFrom('webhooks')
      .select(webhookColumns.full())
      .where('id', '=', p.id)
      .where('deleted_at', 'is', null)
      .$if(lock && engine === 'postgres', rows => rows.forUpdate()),
  );

const webhookById = selectWebhook({ lock: false });
const lockedWebhookById = selectWebhook({ lock: true });

const pageOf = declareList({
  table: 'webhooks',
  rows: db => db.selectFrom('webhooks').select(webhookColumns.full()).where('deleted_at', 'is', null),
  filters: { accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id) },
  indexed: ['accountId'],
});

const webhooksOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('deleted_at', 'is', null),
);

const insertWebhook = query((db, p: Params<InsertRowOf<typeof webhookFields>>) =>
  db.insertInto('webhooks').values(webhookColumns.inserted(p)).returning(webhookColumns.full()),
);

const replaceWebhook = query((db, p: Params<WebhookRow>) =>
  db.updateTable('webhooks').set(webhookColumns.updated(p)).where('id', '=', p.id),
);

const markDeleted = query((db, p: Params<{ id: number; now: number }>) =>
  db.updateTable('webhooks').set({ deleted_at: p.now }).where('id', '=', p.id),
);
