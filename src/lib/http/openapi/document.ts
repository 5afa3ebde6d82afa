import { STATUS_CODES } from 'node:http';
import { type Catalogue, type FieldError, problemBody } from '../problem.ts';
import { type Example, impliedHeadersOf, type Route, type Success, takesIdempotencyKey } from '../route.ts';
import { errorPages } from '../server/responses.ts';

/** All that an OpenAPI document says beyond its routes. */
export interface Interface {
  /** The `info` object of the document. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Base addresses, the answering one first. */
  readonly servers: readonly Server[];
  /** The base address of a route that is served apart from the others. */
  serverOf?(route: Route<never>): Server | undefined;
  /** Every tag that a route may name, in the order of the document; those that none names are left out. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Headings over the tags (`x-tagGroups`). */
  readonly tagGroups: readonly { readonly name: string; readonly tags: readonly string[] }[];
  /** What the bearer token is, for people. */
  readonly bearer: string;
  readonly routes: readonly Route<never>[];
  readonly errors: Catalogue;
  /** The address below which the error codes are documented, without a slash at its end. */
  readonly pagesUrl: string;
  /** Every error code that a route may answer, those included that any route may. */
  codesOf(route: Route<never>): readonly string[];
  /** The headers of every answer, whatever its status: name → description and schema. */
  readonly headers: Readonly<Record<string, Header>>;
  /** The real answer to an example of a route, where one was recorded. */
  answerTo?(route: Route<never>, example: Example): unknown;
}

/** A base address. */
export interface Server {
  readonly url: string;
  readonly description: string;
}

/** One response header as OpenAPI has it. */
export interface Header {
  readonly description: string;
  readonly schema: object;
}

/** An OpenAPI 3.1 document as plain JSON; written by hand nowhere. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: Interface['servers'];
  readonly tags: Interface['tags'];
  readonly 'x-tagGroups': Interface['tagGroups'];
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One operation of the document. */
export interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, object>>;
  readonly [member: string]: unknown;
}

/**
 * The OpenAPI 3.1 document of a list of routes: each operation with every status, code and header that it may answer,
 * and an example for each.
 *
 * A schema with `$id` (or a `title` in the form of a type's name) becomes a component of that name; two schemas of one
 * name must be the same. Members whose names begin with `~` are the schema library's own and are left out.
 * @throws {Error} when a code is not in the catalogue, a tag is not listed, or a name means two things
 */
export function openApiOf(description: Interface): OpenApiDocument {
  const components = new Components();
  const used = new Set(description.routes.map(route => route.tag));
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of description.routes) {
    if (!description.tags.some(tag => tag.name === route.tag)) throw new Error(`no such tag: ${route.tag}`);
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(route, description, components),
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
    components: {
      ...components.sections,
      securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer', description: description.bearer } },
    },
  };
}

function operationOf(route: Route<never>, description: Interface, components: Components): Operation {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...serversOf(route, description),
    ...securityOf(route),
    ...parametersOf(route, components),
    ...bodyOf(route, components),
    responses: responsesOf(route, description, components),
    ...(route.deprecation && {
      deprecated: true,
      'x-deprecated-sunset': route.deprecation.sunset.toISOString().slice(0, 10),
    }),
    ...(route.stability !== 'stable' && { 'x-stability': route.stability }),
    ...route.extensions,
  };
}

function serversOf(route: Route<never>, { serverOf }: Interface): object {
  const server = serverOf?.(route);
  return server === undefined ? {} : { servers: [server] };
}

/** Nothing where the whole document's security says it all; OpenAPI 3.1 takes a scope as a role of the bearer scheme. */
function securityOf({ access }: Route<never>): object {
  return access.scope === undefined ? {} : { security: [{ bearerAuth: [access.scope] }] };
}

function parametersOf(route: Route<never>, components: Components): object {
  const examples = (values: [string, unknown][]) =>
    values.length > 0 && { examples: Object.fromEntries(values.map(([name, value]) => [name, { value }])) };
  const path = Object.entries(route.parameters ?? {}).map(([name, parameter]) => ({
    name,
    in: 'path',
    required: true,
    description: parameter.description,
    schema: components.schema(parameter.schema),
    ...examples(
      successful(route).flatMap(example => {
        const value = example.path?.[name];
        return value === undefined ? [] : [[example.name, typed(value, parameter.schema)] as [string, unknown]];
      }),
    ),
  }));
  const required = new Set(route.query?.required as readonly string[] | undefined);
  const query = Object.entries(route.query?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = property as Schema;
    // What has a name means the same everywhere, in the same words.
    const schema = nameOf(property) === undefined ? rest : (property as Schema);
    return {
      name,
      in: 'query',
      required: required.has(name),
      description,
      ...(schema.type === 'array' && { style: 'form', explode: true }),
      schema: components.schema(schema),
    };
  });
  const own = Object.entries(route.headers ?? {}).map(([name, says]) => headerParameter(name, says));
  const implied = Object.entries(impliedHeadersOf(route))
    .filter(([name]) => route.headers?.[name] === undefined)
    .map(([name, says]) => components.parameter(name, headerParameter(name, says)));
  const parameters = [...path, ...query, ...own, ...implied];
  return parameters.length > 0 ? { parameters } : {};
}

function headerParameter(name: string, description: string): object {
  const schema = { type: 'string', ...requestHeaderSchemas[name] };
  return { name, in: 'header', required: false, description, schema };
}

function bodyOf(route: Route<never>, components: Components): object {
  if (!route.body) return {};
  const examples = successful(route)
    .filter(({ body }) => body !== undefined)
    .map(({ name, summary, body }) => [name, { summary, value: body }]);
  const content = {
    schema: components.schema(route.body),
    ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
  };
  return {
    requestBody: {
      required: route.bodyOptional !== true,
      content: {
        'application/json': content,
        ...(route.method === 'PATCH' && { 'application/merge-patch+json': content }),
      },
    },
  };
}

function responsesOf(route: Route<never>, description: Interface, components: Components): Record<string, object> {
  const common: Record<string, object> = {};
  for (const [name, header] of Object.entries(description.headers)) common[name] = components.header(name, header);
  const unread = { ...common };
  if (route.deprecation) {
    for (const [name, header] of Object.entries(deprecationHeaders)) {
      common[name] = components.header(name, header);
      unread[name] = header;
    }
  }
  const responses: Record<string, object> = {};
  for (const success of route.successes) {
    responses[success.status] = successOf(route, success, description, components, common);
  }
  if (route.method === 'GET' && !route.streams) {
    responses[304] = {
      description: 'What `If-None-Match` names is what there is.',
      headers: { ...common, ETag: components.header('ETag', etagHeader), ...preferenceApplied(components) },
    };
  }
  const statuses = Map.groupBy(new Set(description.codesOf(route)), code => {
    const entry = description.errors[code];
    if (!entry) throw new Error(`${route.operationId} names an error code that is not in the catalogue: ${code}`);
    return entry.status;
  });
  for (const [status, codes] of statuses) {
    const headers = UNREAD.includes(status) ? unread : common;
    responses[status] = failureOf(route, status, codes, description, components, headers);
  }
  return responses;
}

/** With these it may be that a request could not be read, and nobody knows which operation it was meant for. */
const UNREAD: readonly number[] = [400, 408, 417, 431];

function successOf(
  route: Route<never>,
  success: Success,
  { answerTo }: Interface,
  components: Components,
  common: Record<string, object>,
): object {
  const examples = successful(route)
    .filter(example => example.status === success.status)
    .map(example => [example.name, { summary: example.summary, value: answerTo?.(route, example) }] as const)
    .filter(([, example]) => example.value !== undefined);
  const own = Object.entries(success.headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: headerSchemas[name.toLowerCase()] ?? { type: 'string' } },
  ]);
  return {
    description: success.description,
    headers: {
      ...common,
      ...(success.schema && !success.untagged && !route.streams && { ETag: components.header('ETag', etagHeader) }),
      ...preferenceApplied(components),
      ...(takesIdempotencyKey(route) && { 'Idempotency-Replayed': replayedHeader }),
      ...Object.fromEntries(own),
    },
    ...(success.schema && {
      content: {
        [success.contentType ?? 'application/json']: {
          schema: components.schema(success.schema),
          ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
        },
      },
    }),
  };
}

/** What answers say whose caller prefers something. */
function preferenceApplied(components: Components): object {
  return { 'Preference-Applied': components.header('Preference-Applied', appliedHeader, false) };
}

/** An error response: its codes in words and, for each, an example body in both shapes. */
function failureOf(
  route: Route<never>,
  status: number,
  codes: readonly string[],
  { errors, answerTo, pagesUrl }: Interface,
  components: Components,
  common: Record<string, object>,
): object {
  const plain: Record<string, object> = {};
  const problem: Record<string, object> = {};
  for (const code of codes) {
    const entry = errors[code]!;
    const recorded = route.examples
      .filter(example => example.code === code)
      .map(example => answerTo?.(route, example))
      .find(answer => answer !== undefined);
    const body = recorded ?? { code, message: entry.message, status };
    plain[code] = { summary: entry.message, value: body };
    problem[code] = { summary: entry.message, value: asProblem(body as ErrorBody, pagesUrl) };
  }
  const extra = Object.entries(failureHeaders[status] ?? {});
  return components.response((STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, ''), {
    description: codes.map(code => `\`${code}\`: ${errors[code]!.meaning}`).join('\n\n'),
    headers: {
      ...common,
      ...Object.fromEntries(extra.map(([name, header]) => [name, components.header(name, header)])),
      ...(status === 409 && { 'Retry-After': retryAfterWhereKnown }),
    },
    content: {
      'application/json': { schema: components.schema(errorSchema), examples: plain },
      'application/problem+json': { schema: components.schema(problemSchema), examples: problem },
    },
  });
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly errors: readonly FieldError[] | undefined;
}

/** The same error as `application/problem+json` has it. */
function asProblem(body: ErrorBody, pagesUrl: string): object {
  return problemBody(
    body,
    `${pagesUrl}${errorPages}${body.code}`,
    STATUS_CODES[body.status] ?? 'Error',
    exampleRequestId,
  );
}

const exampleRequestId = '5f2b8c1e9d3a4076';

function successful(route: Route<never>): Example[] {
  return route.examples.filter(example => example.code === undefined);
}

/** What a path parameter's text stands for, by the type of its schema. */
function typed(text: string, schema: object): unknown {
  const { type } = schema as { type?: unknown };
  return type === 'integer' || type === 'number' ? Number(text) : text;
}

type Schema = Record<string, unknown>;

/** The name of a schema that is a component. */
function nameOf(schema: object): string | undefined {
  const { $id, title } = schema as Schema;
  const name = $id ?? (/^[A-Z][A-Za-z]*$/.test(String(title ?? '')) ? title : undefined);
  return name === undefined ? undefined : String(name);
}

/** What is said once and referred to from then on; nothing stands in it that nothing refers to. */
class Components {
  readonly sections: Record<'schemas' | 'parameters' | 'headers' | 'responses', Record<string, unknown>> = {
    schemas: {},
    parameters: {},
    headers: {},
    responses: {},
  };

  /** A schema as the document has it: a reference where it has a name, itself otherwise. */
  schema(value: object): object {
    const { $id: _, ...rest } = value as Schema;
    const name = nameOf(value);
    const members = Object.entries(rest)
      .filter(([key]) => !key.startsWith('~') && !(key === 'title' && name !== undefined))
      .map(([key, member]) => [key, this.#member(key, member)]);
    const schema = constants(Object.fromEntries(members));
    return name === undefined ? schema : this.#refer('schemas', name, schema);
  }

  parameter(name: string, parameter: object): object {
    return this.#refer('parameters', name, parameter);
  }

  /** A header that comes with every answer that names it, unless that is said not to be so. */
  header(name: string, header: Header, required = true): object {
    return this.#refer('headers', name, { ...header, ...(required && { required }) });
  }

  /** The response by reference, unless its name is already taken by one with other contents. */
  response(name: string, response: object): object {
    const known = this.sections.responses[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(response)) return response;
    return this.#refer('responses', name, response);
  }

  /** Schemas stand under a few keywords only; whatever else there is (an example, a constant) is left as it is. */
  #member(key: string, member: unknown): unknown {
    if (typeof member !== 'object' || member === null) return member;
    if (['items', 'additionalProperties', 'not', 'propertyNames', 'contains'].includes(key)) return this.schema(member);
    if (['anyOf', 'allOf', 'oneOf', 'prefixItems'].includes(key))
      return (member as object[]).map(one => this.schema(one));
    if (['properties', 'patternProperties', '$defs'].includes(key)) {
      return Object.fromEntries(Object.entries(member).map(([name, one]) => [name, this.schema(one)]));
    }
    return member;
  }

  #refer(section: keyof Components['sections'], name: string, value: object): object {
    const known = this.sections[section][name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value)) {
      throw new Error(`two ${section} are named ${name}`);
    }
    this.sections[section][name] = value;
    return { $ref: `#/components/${section}/${name}` };
  }
}

/** A choice between texts, written as the `enum` that readers and generators know. */
function constants(schema: Schema): Schema {
  const { anyOf, ...rest } = schema as { anyOf?: Schema[] };
  if (anyOf?.every(one => one.type === 'string' && 'const' in one)) {
    return { type: 'string', enum: anyOf.map(one => one.const), ...rest };
  }
  const texts = Array.isArray(schema.enum) && schema.enum.every(one => typeof one === 'string');
  return texts ? { type: 'string', ...schema } : schema;
}

const errorMembers = {
  code: { type: 'string', description: 'Machine-readable error code: snake_case, never renamed.' },
  message: { type: 'string', description: 'Human-readable description.' },
  status: { type: 'integer', description: 'The HTTP status code.' },
  errors: {
    type: 'array',
    description: 'The single fields that are wrong, where single fields are.',
    items: {
      type: 'object',
      required: ['path', 'code', 'message'],
      properties: {
        path: {
          type: 'string',
          description: 'Where: a JSON Pointer into the body, or the name of the parameter or header.',
        },
        code: { type: 'string', description: 'What is wrong, for machines.' },
        message: { type: 'string', description: 'What would be right, for people.' },
      },
    },
  },
};

/** The body of every error (contract, Error). */
export const errorSchema = {
  $id: 'Error',
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: errorMembers,
};

/** The body of every error for callers who ask for `application/problem+json` (RFC 9457). */
export const problemSchema = {
  $id: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'message', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'The page that documents the code.' },
    title: { type: 'string', description: 'The name of the HTTP status.' },
    detail: { type: 'string', description: 'The same as `message`.' },
    requestId: { type: 'string', description: 'The same as the `X-Request-Id` header.' },
    ...errorMembers,
  },
};

const deprecationHeaders: Record<string, Header> = {
  Deprecation: {
    description: 'Since when the operation is deprecated: `@` and Unix seconds (RFC 9745).',
    schema: { type: 'string', examples: ['@1795132800'] },
  },
  Sunset: {
    description: 'The moment from which the operation answers 410 (RFC 8594).',
    schema: { type: 'string', examples: ['Thu, 05 Dec 2030 00:00:00 GMT'] },
  },
  Link: {
    description:
      'Where the deprecation is documented (`deprecation`, `sunset`) and what to call instead (`successor-version`).',
    schema: { type: 'string' },
  },
};

const etagHeader: Header = {
  description: 'The entity tag of this version: the same for every caller, another one after every change.',
  schema: { type: 'string', examples: ['"7.1"'] },
};

const appliedHeader: Header = {
  description: 'Which of the preferences in `Prefer` were applied (RFC 7240).',
  schema: { type: 'string', examples: ['handling=strict'] },
};

const replayedHeader: Header = {
  description: '`true` on the answer to a retry: it is the stored answer of the first try.',
  schema: { type: 'string', enum: ['true'] },
};

const retryAfter: Header = {
  description: 'Seconds after which to try again, at least 1.',
  schema: { type: 'integer', minimum: 1 },
};

/** Who is in the way may be gone by then. */
const retryAfterWhereKnown: Header = {
  ...retryAfter,
  description: 'Seconds after which to try again, where that is known.',
};

/** The headers that come with a status. */
const failureHeaders: Record<number, Record<string, Header>> = {
  401: {
    'WWW-Authenticate': {
      description: 'The scheme to use: `Bearer`.',
      schema: { type: 'string', examples: ['Bearer'] },
    },
  },
  429: { 'Retry-After': retryAfter },
  503: { 'Retry-After': retryAfter },
};

/** What is more to say of the texts in request headers. */
const requestHeaderSchemas: Record<string, object> = {
  Prefer: { examples: ['handling=strict'] },
  'Idempotency-Key': { minLength: 1, maxLength: 255, examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'] },
  'If-Match': { examples: ['"7.1"'] },
  'If-None-Match': { examples: ['"7.1"'] },
};

/** Headers of successes that are not just text. */
const headerSchemas: Record<string, object> = {
  location: { type: 'string', format: 'uri-reference' },
  'x-next': { type: 'string', format: 'uri-reference' },
  'x-total-count': { type: 'integer', minimum: 0 },
};
