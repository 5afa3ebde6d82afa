import type { Actor } from '../events/event.ts';
import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import { type KeysetParams, keysetPage, type Params, queriesByShape, query, type Reader } from '../schema.ts';
import type { MessageRow } from './message.ts';
import { type MessageColumns, messageColumns, rowOf } from './rows.ts';

/** Whether a list contains the messages that an account sent, or those in its inbox. */
export type Box = 'sent' | 'inbox';

/**
 * Returns one page of the messages that an account sent or received, by id ascending. An inbox contains the messages
 * about the account's pets; an admin's inbox also those to the store.
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
 * Returns one page of all messages for the operator, or of the messages of one account (`null`: the store itself), by id
 * ascending, or with `newestFirst` descending. An account's inbox contains the messages about its pets and those to the account itself.
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

/** The lists, each with the conditions of which its messages meet at least one. The names are part of cursors. */
const LISTS = {
  sent: ['from'],
  inbox: ['to'],
  adminInbox: ['to', 'toStore'],
  both: ['from', 'to'],
  sentByTheStore: ['fromStore'],
  inboxOfTheStore: ['toStore'],
  ofTheStore: ['fromStore', 'toStore'],
  all: ['any'],
} as const;

type ListName = keyof typeof LISTS;
type Condition = (typeof LISTS)[ListName][number];

async function list(
  reader: Reader,
  name: ListName,
  accountId: number,
  page: PageRequest,
  descending = false,
): Promise<Page<MessageRow>> {
  const { rows, ...links } = await paginate({
    list: ['messages', name, ...(descending ? ['newest first'] : [])],
    page,
    descending,
    rows: scan => reader.all(pageQuery({ name, ...scan }), { accountId, ...scan }),
  });
  return { rows: rows.map(rowOf), ...links };
}

type Values = KeysetParams & { accountId: number };

/** Each condition follows an index of its own; two of them are merged. */
const pageQuery = queriesByShape(
  ['name', 'descending'],
  ({ name, descending }: { readonly name: ListName; readonly descending: boolean }) =>
    query((db, p: Params<Values>, engine) => {
      const meeting = (condition: Condition) => {
        const rows = db.selectFrom('messages').select(messageColumns(engine)).$castTo<MessageColumns>();
        return keysetPage(
          {
            any: rows,
            from: rows.where('account_id', '=', p.accountId),
            fromStore: rows.where('account_id', 'is', null),
            to: rows.where('arrived_at', 'is not', null).where('to_account_id', '=', p.accountId),
            toStore: rows.where('arrived_at', 'is not', null).where('to_account_id', 'is', null),
          }[condition],
          'id',
          descending,
          p,
        );
      };
      const [first, second] = LISTS[name].map(meeting);
      if (second === undefined) return first!;
      const [one, other] = [first!, second].map(rows => db.selectFrom(rows.as('one')).selectAll());
      // A message from an account to itself meets both conditions of `both`.
      const merged = name === 'both' ? one!.union(other!) : one!.unionAll(other!);
      return db
        .selectFrom(merged.as('messages'))
        .selectAll()
        .orderBy('id', descending ? 'desc' : 'asc')
        .limit(p.rows);
    }),
);
