import type { WebhookRow } from '../webhooks/webhook-rows.ts';
import type { CommandOutput } from './command.ts';
import { readId, storeCommand } from './store-command.ts';
import { list } from './terminal.ts';
import { statusText } from './webhook-list.ts';

/** What stands behind the name of a command on one webhook. */
export const webhookArgument = { ID: 'The webhook, as `petstore webhook list` shows it.' };

/** `petstore webhook show` */
export const command = storeCommand({
  name: 'webhook show',
  sentence: 'Shows a webhook, whoever it belongs to, without its secret.',
  arguments: webhookArgument,
  examples: [{ line: 'petstore webhook show 3', sentence: 'where it goes, and what it asks for' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ getWebhook }, { operator }] = await Promise.all([
      import('../webhooks/get-webhook.ts'),
      import('../events/event.ts'),
    ]);
    return webhookPrinted(await getWebhook(database, operator, id));
  },
});

/** A webhook as a command tells it. */
export async function webhookPrinted(row: WebhookRow): Promise<CommandOutput> {
  const { webhookOf } = await import('../webhooks/webhook-rows.ts');
  const webhook = webhookOf(row);
  const { id, accountId, url, description, types, categoryIds, failingSince, createdAt, updatedAt } = webhook;
  const text = () =>
    list([
      ['webhook', String(id)],
      ['account', String(accountId)],
      ['status', statusText(webhook)],
      ['url', url],
      ...(description === undefined ? [] : [['description', description] as const]),
      ['types', types?.join(', ') ?? 'all'],
      ['categories', categoryIds?.join(', ') ?? 'all'],
      ...(failingSince === undefined ? [] : [['failing since', failingSince] as const]),
      ['made', createdAt],
      ['changed', updatedAt],
    ]);
  return { value: webhook, text };
}
