import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import type { MessageStatus } from '../schema.ts';
import type { Message } from './message.ts';

/** A message as the log has it: whose it is and how far, never what it says. */
export type MessageState = Pick<Message, 'status' | 'createdAt' | 'accountId' | 'toAccountId' | 'petId'>;

/** What the log says of a message. */
export interface MessageEventData {
  /** The message after the change. */
  readonly message: MessageState;
  /** What changed: the members as they were before. */
  readonly was?: Pick<MessageState, 'status'>;
}

/** What the log is told of a message, beside its status. */
export interface LoggedMessage {
  readonly id: number;
  readonly accountId: number | null;
  readonly toAccountId: number | null;
  readonly petId: number | null;
  readonly createdAt: number;
}

/** The columns of what the log is told of a message. */
export const loggedColumns = [
  'id',
  'account_id as accountId',
  'to_account_id as toAccountId',
  'pet_id as petId',
  'created_at as createdAt',
] as const;

/** What is written down when a message gets a status; being queued was its sender's doing, the rest happened by itself. */
export function messageEvent(
  { id, accountId, toAccountId, petId, createdAt }: LoggedMessage,
  status: MessageStatus,
): NewEvent {
  const data: MessageEventData = {
    message: {
      status,
      createdAt: formatTime(createdAt),
      ...(accountId !== null && { accountId }),
      ...(toAccountId !== null && { toAccountId }),
      ...(petId !== null && { petId }),
    },
    ...(status !== 'queued' && { was: { status: 'queued' } }),
  };
  return { kind: 'message', action: status, subjectId: id, accountId: status === 'queued' ? accountId : null, data };
}
