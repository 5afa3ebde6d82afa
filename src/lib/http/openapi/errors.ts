import { FIELD_ERRORS_MAX, problemBody } from '../problem.ts';

const errorMembers = {
  code: { type: 'string', description: 'Machine-readable error code: snake_case, never renamed.' },
  message: { type: 'string', description: 'Human-readable description.' },
  status: { type: 'integer', description: 'The HTTP status code.' },
  errors: {
    type: 'array',
    maxItems: FIELD_ERRORS_MAX,
    description: 'The invalid fields, if single fields are invalid.',
    items: {
      type: 'object',
      required: ['path', 'code', 'message'],
      properties: {
        path: { type: 'string', description: 'A JSON Pointer into the body, or the name of the parameter or header.' },
        code: { type: 'string', description: 'Machine-readable reason.' },
        message: { type: 'string', description: 'Human-readable description of what is valid.' },
      },
    },
  },
};

/** The body of errors (contract, Error). */
export const errorSchema = {
  $id: 'Error',
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: errorMembers,
};

const exampleError = {
  code: 'invalid_parameter',
  message: 'Invalid parameters. limit: Must be a whole number.',
  status: 400,
  errors: undefined,
};

/**
 * Returns the schema of errors as `application/problem+json` (RFC 9457).
 * @param pagesUrl the base URL of the pages on error codes
 */
export const problemSchema = (pagesUrl: string) => ({
  $id: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'message', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'The URL of the page on the code.' },
    title: { type: 'string', description: 'The name of the HTTP status.' },
    detail: { type: 'string', description: 'The same as `message`.' },
    requestId: { type: 'string', description: 'The same as the `X-Request-Id` header.' },
    ...errorMembers,
  },
  examples: [problemBody(exampleError, pagesUrl, '5f2b8c1e9d3a4076')],
});
