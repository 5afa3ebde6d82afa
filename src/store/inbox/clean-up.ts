import { countDeleted } from '../../access/plans/stored-bytes.ts';
import { type Params, type Query, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/** What an account stores about its messages, by the names in its export: the table, and the columns that it exports. */
const parts = {
  notes: ['message_notes', ['message_id as messageId', 'person_id as personId', 'text', 'created_at as createdAt']],
  replies: [
    'message_replies',
    [
      'message_id as messageId',
      'person_id as personId',
      'email',
      'text',
      'created_at as createdAt',
      'sent_at as sentAt',
    ],
  ],
  blockedSenders: ['blocked_senders', ['sender', 'created_at as createdAt', 'last_at as lastAt']],
} as const;

export type InboxPart = keyof typeof parts;

export const inboxParts = Object.keys(parts) as InboxPart[];

/** A row of a part. */
interface InboxItem {
  readonly id: number;
  /** The message that a note or a reply belongs to. */
  readonly messageId?: number;
}

/** Deletes up to `limit` notes, replies or blocked senders of an account. Returns their number. */
export async function deleteInboxOf(tx: Transaction, accountId: number, limit: number): Promise<number> {
  for (const part of inboxParts) {
    const deleted = await tx.all(queries[part].deleteRows, { accountId, limit });
    countDeleted(tx, deleted);
    if (deleted.length > 0) return deleted.length;
  }
  return 0;
}

/** Yields the rows of a part, a page at a time, by ascending id. */
export async function* inboxPages(reader: Reader, part: InboxPart, accountId: number): AsyncGenerator<InboxItem[]> {
  for (let after = 0; ; ) {
    const rows = await reader.all(queries[part].page, { accountId, after, limit: PAGE_SIZE });
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)!.id;
  }
}

const PAGE_SIZE = 100;

type Owner = { accountId: number; limit: number };

function queriesOf(part: InboxPart) {
  // The queries are the same for every table, so they use the types of one table.
  const [name, columns] = parts[part];
  const table = name as 'message_notes';
  const bytes = part === 'blockedSenders' ? sql<number>`0` : sql<number>`octet_length(text)`;
  return {
    deleteRows: query((db, p: Params<Owner>) =>
      db
        .deleteFrom(table)
        .where('id', 'in', ({ selectFrom }) =>
          selectFrom(table).select('id').where('account_id', '=', p.accountId).limit(p.limit),
        )
        .returning(['account_id as accountId', bytes.as('bytes')]),
    ),
    page: query((db, p: Params<Owner & { after: number }>) =>
      db
        .selectFrom(table)
        .select(['id', ...(columns as readonly 'text'[])])
        .where('account_id', '=', p.accountId)
        .where('id', '>', p.after)
        .orderBy('id')
        .limit(p.limit),
    ) as Query<Owner & { after: number }, InboxItem>,
  };
}

const queries = {
  notes: queriesOf('notes'),
  replies: queriesOf('replies'),
  blockedSenders: queriesOf('blockedSenders'),
};
