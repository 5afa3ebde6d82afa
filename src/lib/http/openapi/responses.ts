import { STATUS_CODES } from 'node:http';
import { type Problem, problemBody } from '../problem.ts';
import { type Route, type Success, takesIdempotencyKey } from '../route.ts';
import { type Components, examplesOf } from './components.ts';
import { errorSchema, problemSchema } from './errors.ts';
import {
  appliedHeader,
  conflictHeader,
  deprecationHeaders,
  errorHeaders,
  etagHeader,
  replayedHeader,
  responseHeaderSchemas,
} from './headers.ts';
import { successful } from './request.ts';
import type { ApiDescription } from './types.ts';

/** Returns the `responses` of an operation: its successes, and its error codes by status. */
export function responsesOf(
  route: Route<never>,
  description: ApiDescription,
  components: Components,
): Record<string, object> {
  const ofDeprecation = route.deprecation ? deprecationHeaders : {};
  const headers = components.headers(description.headers);
  const common = { ...headers, ...components.headers(ofDeprecation) };
  const responses: Record<string, object> = {};
  for (const success of route.successes) {
    responses[success.status] = successResponse(route, success, description, components, common);
  }
  if (route.method === 'GET' && !route.streams) {
    responses[304] = {
      description: 'The version that `If-None-Match` names is current.',
      headers: { ...common, ...components.headers(etagHeader), ...components.headers(appliedHeader, false) },
    };
  }
  const statuses = Map.groupBy(new Set(description.codesOf(route)), code => {
    const entry = description.errors[code];
    if (!entry) throw new Error(`${route.operationId} names an error code that is not in the catalogue: ${code}`);
    return entry.status;
  });
  for (const [status, codes] of statuses) {
    const known = UNREAD.includes(status) ? { ...headers, ...ofDeprecation } : common;
    responses[status] = errorResponse(route, status, codes, description, components, known);
  }
  return responses;
}

/** With these statuses the server may not know the operation, because it could not read the request. */
const UNREAD: readonly number[] = [400, 408, 417, 431];

function successResponse(
  route: Route<never>,
  success: Success,
  { responseTo }: ApiDescription,
  components: Components,
  common: Record<string, object>,
): object {
  const examples = successful(route)
    .filter(example => example.status === success.status)
    .map(example => [example.name, { summary: example.summary, value: responseTo?.(route, example) }] as const)
    .filter(([, example]) => example.value !== undefined);
  const own = Object.entries(success.headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: responseHeaderSchemas[name.toLowerCase()] ?? { type: 'string' } },
  ]);
  return {
    description: success.description,
    headers: {
      ...common,
      ...(success.schema && !success.untagged && !route.streams && components.headers(etagHeader)),
      ...components.headers(appliedHeader, false),
      ...(takesIdempotencyKey(route) && replayedHeader),
      ...Object.fromEntries(own),
    },
    ...(success.schema && {
      content: {
        [success.contentType ?? 'application/json']: {
          schema: components.schema(success.schema),
          ...examplesOf(examples),
        },
      },
    }),
  };
}

const EXAMPLE_REQUEST_ID = '5f2b8c1e9d3a4076';

/** Returns the response of one error status: the meaning of its codes, and an example of each in both media types. */
function errorResponse(
  route: Route<never>,
  status: number,
  codes: readonly string[],
  { errors, responseTo, pagesUrl }: ApiDescription,
  components: Components,
  common: Record<string, object>,
): object {
  const plain: Record<string, object> = {};
  const problem: Record<string, object> = {};
  for (const code of codes) {
    const entry = errors[code]!;
    const recorded = route.examples
      .filter(example => example.code === code)
      .map(example => responseTo?.(route, example))
      .find(response => response !== undefined);
    const body = (recorded ?? { code, message: entry.message, status }) as Problem;
    plain[code] = { summary: entry.message, value: body };
    problem[code] = { summary: entry.message, value: problemBody(body, pagesUrl, EXAMPLE_REQUEST_ID) };
  }
  return components.response((STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, ''), {
    description: codes.map(code => `\`${code}\`: ${errors[code]!.meaning}`).join('\n\n'),
    headers: {
      ...common,
      ...components.headers(errorHeaders[status] ?? {}),
      ...(status === 409 && conflictHeader),
    },
    content: {
      'application/json': { schema: components.schema(errorSchema), examples: plain },
      'application/problem+json': { schema: components.schema(problemSchema), examples: problem },
    },
  });
}
