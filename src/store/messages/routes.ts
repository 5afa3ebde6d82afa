import { listOperation, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import type { Example } from '../../lib/http/route.ts';
import { idParameter } from '../../lib/schemas.ts';
import { Type } from '../../lib/type.ts';
import { problem } from '../../model/errors.ts';
import { idOf, Message, MessageId, Messages, NewMessage, QueuedMessage } from '../../model/message.ts';
import { boundOf } from '../../model/plan.ts';
import { listMessages } from './list.ts';
import { getMessage, sendMessage } from './messages.ts';
import { messageEtag, messageOf, messageValues } from './rows.ts';

const toOwner = {
  message: 'Does Minka get along with dogs?\nOurs is old and calm.',
  petId: 1,
  replyTo: 'jo@example.org',
};
const fromStranger = { as: 'stranger', body: toOwner, status: 202 } as const;
const unknownPet = { body: { message: 'Is it still there?', petId: 999 }, status: 404, code: 'pet_not_found' };
const noMessage = { body: { text: 'Hello, world!' }, status: 400, code: 'invalid_body' };
const wrongType = { status: 400, code: 'invalid_content_type' };
const plainText = { headers: { 'content-type': 'text/plain' }, body: 'Hello, world!', ...wrongType };

const sendExamples: readonly Example[] = [
  { name: 'to the store', summary: 'A message to the store itself', body: { message: 'Hello, world!' }, status: 202 },
  { name: 'to the owner of a pet', summary: 'A message about an animal, with an address for replies', ...fromStranger },
  { name: 'unknown pet', summary: 'The animal does not exist', ...unknownPet },
  { name: 'no message', summary: 'The field `message` is missing', ...noMessage },
  { name: 'broken JSON', summary: 'The body is not JSON', body: '{"message":', status: 400, code: 'invalid_json' },
  { name: 'wrong content type', summary: 'The content type is not JSON', ...plainText },
];

const given = ['sendMessage: to the store'];
const path = { messageId: 'msg_1' };
const inbox = { query: 'box=inbox', status: 200 };
const aboutPet = { given: ['sendMessage: to the owner of a pet'], ...inbox };
const ofStore = { given, as: 'admin', ...inbox } as const;
const unknownBox = { query: 'box=outbox', status: 400, code: 'invalid_parameter' };
const hidden = { given, as: 'stranger', path, status: 404, code: 'message_not_found' } as const;

const listExamples: readonly Example[] = [
  { name: 'sent', summary: 'Messages that the account sent', given, status: 200 },
  { name: 'inbox', summary: 'Messages about the animals of the account', ...aboutPet },
  { name: 'inbox of the store', summary: 'Messages to the store itself, as an admin sees them', ...ofStore },
  { name: 'unknown box', summary: 'A box that does not exist', ...unknownBox },
];

const getExamples: readonly Example[] = [
  { name: 'delivered', summary: 'A message in the inbox', given, path, status: 200 },
  { name: 'another account', summary: 'Only the sender and the recipient can see the message', ...hidden },
];

export const send = operation({
  summary: 'Send a message',
  description:
    'Stores a message and delivers it: with `petId` to the owner of that animal, without `petId` to the store itself. The message is put into the inbox of the recipient and, if the store sends e-mail, sent by e-mail. Replies go to `replyTo`. ' +
    'Messages sent with a staging key stay in staging and are never sent by e-mail. Send the request to the message address, which ' +
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
    'Returns the messages that the account of the key sent, or the messages in its inbox, which others sent about its animals. ' +
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
    'Fetches one message, with every attempt to deliver it. The sender and the recipient can see the message; admins can see ' +
    'messages to the store itself. For everyone else, the message does not exist.',
  parameters: { messageId: idParameter('message', MessageId) },
  successes: [{ status: 200, description: 'The message.', schema: Message }],
  errors: [],
  examples: getExamples,
  async handle({ context, caller, path }) {
    const message = await getMessage(context.database, caller, idOf(path.messageId));
    return { body: messageOf(message), headers: ['ETag', messageEtag(message)] };
  },
});
