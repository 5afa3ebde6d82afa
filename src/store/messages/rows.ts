import { columnsFor } from '../../lib/fields/columns.ts';
import { valuesFor } from '../../lib/fields/values.ts';
import type { NewEvent } from '../../model/log/event.ts';
import type {
  Message,
  MessageEventData,
  MessageRow,
  MessageStatus,
  NewMessage,
  RecordedMessageRow,
} from '../../model/message.ts';
import { messageFields } from '../../model/message.ts';
import { type Reader, sql } from '../../model/schema.ts';

const columns = columnsFor(messageFields);

/** Conversions between JSON values and rows of messages. */
export const messageValues = valuesFor(messageFields);

/** The columns of a message in queries; `emailAttempts` is JSON text. */
export type MessageColumns = Omit<MessageRow, 'emailAttempts'> & { readonly emailAttempts: string };

/** Returns the columns to select for a `MessageColumns`. */
export const messageColumns = (engine: Reader['engine']) =>
  [...columns.full(undefined), emailAttempts(engine).as('emailAttempts')] as const;

export const { inserted } = columns;

const emailAttempts = (engine: Reader['engine']) => {
  const [object, array] = engine === 'sqlite' ? ['json_object', 'json_group_array'] : ['json_build_object', 'json_agg'];
  return sql<string>`(
    select coalesce(cast(${sql.raw(array!)}(
      ${sql.raw(object!)}('at', at, 'outcome', outcome, 'reason', reason) order by number) as text), '[]')
    from message_attempts where message_id = messages.id
  )`;
};

/** Returns the bytes of a message that count for its sender; `bytesStored` is the same in SQL. */
export function bytesOf({ message, replyTo = '' }: NewMessage): number {
  return Buffer.byteLength(message) + Buffer.byteLength(replyTo);
}

export const bytesStored = sql<number>`octet_length(text) + coalesce(octet_length(reply_to), 0)`;

/** Returns the row of selected columns. */
export function rowOf({ emailAttempts, ...row }: MessageColumns): MessageRow {
  return { ...row, emailAttempts: JSON.parse(emailAttempts) };
}

/** Returns a message as a response. */
export function messageOf(row: MessageRow): Message {
  return messageValues.fullOf(row);
}

/** Returns the entity tag of a message, which changes with every change. */
export function messageEtag({ id, version }: Pick<MessageRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

export const recordedColumns = [
  'id',
  'status',
  'account_id as accountId',
  'to_account_id as toAccountId',
  'pet_id as petId',
  'created_at as createdAt',
  'folder',
] as const;

/**
 * Returns the event for a new status of a message. The first event has the sender as its actor; later events have none.
 */
export function messageEvent(message: RecordedMessageRow, status: MessageStatus): NewEvent {
  const data: MessageEventData = {
    message: messageValues.stateOf({ ...message, status }),
    ...(status !== 'queued' && { was: { status: 'queued' } }),
    ...(status !== 'queued' && message.folder === 'spam' && { isSpam: true }),
  };
  const accountId = status === 'queued' ? message.accountId : null;
  return { kind: 'message', action: status, subjectId: message.id, accountId, data };
}
