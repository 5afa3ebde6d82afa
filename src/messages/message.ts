import Type, { type Static } from 'typebox';
import { field, type InsertRowOf, type RecordedRowOf, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, plainSchema } from '../lib/fields/schemas.ts';
import { checkedText, documentedRule, emailSchema, idSchema, openEnum, timeSchema } from '../lib/schemas.ts';
import { countText } from '../lib/text.ts';
import { formatTime } from '../lib/time.ts';

/** The maximum length of a message, in code points. */
export const MESSAGE_LENGTH_MAX = 10_000;

export const MessageStatus = Type.Enum(['queued', 'delivered', 'failed'], {
  title: 'MessageStatus',
  description:
    '`queued` until delivery is complete; `delivered` when it is in the inbox and, if the store sends e-mail, sent by ' +
    'e-mail; `failed` when it could not be sent by e-mail: it is in the inbox nevertheless.',
});
export type MessageStatus = Static<typeof MessageStatus>;

/** The id of a message on the wire; never reused. */
export const MessageId = Type.String({
  ...documentedRule({ maxLength: 20 }),
  pattern: '^msg_[1-9][0-9]{0,15}$',
  description: 'Assigned by the service when the message is sent.',
  examples: ['msg_1'],
});

const Text = checkedText(
  { maxLength: MESSAGE_LENGTH_MAX, pattern: '^[^\\x00]*$', errorOf: textError },
  'The text: 1–10,000 characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not.',
);

const ReplyTo = emailSchema('The e-mail address for replies.');

const Attempt = Type.Object(
  {
    at: timeSchema('When it was attempted.'),
    by: openEnum(['inbox', 'email'], 'Whether the message was put into the inbox or sent by e-mail.'),
    outcome: Type.Enum(['delivered', 'failed'], { description: 'Whether the attempt succeeded.' }),
    reason: Type.Optional(
      openEnum(
        ['unreachable', 'timeout', 'refused', 'postponed'],
        'Why the e-mail failed: no mail server responded, it took too long, or it rejected the message permanently or for now.',
      ),
    ),
  },
  { title: 'DeliveryAttempt', description: 'An attempt to deliver a message.' },
);

/** One attempt to send a message by e-mail, as it is stored. */
export interface EmailAttempt {
  readonly at: number;
  readonly outcome: 'delivered' | 'failed';
  readonly reason: EmailFault | null;
}

/** What the attempts of a message derive from. */
interface StoredAttempts {
  /** When it was delivered to the inbox; null before. */
  readonly arrivedAt: number | null;
  /** The attempts to send it by e-mail, oldest first. */
  readonly emailAttempts: readonly EmailAttempt[];
}

/** Why an e-mail was not sent. */
export type EmailFault = 'unreachable' | 'timeout' | 'refused' | 'postponed';

const ToPet = idSchema(
  'The animal that the message is about: its owner receives it. Without it, the store receives the message.',
);

/** The fields of a message, one entry each. Those of the last group belong to the delivery by e-mail. */
export const messageFields = {
  id: field(MessageId, {
    column: 'id',
    codec: { encode: idOf, decode: messageIdOf },
    generated: true,
    fixed: true,
    view: 'plain',
  }),
  message: field(Text, { column: 'text', write: 'required', recorded: false, view: 'plain' }),
  status: field(MessageStatus, { column: 'status', recorded: true, view: 'plain' }),
  createdAt: field(timeSchema('When the message was sent.'), {
    column: 'created_at',
    codec: time,
    recorded: true,
    view: 'plain',
  }),
  accountId: field(
    idSchema('The account that sent it; absent for the store itself, and for visitors of the page of an animal.'),
    {
      column: 'account_id',
      nullable: true,
      recorded: true,
    },
  ),
  toAccountId: field(idSchema('The account that receives it; absent for the store itself.'), {
    column: 'to_account_id',
    nullable: true,
    recorded: true,
  }),
  petId: field(ToPet, { column: 'pet_id', write: 'optional', shown: idSchema('The animal that it is about.') }),
  replyTo: field(ReplyTo, { column: 'reply_to', write: 'optional', recorded: false }),
  updatedAt: field(timeSchema('When its delivery last changed.'), { column: 'updated_at', codec: time }),
  attempts: field(Type.Array(Attempt, { description: 'Every attempt to deliver it, oldest first.' }), {
    derive: attemptsOf,
  }),
  arrivedAt: field(Type.Integer(), { column: 'arrived_at', nullable: true, view: 'row' }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
  /** The number of the message among those from its sender to its recipient; null if the store sent it. */
  sequence: field(Type.Integer(), { column: 'sequence', nullable: true, view: 'row' }),

  /** When to send it by e-mail, or when the lease of a process expires; null if there is nothing to send. */
  dueAt: field(Type.Integer(), { column: 'due_at', nullable: true, view: 'lock' }),
  /** 1 while a process has a lease. */
  leased: field(Type.Integer(), { column: 'leased', generated: true, view: 'lock' }),
  /** Counts the claims; the result of an earlier claim than the last is ignored. */
  claims: field(Type.Integer(), { column: 'takes', generated: true, view: 'lock' }),
  /** The accounts that still wait for it, as a JSON array, once others have it; null before. */
  deferredIds: field(Type.String(), { column: 'mail_left', generated: true, nullable: true, view: 'lock' }),
};
type MessageFields = typeof messageFields;

export const NewMessage = newSchema(messageFields, 'NewMessage', 'A message to send.');
export type NewMessage = Static<typeof NewMessage>;

/** The response of `sendMessage` (contract, Message-send operation). */
export const QueuedMessage = plainSchema(
  messageFields,
  'QueuedMessage',
  'A message that is stored and will be delivered.',
  { status: Type.Enum(['queued'], { description: 'The message is stored and will be delivered.' }) },
);

/** A message as its sender and its recipient see it. */
export const Message = fullSchema(messageFields, 'Message', 'A message and its delivery.');
export type Message = Static<typeof Message>;

export const Messages = Type.Array(Message, { title: 'Messages', description: 'Messages.' });

/** A message as it is stored, with its attempts. Times are milliseconds since the Unix epoch. */
export type MessageRow = RowOf<MessageFields> & Pick<StoredAttempts, 'emailAttempts'>;

/** The values that an insert sets. */
export type InsertedMessageRow = InsertRowOf<MessageFields>;

/** The columns that events record, with the id: never the text. */
export type RecordedMessageRow = RecordedRowOf<MessageFields> & Pick<MessageRow, 'id'>;

export interface MessageEventData {
  readonly message: StateOf<MessageFields>;
  /** The changed members with their values before. */
  readonly was?: { readonly status: MessageStatus };
}

function attemptsOf({ arrivedAt, emailAttempts }: StoredAttempts) {
  const toInbox = { by: 'inbox', outcome: 'delivered' } as const;
  return [
    ...(arrivedAt === null ? [] : [{ at: formatTime(arrivedAt), ...toInbox }]),
    ...emailAttempts.map(({ at, outcome, reason }) => ({
      at: formatTime(at),
      by: 'email',
      outcome,
      ...(reason !== null && { reason }),
    })),
  ];
}

/**
 * Returns why a text is no valid message, as the end of a sentence, or `undefined` for a valid one: 1–10,000 code points
 * of well-formed Unicode without NUL.
 */
export function textError(text: string): string | undefined {
  if (text === '') return 'must not be empty';
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.includes('\0')) return 'must not contain the character U+0000';
  if (text.length > MESSAGE_LENGTH_MAX && [...text].length > MESSAGE_LENGTH_MAX) {
    return `must have at most ${countText(MESSAGE_LENGTH_MAX)} characters`;
  }
  return undefined;
}

/** Returns the id on the wire of a stored message. */
export function messageIdOf(id: number): string {
  return `msg_${id}`;
}

/** Returns the stored id of a message from its id on the wire. */
export function idOf(messageId: string): number {
  return Number(messageId.slice('msg_'.length));
}
