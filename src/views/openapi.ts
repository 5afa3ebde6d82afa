import { sandboxScopes } from '../access/keys/sandbox.ts';
import { webhookRequests } from '../events/deliveries/webhook-requests.ts';
import { openApiOf } from '../lib/http/openapi/document.ts';
import { header } from '../lib/http/openapi/headers.ts';
import type { Header, Server } from '../lib/http/openapi/types.ts';
import { adds, type Route, takesIdempotencyKey, takesIfMatch } from '../lib/http/route.ts';
import type { AddressName, Config } from '../model/config.ts';
import { type ErrorCode, errors } from '../model/errors.ts';
import { type Noun, type Tag, tagGroups } from '../model/noun.ts';
import { nouns } from '../model/nouns.ts';
import { EventId } from '../model/public-event.ts';
import { interfaceVersion, messageRoutes, routes } from './api.ts';
import answers from './generated/recorded-responses.json' with { type: 'json' };
import { PREFIX, publicUrlOf } from './urls.ts';

const descriptions: Record<AddressName, string> = {
  production: 'Production',
  staging: 'Staging, for experiments: with pets, keys and rate limits of its own',
  messages: 'Messages',
};

/** Returns the OpenAPI document that an address serves if it listens on the configured ports. */
export function configuredDocument(config: Config, name: AddressName): object {
  const { ports, publicUrls } = config;
  const own = publicUrlOf(config, name, ports[name]);
  const urlOf = (one: AddressName) =>
    one === name || ports[one] !== undefined ? publicUrlOf(config, one, ports[one]) : publicUrls[one];
  const withPages = deployments.find(one => ports[one] !== undefined);
  const pages = name === 'messages' && withPages !== undefined ? urlOf(withPages)! : own;
  return documentOf(name, urlOf, pages);
}

const deployments = ['production', 'staging'] as const;

/**
 * Returns the OpenAPI document of an address. Its own URL is the first server, followed by the other deployment, if
 * known.
 * @param urlOf returns the public URL of an address without a trailing slash, if it is known
 * @param pagesUrl the public URL of the pages, without a trailing slash
 */
export function documentOf(
  name: AddressName,
  urlOf: (name: AddressName) => string | undefined,
  pagesUrl: string,
): object {
  const others = name === 'messages' ? [] : deployments.filter(one => one !== name);
  const servers = [name, ...others].flatMap(one => {
    const url = urlOf(one);
    return url === undefined ? [] : { url: one === 'messages' ? url : url + PREFIX, description: descriptions[one] };
  });
  return openApiDocument(name === 'messages' ? messageRoutes : routes, servers, pagesUrl, urlOf('messages'));
}

/**
 * Returns the OpenAPI 3.1 document of these routes. `npm run docs` records the example responses in it.
 *
 * Import this file on demand, because starting the server does not need it.
 * @param servers base URLs; first that of the address that serves the document
 * @param pagesUrl the base URL of the pages on error codes, without a trailing slash
 * @param messagesUrl the base URL of the message address, for descriptions
 */
export function openApiDocument(
  routes: readonly Route<never>[],
  servers: readonly Server[],
  pagesUrl: string,
  messagesUrl?: string,
): object {
  const recorded: Readonly<Record<string, Readonly<Record<string, unknown>>>> = answers;
  return openApiOf({
    info: {
      title: 'Pet Store',
      version: interfaceVersion,
      summary: 'A pet store over HTTP with JSON bodies.',
      description,
      contact: { name: 'Pet Store', url: `${pagesUrl}/` },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers,
    tags: tagGroups.flatMap(tagsOf).map(({ name, description }) => ({ name, description })),
    tagGroups: tagGroups.map(group => ({ name: group, tags: tagsOf(group).map(({ name }) => name) })),
    bearer: 'An API key, sent as `Authorization: Bearer <API_KEY>`. Create an account, then generate a key.',
    routes: messagesUrl === undefined ? routes : routes.map(route => addressed(route, messagesUrl)),
    webhooks: { tag: 'Webhooks', requests: webhookRequests },
    errors,
    pagesUrl,
    codesOf,
    headerSchemas: { 'Last-Event-ID': EventId },
    headers,
    responseTo: (route, example) => recorded[route.operationId]?.[example.name],
  });
}

/** Returns the tags of a group. */
function tagsOf(group: Tag['group']): Tag[] {
  return Object.values<Noun>(nouns).flatMap(({ tag }) => (tag?.group === group ? [tag] : []));
}

/**
 * Returns an operation with its URL in the description, if it has a separate address. Generated clients ignore a server
 * of an operation.
 */
function addressed(route: Route<never>, messagesUrl: string): Route<never> {
  if (route.address !== 'messages') return route;
  const { method, path, description } = route;
  return { ...route, description: `${description} The URL is \`${method} ${messagesUrl}${path}\`.` };
}

/** Returns every error code of a route: its own, and those of the checks that come before every handler. */
export function codesOf(route: Route<never>): ErrorCode[] {
  const { access, conditional, deprecation, method, notInSandbox, parameters = {} } = route;
  const changes = method !== 'GET';
  const isInSandbox = sandboxScopes.includes(access.scope ?? '');
  const codes = [
    ...['malformed_request', 'invalid_parameter'],
    // Operations without a body schema may receive one.
    ...(changes ? ['invalid_content_type', 'body_too_large', 'invalid_json', 'invalid_body'] : []),
    ...['missing_api_key', 'malformed_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key'],
    'wrong_deployment',
    ...['account_suspended', 'address_not_allowed'],
    ...(access.scope ? ['insufficient_scope'] : []),
    ...Object.values(parameters).map(({ errorCode }) => errorCode),
    ...(takesIdempotencyKey(route)
      ? ['idempotency_key_in_use', 'idempotency_key_reused', 'storage_limit_exceeded']
      : []),
    ...(takesIfMatch(route) ? ['precondition_failed'] : []),
    ...(conditional && method !== 'POST' ? ['precondition_required'] : []),
    ...(deprecation ? ['operation_removed'] : []),
    ...route.errors,
    ...(notInSandbox ? ['not_in_sandbox'] : isInSandbox && adds(route) ? ['sandbox_storage_exceeded'] : []),
    ...['request_timeout', 'expectation_failed', 'headers_too_large'],
    ...['rate_limit_exceeded', 'sandbox_rate_limit_exceeded', 'api_key_banned'],
    ...['internal_error', ...(changes ? ['storage_full'] : []), 'overloaded', 'storage_unavailable', 'shutting_down'],
  ];
  return [...new Set(codes)] as ErrorCode[];
}

/** The headers of every response below the base URL (contract, Rate limit headers). */
const headers: Record<string, Header> = {
  'X-RateLimit-Limit': header('The limit of the window with the fewest requests left.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-RateLimit-Remaining': header('Requests remaining in that window.', { type: 'integer', minimum: 0 }),
  'X-RateLimit-Reset': header(
    'The Unix time in seconds at which the first of the counted requests expires; on a 429, the time at which a request will be accepted.',
    { type: 'integer', format: 'int64' },
  ),
  'RateLimit-Policy': header(
    'Every window of the plan and of the budget of the key: its name, quota `q` and length in seconds `w` (IETF draft).',
    {
      type: 'string',
      examples: ['"minute";q=60;w=60, "day";q=1000;w=86400'],
    },
  ),
  RateLimit: header(
    'The state of every window: requests remaining `r`, seconds until more become available `t` (IETF draft).',
    { type: 'string', examples: ['"minute";r=59;t=60, "day";r=999;t=43200'] },
  ),
  'X-Request-Id': header(
    'The id of the request in our logs: the id that you sent if it is well-formed, otherwise a new id.',
  ),
};

const description = `Send an API key as a bearer token with every request. Each request counts against the plan of the key's account, and the
\`X-RateLimit-…\` headers of every response say how many requests are left. Every error has a \`code\` for programs, a
\`message\` for people, and the HTTP \`status\`. Send \`Accept: application/problem+json\` to get errors as RFC 9457
defines them.

Unknown query parameters and body members are ignored. Send \`Prefer: handling=strict\` to have them rejected.

A retry with the same \`Idempotency-Key\` changes nothing and gets the response of the first request. Resources have an
\`ETag\`: send it in \`If-Match\` to change only the version that you know, and in \`If-None-Match\` to get a resource
only if it has changed.

Operations with \`x-stability\` may still change: \`beta\` ones with notice, \`experimental\` ones at any time.`;
