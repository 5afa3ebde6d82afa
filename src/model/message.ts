import { field, type InsertRowOf, type RecordedRowOf, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, plainSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { checkedText, documentedRule, emailSchema, idSchema, openEnum, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { countText } from '../lib/text.ts';
import { formatTime } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import type { Noun } from './noun.ts';

/** The maximum length of a message, in code points. */
export const MESSAGE_LENGTH_MAX = 10_000;

export const MessageStatus = Type.Enum(['queued', 'delivered', 'failed'], {
  title: 'MessageStatus',
  description:
    '`queued` until delivery is complete; `delivered` when it is in the inbox and, if the store sends e-mail, sent by ' +
    'e-mail; `failed` when it could not be sent by e-mail: it is in the inbox nevertheless.',
});
export type MessageStatus = Static<typeof MessageStatus>;

/** The id of a message in requests and responses; never reused. */
export const MessageId = Type.String({
  ...documentedRule({ maxLength: 20 }),
  pattern: '^msg_[1-9][0-9]{0,15}$',
  description: 'Assigned by the service when the message is sent.',
  examples: ['msg_1'],
});

const Text = checkedText(
  { maxLength: MESSAGE_LENGTH_MAX, pattern: '^[^\\x00]*$', errorOf: textError },
  `The text: 1–${countText(MESSAGE_LENGTH_MAX)} characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not.`,
);

const ReplyTo = emailSchema('The e-mail address for replies.');

const Attempt = Type.Object(
  {
    at: timeSchema('When the delivery was attempted.'),
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
interface EmailAttempt {
  readonly at: number;
  readonly outcome: 'delivered' | 'failed';
  readonly reason: EmailFault | null;
}

/** The columns from which the attempts of a message derive. */
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

/** The fields of a message, one entry each. The last group of fields belongs to the delivery by e-mail. */
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
    idSchema(
      'The account that sent the message; absent for the store itself, and for visitors of the page of an animal.',
    ),
    {
      column: 'account_id',
      nullable: true,
      recorded: true,
    },
  ),
  toAccountId: field(idSchema('The account that receives the message; absent for the store itself.'), {
    column: 'to_account_id',
    nullable: true,
    recorded: true,
  }),
  petId: field(ToPet, {
    column: 'pet_id',
    write: 'optional',
    shown: idSchema('The animal that the message is about.'),
  }),
  replyTo: field(ReplyTo, { column: 'reply_to', write: 'optional', recorded: false }),
  updatedAt: field(timeSchema('When the delivery of the message last changed.'), { column: 'updated_at', codec: time }),
  attempts: field(Type.Array(Attempt, { description: 'Every attempt to deliver the message, oldest first.' }), {
    derive: attemptsOf,
  }),
  arrivedAt: field(Type.Integer(), { column: 'arrived_at', nullable: true, view: 'row' }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
  /** 1 from its arrival until the recipient opens it, and after it was marked as unread; otherwise null. */
  unread: field(Type.Integer(), { column: 'unread', generated: true, nullable: true, view: 'row' }),
  /** Where the recipient put the message; null in the inbox. `spam` is from a blocked sender. */
  folder: field(Type.Enum(['archived', 'spam']), { column: 'folder', nullable: true, view: 'row' }),
  /** The person who takes care of the message. */
  assignedTo: field(Type.Integer(), { column: 'assigned_to', generated: true, nullable: true, view: 'row' }),
  /** The number of the message among the messages from its sender to its recipient; null if the store sent it. */
  sequence: field(Type.Integer(), { column: 'sequence', nullable: true, view: 'row' }),

  /** When to send it by e-mail, or when the lease of a process expires; null if no e-mail is to be sent. */
  dueAt: field(Type.Integer(), { column: 'due_at', nullable: true, view: 'lock' }),
  /** 1 while a process has a lease. */
  leased: field(Type.Integer(), { column: 'leased', generated: true, view: 'lock' }),
  /** The number of claims; only the result of the last claim counts. */
  claims: field(Type.Integer(), { column: 'takes', generated: true, view: 'lock' }),
  /** The accounts that still wait for the e-mail, as a JSON array, once others have received it; null before. */
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

/** A message in responses to its sender and its recipient. */
export const Message = fullSchema(messageFields, 'Message', 'A message and its delivery.');
export type Message = Static<typeof Message>;

export const Messages = Type.Array(Message, { title: 'Messages', description: 'Messages.' });

/** A message as it is stored, with its attempts. Times are milliseconds since the Unix epoch. */
export type MessageRow = RowOf<MessageFields> & Pick<StoredAttempts, 'emailAttempts'>;

/** A message to an account. */
export type ReceivedMessage = MessageRow & { readonly toAccountId: number };

/** The values that an insert sets. */
export type InsertedMessageRow = InsertRowOf<MessageFields>;

/** The columns that events record, with the id: never the text. */
export type RecordedMessageRow = RecordedRowOf<MessageFields> & Pick<MessageRow, 'id' | 'folder'>;

export interface MessageEventData {
  readonly message: StateOf<MessageFields>;
  /** The previous values of the changed members. */
  readonly was?: { readonly status: MessageStatus };
  /** True for the delivery of a message from a blocked sender: its recipient does not see the event. */
  readonly isSpam?: true;
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
 * Returns the error of a message's text as the end of a sentence; `undefined` if it is valid: 1–10,000 code points of
 * well-formed Unicode without NUL.
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

/** Returns the public id of a stored message. */
export function messageIdOf(id: number): string {
  return `msg_${id}`;
}

/** Returns the stored id of a message from its public id. */
export function idOf(messageId: string): number {
  return Number(messageId.slice('msg_'.length));
}

export const message = {
  tag: { name: 'Messages', description: 'Messages to the store and to the owners of pets.', group: 'Messages' },
  // A message can outlast its accounts.
  table: {
    name: 'messages',
    fields: messageFields,
    accounts: [],
    checks: {
      'notes and replies': () => sql`
        select 'Message ' || messages.id || ' has a note or a reply of an account that did not receive it.' as finding
        from messages join (
          select message_id, account_id from message_notes
          union all select message_id, account_id from message_replies
        ) as written on written.message_id = messages.id
        where coalesce(messages.to_account_id, 0) <> written.account_id`,
    },
  },
  events: {
    actions: { queued: 'creates', delivered: 'changes', failed: 'changes' },
    scopes: ['messages:read'],
    visibleTo: 'correspondents',
    belongsTo: 'owners',
    data: recordedSchema(messageFields, 'MessageEventData', 'A message after the change, without its text.', {
      id: MessageId,
    }),
    shownId: messageIdOf,
  },
  exported: { sentMessages: ['listMessages', { box: 'sent' }], inbox: ['listMessages', { box: 'inbox' }] },
  deletion: ['messages', 'notifications', 'inbox'],
  commands: {
    list: {
      summary: 'List messages of all accounts, sorted by id.',
      options: {
        account: { description: 'Only messages to or from this account; `store` is the store itself.', value: 'ID' },
        box: { description: 'With --account: only messages that it sent (`sent`), or received (`inbox`).' },
      },
      list: {
        columns: ['from', 'to', 'animal', 'status', 'sent', 'text'],
        noun: 'messages',
        hint: 'accounts send them with POST /messages.',
      },
      examples: {
        '--account store --box inbox': 'messages to the store itself',
        '--account 2 --json': 'for a program',
      },
    },
    show: {
      summary: 'Show a message with its whole text and every delivery attempt.',
      examples: { msg_12: 'its text and status' },
    },
    send: {
      summary: 'Send a message for an account, or from the store itself to an account.',
      details: 'A running server delivers the message. If no server runs, the next one that starts delivers it.',
      options: {
        account: { description: 'The account that sends the message; see `petstore account list`.', value: 'ID' },
        to: {
          description: 'The account that receives a message from the store itself; instead of --account.',
          value: 'ID',
        },
        'reply-to': { value: 'EMAIL' },
      },
      examples: {
        '--to 2 --message "Your animals are on the first page."': 'from the store to an account',
        '--account 2 --pet 7 --message "Is she still there?"': 'from a customer to the owner of an animal',
      },
    },
  },
} as const satisfies Noun;
