import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { declareList } from '../../model/list.ts';
import { type Reader, sql } from '../../model/schema.ts';
import type { WebhookRow } from '../../model/webhook.ts';

/** The health of a webhook, for the operator. Times are milliseconds since the Unix epoch. */
export interface WebhookHealth
  extends Pick<WebhookRow, 'id' | 'accountId' | 'url' | 'status' | 'disabledReason' | 'failingSince' | 'updatedAt'> {
  /** The number of its pending deliveries. */
  readonly pending: number;
  /** When its next delivery is due; null if none is pending. */
  readonly dueAt: number | null;
  /** 1 if events wait in the log because too many deliveries are pending. */
  readonly waits: number;
}

export interface HealthFilter {
  readonly accountId?: number | undefined;
  readonly state?: 'active' | 'failing' | 'disabled' | 'inactive' | undefined;
}

/**
 * Returns one page of the webhooks of all accounts, or of one account, newest first. A page scans up to 20,000 rows.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listWebhookHealth(
  reader: Reader,
  { accountId, state }: HealthFilter,
  page: PageRequest,
): Promise<Page<WebhookHealth>> {
  const states = state === undefined ? {} : { [state]: true };
  return pageOf(
    reader,
    { accountId, ...states },
    { list: ['webhook health', accountId, state], page, descending: true },
  );
}

const pageOf = declareList({
  table: 'webhooks',
  rows: db =>
    db
      .selectFrom('webhooks')
      .select([
        'id',
        'account_id as accountId',
        'url',
        'status',
        'disabled_reason as disabledReason',
        'failing_since as failingSince',
        'updated_at as updatedAt',
        'pending',
        'due_at as dueAt',
        sql<number>`case when waits_up_to is null then 0 else 1 end`.as('waits'),
      ])
      .where('deleted_at', 'is', null),
  filters: {
    accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id),
    active: rows => rows.where('status', '=', sql.lit('active')),
    failing: rows => rows.where('status', '=', 'active').where('failing_since', 'is not', null),
    disabled: rows => rows.where('status', '=', sql.lit('disabled')),
    inactive: rows => rows.where('status', '=', sql.lit('inactive')),
  },
  indexed: ['accountId'],
});
