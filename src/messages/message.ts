import Type, { type Static } from 'typebox';
import { EMAIL_LENGTH_MAX, isEmail } from '../accounts/account.ts';
import { PetId } from '../pets/pet.ts';

/** The most code points that a message has. */
export const MESSAGE_LENGTH_MAX = 10_000;

/** How far a message is. */
export const MessageStatus = Type.Enum(['queued', 'delivered', 'failed'], {
  title: 'MessageStatus',
  description:
    '`queued` until all is done; `delivered` when it is in the inbox of whom it is for, and mailed where the store sends ' +
    'e-mail; `failed` when it could not be mailed: it is in the inbox all the same.',
});
export type MessageStatus = Static<typeof MessageStatus>;

/** The id of a message: a text, assigned by the service, never given twice. */
export const MessageId = Type.String({
  pattern: '^msg_[1-9][0-9]{0,15}$',
  description: 'Assigned by the service when the message is sent.',
  examples: ['msg_1'],
});

const Text = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: MESSAGE_LENGTH_MAX,
    description: 'The text: 1–10,000 characters, kept as sent; line breaks and tabs may be in it, U+0000 may not.',
  }),
  value => messageFault(value) === undefined,
  value => messageFault(value) ?? '',
);

const ReplyTo = Type.Refine(
  Type.String({
    maxLength: EMAIL_LENGTH_MAX,
    description: 'The e-mail address that an answer is to go to.',
    examples: ['jo@example.org'],
  }),
  isEmail,
  () => 'must be an e-mail address like name@example.org, with at most 254 characters',
);

const ToPet = Type.Integer({
  ...PetId,
  description: 'The animal that it is about: it goes to its owner. Without it the message goes to the store itself.',
});

/** What is sent to send a message. */
export const NewMessage = Type.Object(
  { message: Text, petId: Type.Optional(ToPet), replyTo: Type.Optional(ReplyTo) },
  { title: 'NewMessage', description: 'A message to send.' },
);
export type NewMessage = Static<typeof NewMessage>;

const createdAt = Type.String({ format: 'date-time', description: 'When it was sent.' });

/** What sending a message answers (contract, Message-send operation). */
export const QueuedMessage = Type.Object(
  {
    id: MessageId,
    message: Text,
    status: Type.Enum(['queued'], { description: 'It is kept, and will be delivered.' }),
    createdAt,
  },
  { title: 'QueuedMessage', description: 'A message that is kept and will be delivered.' },
);
export type QueuedMessage = Static<typeof QueuedMessage>;

const Attempt = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'When.' }),
    by: Type.Enum(['inbox', 'email'], { description: 'Whether it was put into the inbox, or mailed.' }),
    outcome: Type.Enum(['delivered', 'failed'], { description: 'What came of it.' }),
    reason: Type.Optional(
      Type.Enum(['unreachable', 'timeout', 'refused', 'postponed'], {
        description:
          'Why mailing failed: no mail server answered, it took too long, or it refused the message for good or for now.',
      }),
    ),
  },
  { title: 'DeliveryAttempt', description: 'An attempt to deliver a message.' },
);

/** A message as it is shown to those whom it concerns. */
export const Message = Type.Object(
  {
    id: MessageId,
    message: Text,
    status: MessageStatus,
    createdAt,
    accountId: Type.Optional(
      Type.Integer({
        format: 'int64',
        minimum: 1,
        description: 'The account that sent it; absent where it is from the store itself.',
      }),
    ),
    toAccountId: Type.Optional(
      Type.Integer({
        format: 'int64',
        minimum: 1,
        description: 'The account that it is for; absent where it is for the store itself.',
      }),
    ),
    petId: Type.Optional(Type.Integer({ ...PetId, description: 'The animal that it is about.' })),
    replyTo: Type.Optional(ReplyTo),
    updatedAt: Type.String({ format: 'date-time', description: 'When something was done about it last.' }),
    attempts: Type.Array(Attempt, { description: 'Every attempt to deliver it, oldest first.' }),
  },
  { title: 'Message', description: 'A message, and what became of it.' },
);
export type Message = Static<typeof Message>;

/** A page of messages. */
export const Messages = Type.Array(Message, { title: 'Messages', description: 'Messages.' });

/**
 * What is wrong with a text as a message, as the end of a sentence that begins with what is named; `undefined` for a
 * good one.
 *
 * A message has 1–10,000 code points and is well-formed Unicode; anything but NUL may be in it.
 */
export function messageFault(text: string): string | undefined {
  if (text === '') return 'must not be empty';
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (text.includes('\0')) return 'must not have the character U+0000';
  if (text.length > MESSAGE_LENGTH_MAX && [...text].length > MESSAGE_LENGTH_MAX) {
    return `must have at most ${MESSAGE_LENGTH_MAX} characters`;
  }
  return undefined;
}

/** The id on the wire of the message with this id in storage. */
export function messageIdOf(id: number): string {
  return `msg_${id}`;
}

/** The id in storage that an id on the wire stands for. */
export function idOf(messageId: string): number {
  return Number(messageId.slice('msg_'.length));
}
