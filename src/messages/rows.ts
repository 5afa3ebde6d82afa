import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import { type MessageStatus, type Reader, sql } from '../schema.ts';
import { type Message, messageIdOf, type QueuedMessage } from './message.ts';

/** Why an e-mail was not sent. */
export type EmailFault = 'unreachable' | 'timeout' | 'refused' | 'postponed';

/** One attempt to send a message by e-mail. */
export interface EmailAttempt {
  readonly at: number;
  readonly outcome: 'delivered' | 'failed';
  readonly reason: EmailFault | null;
}

/** A message as it is stored, with its attempts. Times are milliseconds since the Unix epoch. */
export interface MessageRow {
  readonly id: number;
  /** The sender; `null` is the store itself. */
  readonly accountId: number | null;
  /** The recipient; `null` is the store itself. */
  readonly toAccountId: number | null;
  readonly petId: number | null;
  readonly replyTo: string | null;
  readonly text: string;
  readonly status: MessageStatus;
  /** When it was delivered to the inbox; `null` before. */
  readonly arrivedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Counts the changes, from 1. */
  readonly version: number;
  /** The attempts to send it by e-mail, oldest first. */
  readonly emailAttempts: readonly EmailAttempt[];
}

/** The columns of a message; `emailAttempts` is JSON text. */
export type MessageColumns = Omit<MessageRow, 'emailAttempts'> & { readonly emailAttempts: string };

/** The columns to select for a `MessageColumns`. */
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
    emailAttempts(engine).as('emailAttempts'),
  ] as const;

const emailAttempts = (engine: Reader['engine']) => {
  const [object, array] = engine === 'sqlite' ? ['json_object', 'json_group_array'] : ['json_build_object', 'json_agg'];
  return sql<string>`(
    select coalesce(cast(${sql.raw(array!)}(
      ${sql.raw(object!)}('at', at, 'outcome', outcome, 'reason', reason) order by number) as text), '[]')
    from message_attempts where message_id = messages.id
  )`;
};

/** Returns the row of selected columns. */
export function rowOf({ emailAttempts, ...row }: MessageColumns): MessageRow {
  return { ...row, emailAttempts: JSON.parse(emailAttempts) };
}

/** Returns a message as `sendMessage` responds with it. */
export function queuedOf({ id, text, createdAt }: MessageRow): QueuedMessage {
  return { id: messageIdOf(id), message: text, status: 'queued', createdAt: formatTime(createdAt) };
}

/** Returns a message as callers see it. */
export function messageOf(row: MessageRow): Message {
  const { id, text, replyTo, updatedAt, arrivedAt, emailAttempts } = row;
  const inbox = { by: 'inbox', outcome: 'delivered' } as const;
  return {
    id: messageIdOf(id),
    message: text,
    ...stateOf(row, row.status),
    ...(replyTo !== null && { replyTo }),
    updatedAt: formatTime(updatedAt),
    attempts: [
      ...(arrivedAt === null ? [] : [{ at: formatTime(arrivedAt), ...inbox }]),
      ...emailAttempts.map(({ at, outcome, reason }) => ({
        at: formatTime(at),
        by: 'email' as const,
        outcome,
        ...(reason !== null && { reason }),
      })),
    ],
  };
}

/** Returns the entity tag of a message; every change gives it another one. */
export function messageEtag({ id, version }: Pick<MessageRow, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}

/** The part of a message that events record: never its text. */
export type MessageState = Pick<Message, 'status' | 'createdAt' | 'accountId' | 'toAccountId' | 'petId'>;

/** The data of an event about a message. */
export interface MessageEventData {
  /** The message after the change. */
  readonly message: MessageState;
  /** The changed members with their values before. */
  readonly was?: Pick<MessageState, 'status'>;
}

/** The columns that events record, beside the status. */
export type RecordedMessage = Pick<MessageRow, 'id' | 'accountId' | 'toAccountId' | 'petId' | 'createdAt'>;

/** The columns to select for a `RecordedMessage`. */
export const recordedColumns = [
  'id',
  'account_id as accountId',
  'to_account_id as toAccountId',
  'pet_id as petId',
  'created_at as createdAt',
] as const;

/** Returns the event of a message that gets a status. The sender queues it; later events have no actor. */
export function messageEvent(message: RecordedMessage, status: MessageStatus): NewEvent {
  const data: MessageEventData = {
    message: stateOf(message, status),
    ...(status !== 'queued' && { was: { status: 'queued' } }),
  };
  const accountId = status === 'queued' ? message.accountId : null;
  return { kind: 'message', action: status, subjectId: message.id, accountId, data };
}

function stateOf({ createdAt, accountId, toAccountId, petId }: RecordedMessage, status: MessageStatus): MessageState {
  return {
    status,
    createdAt: formatTime(createdAt),
    ...(accountId !== null && { accountId }),
    ...(toAccountId !== null && { toAccountId }),
    ...(petId !== null && { petId }),
  };
}
