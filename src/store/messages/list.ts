import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { declareList } from '../../model/list.ts';
import type { Actor } from '../../model/log/event.ts';
import type { MessageRow } from '../../model/message.ts';
import type { Reader } from '../../model/schema.ts';
import { type MessageColumns, messageColumns, rowOf } from './rows.ts';

/** Which messages a list contains: those that an account sent, or those in its inbox. */
type Box = 'sent' | 'inbox';

/**
 * Returns one page of the messages that an account sent or received, by id ascending. An inbox contains the messages
 * about the account's pets; an admin's inbox also contains those to the store.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listMessages(
  reader: Reader,
  { accountId, admin }: Actor & { readonly accountId: number },
  box: Box,
  page: PageRequest,
): Promise<Page<MessageRow>> {
  return list(reader, box === 'inbox' && admin ? 'adminInbox' : box, accountId, page);
}

/**
 * Returns one page of all messages for the operator, or of the messages of one account (`null`: the store itself), by
 * id ascending, or with `newestFirst` descending. An account's inbox contains the messages about its pets and those to
 * the account itself.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listEveryMessage(
  reader: Reader,
  filter: { readonly accountId?: number | null; readonly box?: Box | 'both'; readonly newestFirst?: boolean },
  page: PageRequest,
): Promise<Page<MessageRow>> {
  const { accountId, box = 'both', newestFirst } = filter;
  if (accountId === undefined) return list(reader, 'all', 0, page, newestFirst);
  return list(reader, accountId === null ? LISTS_OF_STORE[box] : box, accountId ?? 0, page, newestFirst);
}

const LISTS_OF_STORE = { sent: 'sentByTheStore', inbox: 'inboxOfTheStore', both: 'ofTheStore' } as const;

/** The lists, each with its filters; a message must match at least one. The names are part of cursors. */
const LISTS = {
  sent: ['sender'],
  inbox: ['recipient'],
  adminInbox: ['recipient', 'sentToStore'],
  both: ['sender', 'recipient'],
  sentByTheStore: ['sentByStore'],
  inboxOfTheStore: ['sentToStore'],
  ofTheStore: ['sentByStore', 'sentToStore'],
  all: [],
} as const;

async function list(
  reader: Reader,
  name: keyof typeof LISTS,
  accountId: number,
  page: PageRequest,
  descending = false,
): Promise<Page<MessageRow>> {
  const { rows, ...links } = await pageOf(reader, Object.fromEntries(LISTS[name].map(filter => [filter, accountId])), {
    list: ['messages', name, ...(descending ? ['newest first'] : [])],
    page,
    descending,
  });
  return { rows: rows.map(rowOf), ...links };
}

const pageOf = declareList({
  table: 'messages',
  rows: (db, engine) => db.selectFrom('messages').select(messageColumns(engine)).$castTo<MessageColumns>(),
  filters: {
    sender: (rows, id: Expression<number>) => rows.where('account_id', '=', id),
    sentByStore: rows => rows.where('account_id', 'is', null),
    recipient: (rows, id: Expression<number>) =>
      rows.where('arrived_at', 'is not', null).where('to_account_id', '=', id),
    sentToStore: rows => rows.where('arrived_at', 'is not', null).where('to_account_id', 'is', null),
  },
  merged: true,
});
