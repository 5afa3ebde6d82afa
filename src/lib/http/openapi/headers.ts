import { IDEMPOTENCY_KEY_LENGTH_MAX } from '../route.ts';
import { HEADER_BYTES_MAX } from '../server/options.ts';
import type { Header } from './types.ts';

/** Returns a Header Object; a string by default. */
export function header(description: string, schema: object = { type: 'string' }): Header {
  return { description, schema };
}

export const deprecationHeaders: Record<string, Header> = {
  Deprecation: header('When the operation was deprecated: `@` and Unix seconds (RFC 9745).', text('@1795132800')),
  Sunset: header('When the operation starts to return 410 (RFC 8594).', text('Thu, 05 Dec 2030 00:00:00 GMT')),
  Link: header(
    'The page on the deprecation (`deprecation`, `sunset`), and the URL that replaces this one (`successor-version`).',
  ),
};

export const etagHeader = {
  ETag: header(
    'The entity tag of this version. It is the same for every caller and changes with every version.',
    text('"7.1"'),
  ),
};

export const appliedHeader = {
  'Preference-Applied': header('The preferences of `Prefer` that were applied (RFC 7240).', text('handling=strict')),
};

export const replayedHeader = {
  'Idempotency-Replayed': header(
    '`true` if the response is the stored response of an earlier request with the same `Idempotency-Key`.',
    { type: 'string', enum: ['true'] },
  ),
};

const seconds = { type: 'integer', minimum: 1 };
const retryHeader = { 'Retry-After': header('Seconds to wait before a retry, at least 1.', seconds) };

/** `Retry-After` of conflicts that end at a known time. */
export const conflictHeader = header('Seconds to wait before a retry, if that is known.', seconds);

export const errorHeaders: Record<number, Record<string, Header>> = {
  401: { 'WWW-Authenticate': header('The scheme to use: `Bearer`.', text('Bearer')) },
  429: retryHeader,
  503: retryHeader,
};

function text(example: string): object {
  return { type: 'string', examples: [example] };
}

/**
 * Members of request header schemas besides the type. Some clients, such as Postman, send the first example of each
 * header with every request; the response must be the same as without the header.
 */
export const requestHeaderSchemas: Record<string, object> = {
  Prefer: { maxLength: HEADER_BYTES_MAX, examples: ['handling=strict'] },
  'Idempotency-Key': {
    minLength: 1,
    maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
    pattern: '^[\\x21-\\x2B\\x2D-\\x7E]*$',
    // Collections send their examples many times: Postman replaces this one with a new UUID for each request.
    examples: ['{{$guid}}', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
  },
  'If-Match': {
    maxLength: HEADER_BYTES_MAX,
    pattern:
      '^[ \\t]*\\*[ \\t]*$|^[ \\t,]*(W/)?"[\\x21\\x23-\\x7E\\x80-\\xFF]*"([ \\t]*,[ \\t,]*(W/)?"[\\x21\\x23-\\x7E\\x80-\\xFF]*")*[ \\t,]*$',
    examples: ['*', '"7.1"'],
  },
  'If-None-Match': { maxLength: HEADER_BYTES_MAX, examples: ['"7.1"'] },
};

/** The schemas of response headers that are not plain strings. */
export const responseHeaderSchemas: Record<string, object> = {
  location: { type: 'string', format: 'uri-reference' },
  'x-next': { type: 'string', format: 'uri-reference' },
  'x-total-count': { type: 'integer', minimum: 0 },
};
