import Type from 'typebox';
import { type Deployment, route } from '../deployment.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { pageHeaders } from '../lib/http/pagination/page-links.ts';
import type { Route } from '../lib/http/route.ts';
import { listMessages } from './list-messages.ts';
import { idOf, Message, MessageId, Messages, NewMessage, QueuedMessage } from './message.ts';
import { messageEtag, messageOf, queuedOf } from './message-rows.ts';
import { getMessage, sendMessage } from './messages.ts';

/** Sends a message. */
const send = route({
  operation: 'sendMessage',
  method: 'POST',
  path: '/messages',
  access: { key: true, scope: 'messages:write' },
  tag: 'Messages',
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
  examples: [
    { name: 'to the store', summary: 'A message to the store itself', body: { message: 'Hello, world!' }, status: 202 },
    {
      name: 'to the owner of an animal',
      summary: 'A message about an animal, with the address for an answer',
      as: 'stranger',
      body: { message: 'Does Minka get along with dogs?\nOurs is old and calm.', petId: 1, replyTo: 'jo@example.org' },
      status: 202,
    },
    {
      name: 'no such animal',
      summary: 'The animal that it is about is not there',
      body: { message: 'Is it still there?', petId: 999 },
      status: 404,
      code: 'pet_not_found',
    },
    {
      name: 'no message',
      summary: 'A message has a text',
      body: { text: 'Hello, world!' },
      status: 400,
      code: 'invalid_body',
    },
    { name: 'broken JSON', summary: 'The body is not JSON', body: '{"message":', status: 400, code: 'invalid_json' },
    {
      name: 'not JSON',
      summary: 'The content type is not JSON',
      headers: { 'content-type': 'text/plain' },
      body: 'Hello, world!',
      status: 400,
      code: 'invalid_content_type',
    },
  ],
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
const list = route({
  operation: 'listMessages',
  method: 'GET',
  path: '/messages',
  access: { key: true, scope: 'messages:read' },
  tag: 'Messages',
  stability: 'beta',
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
  examples: [
    { name: 'sent', summary: 'What the account sent', given: ['sendMessage: to the store'], status: 200 },
    {
      name: 'inbox',
      summary: 'What was sent to its animals',
      given: ['sendMessage: to the owner of an animal'],
      query: 'box=inbox',
      status: 200,
    },
    {
      name: 'inbox of the store',
      summary: 'What was sent to the store itself, as an admin sees it',
      given: ['sendMessage: to the store'],
      as: 'admin',
      query: 'box=inbox',
      status: 200,
    },
    {
      name: 'no such box',
      summary: 'A box that there is not',
      query: 'box=outbox',
      status: 400,
      code: 'invalid_parameter',
    },
  ],
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
const get = route({
  operation: 'getMessage',
  method: 'GET',
  path: '/messages/{messageId}',
  access: { key: true, scope: 'messages:read' },
  tag: 'Messages',
  stability: 'beta',
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
  examples: [
    {
      name: 'delivered',
      summary: 'A message that has come into the inbox',
      given: ['sendMessage: to the store'],
      path: { messageId: 'msg_1' },
      status: 200,
    },
    {
      name: 'somebody else',
      summary: 'To an account that has nothing to do with it the message does not exist',
      given: ['sendMessage: to the store'],
      as: 'stranger',
      path: { messageId: 'msg_1' },
      status: 404,
      code: 'message_not_found',
    },
  ],
  async handle({ context, caller, path }) {
    const message = await getMessage(context.database, caller, idOf(path.messageId));
    return { body: messageOf(message), headers: ['ETag', messageEtag(message)] };
  },
});

/** Every operation of the message address. */
export const messageRoutes: readonly Route<Deployment>[] = [send, list, get];
