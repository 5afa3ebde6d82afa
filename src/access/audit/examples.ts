import { example } from '../deployment.ts';

const changes = ['updatePet: set aside', 'placeOrder: a dog with a date'];

export const listExamples = [
  example('first page', 'The last changes of an account', 200, { given: changes, query: 'limit=3' }),
  example('orders', 'The orders of an account', 200, { given: changes, query: 'types=order.*' }),
  example('one animal', 'Every change of one animal', 200, { given: changes, query: 'resource=pet:1' }),
  example('not a time', 'A time must be in RFC 3339', 'invalid_parameter', { query: 'since=yesterday' }),
];

export const refusalExamples = [
  example('no refusals', 'No request was refused', 200),
  example('invalid cursor', 'An invalid cursor', 'invalid_parameter', { query: 'cursor=abc' }),
];
