import { randomBytes } from 'node:crypto';
import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { secretText } from '../lib/signature.ts';
import { formatTime } from '../lib/time.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { lockWebhook } from './get-webhook.ts';
import { requireKey } from './secret-key.ts';
import { sealedFor } from './webhook-rows.ts';

/** How many secrets a webhook's deliveries are signed with at most. */
const SECRETS_MAX = 5;
const SECRET_BYTES = 32;

/**
 * Gives a webhook one more secret, which has no end.
 * @returns the secret as text, which is shown this once
 */
export async function addSecret(tx: Transaction, box: SecretBox, webhookId: number): Promise<string> {
  await requireKey(tx, box);
  const secret = randomBytes(SECRET_BYTES);
  await tx.run(insertSecret, { webhookId, secret: box.seal(secret, sealedFor(webhookId)), now: tx.now });
  return secretText(secret);
}

/**
 * Replaces the secret of a webhook: until the overlap ends deliveries are signed with the secrets before it, too; none of
 * them lasts longer than it would have.
 * @returns the new secret as text, which is shown this once, and when those before it end at the latest
 * @throws {Problem} `webhook_not_found`; `webhook_secret_limit_exceeded` where five would overlap
 */
export async function rotateWebhookSecret(
  tx: Transaction,
  actor: Actor,
  webhookId: number,
  overlapSeconds: number,
  box: SecretBox,
): Promise<{ readonly secret: string; readonly previousExpiresAt: number }> {
  await lockWebhook(tx, actor, webhookId);
  const previousExpiresAt = tx.now + overlapSeconds * 1000;
  const alive = await tx.all(aliveSecrets, { webhookId, now: tx.now });
  if (overlapSeconds > 0 && alive.length >= SECRETS_MAX) {
    const first = Math.min(...alive.flatMap(({ expiresAt }) => expiresAt ?? []));
    throw problem(
      'webhook_secret_limit_exceeded',
      `Deliveries are signed with ${alive.length} secrets already; the first of them ends at ${formatTime(first)}. ` +
        'Rotate after that, or with overlapSeconds 0, which ends them all at once.',
    );
  }
  await tx.run(endSecrets, { webhookId, expiresAt: previousExpiresAt });
  return { secret: await addSecret(tx, box, webhookId), previousExpiresAt };
}

/** What deliveries to a webhook are signed with at a time, newest first. */
export async function secretsOf(reader: Reader, box: SecretBox, webhookId: number, now: number): Promise<Buffer[]> {
  const rows = await reader.all(aliveSecrets, { webhookId, now });
  return rows.map(({ secret }) => box.open(secret, sealedFor(webhookId)));
}

/** Takes every secret of a webhook away. */
export async function forgetSecrets(tx: Transaction, webhookId: number): Promise<void> {
  await tx.run(deleteSecrets, { webhookId });
}

const insertSecret = query((db, p: Params<{ webhookId: number; secret: string; now: number }>) =>
  db
    .insertInto('webhook_secrets')
    .values({ webhook_id: p.webhookId, secret: p.secret, created_at: p.now, expires_at: null }),
);

const endSecrets = query((db, p: Params<{ webhookId: number; expiresAt: number }>) =>
  db
    .updateTable('webhook_secrets')
    .set({ expires_at: p.expiresAt })
    .where('webhook_id', '=', p.webhookId)
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.expiresAt)])),
);

/** The secrets of a webhook that are good at a time, sealed, the newest first. */
export const aliveSecrets = query((db, p: Params<{ webhookId: number; now: number }>) =>
  db
    .selectFrom('webhook_secrets')
    .select(['secret', 'expires_at as expiresAt'])
    .where('webhook_id', '=', p.webhookId)
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.now)]))
    .orderBy('id', 'desc'),
);

const deleteSecrets = query((db, p: Params<{ webhookId: number }>) =>
  db.deleteFrom('webhook_secrets').where('webhook_id', '=', p.webhookId),
);
