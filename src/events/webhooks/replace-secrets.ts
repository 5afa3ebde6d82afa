import { loseAppSecrets } from '../../access/sessions/authenticator-apps.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import { type Database, query, sql } from '../../model/schema.ts';
import { type WebhookRow, webhookColumns } from '../../model/webhook.ts';
import { sendNotification } from '../../store/messages/messages.ts';
import { addSecret } from './secrets.ts';
import { disabledFor, storeVersion } from './webhooks.ts';

/**
 * Replaces the secrets of all webhooks, because the key that encrypted them is lost. Disables the active webhooks
 * first: a receiver cannot verify a signature by a new secret until the owner has rotated the secret and so received
 * it. Sends each owner a message. Also loses the secrets of authenticator apps; see `loseAppSecrets`. If it is interrupted, it must run again.
 * @returns the webhooks with their state before, by id ascending
 */
export async function replaceSecrets(database: Database, encryptor: Encryptor): Promise<WebhookRow[]> {
  const webhooks = await database.all(liveWebhooks, {});
  for (const webhook of webhooks) {
    if (webhook.status !== 'active') continue;
    await database.write(async tx => {
      tx.refreshNow(webhook.updatedAt);
      await storeVersion(tx, webhook, disabledFor('secret_replaced'), 'disabled');
    });
  }
  await database.write(async tx => {
    await tx.run(deleteAllSecrets, {});
    await loseAppSecrets(tx);
  });
  for (const { id, url, accountId } of webhooks) {
    await database.write(async tx => {
      await addSecret(tx, encryptor, id);
      await sendNotification(tx, accountId, textOf(id, url));
    });
  }
  return webhooks;
}

function textOf(id: number, url: string): string {
  return (
    `The signing secret of your webhook ${id} was replaced when the store was restored from a backup.\n\nIts URL: ${url}\n\n` +
    `No events are sent to it. Get a new secret with POST /v1/webhooks/${id}/secrets, configure it in your ` +
    `receiver, and activate the webhook with POST /v1/webhooks/${id}/activation.`
  );
}

const liveWebhooks = query(db =>
  db.selectFrom('webhooks').select(webhookColumns.full()).where('deleted_at', 'is', null).orderBy('id'),
);

const deleteAllSecrets = query(db => db.deleteFrom('webhook_secrets').where(sql<boolean>`true`));
