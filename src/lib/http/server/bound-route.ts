import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import Type from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { MaybePromise } from '../../maybe-promise.ts';
import { type FieldError, Problem } from '../problem.ts';
import {
  type Caller,
  type PathParameter,
  type ResponseStream,
  type Route,
  type RouteRequest,
  type RouteResponse,
  takesIdempotencyKey,
} from '../route.ts';
import type { AuthenticationResult } from './authenticator.ts';
import { etagOf, isKnown, type Preconditions, requireExpected } from './conditional.ts';
import { parsePrefer } from './prefer.ts';
import { BodyReader, NotJson, parseJson, QueryReader, readPathParameter } from './validation.ts';

/** A route ready to serve: its schemas compiled, its fixed headers made. */
export interface BoundRoute {
  readonly route: Route<never>;
  /** Why this caller may not call it now, or `undefined`. */
  refusal(admission: AuthenticationResult & { admitted: true }, nowMs: number): Problem | undefined;
  /** Validates one request and asks the handler. Throws problems. */
  answer(
    raw: IncomingMessage,
    path: Readonly<Record<string, string>>,
    body: Buffer | undefined,
    call: Pick<RouteRequest<unknown, unknown, unknown, unknown>, 'caller' | 'requestId' | 'baseUrl' | 'stillAdmitted'>,
  ): MaybePromise<EncodedResponse>;
  /** The headers that every answer of this route carries; pages stand below the public address. */
  headers(path: Readonly<Record<string, string>>, publicUrl: string): readonly string[];
}

/** An answer as it goes out; headers are names and values in turn. */
export interface EncodedResponse {
  readonly status: number;
  readonly bytes: string | Buffer;
  readonly headers: readonly string[];
  /** What goes on writing, in place of the bytes. */
  readonly stream?: ResponseStream;
}

/** What a deployment wants of all its routes. */
export interface BindingOptions<Context> {
  /** Whether a change of a thing that has an entity tag must name it in `If-Match`. */
  readonly requireIfMatch?: boolean;
  /**
   * Asked before a body is refused that is not what the operation takes, where that may be retried; what it throws is
   * answered in place of that. The call's body is what could be read of it as JSON: `undefined` where nothing could, or
   * where the operation takes none.
   */
  refusingBody?(call: RouteRequest<Context, unknown, unknown, unknown>): Promise<void> | undefined;
}

/**
 * Binds a route to what it serves.
 * @param contextOf the deployment that a caller's request is for
 * @param prefix what comes between the public address and the route's path
 * @throws when the route does not state who may call it
 */
export function bindRoute<Context>(
  route: Route<Context>,
  contextOf: (caller: Caller) => Context,
  prefix: string,
  { requireIfMatch = false, refusingBody }: BindingOptions<Context> = {},
): BoundRoute {
  if (route.access?.key !== true) {
    throw new Error(`The route ${route.operationId} does not state who may call it.`);
  }
  const queryReader = route.query && new QueryReader(route.query);
  const bodyReader = route.body && new BodyReader(route.body);
  const pathReaders = Object.entries(route.parameters ?? {}).map(
    ([name, parameter]) => [name, parameter, Compile(parameter.schema) as Validator] as const,
  );
  const { scope } = route.access;
  const noHeaders: readonly string[] = [];
  const dates = route.deprecation && deprecationDates(route.deprecation);
  const reads = route.method === 'GET';
  const needsIfMatch = requireIfMatch && route.conditional === true && route.method !== 'POST';

  return {
    route: route as Route<never>,

    refusal(admission, nowMs) {
      if (route.deprecation !== undefined && nowMs >= route.deprecation.sunset.getTime()) {
        return new Problem('operation_removed', 410, `${route.operationId} was removed. ${route.deprecation.instead}`);
      }
      if (scope !== undefined && !admission.allows(scope)) {
        return new Problem('insufficient_scope', 403, `The API key lacks the scope ${scope}.`);
      }
      return undefined;
    },

    answer(raw, path, bytes, { caller, requestId, baseUrl, stillAdmitted }) {
      const { headers } = raw;
      const prefer = parsePrefer(headers.prefer as string | undefined);
      const strict = prefer.get('handling') === 'strict';
      const url = raw.url!;
      const mark = url.indexOf('?');
      const search = mark < 0 ? '' : url.slice(mark);

      const values: Record<string, unknown> = {};
      for (const [name, parameter, validator] of pathReaders) {
        values[name] = pathValue(parameter, validator, path[name]!);
      }
      const query = readQuery(search.slice(1), strict);
      if (needsIfMatch && headers['if-match'] === undefined) {
        throw new Problem('precondition_required', 428, 'This needs If-Match, with the ETag of the version to change.');
      }
      const body = readBody(headers['content-type'], bytes, strict);
      const call = {
        context: contextOf(caller),
        caller,
        path: values,
        query,
        body: body.value,
        header: (name: string) => headers[name] as string | undefined,
        prefer,
        operationId: route.operationId,
        requestId,
        stillAdmitted,
        expect: (etag: string) => requireExpected(preconditionsOf(headers), etag),
        baseUrl,
        url,
        search,
        routePath: route.path,
      };
      if (body.refusal !== undefined) {
        const { refusal } = body;
        const asked = takesIdempotencyKey(route) ? refusingBody?.(call) : undefined;
        if (asked === undefined) throw refusal;
        return asked.then(() => {
          throw refusal;
        });
      }
      const answer = (
        route.handle as (call: RouteRequest<Context, unknown, unknown, unknown>) => MaybePromise<RouteResponse>
      )(call);
      return answer instanceof Promise ? answer.then(finished) : finished(answer);

      function finished({
        status = route.successes[0].status,
        body,
        headers: own = noHeaders,
        stream,
      }: RouteResponse): EncodedResponse {
        const bytes = body === undefined ? '' : Buffer.isBuffer(body) ? body : JSON.stringify(body);
        const whole =
          reads && stream === undefined
            ? forReader(headers, status, bytes, own)
            : { status, bytes, headers: own, ...(stream && { stream }) };
        return strict ? { ...whole, headers: withPreference(whole.headers, 'handling=strict') } : whole;
      }
    },

    headers(path, publicUrl) {
      return route.deprecation === undefined
        ? noHeaders
        : [...dates!, 'Link', deprecationLinks(route.deprecation, path, publicUrl, prefix)];
    },
  };

  function readQuery(text: string, strict: boolean): unknown {
    if (queryReader === undefined && !strict) return {};
    const reading = (queryReader ?? noParameters).read(text, strict);
    if ('value' in reading) return reading.value;
    throw new Problem('invalid_parameter', 400, listed('Invalid parameters', reading.errors), {
      errors: reading.errors,
    });
  }

  function readBody(contentType: string | undefined, bytes: Buffer | undefined, strict: boolean): ReadBody {
    const reader = bodyReader ?? (strict ? noMembers : undefined);
    const empty = bytes === undefined || bytes.length === 0;
    if (empty && bodyReader === undefined) return { value: undefined };
    if (empty && route.bodyOptional) return judged({});
    if (reader === undefined) return { value: unread(bytes!) };
    if (contentType === undefined || !isJson(contentType, route.method === 'PATCH')) {
      const right = `application/json${route.method === 'PATCH' ? ' or application/merge-patch+json' : ''}`;
      throw new Problem(
        'invalid_content_type',
        400,
        contentType === undefined
          ? `The request has no Content-Type; it must be ${right}.`
          : `The Content-Type must be ${right}.`,
      );
    }
    try {
      return judged(parseJson(bytes ?? Buffer.alloc(0)));
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return { value: undefined, refusal: new Problem('invalid_json', 400, error.message) };
    }

    function judged(json: unknown): ReadBody {
      const reading = reader!.read(json, strict);
      return 'value' in reading ? { value: json } : { value: json, refusal: invalidBody(reading.errors) };
    }
  }
}

/** A body that the operation does not read: a retry is told from another request by it. */
function unread(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

/** A body as it was understood, and why it is refused where it is not what the operation takes. */
interface ReadBody {
  readonly value: unknown;
  readonly refusal?: Problem;
}

/** What an operation without parameters takes, for callers who want to hear of those that it does not know. */
const noParameters = new QueryReader(Type.Object({}));

/** The same for the members of a body. */
const noMembers = new BodyReader(Type.Object({}));

function invalidBody(errors: readonly FieldError[]): Problem {
  return new Problem('invalid_body', 400, listed('Invalid body', errors), { errors });
}

/**
 * An answer to a reader: with its entity tag, and without a body where the caller has that already. Then it has no other
 * header of its own either: the caller has those, too (RFC 9110, 15.4.5).
 */
function forReader(
  request: IncomingHttpHeaders,
  status: number,
  bytes: string | Buffer,
  own: readonly string[],
): EncodedResponse {
  const place = own.indexOf('ETag');
  const etag = place < 0 ? etagOf(bytes, own) : own[place + 1]!;
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request;
  if (ifMatch !== undefined) requireExpected({ ifMatch, ifNoneMatch: undefined }, etag);
  if (ifNoneMatch !== undefined && isKnown(ifNoneMatch, etag)) {
    return { status: 304, bytes: '', headers: ['ETag', etag] };
  }
  return { status, bytes, headers: place < 0 ? [...own, 'ETag', etag] : own };
}

function preconditionsOf({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }: IncomingHttpHeaders): Preconditions {
  return { ifMatch, ifNoneMatch };
}

/** Says in one header that a preference was applied, beside those that the route applied itself (RFC 7240, 3). */
function withPreference(headers: readonly string[], preference: string): readonly string[] {
  const place = headers.indexOf('Preference-Applied');
  if (place < 0) return [...headers, 'Preference-Applied', preference];
  return headers.with(place + 1, `${headers[place + 1]}, ${preference}`);
}

/** `application/json` with well-formed parameters, of which a charset can only be UTF-8 (RFC 9110, 5.6.6). */
const jsonType =
  /^\s*application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset\b)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"]*"))\s*)?)*$/i;

/** Whether a body of this type is read as JSON; a merge patch (RFC 7396) where one may be sent. */
function isJson(contentType: string, patch: boolean): boolean {
  return jsonType.test(
    patch ? contentType.replace(/^(\s*)application\/merge-patch\+json/i, '$1application/json') : contentType,
  );
}

function pathValue(parameter: PathParameter, validator: Validator, text: string): unknown {
  const value = readPathParameter(validator, parameter.schema, text);
  if (value === undefined) throw new Problem(parameter.notFound, 404, parameter.absent);
  return value;
}

/** One sentence that names the first fields that are wrong. */
function listed(what: string, errors: readonly FieldError[]): string {
  const some = errors.slice(0, 3).map(({ path, message }) => `${path === '' ? 'the body' : path}: ${message}`);
  return `${what}. ${some.join(' ')}${errors.length > some.length ? ` And ${errors.length - some.length} more.` : ''}`;
}

/** What is the same for each answer of a deprecated route. */
function deprecationDates({ since, sunset }: NonNullable<Route<never>['deprecation']>): readonly string[] {
  return ['Deprecation', `@${since.getTime() / 1000}`, 'Sunset', sunset.toUTCString()];
}

function deprecationLinks(
  { page, successor }: NonNullable<Route<never>['deprecation']>,
  path: Readonly<Record<string, string>>,
  publicUrl: string,
  prefix: string,
): string {
  return (
    `<${publicUrl}${page}>; rel="deprecation"; type="text/html", <${publicUrl}${page}>; rel="sunset"; type="text/html", ` +
    `<${publicUrl}${prefix}${successor(path)}>; rel="successor-version"`
  );
}
