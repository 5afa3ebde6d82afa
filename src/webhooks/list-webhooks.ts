import type { Actor } from '../events/event.ts';
import { type Page, pageById } from '../lib/http/pagination/page-by-id.ts';
import { type Params, type Query, query, type Reader } from '../schema.ts';
import { rowOf, type WebhookColumns, type WebhookRow, webhookColumns } from './webhook-rows.ts';

/**
 * One page of the webhooks of the caller's account, by rising id; for admins of all.
 *
 * A page ends after 20,000 rows looked at, those included that were deleted and are not purged yet.
 * @param limit how many webhooks at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export function listWebhooks(
  reader: Reader,
  { accountId, admin }: Actor,
  limit: number,
  cursorText: string | undefined,
): Promise<Page<WebhookRow>> {
  const own = pages[admin ? 'all' : 'own'];
  return pageById(['webhooks', admin], limit, cursorText, async ({ backward, id }, rowsMax) => {
    const { edgeAfter, rowsUpTo } = own[backward ? 'backward' : 'forward'];
    const values = { accountId: accountId!, from: id, rows: limit + 1, beforeEdge: rowsMax - 1 };
    const edge = (await reader.first(edgeAfter, values))?.id;
    const end = edge ?? (backward ? 0 : Number.MAX_SAFE_INTEGER);
    const rows = await reader.all(rowsUpTo, { ...values, edge: end });
    return { rows: rows.map(rowOf), edge };
  });
}

type Values = { accountId: number; from: number; rows: number; beforeEdge: number; edge: number };

/** The last webhook that a run may look at, and the run: each follows an index. */
function run(all: boolean, backward: boolean) {
  const direction = backward ? 'desc' : 'asc';
  const [beyond, within] = backward ? (['<', '>='] as const) : (['>', '<='] as const);
  const edgeAfter: Query<Omit<Values, 'edge'>, { id: number }> = query((db, p: Params<Omit<Values, 'edge'>>) => {
    const rows = db.selectFrom('webhooks').select('id').where('id', beyond, p.from);
    const own = all ? rows : rows.where('account_id', '=', p.accountId);
    return own.orderBy('id', direction).limit(1).offset(p.beforeEdge);
  });
  const rowsUpTo: Query<Values, WebhookColumns> = query((db, p: Params<Values>) => {
    const rows = db
      .selectFrom('webhooks')
      .select(webhookColumns)
      .where('id', beyond, p.from)
      .where('id', within, p.edge)
      .where('deleted_at', 'is', null);
    return (all ? rows : rows.where('account_id', '=', p.accountId)).orderBy('id', direction).limit(p.rows);
  });
  return { edgeAfter, rowsUpTo };
}

const pages = {
  all: { forward: run(true, false), backward: run(true, true) },
  own: { forward: run(false, false), backward: run(false, true) },
};
