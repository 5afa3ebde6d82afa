import { readId, storeCommand } from './store-command.ts';
import { webhookArgument, webhookPrinted } from './webhook-show.ts';

/** `petstore webhook disable` */
export const command = storeCommand({
  name: 'webhook disable',
  sentence: 'Switches a webhook off: nothing is sent to it until its owner activates it again, with a test.',
  details: 'What waits is kept. What is under way is still sent: an attempt takes 15 seconds at most.',
  arguments: webhookArgument,
  examples: [{ line: 'petstore webhook disable 3', sentence: 'for a receiver that complains' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database }, id) {
    const [{ disableWebhook }, { operator }] = await Promise.all([
      import('../webhooks/webhooks.ts'),
      import('../events/event.ts'),
    ]);
    return webhookPrinted(await database.write(tx => disableWebhook(tx, operator, id)));
  },
});
