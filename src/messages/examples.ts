import type { Example } from '../lib/http/route.ts';

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

export const sendExamples: readonly Example[] = [
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

export const listExamples: readonly Example[] = [
  { name: 'sent', summary: 'Messages that the account sent', given, status: 200 },
  { name: 'inbox', summary: 'Messages about the animals of the account', ...aboutPet },
  { name: 'inbox of the store', summary: 'Messages to the store itself, as an admin sees them', ...ofStore },
  { name: 'unknown box', summary: 'A box that does not exist', ...unknownBox },
];

export const getExamples: readonly Example[] = [
  { name: 'delivered', summary: 'A message in the inbox', given, path, status: 200 },
  { name: 'another account', summary: 'Only the sender and the recipient can see the message', ...hidden },
];
