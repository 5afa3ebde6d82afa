import Type, { type Static } from 'typebox';
import { EMAIL_LENGTH_MAX, isEmail } from '../accounts/account.ts';
import { PetId } from '../pets/pet.ts';

/** The maximum length of a message, in code points. */
export const MESSAGE_LENGTH_MAX = 10_000;

/** The status of a message. */
export const MessageStatus = Type.Enum(['queued', 'delivered', 'failed'], {
  title: 'MessageStatus',
  description:
    '`queued` until delivery is complete; `delivered` when it is in the inbox and, if the store sends e-mail, sent by ' +
    'e-mail; `failed` when it could not be sent by e-mail: it is in the inbox nevertheless.',
});
export type MessageStatus = Static<typeof MessageStatus>;

/** The id of a message on the wire; never reused. */
export const MessageId = Type.String({
  pattern: '^msg_[1-9][0-9]{0,15}$',
  description: 'Assigned by the service when the message is sent.',
  examples: ['msg_1'],
});

const Text = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: MESSAGE_LENGTH_MAX,
    description: 'The text: 1–10,000 characters, stored as sent. Line breaks and tabs are allowed, U+0000 is not.',
  }),
  value => textError(value) === undefined,
  value => textError(value) ?? '',
);

const ReplyTo = Type.Refine(
  Type.String({
    maxLength: EMAIL_LENGTH_MAX,
    description: 'The e-mail address for replies.',
    examples: ['jo@example.org'],
  }),
  isEmail,
  () => 'must be an e-mail address like name@example.org, with at most 254 characters',
);

const ToPet = Type.Integer({
  ...PetId,
  description:
    'The animal that the message is about: its owner receives it. Without it, the store receives the message.',
});

/** The body of `sendMessage`. */
export const NewMessage = Type.Object(
  { message: Text, petId: Type.Optional(ToPet), replyTo: Type.Optional(ReplyTo) },
  { title: 'NewMessage', description: 'A message to send.' },
);
export type NewMessage = Static<typeof NewMessage>;

const createdAt = Type.String({ format: 'date-time', description: 'When the message was sent.' });

/** The response of `sendMessage` (contract, Message-send operation). */
export const QueuedMessage = Type.Object(
  {
    id: MessageId,
    message: Text,
    status: Type.Enum(['queued'], { description: 'The message is stored and will be delivered.' }),
    createdAt,
  },
  { title: 'QueuedMessage', description: 'A message that is stored and will be delivered.' },
);
export type QueuedMessage = Static<typeof QueuedMessage>;

const Attempt = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'When it was attempted.' }),
    by: Type.Enum(['inbox', 'email'], { description: 'Whether the message was put into the inbox or sent by e-mail.' }),
    outcome: Type.Enum(['delivered', 'failed'], { description: 'Whether the attempt succeeded.' }),
    reason: Type.Optional(
      Type.Enum(['unreachable', 'timeout', 'refused', 'postponed'], {
        description:
          'Why the e-mail failed: no mail server responded, it took too long, or it rejected the message permanently or for now.',
      }),
    ),
  },
  { title: 'DeliveryAttempt', description: 'An attempt to deliver a message.' },
);

const accountId = (description: string) =>
  Type.Optional(
    Type.Integer({ format: 'int64', minimum: 1, description: `${description}; absent for the store itself.` }),
  );

/** A message as its sender and its recipient see it. */
export const Message = Type.Object(
  {
    id: MessageId,
    message: Text,
    status: MessageStatus,
    createdAt,
    accountId: accountId('The account that sent it'),
    toAccountId: accountId('The account that receives it'),
    petId: Type.Optional(Type.Integer({ ...PetId, description: 'The animal that it is about.' })),
    replyTo: Type.Optional(ReplyTo),
    updatedAt: Type.String({ format: 'date-time', description: 'When its delivery last changed.' }),
    attempts: Type.Array(Attempt, { description: 'Every attempt to deliver it, oldest first.' }),
  },
  { title: 'Message', description: 'A message and its delivery.' },
);
export type Message = Static<typeof Message>;

/** A page of messages. */
export const Messages = Type.Array(Message, { title: 'Messages', description: 'Messages.' });

/**
 * Returns why a text is no valid message, as the end of a sentence, or `undefined` for a valid one: 1–10,000 code points
 * of well-formed Unicode without NUL.
 */
export function textError(text: string): string | undefined {
  if (text === '') return 'must not be empty';
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.includes('\0')) return 'must not contain the character U+0000';
  if (text.length > MESSAGE_LENGTH_MAX && [...text].length > MESSAGE_LENGTH_MAX) {
    return `must have at most ${MESSAGE_LENGTH_MAX} characters`;
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
