import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import { declareList } from '../../model/list.ts';
import type { ReceivedMessage } from '../../model/message.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { blockSender, unblockSenderOf } from '../messages/blocks.ts';
import { type MessageColumns, messageColumns, rowOf } from '../messages/rows.ts';

/** The lists of an inbox: messages that are neither archived nor spam, those of them that are unread, and the others. */
export const inboxFolders = ['open', 'unread', 'archived', 'spam'] as const;
export type InboxFolder = (typeof inboxFolders)[number];

/** Returns one page of the messages in a folder of an inbox, newest first. @param petId only messages about this animal */
export async function listInbox(
  reader: Reader,
  accountId: number,
  { folder, petId }: { readonly folder: InboxFolder; readonly petId?: number | undefined },
  page: PageRequest,
): Promise<Page<ReceivedMessage>> {
  const { rows, ...links } = await pageOf(
    reader,
    {
      recipient: accountId,
      ...(folder === 'open' || folder === 'unread' ? { [folder]: true } : { folder }),
      petId,
    },
    { list: ['inbox', folder, petId ?? 0], page, descending: true },
  );
  return { rows: rows.map(row => rowOf(row) as ReceivedMessage), ...links };
}

const pageOf = declareList({
  table: 'messages',
  rows: (db, engine) =>
    db
      .selectFrom('messages')
      .select(messageColumns(engine))
      .$castTo<MessageColumns>()
      .where('arrived_at', 'is not', null),
  filters: {
    recipient: (rows, id: Expression<number>) => rows.where('to_account_id', '=', id),
    open: (rows, _: Expression<boolean>) => rows.where('folder', 'is', null),
    unread: (rows, _: Expression<boolean>) => rows.where('folder', 'is', null).where('unread', 'is not', null),
    folder: (rows, name: Expression<'archived' | 'spam'>) => rows.where('folder', '=', name),
    petId: (rows, id: Expression<number>) => rows.where('pet_id', '=', id),
  },
});

/** The maximum result of `countUnread`. */
export const UNREAD_COUNTED_MAX = 100;

/** Returns the number of unread messages in an inbox, at most `UNREAD_COUNTED_MAX`. Reads as many entries of an index. */
export async function countUnread(reader: Reader, accountId: number): Promise<number> {
  return (await reader.first(unreadOf, { accountId }))!.unread;
}

/** Returns the animals that the newest messages to an account are about, at most `PETS_MAX`. */
export async function petsInInbox(reader: Reader, accountId: number): Promise<readonly number[]> {
  const rows = await reader.all(newestPets, { accountId });
  return [...new Set(rows.map(({ petId }) => petId!))].slice(0, PETS_MAX);
}

const PETS_MAX = 50;
const NEWEST = 500;

/** Marks a message as read. */
export function markRead(tx: Transaction, { id }: Pick<ReceivedMessage, 'id'>) {
  return tx.run(setRead, { id });
}

/** Marks a message as unread. */
export function markUnread(tx: Transaction, { id }: Pick<ReceivedMessage, 'id'>) {
  return tx.run(setUnread, { id });
}

/** Assigns a message to a member of the recipient; `null` to nobody. The caller has checked the member. */
export function assignMessage(tx: Transaction, { id }: Pick<ReceivedMessage, 'id'>, personId: number | null) {
  return tx.run(setAssigned, { id, personId });
}

/**
 * Puts a message into a folder; `null` is the inbox. The sender of spam is blocked, and unblocked when the message
 * leaves it. The message counts as read.
 */
export async function moveMessage(
  tx: Transaction,
  message: ReceivedMessage,
  folder: ReceivedMessage['folder'],
): Promise<void> {
  const { id, toAccountId } = message;
  await tx.run(setFolder, { id, folder });
  await markRead(tx, message);
  if (folder === 'spam') await blockSender(tx, toAccountId, message);
  else if (message.folder === 'spam') await unblockSenderOf(tx, toAccountId, message);
}

const unreadOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom(({ selectFrom }) =>
      selectFrom('messages')
        .select('id')
        .where('to_account_id', '=', p.accountId)
        .where('folder', 'is', null)
        .where('unread', 'is not', null)
        .limit(UNREAD_COUNTED_MAX)
        .as('counted'),
    )
    .select(({ fn }) => fn.countAll<number>().as('unread')),
);

const setAssigned = query((db, p: Params<{ id: number; personId: number | null }>) =>
  db.updateTable('messages').set({ assigned_to: p.personId }).where('id', '=', p.id),
);

const newestPets = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('messages')
    .select('pet_id as petId')
    .where('to_account_id', '=', p.accountId)
    .where('arrived_at', 'is not', null)
    .where('pet_id', 'is not', null)
    .orderBy('id', 'desc')
    .limit(NEWEST),
);

const setRead = query((db, p: Params<{ id: number }>) =>
  db.updateTable('messages').set({ unread: null }).where('id', '=', p.id),
);

const setUnread = query((db, p: Params<{ id: number }>) =>
  db.updateTable('messages').set({ unread: 1 }).where('id', '=', p.id),
);

const setFolder = query((db, p: Params<{ id: number; folder: ReceivedMessage['folder'] }>) =>
  db.updateTable('messages').set({ folder: p.folder }).where('id', '=', p.id),
);
