import { countDeleted } from '../../access/plans/stored-bytes.ts';
import { type Params, query, selectJsonNumbers, sql, type Transaction } from '../../model/schema.ts';
import { bytesStored } from './rows.ts';

/**
 * Deletes messages whose delivery is complete and that were sent longer ago than `keptMs`, with their attempts, notes
 * and replies.
 * @param limit the maximum number of messages
 * @returns the number of deleted messages
 */
export async function deleteOldMessages(tx: Transaction, keptMs: number, limit: number): Promise<number> {
  return deleteMessages(tx, await tx.all(oldMessages, { before: tx.now - keptMs, limit }));
}

/** Deletes messages in any status with their attempts, notes and replies. Returns their number. */
export async function deleteMessages(tx: Transaction, messages: readonly { readonly id: number }[]): Promise<number> {
  if (messages.length === 0) return 0;
  const ids = JSON.stringify(messages.map(({ id }) => id));
  await tx.run(deleteAttempts, { ids });
  for (const statement of deleteTexts) countDeleted(tx, await tx.all(statement, { ids }));
  const deleted = await tx.all(deleteRows, { ids });
  countDeleted(tx, deleted);
  return deleted.length;
}

const oldMessages = query((db, p: Params<{ before: number; limit: number }>, engine) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('status', '<>', 'queued')
    .where('created_at', '<', p.before)
    .orderBy('created_at')
    .limit(p.limit)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

const deleteAttempts = query((db, p: Params<{ ids: string }>, engine) =>
  db.deleteFrom('message_attempts').where('message_id', 'in', selectJsonNumbers(p.ids, engine)),
);

const deleteTexts = (['message_notes', 'message_replies'] as const).map(table =>
  query((db, p: Params<{ ids: string }>, engine) =>
    db
      .deleteFrom<'message_notes' | 'message_replies'>(table)
      .where('message_id', 'in', selectJsonNumbers(p.ids, engine))
      .returning(['account_id as accountId', sql<number>`octet_length(text)`.as('bytes')]),
  ),
);

const deleteRows = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', selectJsonNumbers(p.ids, engine))
    .returning(['account_id as accountId', bytesStored.as('bytes')]),
);
