import type { Components } from './components.ts';
import type { WebhookRequest } from './types.ts';

/** Returns the `webhooks` of a document: the requests that receivers get. */
export function webhooksOf(
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
        // Receivers check the signature; no API key is sent.
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
