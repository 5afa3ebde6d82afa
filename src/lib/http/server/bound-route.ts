import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { RequestOrigin } from '../../origin.ts';
import { parseTraceparent } from '../../trace-context.ts';
import { Type } from '../../type.ts';
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
import { JsonText, type NotJson, parseJson } from './json.ts';
import { noPreferences, parsePrefer } from './prefer.ts';
import type { EncodedResponse } from './responses.ts';
import { compileSchema, type Validator } from './schema-validator.ts';
import { BodyReader, integerOf, QueryReader } from './validation.ts';

/** The options that all routes of a server share. */
export interface BindingOptions<Context> {
  /** The path of the API, which comes before the paths of its routes: `/v1`, or ''. */
  readonly prefix: string;
  readonly authenticator: Authenticator;
  /** Returns the context of a caller's request. */
  contextOf(caller: Caller, route: Route<Context>): Context;
  /** Whether PUT, PATCH and DELETE require `If-Match` if the resource has an entity tag. */
  readonly requireIfMatch?: boolean;
  /**
   * Called before an invalid body is rejected, if the operation takes an Idempotency-Key. If it throws, its error is
   * the response. The request's body is the parsed JSON, or `undefined` if it is not JSON.
   */
  beforeInvalidBody?(request: AnyRequest<Context>): Promise<void> | undefined;
}

/** The parts of a request that a route reads. */
type Incoming = Omit<
  Exchange,
  'request' | 'response' | 'headers' | 'countedAt' | 'bodyBytes' | 'receivedMs' | 'tls'
> & {
  readonly request: Pick<IncomingMessage, 'headers'> & { readonly socket: ScanRequest['connection'] };
};

type AnyRequest<Context> = RouteRequest<Context, unknown, unknown, unknown>;

const noHeaders: readonly string[] = [];
const noBytes: Buffer = Buffer.alloc(0);
const noValues: Readonly<Record<string, unknown>> = {};

/** The schema of operations without a query or body: all parameters and members are unknown. */
const nothing = Type.Object({});
const noMembers = new BodyReader(nothing);

/** A route with its schemas compiled: validates requests, calls the handler, and encodes its responses. */
export class BoundRoute<Context> {
  readonly route: Route<Context>;
  /** Whether to read the body of requests, even if the operation ignores it. */
  readonly takesBody: boolean;
  /** The scope, if callers need nothing else until the operation is removed. */
  readonly scopeAlone: string | undefined;
  /** When the operation is removed, in milliseconds since the Unix epoch. */
  readonly sunset: number;
  readonly #options: BindingOptions<Context>;
  readonly #parameters: readonly BoundParameter[];
  readonly #query: QueryReader;
  readonly #body: BodyReader;
  readonly #requiresIfMatch: boolean;
  readonly #deprecation: readonly string[];
  /** The path of the deprecation's successor: texts, and between them the names of path parameters. */
  readonly #successor: readonly string[];
  /** The start of the deprecation's `Link` under the public URL of the last request. */
  #deprecationLink: { readonly publicUrl: string; readonly start: string } | undefined;

  /** @throws {Error} when the route lacks `access` */
  constructor(route: Route<Context>, options: BindingOptions<Context>) {
    if (route.access?.key !== true) {
      throw new Error(`The route ${route.operationId} does not state who may call it.`);
    }
    this.route = route;
    this.takesBody = route.method !== 'GET';
    this.sunset = route.deprecation?.sunset.getTime() ?? Number.POSITIVE_INFINITY;
    this.scopeAlone = route.notInSandbox === undefined ? route.access.scope : undefined;
    this.#options = options;
    this.#parameters = Object.entries(route.parameters ?? {}).map(([name, parameter]) => ({
      ...parameter,
      name,
      isInteger: (parameter.schema as { type?: string }).type === 'integer',
      validator: undefined,
    }));
    this.#query = new QueryReader(route.query ?? nothing);
    this.#body = route.body ? new BodyReader(route.body) : noMembers;
    // A POST that changes a state, such as an approval, names the state that it starts from.
    this.#requiresIfMatch = options.requireIfMatch === true && route.conditional === true && route.method !== 'POST';
    const { since, sunset, successor = '' } = route.deprecation ?? {};
    this.#deprecation = since ? ['Deprecation', `@${since.getTime() / 1000}`, 'Sunset', sunset!.toUTCString()] : [];
    this.#successor = successor.split(/\{(\w+)\}/);
  }

  /**
   * Returns the reason why the route is closed for a caller; `undefined` if it is open.
   * @param now milliseconds since the Unix epoch
   */
  refusalOf(caller: Caller, now: number): Problem | undefined {
    const { access, deprecation, operationId, notInSandbox } = this.route;
    if (now >= this.sunset) {
      return new Problem('operation_removed', 410, `${operationId} was removed. ${deprecation!.instead}`);
    }
    if (notInSandbox !== undefined && caller.sandbox) {
      const message = `A trial key cannot ${notInSandbox}. Create an account (the Free plan is enough) and use one of its keys.`;
      return new Problem('not_in_sandbox', 403, message);
    }
    if (access.scope !== undefined && !caller.scopes.has(access.scope)) {
      return new Problem('insufficient_scope', 403, `The API key lacks the scope ${access.scope}.`);
    }
    return undefined;
  }

  /** Returns the headers of every response of a deprecated route. */
  deprecationHeaders({ parameters, publicUrl }: Pick<Exchange, 'parameters' | 'publicUrl'>): readonly string[] {
    const deprecation = this.route.deprecation!;
    if (this.#deprecationLink?.publicUrl !== publicUrl) {
      const page = `<${publicUrl}${deprecation.page}>`;
      const type = 'type="text/html"';
      const successor = `<${publicUrl}${this.#options.prefix}`;
      const start = `${page}; rel="deprecation"; ${type}, ${page}; rel="sunset"; ${type}, ${successor}`;
      this.#deprecationLink = { publicUrl, start };
    }
    let link = this.#deprecationLink.start;
    for (let index = 0; index < this.#successor.length; index++) {
      const part = this.#successor[index]!;
      link += index % 2 === 0 ? part : encodeURIComponent(parameters[part] ?? '');
    }
    return this.#deprecation.concat('Link', `${link}>; rel="successor-version"`);
  }

  /** Returns the content type of a success that is not JSON. */
  contentTypeOf(status: number): string {
    return this.route.successes.find(success => success.status === status)?.contentType ?? '';
  }

  /**
   * Validates an authenticated request and calls the handler.
   * @throws {Problem} for an invalid request; also any error of the handler
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
    bytes = noBytes,
    upload?: AsyncIterable<Buffer>,
  ): MaybePromise<EncodedResponse> {
    const { authenticator, contextOf, prefix } = this.#options;
    const { route } = this;
    const prefer = headers['prefer'] === undefined ? noPreferences : parsePrefer(headers['prefer'] as string);
    const strict = prefer.get('handling') === 'strict';
    const pathValues = this.#parameters.length > 0 ? this.#readPath(parameters) : noValues;
    const query = search.length > 1 ? this.#readQuery(search, strict) : {};
    // `If-None-Match: *` only creates, so it cannot overwrite a version.
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
      headers: headers as AnyRequest<Context>['headers'],
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
    for (const parameter of this.#parameters) {
      const { name, isInteger, errorCode, errorMessage } = parameter;
      const value = isInteger ? integerOf(parameters[name]!) : parameters[name]!;
      parameter.validator ??= compileSchema(parameter.schema);
      if (value === undefined || !parameter.validator.Check(value)) throw new Problem(errorCode, 404, errorMessage);
      values[name] = value;
    }
    return values;
  }

  #readQuery(search: string, strict: boolean): unknown {
    const reading = this.#query.read(search.slice(1), strict);
    if ('value' in reading) return reading.value;
    throw invalid('invalid_parameter', 'Invalid parameters', reading.errors);
  }

  /**
   * Returns the body, and the reason to reject it if there is one. Operations without a body schema accept any body.
   */
  #readBody(contentType: string | undefined, bytes: Buffer, strict: boolean): ReadBody {
    const { body: schema, bodyOptional } = this.route;
    const isEmpty = bytes.length === 0;
    if (schema === undefined && isEmpty) return noBody;
    if (schema === undefined && !strict) return { value: parseIgnored(bytes) };
    let value: unknown = {};
    if (!isEmpty || !bodyOptional) {
      const accepted = this.route.method === 'PATCH' ? jsonOrPatchType : jsonType;
      if (contentType === undefined || !accepted.test(contentType)) throw this.#notJsonType(contentType);
      try {
        value = parseJson(bytes);
      } catch (error) {
        return { value: undefined, problem: error as NotJson };
      }
    }
    const reading = this.#body.read(value, strict);
    return 'value' in reading ? { value } : { value, problem: invalid('invalid_body', 'Invalid body', reading.errors) };
  }

  #notJsonType(contentType: string | undefined): Problem {
    const types = `application/json${this.route.method === 'PATCH' ? ' or application/merge-patch+json' : ''}`;
    const message =
      contentType === undefined
        ? `The request has no Content-Type; it must be ${types}.`
        : `The Content-Type must be ${types}.`;
    return new Problem('invalid_content_type', 400, message);
  }

  /** Throws `problem`, unless the Idempotency-Key was used for another request: then it throws that error. */
  #rejectBody(request: AnyRequest<Context>, problem: Problem): Promise<never> {
    const keyCheck = takesIdempotencyKey(this.route) ? this.#options.beforeInvalidBody?.(request) : undefined;
    if (keyCheck === undefined) throw problem;
    return keyCheck.then(() => {
      throw problem;
    });
  }

  /**
   * Encodes a response, adds the entity tag of a read, and evaluates the preconditions of a read.
   *
   * A 304 omits the route's other headers, because the caller has them already (RFC 9110, 15.4.5).
   * @throws {Problem} `precondition_failed`
   */
  #encode(response: RouteResponse, request: IncomingHttpHeaders, strict: boolean): EncodedResponse {
    const { status = this.route.successes[0].status, body, headers = noHeaders, stream, file } = response;
    // `JSON.stringify` returns `undefined` for `undefined`.
    const bytes = body instanceof JsonText ? body.text : (JSON.stringify(body) ?? '');
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
  const traceparent = traceHeader === undefined ? undefined : parseTraceparent(traceHeader)?.traceparent;
  return { accountId, keyId, requestId, address, ...(traceparent !== undefined && { traceparent }) };
}

interface BoundParameter extends PathParameter {
  readonly name: string;
  readonly isInteger: boolean;
  /** Compiled for the first value. */
  validator: Validator | undefined;
}

/** A parsed body, and the reason to reject it if it is invalid. */
interface ReadBody {
  readonly value: unknown;
  readonly problem?: Problem;
}

const noBody: ReadBody = { value: undefined };

/** Parses a body that the operation ignores, because an Idempotency-Key compares requests by their bodies. */
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

/** Adds `handling=strict` to `Preference-Applied`, which the route may already have set (RFC 7240, 3). */
function withStrict(headers: readonly string[]): readonly string[] {
  const index = headers.indexOf('Preference-Applied');
  if (index < 0) return headers.concat('Preference-Applied', 'handling=strict');
  return headers.with(index + 1, `${headers[index + 1]}, handling=strict`);
}

/** `application/json` with well-formed parameters; a charset must be UTF-8 (RFC 9110, 5.6.6). */
const jsonType =
  /^\s*application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset\b)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"]*"))\s*)?)*$/i;

/** The same, or a merge patch (RFC 7396), for PATCH. */
const jsonOrPatchType = new RegExp(jsonType.source.replace('json', '(?:merge-patch\\+)?json'), 'i');
