import { randomBytes } from 'node:crypto';
import { requireKey } from '../../access/secret-key.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import { formatSecret } from '../../lib/signature.ts';
import { formatTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import { WEBHOOK_SECRETS_MAX } from '../../model/rules.ts';
import { type Params, query, type Reader, retentionRule, type Transaction } from '../../model/schema.ts';

const SECRET_BYTES = 32;

/** Adds a secret that does not expire. Returns it as text; it cannot be read again. */
export async function addSecret(tx: Transaction, encryptor: Encryptor, webhookId: number): Promise<string> {
  const { encrypt } = await requireKey(tx, encryptor);
  const secret = randomBytes(SECRET_BYTES);
  await tx.run(insertSecret, { webhookId, secret: encrypt(secret, ownerOf(webhookId)), now: tx.now });
  return formatSecret(secret);
}

/**
 * Rotates the secret of a locked webhook. The previous secrets also sign until the overlap ends, unless they expire
 * earlier.
 * @returns the new secret as text, and the time when the last previous secret expires
 * @throws {Problem} `webhook_secret_limit_exceeded` if five secrets already overlap
 */
export async function rotateSecret(
  tx: Transaction,
  webhookId: number,
  overlapSeconds: number,
  encryptor: Encryptor,
): Promise<{ readonly secret: string; readonly previousExpiresAt: number }> {
  const previousExpiresAt = tx.now + overlapSeconds * 1000;
  const active = await tx.all(activeSecrets, { webhookId, now: tx.now });
  if (overlapSeconds > 0 && active.length >= WEBHOOK_SECRETS_MAX) {
    const next = Math.min(...active.flatMap(({ expiresAt }) => expiresAt ?? []));
    throw problem(
      'webhook_secret_limit_exceeded',
      `The webhook already has ${active.length} valid secrets; the first one expires at ${formatTime(next)}. ` +
        'Rotate after that, or with overlapSeconds 0, which expires all of them now.',
    );
  }
  await tx.run(expireSecrets, { webhookId, expiresAt: previousExpiresAt });
  return { secret: await addSecret(tx, encryptor, webhookId), previousExpiresAt };
}

/** Returns the secrets that sign the deliveries of a webhook at a time, newest first. */
export async function signingSecrets(reader: Reader, encryptor: Encryptor, webhookId: number, now: number) {
  const rows = await reader.all(activeSecrets, { webhookId, now });
  return rows.map(({ secret }) => decryptSecret(encryptor, webhookId, secret));
}

/** Decrypts a row of `activeSecrets`. */
export function decryptSecret(encryptor: Encryptor, webhookId: number, secret: string): Buffer {
  return encryptor.decrypt(secret, ownerOf(webhookId));
}

/** Deletes up to `limit` expired secrets; returns how many. */
export const deleteExpiredSecrets = retentionRule('webhook_secrets', ['id'], 'expires_at');

/** Returns the owner for which the secrets of a webhook are encrypted. */
export function ownerOf(webhookId: number): string {
  return `webhook ${webhookId}`;
}

const insertSecret = query((db, p: Params<{ webhookId: number; secret: string; now: number }>) =>
  db
    .insertInto('webhook_secrets')
    .values({ webhook_id: p.webhookId, secret: p.secret, created_at: p.now, expires_at: null }),
);

const expireSecrets = query((db, p: Params<{ webhookId: number; expiresAt: number }>) =>
  db
    .updateTable('webhook_secrets')
    .set({ expires_at: p.expiresAt })
    .where('webhook_id', '=', p.webhookId)
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.expiresAt)])),
);

/** The encrypted secrets of a webhook that are valid at a time, newest first. */
export const activeSecrets = query((db, p: Params<{ webhookId: number; now: number }>) =>
  db
    .selectFrom('webhook_secrets')
    .select(['secret', 'expires_at as expiresAt'])
    .where('webhook_id', '=', p.webhookId)
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.now)]))
    .orderBy('id', 'desc'),
);

export const deleteSecrets = query((db, p: Params<{ webhookId: number }>) =>
  db.deleteFrom('webhook_secrets').where('webhook_id', '=', p.webhookId),
);
