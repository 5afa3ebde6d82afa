import { example } from '../deployment.ts';

const sent = ['getPet: one animal', 'updatePet: set aside', 'getPet: unknown animal'];

export const usageExamples = [
  example('by day', 'The requests of two days', 200, {
    given: sent,
    query: 'interval=day&from=2026-11-20T00:00:00Z',
  }),
  example('too long', 'A range by hour has at most 8 days', 'invalid_parameter', {
    query: 'from=2026-11-01T00:00:00Z&to=2026-11-21T00:00:00Z',
  }),
];

export const requestExamples = [
  example('latest', 'The latest requests', 200, { given: sent, query: 'limit=2' }),
  example('not found', 'The requests that found nothing', 200, { given: sent, query: 'status=404' }),
  example('invalid status', 'A status is a number or a class', 'invalid_parameter', { query: 'status=bad' }),
];
