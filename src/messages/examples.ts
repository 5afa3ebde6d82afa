import type { Example } from '../lib/http/route.ts';

export const sendExamples: readonly Example[] = [
  { name: 'to the store', summary: 'A message to the store itself', body: { message: 'Hello, world!' }, status: 202 },
  {
    name: 'to the owner of a pet',
    summary: 'A message about an animal, with an address for replies',
    as: 'stranger',
    body: { message: 'Does Minka get along with dogs?\nOurs is old and calm.', petId: 1, replyTo: 'jo@example.org' },
    status: 202,
  },
  {
    name: 'unknown pet',
    summary: 'The animal does not exist',
    body: { message: 'Is it still there?', petId: 999 },
    status: 404,
    code: 'pet_not_found',
  },
  {
    name: 'no message',
    summary: 'The member `message` is missing',
    body: { text: 'Hello, world!' },
    status: 400,
    code: 'invalid_body',
  },
  { name: 'broken JSON', summary: 'The body is not JSON', body: '{"message":', status: 400, code: 'invalid_json' },
  {
    name: 'wrong content type',
    summary: 'The content type is not JSON',
    headers: { 'content-type': 'text/plain' },
    body: 'Hello, world!',
    status: 400,
    code: 'invalid_content_type',
  },
];

const given = ['sendMessage: to the store'];
const path = { messageId: 'msg_1' };

export const listExamples: readonly Example[] = [
  { name: 'sent', summary: 'Messages that the account sent', given, status: 200 },
  {
    name: 'inbox',
    summary: 'Messages about the animals of the account',
    given: ['sendMessage: to the owner of a pet'],
    query: 'box=inbox',
    status: 200,
  },
  {
    name: 'inbox of the store',
    summary: 'Messages to the store itself, as an admin sees them',
    given,
    as: 'admin',
    query: 'box=inbox',
    status: 200,
  },
  {
    name: 'unknown box',
    summary: 'A box that does not exist',
    query: 'box=outbox',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const getExamples: readonly Example[] = [
  { name: 'delivered', summary: 'A message in the inbox', given, path, status: 200 },
  {
    name: 'another account',
    summary: 'The message does not exist for accounts that neither sent nor received it',
    given,
    as: 'stranger',
    path,
    status: 404,
    code: 'message_not_found',
  },
];
