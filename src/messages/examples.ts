import type { Example } from '../lib/http/route.ts';

export const sendExamples: readonly Example[] = [
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
];

export const listExamples: readonly Example[] = [
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
];

export const getExamples: readonly Example[] = [
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
];
