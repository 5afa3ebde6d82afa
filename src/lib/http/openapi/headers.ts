import type { Header } from './types.ts';

export const deprecationHeaders: Record<string, Header> = {
  Deprecation: {
    description: 'When the operation was deprecated: `@` and Unix seconds (RFC 9745).',
    schema: { type: 'string', examples: ['@1795132800'] },
  },
  Sunset: {
    description: 'When the operation starts to return 410 (RFC 8594).',
    schema: { type: 'string', examples: ['Thu, 05 Dec 2030 00:00:00 GMT'] },
  },
  Link: {
    description:
      'The page on the deprecation (`deprecation`, `sunset`), and the URL that replaces this one (`successor-version`).',
    schema: { type: 'string' },
  },
};

export const etagHeader: Header = {
  description: 'The entity tag of this version. It is the same for every caller and changes with every version.',
  schema: { type: 'string', examples: ['"7.1"'] },
};

export const appliedHeader: Header = {
  description: 'The preferences of `Prefer` that were applied (RFC 7240).',
  schema: { type: 'string', examples: ['handling=strict'] },
};

export const replayedHeader: Header = {
  description: '`true` if the response is the stored one of an earlier request with the same `Idempotency-Key`.',
  schema: { type: 'string', enum: ['true'] },
};

const retryAfter: Header = {
  description: 'Seconds to wait before a retry, at least 1.',
  schema: { type: 'integer', minimum: 1 },
};

/** The Retry-After of conflicts that end at a known time. */
export const retryAfterOfConflict: Header = {
  ...retryAfter,
  description: 'Seconds to wait before a retry, if that is known.',
};

/** The headers of errors by status. */
export const errorHeaders: Record<number, Record<string, Header>> = {
  401: {
    'WWW-Authenticate': {
      description: 'The scheme to use: `Bearer`.',
      schema: { type: 'string', examples: ['Bearer'] },
    },
  },
  429: { 'Retry-After': retryAfter },
  503: { 'Retry-After': retryAfter },
};

/** What the schemas of request headers have besides their type. */
export const requestHeaderSchemas: Record<string, object> = {
  Prefer: { examples: ['handling=strict'] },
  'Idempotency-Key': { minLength: 1, maxLength: 255, examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'] },
  'If-Match': { examples: ['"7.1"'] },
  'If-None-Match': { examples: ['"7.1"'] },
};

/** The schemas of response headers that are not plain strings. */
export const responseHeaderSchemas: Record<string, object> = {
  location: { type: 'string', format: 'uri-reference' },
  'x-next': { type: 'string', format: 'uri-reference' },
  'x-total-count': { type: 'integer', minimum: 0 },
};
