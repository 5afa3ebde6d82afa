import { STATUS_CODES } from '../../lib/http/node-http.ts';
import type { FieldError, Problem } from '../../lib/http/problem.ts';
import type { ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';

const TYPES = 'https://www.petfinder.com/developers/v2/docs/errors';

/** The path of the operation that issues access tokens. */
export const TOKEN_PATH = '/oauth2/token';

/** Returns the response that states a problem as Petfinder's API does. It contains no error code of ours. */
export function problemResponse(problem: Problem, { path }: Pick<ViewRequest, 'path'>): ViewResponse {
  const { status } = problem;
  const isToken = status === 401 && path.replace(/\/$/, '').endsWith(TOKEN_PATH);
  const members = isToken ? invalidClient : membersOf(problem);
  const { type, ...others } = members;
  return {
    status,
    contentType: 'application/problem+json',
    bytes: JSON.stringify({ type, status, ...others }),
  };
}

interface ProblemMembers {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
}

function membersOf({ status, errors }: Problem): ProblemMembers {
  const title = STATUS_CODES[status] ?? 'Error';
  if (status === 400) return invalidRequest(errors);
  if (status === 401) return errorOf(401, title, 'Access token invalid or expired');
  if (status === 403) return errorOf(403, title, 'Insufficient access');
  if (status === 404) return errorOf(404, title, title);
  if (status >= 500) return errorOf(500, title, 'An unexpected error occurred.');
  return { type: 'about:blank', title, detail: title };
}

function errorOf(number: number, title: string, detail: string): ProblemMembers {
  return { type: `${TYPES}/ERR-${number}/`, title, detail };
}

function invalidRequest(errors: readonly FieldError[] = []) {
  const isMissing = errors.some(({ code }) => code === 'required');
  return {
    type: `${TYPES}/ERR-0000${isMissing ? 1 : 2}/`,
    title: 'Invalid Request',
    detail: isMissing ? 'The request is missing parameters.' : 'The request contains invalid parameters.',
    'invalid-params': errors.map(({ path, message }) => ({ in: 'query', path: names[path] ?? path, message })),
  };
}

/** The parameters of Petfinder by those of our lists that a view passes on. */
const names: Readonly<Record<string, string>> = {
  near: 'location',
  within: 'distance',
  organizationId: 'organization',
  q: 'breed',
};

const invalidClient = {
  type: `${TYPES}/ERR-401/`,
  title: 'invalid_client',
  detail: 'Client authentication failed',
  errors: [
    {
      code: 'invalid_client',
      title: 'Unauthorized',
      message: 'Client authentication failed',
      details: 'Client authentication failed',
      href: 'http://developer.petfinder.com/v2/errors.html#invalid_client',
    },
  ],
  hint: null,
};
