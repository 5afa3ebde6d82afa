import { formatTime } from '../lib/time.ts';
import type { Tables } from '../schema.ts';
import type { Webhook } from './webhook.ts';

/** A webhook as stored. Times are milliseconds since the Unix epoch. */
export interface WebhookRow {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly description: string | null;
  /** Event types such as `pet.created` and `pet.*`; null for all. */
  readonly types: readonly string[] | null;
  /** Category ids; null for all. */
  readonly categoryIds: readonly number[] | null;
  readonly status: Tables['webhooks']['status'];
  readonly disabledReason: Tables['webhooks']['disabled_reason'];
  readonly failingSince: number | null;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The columns of a {@link WebhookRow}. */
export const webhookColumns = [
  'id',
  'account_id as accountId',
  'url',
  'description',
  'types',
  'category_ids as categoryIds',
  'status',
  'disabled_reason as disabledReason',
  'failing_since as failingSince',
  'version',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

/** A row of `webhookColumns`; arrays are JSON texts. */
export type WebhookColumns = Omit<WebhookRow, 'types' | 'categoryIds'> & {
  readonly types: string | null;
  readonly categoryIds: string | null;
};

/** Parses the JSON columns of a row. */
export function parseRow<Columns extends WebhookColumns>({ types, categoryIds, ...columns }: Columns) {
  return {
    ...columns,
    types: types === null ? null : (JSON.parse(types) as readonly string[]),
    categoryIds: categoryIds === null ? null : (JSON.parse(categoryIds) as readonly number[]),
  };
}

/** Returns a webhook in the form of responses. */
export function webhookOf(row: WebhookRow): Webhook {
  const { id, url, description, types, categoryIds, status, disabledReason, failingSince, accountId } = row;
  return {
    id,
    url,
    ...(description !== null && { description }),
    ...(types !== null && { types: [...types] as NonNullable<Webhook['types']> }),
    ...(categoryIds !== null && { categoryIds: [...categoryIds] }),
    status,
    ...(disabledReason !== null && { disabledReason }),
    ...(failingSince !== null && { failingSince: formatTime(failingSince) }),
    createdAt: formatTime(row.createdAt),
    updatedAt: formatTime(row.updatedAt),
    accountId,
  };
}

/** Returns the entity tag. It changes with every version, and when the receiver begins or ceases to fail. */
export function webhookEtag({ id, version, failingSince }: Pick<WebhookRow, 'id' | 'version' | 'failingSince'>) {
  return failingSince === null ? `"${id}.${version}"` : `"${id}.${version}.${failingSince}"`;
}
