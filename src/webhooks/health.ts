import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import {
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
} from '../schema.ts';
import type { WebhookRow } from './webhook.ts';

/** How a webhook does, for the operator. Times are milliseconds since the Unix epoch. */
export interface WebhookHealth
  extends Pick<WebhookRow, 'id' | 'accountId' | 'url' | 'status' | 'disabledReason' | 'failingSince' | 'updatedAt'> {
  /** The number of its pending deliveries. */
  readonly pending: number;
  /** When its next delivery is due; null if none is. */
  readonly dueAt: number | null;
  /** 1 if events wait in the log because too many deliveries are pending. */
  readonly waits: number;
}

export interface HealthFilter {
  readonly accountId?: number | undefined;
  readonly state?: 'active' | 'failing' | 'disabled' | 'inactive' | undefined;
}

/**
 * Returns one page of the webhooks of all accounts, or of one, newest first. A page scans up to 20,000 rows.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listWebhookHealth(
  reader: Reader,
  { accountId, state }: HealthFilter,
  page: PageRequest,
): Promise<Page<WebhookHealth>> {
  const shape = { ofAccount: accountId !== undefined, state: state ?? '' } as const;
  const values = { accountId: accountId ?? 0 };
  return paginate({
    list: ['webhook health', accountId, state],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery({ ...shape, ...scan }), { ...values, ...scan }),
  });
}

interface Shape {
  readonly ofAccount: boolean;
  readonly state: NonNullable<HealthFilter['state']> | '';
  readonly descending: boolean;
}

const pageQuery = queriesByShape(['ofAccount', 'state', 'descending'], ({ ofAccount, state, descending }: Shape) =>
  query((db, p: Params<KeysetParams & { accountId: number }>) => {
    const rows = db
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
      .where('deleted_at', 'is', null)
      .$if(ofAccount, rows => rows.where('account_id', '=', p.accountId))
      .$if(state === 'failing', rows => rows.where('status', '=', 'active').where('failing_since', 'is not', null))
      .$if(state !== '' && state !== 'failing', rows => rows.where('status', '=', sql.lit(state as 'active')));
    return keysetPage(rows, 'id', descending, p);
  }),
);

const endQuery = queriesByShape(['ofAccount', 'descending'], ({ ofAccount, descending }: Shape) =>
  query((db, p: Params<{ accountId: number; fromId: number; scanLimit: number }>) => {
    const rows = db.selectFrom('webhooks').select('id');
    return keysetEnd(ofAccount ? rows.where('account_id', '=', p.accountId) : rows, 'id', descending, p);
  }),
);
