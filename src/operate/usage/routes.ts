import { example, listOperation, nowOf, operation } from '../../access/deployment.ts';
import { documentedRule, openEnum, requestTimeSchema, timeSchema } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { durationIn, formatTime, parseTime } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { LoggedRequests, loggedRequestOf } from '../../model/logged-request.ts';
import { KEYS_MAX, USAGE_KEPT_MS } from './counts.ts';
import { listRequests, REQUESTS_KEPT, REQUESTS_KEPT_MS } from './log.ts';
import { logBounds } from './recorder.ts';
import { BUCKETS_MAX, intervals, reportRules, usageReport } from './report.ts';

const sent = ['getPet: one animal', 'updatePet: set aside', 'getPet: unknown animal'];

const usageExamples = [
  example('by day', 'The requests of two days', 200, {
    given: sent,
    query: 'interval=day&from=2026-11-20T00:00:00Z',
  }),
  example('too long', 'A range by hour has at most 8 days', 'invalid_parameter', {
    query: 'from=2026-11-01T00:00:00Z&to=2026-11-21T00:00:00Z',
  }),
];

const requestExamples = [
  example('latest', 'The latest requests', 200, { given: sent, query: 'limit=2' }),
  example('not found', 'The requests with a 404 response', 200, { given: sent, query: 'status=404' }),
  example('invalid status', 'A status is a number or a class', 'invalid_parameter', { query: 'status=bad' }),
];

const count = (description: string) => Type.Integer({ format: 'int64', minimum: 0, description });

const counts = {
  requests: count('All requests: the sum of the next five.'),
  succeeded: count('Requests with a response status below 400.'),
  clientErrors: count(
    'Requests with a response status from 400 to 499, without those that a rate limit or a ban rejected.',
  ),
  rateLimited: count('Requests that the rate limit rejected.'),
  banned: count('Requests that were rejected because the key was banned.'),
  serverErrors: count('Requests with a response status of 500 or more.'),
  unlogged: count('How many of `requests` are not in the request log, because too many came in one second.'),
};

const KeyId = Type.String({ minLength: 1, maxLength: 64, examples: ['q7Zc1Lw0aPdT'] });

const UsageReport = Type.Object(
  {
    interval: openEnum([...intervals], 'The length of a bucket.'),
    from: timeSchema('The beginning of the first bucket.'),
    to: timeSchema('The end of the last bucket.'),
    total: Type.Object(counts, { title: 'UsageCounts', description: 'The requests of the whole range.' }),
    buckets: Type.Array(
      Type.Object(
        { start: timeSchema('When the bucket begins.'), ...counts },
        { title: 'UsageBucket', description: 'The requests of one hour or UTC day.' },
      ),
      { maxItems: BUCKETS_MAX, description: 'Every hour or UTC day of the range, oldest first.' },
    ),
    keys: Type.Array(
      Type.Object(
        { keyId: Type.String({ description: 'The API key.' }), ...counts },
        { title: 'KeyUsage', description: 'The requests with one key.' },
      ),
      { maxItems: KEYS_MAX, description: 'The keys with requests in the range, the most used first.' },
    ),
  },
  { title: 'Usage', description: 'The requests of an account on a deployment.' },
);

const LONGEST = `${durationIn('day', reportRules.hour.maxMs)} or ${durationIn('day', reportRules.day.maxMs)}`;

export const usage = operation({
  summary: 'Get your usage',
  description:
    'Returns how many requests your account has sent to this deployment, by hour or UTC day and by key. Counts are a ' +
    `second or two behind, and kept for ${durationIn('day', USAGE_KEPT_MS)}. Requests without a valid key belong to no account.`,
  query: Type.Object({
    interval: Type.Optional(
      Type.Enum([...intervals], { default: 'hour', description: 'The length of a bucket.', examples: ['day'] }),
    ),
    from: Type.Optional(
      requestTimeSchema(
        `The beginning of the range, rounded down to an hour or day. By default ${reportRules.hour.count} hours or ${reportRules.day.count} days before \`to\`; at most ${LONGEST}.`,
        '2026-11-21T00:00:00Z',
      ),
    ),
    to: Type.Optional(
      requestTimeSchema(
        `The end of the range, rounded up to an hour or day. By default now; with \`from\`, at most ${LONGEST} later.`,
        '2026-11-22T00:00:00Z',
      ),
    ),
    keyId: Type.Optional({ ...KeyId, description: 'Only requests with this API key.' }),
  }),
  successes: [{ status: 200, description: 'The usage.', schema: UsageReport }],
  errors: [],
  examples: usageExamples,
  async handle({ context, caller, query }) {
    const { interval = 'hour', keyId } = query;
    const { accountId } = caller;
    const request = { accountId, deployment: context.name, interval, keyId, ...rangeOf(query) };
    const report = await usageReport(context.webhooks.accounts, request, nowOf(context));
    const { interval: _, from, to, buckets, ...numbers } = report;
    const shown = buckets.map(bucket => ({ ...bucket, start: formatTime(bucket.start) }));
    return { body: { interval, from: formatTime(from), to: formatTime(to), ...numbers, buckets: shown } };
  },
});

export const requests = listOperation({
  summary: 'List your requests',
  description:
    'Returns the latest requests with the keys of your account on this deployment, newest first. The log has the latest ' +
    `${countText(REQUESTS_KEPT)} requests to both deployments, for ${durationIn('day', REQUESTS_KEPT_MS, 'words')} at most, and is a second or two behind. If the account sends more than ${logBounds.perSecondAndAccount} requests ` +
    'in one second, the log lacks some of them; `GET /account/usage` says how many.',
  noun: 'requests',
  filters: {
    requestId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Only the request with this `X-Request-Id`.',
        examples: ['c9l5z4GqHAJE-4'],
      }),
    ),
    status: Type.Optional(
      Type.String({
        ...documentedRule({ maxLength: 3 }),
        pattern: '^([1-5]\\d\\d|[1-5]xx)$',
        description: 'Only responses with this status, or with a status of this class.',
        examples: ['404', '4xx'],
      }),
    ),
    operation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Only requests of this operation.',
        examples: ['listPets'],
      }),
    ),
    keyId: Type.Optional({ ...KeyId, description: 'Only requests with this API key.' }),
  },
  schema: LoggedRequests,
  examples: requestExamples,
  async handle({ context, caller, filters, page }) {
    const filter = { ...filters, deployment: context.name };
    const { rows, ...links } = await listRequests(context.webhooks.accounts, caller.accountId, filter, page);
    return { rows: rows.map(row => loggedRequestOf(row)), ...links };
  },
});

function rangeOf({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  const parsed = (text: string | undefined) => (text === undefined ? undefined : parseTime(text));
  return { from: parsed(from), to: parsed(to) };
}
