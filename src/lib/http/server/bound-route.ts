import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import Type from 'typebox';
import { Compile, type Validator } from 'typebox/schema';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { RequestOrigin } from '../../origin.ts';
import { parseTraceparent } from '../../trace-context.ts';
import type { ScanRequest } from '../pagination/scan-queue.ts';
import { type FieldError, Problem } from '../problem.ts';
import {
  type Caller,
  type PathParameter,
  type Route,
  type RouteRequest,
  type RouteResponse,
  takesIdempotencyKey,
} from '../route.ts';
import type { Authenticator } from './authenticator.ts';
import { contentEtag, isKnown, requirePreconditions } from './conditional.ts';
import type { Exchange } from './exchange.ts';
import { NotJson, parseJson } from './json.ts';
import { noPreferences, parsePrefer } from './prefer.ts';
import type { EncodedResponse } from './responses.ts';
import { BodyReader, integerOf, QueryReader } from './validation.ts';

/** What all routes of a server share. */
export interface BindingOptions<Context> {
  /** The path of the API, which comes before the paths of its routes: `/v1`, or ''. */
  readonly prefix: string;
  readonly authenticator: Authenticator;
  /** Returns the context of a caller's request. */
  contextOf(caller: Caller, route: Route<Context>): Context;
  /** Whether PUT, PATCH and DELETE of resources that have an entity tag must send `If-Match`. */
  readonly requireIfMatch?: boolean;
  /**
   * Called before an invalid body is rejected, if the operation takes an Idempotency-Key; what it throws is the response
   * instead. The request's body is what could be parsed as JSON, `undefined` if nothing could.
   */
  beforeInvalidBody?(request: AnyRequest<Context>): Promise<void> | undefined;
}

/** What a route reads of a request. */
type Incoming = Omit<Exchange, 'request' | 'response' | 'headers' | 'countedAt' | 'receivedMs' | 'tls'> & {
  readonly request: Pick<IncomingMessage, 'headers'> & { readonly socket: ScanRequest['connection'] };
};

type AnyRequest<Context> = RouteRequest<Context, unknown, unknown, unknown>;

const noHeaders: readonly string[] = [];

/** The query and the body of operations without: all parameters and members are unknown. */
const nothing = Type.Object({});
const noMembers = new BodyReader(nothing);

/** A route with its schemas compiled: validates requests, calls the handler, and encodes its responses. */
export class BoundRoute<Context> {
  readonly route: Route<Context>;
  /** Whether the body of requests is read, which the operation may ignore. */
  readonly takesBody: boolean;
  readonly #options: BindingOptions<Context>;
  readonly #parameters: readonly BoundParameter[];
  readonly #query: QueryReader;
  readonly #body: BodyReader;
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
      isInteger: (parameter.schema as { type?: string }).type === 'integer',
      validator: Compile(parameter.schema) as Validator,
    }));
    this.#query = new QueryReader(route.query ?? nothing);
    this.#body = route.body ? new BodyReader(route.body) : noMembers;
    // A POST is a step, such as an approval, which names the state that it starts from.
    this.#requiresIfMatch = options.requireIfMatch === true && route.conditional === true && route.method !== 'POST';
    const { since, sunset } = route.deprecation ?? {};
    this.#deprecation = since ? ['Deprecation', `@${since.getTime() / 1000}`, 'Sunset', sunset!.toUTCString()] : [];
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

  /**
   * Validates an authenticated request and calls the handler.
   * @throws {Problem} for an invalid request; and whatever the handler throws
   */
  handle(
    {
      request: { headers, socket },
      parameters,
      path: sentPath,
      search,
      requestId,
      publicUrl,
      caller,
      address,
    }: Incoming,
    bytes: Buffer | undefined,
    upload?: AsyncIterable<Buffer>,
  ): MaybePromise<EncodedResponse> {
    const { authenticator, contextOf, prefix } = this.#options;
    const { route } = this;
    const prefer = headers['prefer'] === undefined ? noPreferences : parsePrefer(headers['prefer'] as string);
    const strict = prefer.get('handling') === 'strict';
    const pathValues = this.#readPath(parameters);
    const query = search.length > 1 ? this.#readQuery(search, strict) : {};
    // `If-None-Match: *` only creates, so it overwrites no version.
    if (this.#requiresIfMatch && headers['if-match'] === undefined && headers['if-none-match'] !== '*') {
      const message = 'This operation requires If-Match: send the ETag of the version to change.';
      throw new Problem('precondition_required', 428, message);
    }
    const { value: body, problem } = this.takesBody ? this.#readBody(headers['content-type'], bytes, strict) : noBody;
    const request: AnyRequest<Context> = {
      path: pathValues,
      query,
      body,
      upload,
      prefer,
      context: contextOf(caller!, route),
      caller: caller!,
      connection: socket,
      header: name => headers[name] as string | undefined,
      operationId: route.operationId,
      requestId,
      origin: this.takesBody ? originOf(caller!, requestId, address, headers['traceparent']) : undefined,
      isStillAuthorized: () => authenticator.isStillAuthorized(caller!, route.access.scope),
      checkPreconditions: etag => requirePreconditions(headers['if-match'], headers['if-none-match'], etag),
      baseUrl: publicUrl + prefix,
      publicUrl,
      url: sentPath + search,
      search,
      routePath: route.path,
    };
    if (problem !== undefined) return this.#rejectBody(request, problem);
    const response = (route.handle as (request: AnyRequest<Context>) => MaybePromise<RouteResponse>)(request);
    return response instanceof Promise
      ? response.then(resolved => this.#encode(resolved, headers, strict))
      : this.#encode(response, headers, strict);
  }

  #readPath(parameters: Exchange['parameters']): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const { name, isInteger, validator, errorCode, errorMessage } of this.#parameters) {
      const value = isInteger ? integerOf(parameters[name]!) : parameters[name]!;
      if (value === undefined || !validator.Check(value)) throw new Problem(errorCode, 404, errorMessage);
      values[name] = value;
    }
    return values;
  }

  #readQuery(search: string, strict: boolean): unknown {
    const reading = this.#query.read(search.slice(1), strict);
    if ('value' in reading) return reading.value;
    throw invalid('invalid_parameter', 'Invalid parameters', reading.errors);
  }

  /** Returns the body with the reason to reject it, if there is one. Operations without a body schema take any body. */
  #readBody(contentType: string | undefined, bytes: Buffer | undefined, strict: boolean): ReadBody {
    const { body: schema, bodyOptional } = this.route;
    if (bytes === undefined || bytes.length === 0) {
      if (schema === undefined) return noBody;
      if (bodyOptional) return this.#validateBody({}, strict);
    }
    if (schema === undefined && !strict) return { value: parseIgnored(bytes!) };
    this.#requireJson(contentType);
    try {
      return this.#validateBody(parseJson(bytes ?? Buffer.alloc(0)), strict);
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return { value: undefined, problem: new Problem('invalid_json', 400, error.message) };
    }
  }

  #validateBody(value: unknown, strict: boolean): ReadBody {
    const reading = this.#body.read(value, strict);
    return 'value' in reading ? { value } : { value, problem: invalid('invalid_body', 'Invalid body', reading.errors) };
  }

  /** A merge patch (RFC 7396) is accepted where one may be sent. */
  #requireJson(contentType: string | undefined): void {
    const takesPatch = this.route.method === 'PATCH';
    const type = takesPatch ? contentType?.replace(mergePatchType, '$1application/json') : contentType;
    if (type !== undefined && jsonType.test(type)) return;
    const types = `application/json${takesPatch ? ' or application/merge-patch+json' : ''}`;
    const message =
      contentType === undefined
        ? `The request has no Content-Type; it must be ${types}.`
        : `The Content-Type must be ${types}.`;
    throw new Problem('invalid_content_type', 400, message);
  }

  /** Throws `problem`, unless the Idempotency-Key belongs to another request: then throws that error. */
  #rejectBody(request: AnyRequest<Context>, problem: Problem): Promise<never> {
    const keyCheck = takesIdempotencyKey(this.route) ? this.#options.beforeInvalidBody?.(request) : undefined;
    if (keyCheck === undefined) throw problem;
    return keyCheck.then(() => {
      throw problem;
    });
  }

  /**
   * Encodes a response, with the entity tag if it is that of a read, and evaluates the preconditions of a read.
   *
   * A 304 has no other header of the route's own: the caller has those already (RFC 9110, 15.4.5).
   * @throws {Problem} `precondition_failed`
   */
  #encode(response: RouteResponse, request: IncomingHttpHeaders, strict: boolean): EncodedResponse {
    const { status = this.route.successes[0].status, body, headers = noHeaders, stream, file } = response;
    // `undefined` has no JSON.
    const bytes = Buffer.isBuffer(body) ? body : (JSON.stringify(body) ?? '');
    let encoded: EncodedResponse = { status, bytes, headers, ...(stream && { stream }), ...file };
    if (!this.takesBody && stream === undefined) {
      const index = headers.indexOf('ETag');
      const etag = index < 0 ? contentEtag(bytes, headers) : headers[index + 1]!;
      const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request;
      if (ifMatch !== undefined) requirePreconditions(ifMatch, undefined, etag);
      if (ifNoneMatch !== undefined && isKnown(ifNoneMatch, etag)) {
        encoded = { status: 304, bytes: '', headers: ['ETag', etag] };
      } else if (index < 0) encoded = { ...encoded, headers: headers.concat('ETag', etag) };
    }
    return strict ? { ...encoded, headers: withStrict(encoded.headers) } : encoded;
  }
}

function originOf(
  { accountId, keyId }: Caller,
  requestId: string,
  address: string,
  traceHeader: string | string[] | undefined,
): RequestOrigin {
  const { traceparent } = parseTraceparent(traceHeader) ?? {};
  return { accountId, keyId, requestId, address, ...(traceparent !== undefined && { traceparent }) };
}

interface BoundParameter extends PathParameter {
  readonly name: string;
  readonly isInteger: boolean;
  readonly validator: Validator;
}

/** A body as it was parsed, and why it is rejected if it is not what the operation takes. */
interface ReadBody {
  readonly value: unknown;
  readonly problem?: Problem;
}

const noBody: ReadBody = { value: undefined };

/** Returns a body that the operation ignores: an Idempotency-Key compares requests by it. */
function parseIgnored(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

/** Returns a problem whose message quotes the first field errors. */
function invalid(code: string, title: string, errors: readonly FieldError[]): Problem {
  const quoted = errors
    .slice(0, 3)
    .map(({ path, message }) =>
      path === '' ? `The body ${message.charAt(0).toLowerCase()}${message.slice(1)}` : `${path}: ${message}`,
    );
  const more = errors.length > quoted.length ? ` And ${errors.length - quoted.length} more.` : '';
  return new Problem(code, 400, `${title}. ${quoted.join(' ')}${more}`, { errors });
}

/** Adds `handling=strict` to `Preference-Applied`, which the route may have set itself (RFC 7240, 3). */
function withStrict(headers: readonly string[]): readonly string[] {
  const index = headers.indexOf('Preference-Applied');
  if (index < 0) return headers.concat('Preference-Applied', 'handling=strict');
  return headers.with(index + 1, `${headers[index + 1]}, handling=strict`);
}

/** `application/json` with well-formed parameters; a charset must be UTF-8 (RFC 9110, 5.6.6). */
const jsonType =
  /^\s*application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset\b)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"]*"))\s*)?)*$/i;

const mergePatchType = /^(\s*)application\/merge-patch\+json/i;
