import { messageRoutes, operations, routes } from './api.ts';
import type { AddressName, Config } from './config.ts';
import { type ErrorCode, errors } from './errors.ts';
import answers from './generated/recorded-responses.json' with { type: 'json' };
import { type Header, type OpenApiDocument, openApiOf, type Server } from './lib/http/openapi/document.ts';
import { type Route, takesIdempotencyKey, takesIfMatch } from './lib/http/route.ts';
import { PREFIX, publicUrlOf } from './urls.ts';

/** The version of the interface (contract, Versioning). */
export const interfaceVersion = '1.0.0';

const descriptions: Record<AddressName, string> = {
  production: 'Production',
  staging: 'Staging, for experiments: with pets, keys and rate limits of its own',
  messages: 'Messages',
};

/** Returns the OpenAPI document that an address serves if it listens on the configured ports. */
export function configuredDocument(config: Config, name: AddressName): OpenApiDocument {
  const { ports } = config;
  const messages = ports.messages === undefined ? undefined : publicUrlOf(config, 'messages', ports.messages);
  const own = publicUrlOf(config, name, ports[name]);
  const withPages = (['production', 'staging'] as const).find(one => ports[one] !== undefined);
  const pages = name === 'messages' && withPages !== undefined ? publicUrlOf(config, withPages, ports[withPages]) : own;
  return documentOf(name, { own, messages, pages });
}

/**
 * Returns the OpenAPI document of an address. That of a deployment includes the operations of the message address, if
 * that is served.
 * @param urls public URLs without a trailing slash: of this address, of the message address, and of the pages
 */
export function documentOf(
  name: AddressName,
  urls: { readonly own: string; readonly messages: string | undefined; readonly pages: string },
): OpenApiDocument {
  const { own, messages, pages } = urls;
  const description = descriptions[name];
  if (name === 'messages') return openApiDocument(messageRoutes, [{ url: own, description }], pages);
  const servers = [{ url: own + PREFIX, description }];
  if (messages === undefined) return openApiDocument(routes, servers, pages);
  const server = { url: messages, description: descriptions.messages };
  const ofMessages = new Set<Route<never>>(messageRoutes as readonly Route<never>[]);
  return openApiDocument(operations, servers, pages, route => (ofMessages.has(route) ? server : undefined));
}

/**
 * The OpenAPI 3.1 document of the product as one address serves it.
 *
 * The examples of answers in it are real ones, recorded by `npm run docs`. Load this file when somebody asks for the
 * document, not at start.
 * @param servers base addresses with their prefix; the first is the public one of the address that answers
 * @param pagesUrl where the pages are that explain the error codes: a public address, without a slash at the end
 * @param serverOf where a route is served apart from the others
 */
export function openApiDocument(
  routes: readonly Route<never>[],
  servers: readonly Server[],
  pagesUrl: string,
  serverOf: (route: Route<never>) => Server | undefined = () => undefined,
): OpenApiDocument {
  const recorded: Readonly<Record<string, Readonly<Record<string, unknown>>>> = answers;
  return openApiOf({
    info: {
      title: 'Pet Store',
      version: interfaceVersion,
      summary: 'A pet store over HTTP with JSON bodies.',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers,
    serverOf,
    tags: [
      { name: 'Pets', description: 'The animals: list them, add one, fetch one.' },
      { name: 'Categories', description: 'What kinds of animals there are: a tree that grows.' },
      { name: 'Holds', description: 'Animals that are kept for an account for a while.' },
      { name: 'Store orders', description: 'Orders of animals, step by step, and how many animals there are.' },
      { name: 'Events', description: 'Everything that happened, in the order in which it did.' },
      { name: 'Webhooks', description: 'URLs to which events are sent as they happen, signed.' },
      {
        name: 'Messages',
        description: 'Messages to the store and to the owners of animals, on an address of their own.',
      },
    ],
    tagGroups: [
      { name: 'Catalogue', tags: ['Pets', 'Categories'] },
      { name: 'Store', tags: ['Holds', 'Store orders'] },
      { name: 'What happened', tags: ['Events', 'Webhooks'] },
      { name: 'Messages', tags: ['Messages'] },
    ],
    bearer: 'An API key, sent as `Authorization: Bearer <API_KEY>`. Create an account, then generate a key.',
    routes,
    errors,
    pagesUrl,
    codesOf,
    headers,
    answerTo: (route, example) => recorded[route.operationId]?.[example.name],
  });
}

/** Every error code that a route may answer: its own and those that come before and around every handler. */
export function codesOf(route: Route<never>): ErrorCode[] {
  const codes = new Set<string>(['malformed_request']);
  const add = (...more: readonly string[]) => {
    for (const code of more) codes.add(code);
  };
  add('invalid_parameter');
  // Also where no body is read one may come.
  if (route.method !== 'GET') add('invalid_content_type', 'body_too_large', 'invalid_json', 'invalid_body');
  add('missing_api_key', 'malformed_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key');
  add('wrong_deployment');
  if (route.access.scope) add('insufficient_scope');
  for (const parameter of Object.values(route.parameters ?? {})) add(parameter.notFound);
  if (takesIdempotencyKey(route)) add('idempotency_key_in_use', 'idempotency_key_reused');
  if (takesIfMatch(route)) add('precondition_failed');
  if (route.conditional && route.method !== 'POST') add('precondition_required');
  if (route.deprecation) add('operation_removed');
  add(...route.errors);
  add('request_timeout', 'expectation_failed', 'rate_limit_exceeded', 'api_key_banned', 'headers_too_large');
  add('internal_error');
  if (route.method !== 'GET') add('storage_full');
  add('storage_unavailable', 'shutting_down');
  return [...codes] as ErrorCode[];
}

/** The headers of every answer under the base address (contract, Rate limit headers). */
const headers: Record<string, Header> = {
  'X-RateLimit-Limit': {
    description: 'The limit in force: of the window with the fewest requests left.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests remaining in that window.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-RateLimit-Reset': {
    description:
      'Unix timestamp in seconds at which the limit resets: when the first of the counted requests comes back; on a 429, when a request will be accepted.',
    schema: { type: 'integer', format: 'int64' },
  },
  'RateLimit-Policy': {
    description: 'Every window of the plan: its name, quota `q` and length in seconds `w` (IETF draft).',
    schema: { type: 'string', examples: ['"minute";q=60;w=60, "day";q=1000;w=86400'] },
  },
  RateLimit: {
    description: 'Every window as it stands: requests remaining `r`, seconds until more come back `t` (IETF draft).',
    schema: { type: 'string', examples: ['"minute";r=59;t=60, "day";r=999;t=43200'] },
  },
  'X-Request-Id': {
    description: 'The id of the request in our logs: the one that was sent, where it was well-formed, or a new one.',
    schema: { type: 'string' },
  },
};

const description = `Every request carries an API key as a bearer token and counts against the plan of the key's account. Every answer says
in its \`X-RateLimit-…\` headers how much is left. Every error has the same shape: a \`code\` for machines, a \`message\`
for people, and the HTTP \`status\`; with \`Accept: application/problem+json\` the same as RFC 9457 has it.

Unknown query parameters and body members are ignored, unless \`Prefer: handling=strict\` asks to refuse them.

A retry that carries the same \`Idempotency-Key\` as the first try does nothing again and gets the same answer. What can change
has an \`ETag\`: send it in \`If-Match\`, and nothing is changed that somebody else has changed meanwhile; send it in
\`If-None-Match\`, and what you have already is not sent again.

Operations with \`x-stability\` are not settled yet: \`beta\` ones change only with notice, \`experimental\` ones at any time.`;
