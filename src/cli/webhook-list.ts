import type { Webhook } from '../webhooks/webhook.ts';
import { storeCommand } from './store-command.ts';
import { listed, readPages, readSection, sectionOptions } from './store-list.ts';

/** `petstore webhook list` */
export const command = storeCommand({
  name: 'webhook list',
  sentence: 'Lists webhooks, by id: where events are sent to, and how that goes.',
  options: sectionOptions,
  examples: [{ line: 'petstore webhook list', sentence: 'whose receivers take what is sent to them' }],
  read: readSection,
  async work({ database }, section) {
    const [{ listWebhooks }, { webhookOf }, { operator }] = await Promise.all([
      import('../webhooks/list-webhooks.ts'),
      import('../webhooks/webhook-rows.ts'),
      import('../events/event.ts'),
    ]);
    const found = await readPages(section, async (limit, cursor) => {
      const { rows, next } = await listWebhooks(database, operator, limit, cursor);
      return { items: rows.map(webhookOf), next };
    });
    return listed(found, columns, section.cursor === undefined ? NONE : NONE_SUCH);
  },
});

const columns = {
  ID: (webhook: Webhook) => String(webhook.id),
  ACCOUNT: (webhook: Webhook) => String(webhook.accountId),
  STATUS: (webhook: Webhook) => statusText(webhook),
  URL: (webhook: Webhook) => webhook.url,
  'FAILING SINCE': (webhook: Webhook) => webhook.failingSince ?? '-',
};

/** How a webhook is, and why where it is switched off. */
export function statusText({ status, disabledReason }: Webhook): string {
  return disabledReason === undefined ? status : `${status} (${disabledReason})`;
}

const NONE = 'There are no webhooks; accounts make them with POST /v1/webhooks.';
const NONE_SUCH = 'There are no more webhooks; `petstore webhook list` lists all that there are.';
