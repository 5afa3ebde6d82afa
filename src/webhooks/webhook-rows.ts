import { formatTime } from '../lib/time.ts';
import type { Tables } from '../schema.ts';
import type { Webhook } from './webhook.ts';

/** A webhook as it is stored and worked with. */
export interface WebhookRow {
  readonly id: number;
  readonly accountId: number;
  readonly url: string;
  readonly description: string | null;
  /** Types of events, `pet.created` or `pet.*`; null for all. */
  readonly types: readonly string[] | null;
  /** Ids of categories; null for all. */
  readonly categoryIds: readonly number[] | null;
  readonly status: Tables['webhooks']['status'];
  readonly disabledReason: Tables['webhooks']['disabled_reason'];
  readonly failingSince: number | null;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The columns that a `WebhookRow` is made of. */
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

/** What these columns give. */
export type WebhookColumns = Omit<WebhookRow, 'types' | 'categoryIds'> & {
  readonly types: string | null;
  readonly categoryIds: string | null;
};

/** The webhook of these columns. */
export function rowOf({ types, categoryIds, ...rest }: WebhookColumns): WebhookRow {
  return {
    ...rest,
    types: types === null ? null : JSON.parse(types),
    categoryIds: categoryIds === null ? null : JSON.parse(categoryIds),
  };
}

/** What the secrets of a webhook are sealed for. */
export function sealedFor(webhookId: number): string {
  return `webhook ${webhookId}`;
}

/** A webhook as it is answered. */
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

/** The entity tag of a webhook: another one after every change, also when its receiver begins or ceases to fail. */
export function webhookEtag({
  id,
  version,
  failingSince,
}: Pick<WebhookRow, 'id' | 'version' | 'failingSince'>): string {
  return failingSince === null ? `"${id}.${version}"` : `"${id}.${version}.${failingSince}"`;
}
