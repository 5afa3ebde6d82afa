import { type Route, type Success, takesIdempotencyKey } from '../route.ts';
import { type Components, examplesOf } from './components.ts';
import type { DocumentedErrors } from './error-responses.ts';
import {
  appliedHeader,
  deprecationHeaders,
  etagHeader,
  header,
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
  errors: DocumentedErrors,
): Record<string, object> {
  const common = components.headers({ ...description.headers, ...(route.deprecation && deprecationHeaders) });
  const responses: Record<string, object> = {};
  for (const success of route.successes) {
    responses[success.status] = successResponse(route, success, description, components, common);
  }
  if (route.method === 'GET' && !route.streams) {
    responses[304] = components.response('NotModified', {
      description: 'The version that `If-None-Match` names is current.',
      headers: { ...common, ...components.headers(etagHeader), ...components.headers(appliedHeader, false) },
    });
  }
  return { ...responses, ...errors.of(route) };
}

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
    components.header(name, header(says, responseHeaderSchemas[name.toLowerCase()])),
  ]);
  return {
    description: success.description,
    headers: {
      ...common,
      ...(success.schema && !success.untagged && !route.streams && components.headers(etagHeader)),
      ...components.headers(appliedHeader, false),
      ...(takesIdempotencyKey(route) && components.headers(replayedHeader, false)),
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
