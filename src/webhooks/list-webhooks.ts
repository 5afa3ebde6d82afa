import type { Actor } from '../events/event.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import {
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
} from '../schema.ts';
import { webhookColumns } from './rows.ts';
import type { WebhookRow } from './webhook.ts';

/**
 * Returns one page of an account's webhooks by id ascending; admins get all webhooks.
 *
 * A page scans up to 20,000 rows, which include webhooks that were deleted but not purged.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listWebhooks(
  reader: Reader,
  { accountId, admin }: Actor,
  page: PageRequest,
): Promise<Page<WebhookRow>> {
  const values = { accountId: accountId! };
  return paginate({
    list: ['webhooks', admin],
    page,
    rows: scan => reader.all(pageQuery({ admin, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery({ admin, ...scan }), { ...values, ...scan }),
  });
}

interface Shape {
  readonly admin: boolean;
  readonly descending: boolean;
}

const pageQuery = queriesByShape(['admin', 'descending'], ({ admin, descending }: Shape) =>
  query((db, p: Params<KeysetParams & { accountId: number }>) => {
    const rows = db.selectFrom('webhooks').select(webhookColumns.stored()).where('deleted_at', 'is', null);
    return keysetPage(admin ? rows : rows.where('account_id', '=', p.accountId), 'id', descending, p);
  }),
);

const endQuery = queriesByShape(['admin', 'descending'], ({ admin, descending }: Shape) =>
  query((db, p: Params<{ accountId: number; fromId: number; scanLimit: number }>) => {
    const rows = db.selectFrom('webhooks').select('id');
    return keysetEnd(admin ? rows : rows.where('account_id', '=', p.accountId), 'id', descending, p);
  }),
);
