import Type from 'typebox';
import { listOperation, operation } from '../deployment.ts';
import { problem } from '../errors.ts';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { idParameter } from '../lib/schemas.ts';
import { boundOf } from '../plans/plan.ts';
import { getExamples, listExamples, sendExamples } from './examples.ts';
import { listMessages } from './list.ts';
import { idOf, Message, MessageId, Messages, NewMessage, QueuedMessage } from './message.ts';
import { getMessage, sendMessage } from './messages.ts';
import { messageEtag, messageOf, messageValues } from './rows.ts';

export const send = operation({
  summary: 'Send a message',
  description:
    'Stores a message and delivers it: with `petId` to the owner of that animal, without it to the store itself. It is ' +
    'put into the inbox of the recipient and, if the store sends e-mail, sent by e-mail. Replies go to `replyTo`. ' +
    'Messages sent with a staging key stay in staging and are never sent by e-mail. Send it to the message address, which ' +
    'accepts keys of both deployments; `POST /v1/messages` of the deployment of your key does the same.',
  address: 'messages',
  body: NewMessage,
  successes: [
    {
      status: 202,
      description: 'The message is stored and will be delivered.',
      schema: QueuedMessage,
      headers: { Location: 'The URL of the message, which shows its delivery.' },
    },
  ],
  errors: ['pet_not_found', 'message_limit_exceeded', 'storage_limit_exceeded', 'not_in_sandbox'],
  examples: sendExamples,
  async handle(request) {
    const { context, caller, body, baseUrl } = request;
    const bounds = {
      messagesPerRecipient: boundOf(context.bounds, caller, 'messagesPerRecipient'),
      storedBytes: boundOf(context.bounds, caller, 'storedBytes'),
    };
    const response = await withIdempotency(
      request,
      async tx => {
        const message = await sendMessage(tx, caller, body, bounds);
        if (caller.sandbox && message.toAccountId !== caller.accountId) throw problem('not_in_sandbox', OWN_ANIMALS);
        const queued = messageValues.plainOf(message);
        const location = `${baseUrl}/messages/${queued.id}`;
        return { body: queued, headers: ['Location', location, 'ETag', messageEtag(message)] };
      },
      { echoed: ['message'] },
    );
    context.messageQueued?.();
    return response;
  },
});

const OWN_ANIMALS = 'A trial key can send a message only about an animal of its own account: set `petId`.';

export const list = listOperation({
  summary: 'List messages',
  description:
    'Returns the messages that the account of the key sent, or those in its inbox: messages from others about its animals. ' +
    'Messages to the store itself are in the inbox of every admin. Sorted by id.',
  noun: 'messages',
  filters: {
    box: Type.Optional(
      Type.Enum(['sent', 'inbox'], { default: 'sent', description: 'Messages sent, or messages in the inbox.' }),
    ),
  },
  schema: Messages,
  examples: listExamples,
  async handle({ context, caller, filters: { box = 'sent' }, page }) {
    const { rows, ...links } = await listMessages(context.database, caller, box, page);
    return { rows: rows.map(messageOf), ...links };
  },
});

export const get = operation({
  summary: 'Get a message',
  description:
    'Fetches one message, with every attempt to deliver it. Its sender and its recipient can see it; admins can see ' +
    'messages to the store itself. For everyone else it does not exist.',
  parameters: { messageId: idParameter('message', MessageId) },
  successes: [{ status: 200, description: 'The message.', schema: Message }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    const message = await getMessage(context.database, caller, idOf(path.messageId));
    return { body: messageOf(message), headers: ['ETag', messageEtag(message)] };
  },
});
