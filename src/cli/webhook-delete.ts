import { readId, storeCommand } from './store-command.ts';
import { webhookArgument } from './webhook-show.ts';

/** `petstore webhook delete` */
export const command = storeCommand({
  name: 'webhook delete',
  sentence: 'Takes a webhook away without asking, with its secrets and all that waits for it.',
  arguments: webhookArgument,
  examples: [{ line: 'petstore webhook delete 3', sentence: 'for good; its owner can make another one' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ deleteWebhook }, { operator }] = await Promise.all([
      import('../webhooks/webhooks.ts'),
      import('../events/event.ts'),
    ]);
    await database.write(tx => deleteWebhook(tx, operator, id));
    return { value: { id }, text: () => `Webhook ${id} is gone.` };
  },
});
