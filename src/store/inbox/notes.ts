import { lockBound } from '../../access/plans/lock.ts';
import { countDeleted, countStored } from '../../access/plans/stored-bytes.ts';
import { personIdOf } from '../../lib/origin.ts';
import { problem } from '../../model/errors.ts';
import type { ReceivedMessage } from '../../model/message.ts';
import { NOTES_MAX } from '../../model/rules.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/** A note on a message, which only its recipient sees. */
export interface MessageNote {
  readonly id: number;
  readonly text: string;
  readonly createdAt: number;
  /** The member who wrote it; `null` if unknown. */
  readonly personId: number | null;
}

type Noted = Pick<ReceivedMessage, 'id' | 'toAccountId'>;

/**
 * Adds a note to a message.
 * @param storedMax the maximum number of bytes that the recipient stores
 * @throws {Problem} `note_limit_exceeded`, `storage_limit_exceeded`
 */
export async function addNote(
  tx: Transaction,
  { id: messageId, toAccountId }: Noted,
  text: string,
  storedMax: number,
): Promise<void> {
  await lockBound(tx, 'messages', toAccountId);
  const { notes } = (await tx.first(countNotes, { messageId }))!;
  if (notes >= NOTES_MAX) throw problem('note_limit_exceeded');
  await tx.run(insertNote, {
    ...{ messageId, accountId: toAccountId, text, now: tx.now },
    personId: personIdOf(tx.origin),
  });
  await countStored(tx, toAccountId, Buffer.byteLength(text), storedMax);
}

/** Deletes a note of a message, if it exists. */
export async function deleteNote(tx: Transaction, message: Noted, id: number): Promise<void> {
  countDeleted(tx, await tx.all(deleteOne, { id, messageId: message.id }));
}

/** Returns the notes on a message, oldest first: at most `NOTES_MAX`. */
export async function listNotes(reader: Reader, message: Noted): Promise<readonly MessageNote[]> {
  return reader.all(notesOn, { messageId: message.id });
}

const countNotes = query((db, p: Params<{ messageId: number }>) =>
  db
    .selectFrom('message_notes')
    .select(({ fn }) => fn.countAll<number>().as('notes'))
    .where('message_id', '=', p.messageId),
);

const insertNote = query(
  (db, p: Params<{ messageId: number; accountId: number; personId: number | null; text: string; now: number }>) =>
    db.insertInto('message_notes').values({
      message_id: p.messageId,
      account_id: p.accountId,
      person_id: p.personId,
      text: p.text,
      created_at: p.now,
    }),
);

const deleteOne = query((db, p: Params<{ id: number; messageId: number }>) =>
  db
    .deleteFrom('message_notes')
    .where('id', '=', p.id)
    .where('message_id', '=', p.messageId)
    .returning(['account_id as accountId', sql<number>`octet_length(text)`.as('bytes')]),
);

const notesOn = query((db, p: Params<{ messageId: number }>) =>
  db
    .selectFrom('message_notes')
    .select(['id', 'text', 'created_at as createdAt', 'person_id as personId'])
    .where('message_id', '=', p.messageId)
    .orderBy('id'),
);
