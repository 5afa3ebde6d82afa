import type { Actor } from '../events/event.ts';
import { type Page, pageById } from '../lib/http/pagination/page-by-id.ts';
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
  return page(reader, which, accountId, limit, cursorText);
}

/** Which messages the operator wants: all, or those of an account or the store itself, or of one of its boxes. */
export interface MessageFilter {
  /** Whose they are; the store's own for `null`. */
  readonly accountId?: number | null;
  /** Both where left out. */
  readonly box?: Box;
}

/**
 * One page of the messages of anybody, for the operator, by rising id. An account's inbox is what was sent to its animals
 * or to itself.
 * @param limit how many messages at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export function listEveryMessage(
  reader: Reader,
  { accountId, box }: MessageFilter,
  limit: number,
  cursorText: string | undefined,
): Promise<Page<MessageRow>> {
  if (accountId === undefined) return page(reader, 'all', 0, limit, cursorText);
  const which = accountId === null ? ofTheStore[box ?? 'both'] : (box ?? 'both');
  return page(reader, which, accountId ?? 0, limit, cursorText);
}

const ofTheStore = { sent: 'sentByTheStore', inbox: 'inboxOfTheStore', both: 'ofTheStore' } as const;

function page(reader: Reader, which: List, accountId: number, limit: number, cursorText: string | undefined) {
  return pageById(['messages', which], limit, cursorText, async ({ backward, id }) => {
    const found = pages[which][backward ? 'backward' : 'forward'];
    const rows = await reader.all(found, { accountId, from: id, rows: limit + 1 });
    return { rows: rows.map(rowOf), edge: undefined };
  });
}

/** Which messages each list has: those that one of these kinds picks. An admin's inbox has the store's own in it. */
const lists = {
  sent: ['from'],
  inbox: ['to'],
  adminInbox: ['to', 'toTheStore'],
  both: ['from', 'to'],
  sentByTheStore: ['fromTheStore'],
  inboxOfTheStore: ['toTheStore'],
  ofTheStore: ['fromTheStore', 'toTheStore'],
  all: ['any'],
} as const satisfies Record<string, readonly Kind[]>;

type Kind = 'from' | 'to' | 'fromTheStore' | 'toTheStore' | 'any';
type List = keyof typeof lists;

type Values = { accountId: number; from: number; rows: number };

/** Each follows an index from its place on, or one for each kind. */
function pageQuery(which: List, backward: boolean): Query<Values, MessageColumns> {
  return query((db, p: Params<Values>, engine) => {
    const direction = backward ? 'desc' : 'asc';
    const picked = (kind: Kind) => {
      const some = db
        .selectFrom('messages')
        .select(messageColumns(engine))
        .$castTo<MessageColumns>()
        .where('id', backward ? '<' : '>', p.from)
        .orderBy('id', direction)
        .limit(p.rows);
      if (kind === 'from') return some.where('account_id', '=', p.accountId);
      if (kind === 'fromTheStore') return some.where('account_id', 'is', null);
      if (kind === 'any') return some;
      const arrived = some.where('arrived_at', 'is not', null);
      return kind === 'to'
        ? arrived.where('to_account_id', '=', p.accountId)
        : arrived.where('to_account_id', 'is', null);
    };
    const [one, other] = lists[which].map(kind => picked(kind));
    if (other === undefined) return one!;
    const [ones, others] = [db.selectFrom(one!.as('one')), db.selectFrom(other.as('other'))];
    // What an account wrote to itself is of both kinds.
    const merged =
      which === 'both' ? ones.selectAll().union(others.selectAll()) : ones.selectAll().unionAll(others.selectAll());
    return db.selectFrom(merged.as('messages')).selectAll().orderBy('id', direction).limit(p.rows);
  });
}

const pages = Object.fromEntries(
  Object.keys(lists).map(which => [
    which,
    { forward: pageQuery(which as List, false), backward: pageQuery(which as List, true) },
  ]),
) as Record<List, Record<'forward' | 'backward', Query<Values, MessageColumns>>>;
