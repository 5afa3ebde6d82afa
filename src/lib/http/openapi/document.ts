import { descriptionWithLimits, type Route } from '../route.ts';
import { Components } from './components.ts';
import { DocumentedErrors } from './error-responses.ts';
import { bodyOf, parametersOf } from './request.ts';
import { responsesOf } from './responses.ts';
import type { ApiDescription, WebhookRequest } from './types.ts';

/**
 * Returns the OpenAPI 3.1 document of an API: each operation with its statuses, error codes, headers and examples.
 *
 * A schema with `$id`, or with a `title` in the form of a type name, becomes a component. Members that start with `~`
 * belong to the schema library and are omitted.
 * @throws {Error} when a code is not in the catalogue, a tag is not listed, or two components have the same name
 */
export function openApiOf(description: ApiDescription): object {
  const components = new Components();
  const errors = new DocumentedErrors(description, components);
  const { webhooks } = description;
  const used = new Set(description.routes.map(route => route.tag));
  const paths: Record<string, Record<string, object>> = {};
  for (const route of description.routes) {
    if (!description.tags.some(tag => tag.name === route.tag)) throw new Error(`no such tag: ${route.tag}`);
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(route, description, components, errors),
    };
  }
  return {
    openapi: '3.1.1',
    info: description.info,
    servers: description.servers,
    tags: description.tags.filter(tag => used.has(tag.name)),
    'x-tagGroups': description.tagGroups
      .map(group => ({ ...group, tags: group.tags.filter(tag => used.has(tag)) }))
      .filter(group => group.tags.length > 0),
    security: [{ bearerAuth: [] }],
    paths,
    ...(webhooks && used.has(webhooks.tag) && { webhooks: webhooksOf(webhooks.requests, webhooks.tag, components) }),
    components: {
      ...components.sections,
      securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer', description: description.bearer } },
    },
  };
}

function operationOf(
  route: Route<never>,
  description: ApiDescription,
  components: Components,
  errors: DocumentedErrors,
): object {
  const { scope } = route.access;
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: descriptionWithLimits(route),
    // The scope is a role of the bearer scheme (OpenAPI 3.1).
    ...(scope !== undefined && { security: [{ bearerAuth: [scope] }] }),
    ...parametersOf(route, components, description.headerSchemas),
    ...bodyOf(route, components),
    responses: responsesOf(route, description, components, errors),
    ...(route.deprecation && {
      deprecated: true,
      'x-deprecated-sunset': route.deprecation.sunset.toISOString().slice(0, 10),
    }),
    ...(route.stability !== 'stable' && { 'x-stability': route.stability }),
    ...route.extensions,
  };
}

/** Returns the `webhooks` of a document: the requests that receivers get. */
function webhooksOf(
  requests: Readonly<Record<string, WebhookRequest>>,
  tag: string,
  components: Components,
): Record<string, object> {
  return Object.fromEntries(
    Object.entries(requests).map(([name, { summary, description, headers, schema, responses }]) => {
      const parameters = Object.entries(headers).map(([header, says]) =>
        components.parameter(header, { name: header, in: 'header', required: true, ...says }),
      );
      const post = {
        operationId: `receive${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        tags: [tag],
        summary,
        description,
        // The service sends no API key; receivers check the signature.
        security: [],
        parameters,
        requestBody: { required: true, content: { 'application/json': { schema: components.schema(schema) } } },
        responses: Object.fromEntries(
          Object.entries(responses).map(([status, meaning]) => [status, { description: meaning }]),
        ),
      };
      return [name, { post }];
    }),
  );
}
