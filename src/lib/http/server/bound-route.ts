import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import Type from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { MaybePromise } from '../../maybe-promise.ts';
import { type FieldError, Problem } from '../problem.ts';
import {
  type Caller,
  type Deprecation,
  type PathParameter,
  type ResponseStream,
  type Route,
  type RouteRequest,
  type RouteResponse,
  takesIdempotencyKey,
} from '../route.ts';
import type { AuthenticationResult, Authenticator } from './authenticator.ts';
import { etagOf, isKnown, requirePreconditions } from './conditional.ts';
import type { Exchange } from './exchange.ts';
import { NotJson, parseJson } from './json.ts';
import { parsePrefer } from './prefer.ts';
import { BodyReader, QueryReader, readPathParameter } from './validation.ts';

/** A response that is ready to be written; headers are names and values in turn. */
export interface EncodedResponse {
  readonly status: number;
  readonly bytes: string | Buffer;
  readonly headers: readonly string[];
  /** Writes the body in place of the bytes. */
  readonly stream?: ResponseStream;
}

/** What all routes of a server share. */
export interface BindingOptions<Context> {
  /** The path of the API, which comes before the paths of its routes: `/v1`, or ''. */
  readonly prefix: string;
  readonly authenticator: Authenticator;
  /** Returns the context of a caller's request; always the same where the server serves one deployment. */
  contextOf(caller: Caller): Context;
  /** Whether changes of resources that have an entity tag must send `If-Match`. */
  readonly requireIfMatch?: boolean;
  /**
   * Called before an invalid body is rejected, if the operation takes an Idempotency-Key; what it throws is the response
   * instead. The request's body is what could be parsed as JSON, `undefined` if nothing could.
   */
  beforeInvalidBody?(request: AnyRequest<Context>): Promise<void> | undefined;
}

/** What a route reads of a request. */
type Incoming = Omit<Exchange, 'request' | 'response' | 'headers' | 'receivedMs'> & {
  readonly request: Pick<IncomingMessage, 'headers'>;
};

type AnyRequest<Context> = RouteRequest<Context, unknown, unknown, unknown>;

const noHeaders: readonly string[] = [];

/** A route with its schemas compiled: validates requests, calls the handler, and encodes its responses. */
export class BoundRoute<Context> {
  readonly route: Route<Context>;
  /** Whether the body of requests is read, which the operation may ignore. */
  readonly takesBody: boolean;
  readonly #options: BindingOptions<Context>;
  readonly #parameters: readonly BoundParameter[];
  readonly #query: QueryReader | undefined;
  readonly #body: BodyReader | undefined;
  readonly #requiresIfMatch: boolean;
  readonly #deprecation: readonly string[];
  /** The start of the deprecation's `Link` under the public URL of the last request. */
  #deprecationLink: { readonly publicUrl: string; readonly start: string } | undefined;

  /** @throws {Error} when the route does not state who may call it */
  constructor(route: Route<Context>, options: BindingOptions<Context>) {
    if (route.access?.key !== true) {
      throw new Error(`The route ${route.operationId} does not state who may call it.`);
    }
    this.route = route;
    this.takesBody = route.method !== 'GET';
    this.#options = options;
    this.#parameters = Object.entries(route.parameters ?? {}).map(([name, parameter]) => ({
      ...parameter,
      name,
      validator: Compile(parameter.schema) as Validator,
    }));
    this.#query = route.query && new QueryReader(route.query);
    this.#body = route.body && new BodyReader(route.body);
    this.#requiresIfMatch = options.requireIfMatch === true && route.conditional === true && route.method !== 'POST';
    this.#deprecation = route.deprecation === undefined ? noHeaders : deprecationDates(route.deprecation);
  }

  /** Returns why the caller may not use the operation now, or `undefined`. */
  authorize(caller: AuthenticationResult & { authenticated: true }, now: () => number): Problem | undefined {
    const { access, deprecation, operationId } = this.route;
    if (deprecation !== undefined && now() >= deprecation.sunset.getTime()) {
      return new Problem('operation_removed', 410, `${operationId} was removed. ${deprecation.instead}`);
    }
    if (access.scope !== undefined && !caller.allows(access.scope)) {
      return new Problem('insufficient_scope', 403, `The API key lacks the scope ${access.scope}.`);
    }
    return undefined;
  }

  /** Returns the headers of every response of the route: those of its deprecation. */
  headers({ parameters, publicUrl }: Pick<Exchange, 'parameters' | 'publicUrl'>): readonly string[] {
    const { deprecation } = this.route;
    if (deprecation === undefined) return noHeaders;
    if (this.#deprecationLink?.publicUrl !== publicUrl) {
      const page = `<${publicUrl}${deprecation.page}>`;
      const type = 'type="text/html"';
      const successor = `<${publicUrl}${this.#options.prefix}`;
      const start = `${page}; rel="deprecation"; ${type}, ${page}; rel="sunset"; ${type}, ${successor}`;
      this.#deprecationLink = { publicUrl, start };
    }
    const link = `${this.#deprecationLink.start}${deprecation.successor(parameters)}>; rel="successor-version"`;
    return this.#deprecation.concat('Link', link);
  }

  /** The media type of a streamed response. */
  contentTypeOf(status: number): string {
    return this.route.successes.find(success => success.status === status)?.contentType ?? '';
  }

  /**
   * Validates an authenticated request and calls the handler.
   * @throws {Problem} for an invalid request; and whatever the handler throws
   */
  handle(exchange: Incoming, bytes: Buffer | undefined): MaybePromise<EncodedResponse> {
    const { headers } = exchange.request;
    const prefer = parsePrefer(headers['prefer'] as string | undefined);
    const strict = prefer.get('handling') === 'strict';
    const path = this.#readPath(exchange.parameters);
    const query = exchange.search.length > 1 ? this.#readQuery(exchange.search, strict) : {};
    if (this.#requiresIfMatch && headers['if-match'] === undefined) {
      throw new Problem(
        'precondition_required',
        428,
        'This operation requires If-Match: send the ETag of the version to change.',
      );
    }
    const { value: body, problem } = this.takesBody ? this.#readBody(headers['content-type'], bytes, strict) : noBody;
    const request = this.#requestOf(exchange, { path, query, body, prefer });
    if (problem !== undefined) return this.#rejectBody(request, problem);
    const response = (this.route.handle as (request: AnyRequest<Context>) => MaybePromise<RouteResponse>)(request);
    return response instanceof Promise
      ? response.then(resolved => this.#encode(resolved, headers, strict))
      : this.#encode(response, headers, strict);
  }

  #requestOf(
    { request: { headers }, path, search, requestId, publicUrl, caller }: Incoming,
    read: Pick<AnyRequest<Context>, 'path' | 'query' | 'body' | 'prefer'>,
  ): AnyRequest<Context> {
    const { authenticator, contextOf, prefix } = this.#options;
    const { access, operationId } = this.route;
    return {
      ...read,
      context: contextOf(caller!),
      caller: caller!,
      header: name => headers[name] as string | undefined,
      operationId,
      requestId,
      isStillAuthorized: () => authenticator.isStillAuthorized(caller!, access.scope),
      checkPreconditions: etag => requirePreconditions(headers['if-match'], headers['if-none-match'], etag),
      baseUrl: publicUrl + prefix,
      url: path + search,
      search,
      routePath: this.route.path,
    };
  }

  #readPath(parameters: Exchange['parameters']): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const { name, schema, validator, notFound, absent } of this.#parameters) {
      const value = readPathParameter(validator, schema, parameters[name]!);
      if (value === undefined) throw new Problem(notFound, 404, absent);
      values[name] = value;
    }
    return values;
  }

  #readQuery(search: string, strict: boolean): unknown {
    const reader = this.#query ?? (strict ? noParameters : undefined);
    if (reader === undefined) return {};
    const reading = reader.read(search.slice(1), strict);
    if ('value' in reading) return reading.value;
    throw invalid('invalid_parameter', 'Invalid parameters', reading.errors);
  }

  /** Returns the body with the reason to reject it, if there is one. Operations without a body schema take any body. */
  #readBody(contentType: string | undefined, bytes: Buffer | undefined, strict: boolean): ReadBody {
    if (bytes === undefined || bytes.length === 0) {
      if (this.#body === undefined) return noBody;
      if (this.route.bodyOptional) return validateBody(this.#body, {}, strict);
    }
    const reader = this.#body ?? (strict ? noMembers : undefined);
    if (reader === undefined) return { value: parseIgnored(bytes!) };
    this.#requireJson(contentType);
    try {
      return validateBody(reader, parseJson(bytes ?? Buffer.alloc(0)), strict);
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return { value: undefined, problem: new Problem('invalid_json', 400, error.message) };
    }
  }

  #requireJson(contentType: string | undefined): void {
    const takesPatch = this.route.method === 'PATCH';
    if (contentType !== undefined && isJson(contentType, takesPatch)) return;
    const types = `application/json${takesPatch ? ' or application/merge-patch+json' : ''}`;
    const message =
      contentType === undefined
        ? `The request has no Content-Type; it must be ${types}.`
        : `The Content-Type must be ${types}.`;
    throw new Problem('invalid_content_type', 400, message);
  }

  /** Rejects a body, unless a retry of the request gets another response. */
  #rejectBody(request: AnyRequest<Context>, problem: Problem): Promise<never> {
    const retry = takesIdempotencyKey(this.route) ? this.#options.beforeInvalidBody?.(request) : undefined;
    if (retry === undefined) throw problem;
    return retry.then(() => {
      throw problem;
    });
  }

  #encode(response: RouteResponse, request: IncomingHttpHeaders, strict: boolean): EncodedResponse {
    const { status = this.route.successes[0].status, body, headers = noHeaders, stream } = response;
    const bytes = body === undefined ? '' : Buffer.isBuffer(body) ? body : JSON.stringify(body);
    let encoded: EncodedResponse = { status, bytes, headers, ...(stream && { stream }) };
    if (!this.takesBody && stream === undefined) encoded = conditional(encoded, request);
    return strict ? { ...encoded, headers: withPreference(encoded.headers, 'handling=strict') } : encoded;
  }
}

interface BoundParameter extends PathParameter {
  readonly name: string;
  readonly validator: Validator;
}

/** A body as it was parsed, and why it is rejected if it is not what the operation takes. */
interface ReadBody {
  readonly value: unknown;
  readonly problem?: Problem;
}

const noBody: ReadBody = { value: undefined };

/** The query of operations without parameters: rejects all of them for `Prefer: handling=strict`. */
const noParameters = new QueryReader(Type.Object({}));

/** The body of operations without one: rejects all members for `Prefer: handling=strict`. */
const noMembers = new BodyReader(Type.Object({}));

/** Returns a body that the operation ignores: an Idempotency-Key compares requests by it. */
function parseIgnored(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function validateBody(reader: BodyReader, value: unknown, strict: boolean): ReadBody {
  const reading = reader.read(value, strict);
  return 'value' in reading ? { value } : { value, problem: invalid('invalid_body', 'Invalid body', reading.errors) };
}

/** Returns a problem whose message quotes the first field errors. */
function invalid(code: string, title: string, errors: readonly FieldError[]): Problem {
  const quoted = errors.slice(0, 3).map(({ path, message }) => `${path === '' ? 'the body' : path}: ${message}`);
  const more = errors.length > quoted.length ? ` And ${errors.length - quoted.length} more.` : '';
  return new Problem(code, 400, `${title}. ${quoted.join(' ')}${more}`, { errors });
}

/**
 * Adds the entity tag to the response to a read and evaluates the request's preconditions.
 *
 * A 304 has no other header of the route's own: the caller has those already (RFC 9110, 15.4.5).
 * @throws {Problem} `precondition_failed`
 */
function conditional(response: EncodedResponse, request: IncomingHttpHeaders): EncodedResponse {
  const { bytes, headers } = response;
  const index = headers.indexOf('ETag');
  const etag = index < 0 ? etagOf(bytes, headers) : headers[index + 1]!;
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request;
  if (ifMatch !== undefined) requirePreconditions(ifMatch, undefined, etag);
  if (ifNoneMatch !== undefined && isKnown(ifNoneMatch, etag)) {
    return { status: 304, bytes: '', headers: ['ETag', etag] };
  }
  return index < 0 ? { ...response, headers: headers.concat('ETag', etag) } : response;
}

/** Adds a preference to `Preference-Applied`, which the route may have set itself (RFC 7240, 3). */
function withPreference(headers: readonly string[], preference: string): readonly string[] {
  const index = headers.indexOf('Preference-Applied');
  if (index < 0) return headers.concat('Preference-Applied', preference);
  return headers.with(index + 1, `${headers[index + 1]}, ${preference}`);
}

/** `application/json` with well-formed parameters; a charset must be UTF-8 (RFC 9110, 5.6.6). */
const jsonType =
  /^\s*application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset\b)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"]*"))\s*)?)*$/i;

/** Reports whether a body of this type is parsed as JSON. A merge patch (RFC 7396) is where one may be sent. */
function isJson(contentType: string, takesPatch: boolean): boolean {
  if (!takesPatch) return jsonType.test(contentType);
  return jsonType.test(contentType.replace(/^(\s*)application\/merge-patch\+json/i, '$1application/json'));
}

function deprecationDates({ since, sunset }: Deprecation): readonly string[] {
  return ['Deprecation', `@${since.getTime() / 1000}`, 'Sunset', sunset.toUTCString()];
}
