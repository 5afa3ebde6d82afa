import type { Actor } from '../events/event.ts';
import { type Page, pageById } from '../lib/http/pages-by-id.ts';
import { type Params, type Query, query, type Reader } from '../schema.ts';
import { type MessageColumns, type MessageRow, messageColumns, rowOf } from './message-rows.ts';

/** Which messages a list has: what the account sent, or what came into its inbox. */
export type Box = 'sent' | 'inbox';

/**
 * One page of the messages that an account sent or got, by rising id. In an inbox is what was sent to the account's
 * animals; in that of an admin also what was sent to the store itself.
 * @param limit how many messages at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export function listMessages(
  reader: Reader,
  { accountId, admin }: Actor & { readonly accountId: number },
  box: Box,
  limit: number,
  cursorText: string | undefined,
): Promise<Page<MessageRow>> {
  const which = box === 'sent' ? 'sent' : admin ? 'adminInbox' : 'inbox';
  return pageById(JSON.stringify(['messages', which]), limit, cursorText, async ({ backward, id }) => {
    const found = pages[which][backward ? 'backward' : 'forward'];
    const rows = await reader.all(found, { accountId, from: id, rows: limit + 1 });
    return { rows: rows.map(rowOf), edge: undefined };
  });
}

/** The lists that there are; an admin's inbox has the store's own in it. */
type List = 'sent' | 'inbox' | 'adminInbox';

type Values = { accountId: number; from: number; rows: number };

/** Each follows an index from its place on. */
function pageQuery(which: List, backward: boolean): Query<Values, MessageColumns> {
  return query((db, p: Params<Values>, engine) => {
    const direction = backward ? 'desc' : 'asc';
    const run = () =>
      db
        .selectFrom('messages')
        .select(messageColumns(engine))
        .$castTo<MessageColumns>()
        .where('id', backward ? '<' : '>', p.from)
        .orderBy('id', direction)
        .limit(p.rows);
    if (which === 'sent') return run().where('account_id', '=', p.accountId);
    const own = run().where('to_account_id', '=', p.accountId).where('arrived_at', 'is not', null);
    if (which === 'inbox') return own;
    const ofTheStore = run().where('to_account_id', 'is', null).where('arrived_at', 'is not', null);
    const merged = db
      .selectFrom(own.as('one'))
      .selectAll()
      .unionAll(db.selectFrom(ofTheStore.as('other')).selectAll());
    return db.selectFrom(merged.as('messages')).selectAll().orderBy('id', direction).limit(p.rows);
  });
}

const pages = { sent: both('sent'), inbox: both('inbox'), adminInbox: both('adminInbox') };

function both(which: List) {
  return { forward: pageQuery(which, false), backward: pageQuery(which, true) };
}
