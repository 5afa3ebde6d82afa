import { formatTime } from '../lib/time.ts';
import { type MessageStatus, type Reader, sql } from '../schema.ts';
import { type Message, messageIdOf, type QueuedMessage } from './message.ts';

/** Why a message could not be mailed. */
export type MailFault = 'unreachable' | 'timeout' | 'refused' | 'postponed';

/** One attempt to mail a message. Times are milliseconds since the Unix epoch. */
export interface MailAttempt {
  readonly at: number;
  readonly outcome: 'delivered' | 'failed';
  readonly reason: MailFault | null;
}

/** A message with all there is to say about it. Times are milliseconds since the Unix epoch. */
export interface MessageRow {
  readonly id: number;
  /** Who sent it; `null` for the store itself. */
  readonly accountId: number | null;
  /** `null` for the store itself. */
  readonly toAccountId: number | null;
  readonly petId: number | null;
  readonly replyTo: string | null;
  readonly text: string;
  readonly status: MessageStatus;
  /** When it came into the inbox. */
  readonly arrivedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Counts the changes, from 1; what makes the ETag. */
  readonly version: number;
  /** Oldest first. */
  readonly mailed: readonly MailAttempt[];
}

/** A message as its columns have it: the attempts are one text. */
export type MessageColumns = Omit<MessageRow, 'mailed'> & { readonly mailed: string };

/** The columns of a message, with its attempts. */
export const messageColumns = (engine: Reader['engine']) =>
  [
    'messages.id',
    'messages.account_id as accountId',
    'messages.to_account_id as toAccountId',
    'messages.pet_id as petId',
    'messages.reply_to as replyTo',
    'messages.text',
    'messages.status',
    'messages.arrived_at as arrivedAt',
    'messages.created_at as createdAt',
    'messages.updated_at as updatedAt',
    'messages.version',
    attempts(engine).as('mailed'),
  ] as const;

const attempts = (engine: Reader['engine']) => {
  const [object, array] = engine === 'sqlite' ? ['json_object', 'json_group_array'] : ['json_build_object', 'json_agg'];
  return sql<string>`(
    select coalesce(cast(${sql.raw(array!)}(
      ${sql.raw(object!)}('at', at, 'outcome', outcome, 'reason', reason) order by number) as text), '[]')
    from message_attempts where message_id = messages.id
  )`;
};

/** The message that a row of `messageColumns` is. */
export function rowOf({ mailed, ...row }: MessageColumns): MessageRow {
  return { ...row, mailed: JSON.parse(mailed) };
}

/** A message as sending it is answered. */
export function queuedOf({ id, text, createdAt }: MessageRow): QueuedMessage {
  return { id: messageIdOf(id), message: text, status: 'queued', createdAt: formatTime(createdAt) };
}

/** A message as it is answered. */
export function messageOf(row: MessageRow): Message {
  const { id, text, status, createdAt, accountId, toAccountId, petId, replyTo, updatedAt, arrivedAt, mailed } = row;
  return {
    id: messageIdOf(id),
    message: text,
    status,
    createdAt: formatTime(createdAt),
    ...(accountId !== null && { accountId }),
    ...(toAccountId !== null && { toAccountId }),
    ...(petId !== null && { petId }),
    ...(replyTo !== null && { replyTo }),
    updatedAt: formatTime(updatedAt),
    attempts: [
      ...(arrivedAt === null
        ? []
        : [{ at: formatTime(arrivedAt), by: 'inbox' as const, outcome: 'delivered' as const }]),
      ...mailed.map(({ at, outcome, reason }) => ({
        at: formatTime(at),
        by: 'email' as const,
        outcome,
        ...(reason !== null && { reason }),
      })),
    ],
  };
}

/** The entity tag of a message: another one after every change. */
export function messageEtag({ id, version }: Pick<MessageRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}
