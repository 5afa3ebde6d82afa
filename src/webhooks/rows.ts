import { columnsFor } from '../lib/fields/columns.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { type WebhookRow, webhookFields } from './webhook.ts';

/** The columns of queries over webhooks. */
export const webhookColumns = columnsFor(webhookFields);

/** Conversions between JSON values and rows of webhooks. */
export const webhookValues = valuesFor(webhookFields);

/** Returns a webhook in the form of responses. */
export const webhookOf = webhookValues.fullOf;

/** Returns the entity tag. It changes with every version, and when the receiver begins or ceases to fail. */
export function webhookEtag({ id, version, failingSince }: Pick<WebhookRow, 'id' | 'version' | 'failingSince'>) {
  return failingSince === null ? `"${id}.${version}"` : `"${id}.${version}.${failingSince}"`;
}
