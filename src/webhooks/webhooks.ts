import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { checkUrl, type OutgoingRules } from '../lib/http/client/target.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Precondition } from '../pets/pets.ts';
import { type Params, query, sql, type Tables, type Transaction } from '../schema.ts';
import { lockWebhook } from './get-webhook.ts';
import { addSecret, forgetSecrets } from './secrets.ts';
import type { NewWebhook, WebhookPatch } from './webhook.ts';
import { rowOf, type WebhookColumns, type WebhookRow, webhookColumns, webhookEtag } from './webhook-rows.ts';

/** What decides whether an account may have one more webhook, and where it may go. */
export interface WebhookRules extends OutgoingRules {
  /** How many webhooks an account has at most. */
  readonly max: number;
}

/**
 * Makes a webhook with a secret of its own. It is inactive: nothing is sent before it is activated.
 *
 * The account's webhooks come one after the other, so that there are never more than it may have.
 * @returns the secret as text, which is shown this once
 * @throws {Problem} `invalid_body` for a URL that nothing may be sent to; `webhook_limit_exceeded`
 */
export async function createWebhook(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { url, types, categoryIds, description }: NewWebhook,
  rules: WebhookRules,
  box: SecretBox,
): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
  requireTarget(url, rules);
  if (tx.engine === 'postgres') await tx.first(takeTurn, { account: String(accountId) });
  const { webhooks } = (await tx.first(countOf, { accountId }))!;
  if (webhooks >= rules.max) throw limitExceeded(rules.max);

  const values = {
    accountId,
    url,
    description: description ?? null,
    types: types === undefined ? null : JSON.stringify(types),
    categoryIds: categoryIds === undefined ? null : JSON.stringify(categoryIds),
    now: tx.now,
  };
  const webhook = rowOf((await tx.first(insertWebhook, values))!);
  return { webhook, secret: await addSecret(tx, box, webhook.id) };
}

/**
 * Changes some members of a webhook; `null` takes one away. With another URL it is inactive until it is activated again:
 * nothing is sent to a URL that was not tested; what waits is kept. A change that changes nothing is none.
 *
 * What is under way may still be sent to where it was.
 * @throws {Problem} `webhook_not_found`; what `expect` throws; `invalid_body` for a URL that nothing may be sent to
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
  if (after.url === before.url && JSON.stringify(after) === JSON.stringify(before)) return before;
  if (after.url === before.url) return keep(tx, after);
  requireTarget(after.url, rules);
  return keep(tx, { ...after, status: 'inactive', disabledReason: null, failingSince: null });
}

/**
 * Takes a webhook away, with its secrets at once; its deliveries go later (`retention.ts`).
 * @throws {Problem} `webhook_not_found`; what `expect` throws
 */
export async function deleteWebhook(
  tx: Transaction,
  actor: Actor,
  id: number,
  expect: Precondition = () => {},
): Promise<void> {
  expect(webhookEtag(await lockWebhook(tx, actor, id)));
  await forgetSecrets(tx, id);
  await tx.run(markDeleted, { id, now: tx.now });
}

/**
 * Ends deliveries to a webhook until it is activated again; what waits is kept. What is under way may still be sent.
 *
 * Also of one that is inactive it is a change, so that an activation whose test is under way does not come after it.
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
  return keep(tx, { ...webhook, status: 'inactive', disabledReason: null, failingSince: null });
}

/**
 * Switches a webhook off in the operator's name. Safe to repeat.
 * @throws {Problem} `webhook_not_found`
 */
export async function disableWebhook(tx: Transaction, actor: Actor, id: number): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, actor, id);
  if (webhook.status === 'disabled' && webhook.disabledReason === 'operator') return webhook;
  return keep(tx, { ...webhook, status: 'disabled', disabledReason: 'operator' });
}

/** Keeps a change of a locked webhook. */
async function keep(tx: Transaction, webhook: WebhookRow): Promise<WebhookRow> {
  const after = { ...webhook, version: webhook.version + 1, updatedAt: tx.now };
  const { types, categoryIds } = after;
  await tx.run(changeWebhook, {
    ...after,
    types: types === null ? null : JSON.stringify(types),
    categoryIds: categoryIds === null ? null : JSON.stringify(categoryIds),
  });
  return after;
}

function requireTarget(url: string, rules: OutgoingRules): void {
  const fault = checkUrl(url, rules);
  if (fault === undefined) return;
  const message = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  throw problem('invalid_body', `Invalid body. /url: ${message}`, {
    errors: [{ path: '/url', code: 'invalid_value', message }],
  });
}

function limitExceeded(max: number) {
  const has = max === 1 ? 'the one webhook' : `the ${max} webhooks`;
  return problem('webhook_limit_exceeded', `The account has ${has} that it may have. Delete one that is not needed.`);
}

/** Until the transaction ends. */
const takeTurn = query((db, p: Params<{ account: string }>) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore webhooks'), hashtext(${p.account}))`.as('alone')),
);

const countOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('webhooks'))
    .where('account_id', '=', p.accountId)
    .where('deleted_at', 'is', null),
);

const insertWebhook = query(
  (
    db,
    p: Params<{
      accountId: number;
      url: string;
      description: string | null;
      types: string | null;
      categoryIds: string | null;
      now: number;
    }>,
  ) =>
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

type Change = Pick<
  WebhookColumns,
  'id' | 'url' | 'description' | 'types' | 'categoryIds' | 'status' | 'disabledReason' | 'failingSince' | 'version'
> & { updatedAt: number };

const changeWebhook = query((db, p: Params<Change>) =>
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
