import Type from 'typebox';
import { operation } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import { getExamples, listExamples, sendExamples } from './examples.ts';
import { listMessages } from './list-messages.ts';
import { idOf, Message, MessageId, Messages, NewMessage, QueuedMessage } from './message.ts';
import { messageEtag, messageOf, queuedOf } from './message-rows.ts';
import { getMessage, sendMessage } from './messages.ts';

/** Sends a message. */
export const send = operation({
  summary: 'Send a message',
  description:
    'Keeps a message and delivers it: with `petId` to the owner of that animal, without it to the store itself. It comes ' +
    'into the inbox of whom it is for, and is mailed to them where the store sends e-mail. `replyTo` says where an answer ' +
    'goes. What is sent with a key of staging stays in staging and never leaves as e-mail.',
  body: NewMessage,
  successes: [
    {
      status: 202,
      description: 'The message is kept and will be delivered.',
      schema: QueuedMessage,
      headers: { Location: 'The URL at which to see what became of the message.' },
    },
  ],
  errors: ['pet_not_found'],
  examples: sendExamples,
  async handle(call) {
    const { context, caller, body, baseUrl } = call;
    const answer = await withIdempotency(call, async tx => {
      const message = await sendMessage(tx, caller, body);
      const queued = queuedOf(message);
      return {
        body: queued,
        headers: ['Location', `${baseUrl}/messages/${queued.id}`, 'ETag', messageEtag(message)],
      };
    });
    context.messageQueued?.();
    return answer;
  },
});

/** A page of messages. */
export const list = operation({
  summary: 'List messages',
  description:
    'Returns the messages that the account of the key sent, or those in its inbox: what others sent to its animals. What was ' +
    'sent to the store itself is in the inbox of every admin. By id ascending.',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of messages returned.' }),
    ),
    box: Type.Optional(
      Type.Enum(['sent', 'inbox'], { default: 'sent', description: 'What was sent, or what came in.' }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Where to read on: taken from a link, opaque, good only with the same filters.',
      }),
    ),
  }),
  successes: [
    {
      status: 200,
      description: 'A page of messages.',
      schema: Messages,
      headers: {
        Link: 'Where else the list goes on: `first`, `prev` and `next`, absent where there is no such page (RFC 8288).',
        'x-next': 'The URL of the next page; absent at the end.',
      },
    },
  ],
  errors: [],
  examples: listExamples,
  async handle({ context, caller, query, url, baseUrl }) {
    const { limit = 20, box = 'sent', cursor } = query;
    const page = await listMessages(context.database, caller, box, limit, cursor);
    // The path may be spelled in other ways than the links are.
    const mark = url.indexOf('?');
    return {
      body: page.rows.map(messageOf),
      headers: pageHeaders(`${baseUrl}/messages${mark < 0 ? '' : url.slice(mark)}`, page),
    };
  },
});

/** One message by its id. */
export const get = operation({
  summary: 'Get a message',
  description:
    'Fetches one message, with every attempt to deliver it. It is seen by the account that sent it and by the one that got ' +
    'it; what was sent to the store itself by admins. To anyone else it does not exist.',
  parameters: {
    messageId: {
      schema: MessageId,
      description: 'The identifier of the message.',
      notFound: 'message_not_found',
      absent: 'There is no message with this id.',
    },
  },
  successes: [{ status: 200, description: 'The message.', schema: Message }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    const message = await getMessage(context.database, caller, idOf(path.messageId));
    return { body: messageOf(message), headers: ['ETag', messageEtag(message)] };
  },
});
