import type { IncomingMessage } from 'node:http';
import { Compile, type Validator } from 'typebox/compile';
import type { Soon } from '../soon.ts';
import type { Admission } from './gate.ts';
import { parsePrefer } from './prefer.ts';
import { type FieldError, Problem } from './problem.ts';
import type { Answer, Call, Caller, PathParameter, Route } from './route.ts';
import { BodyReader, NotJson, parseJson, QueryReader, readPathParameter } from './validation.ts';

/** A route ready to serve: its schemas compiled, its fixed headers made. */
export interface BoundRoute {
  readonly route: Route<never>;
  /** Why this caller may not call it now, or `undefined`. */
  refusal(admission: Admission & { admitted: true }, nowMs: number): Problem | undefined;
  /** Validates one request and asks the handler. Throws problems. */
  answer(
    raw: IncomingMessage,
    path: Readonly<Record<string, string>>,
    body: Buffer | undefined,
    call: { readonly caller: Caller; readonly requestId: string; readonly baseUrl: string },
  ): Soon<{ readonly status: number; readonly bytes: string | Buffer; readonly headers: readonly string[] }>;
  /** The headers that every answer of this route carries; pages stand below the public address. */
  headers(path: Readonly<Record<string, string>>, publicUrl: string): readonly string[];
}

/**
 * Binds a route to the deployment that it serves.
 * @param prefix what comes between the public address and the route's path
 * @throws when the route does not state who may call it
 */
export function bindRoute<Context>(route: Route<Context>, context: Context, prefix: string): BoundRoute {
  if (route.access?.key !== true) {
    throw new Error(`The route ${route.operation} does not state who may call it.`);
  }
  const queryReader = route.query && new QueryReader(route.query);
  const bodyReader = route.body && new BodyReader(route.body);
  const pathReaders = Object.entries(route.parameters ?? {}).map(
    ([name, parameter]) => [name, parameter, Compile(parameter.schema) as Validator] as const,
  );
  const { scope } = route.access;
  const noHeaders: readonly string[] = [];
  const dates = route.deprecation && deprecationDates(route.deprecation);

  return {
    route: route as Route<never>,

    refusal(admission, nowMs) {
      if (route.deprecation !== undefined && nowMs >= route.deprecation.sunset.getTime()) {
        return new Problem('operation_removed', 410, `${route.operation} was removed. ${route.deprecation.instead}`);
      }
      if (scope !== undefined && !admission.allows(scope)) {
        return new Problem('insufficient_scope', 403, `The API key lacks the scope ${scope}.`);
      }
      return undefined;
    },

    answer(raw, path, bytes, { caller, requestId, baseUrl }) {
      const { headers } = raw;
      const prefer = parsePrefer(headers.prefer as string | undefined);
      const strict = prefer.get('handling') === 'strict';
      const url = raw.url!;
      const mark = url.indexOf('?');
      const queryText = mark < 0 ? '' : url.slice(mark + 1);

      const values: Record<string, unknown> = {};
      for (const [name, parameter, validator] of pathReaders) {
        values[name] = pathValue(parameter, validator, path[name]!);
      }
      const query = readQuery(queryText, strict);
      const body = bodyReader && readBody(headers['content-type'], bytes, strict);
      const call = {
        context,
        caller,
        path: values,
        query,
        body,
        header: (name: string) => headers[name] as string | undefined,
        prefer,
        requestId,
        baseUrl,
        url,
      };
      const answer = (route.handle as (call: Call<Context, unknown, unknown, unknown>) => Soon<Answer>)(call);
      return answer instanceof Promise ? answer.then(finished) : finished(answer);

      function finished({ status = route.successes[0].status, body, headers = noHeaders }: Answer) {
        const bytes = Buffer.isBuffer(body) ? body : JSON.stringify(body);
        return {
          status,
          bytes,
          headers: strict ? [...headers, 'Preference-Applied', 'handling=strict'] : headers,
        };
      }
    },

    headers(path, publicUrl) {
      return route.deprecation === undefined
        ? noHeaders
        : [...dates!, 'Link', deprecationLinks(route.deprecation, path, publicUrl, prefix)];
    },
  };

  function readQuery(text: string, strict: boolean): unknown {
    if (queryReader === undefined) return {};
    const reading = queryReader.read(text, strict);
    if ('value' in reading) return reading.value;
    throw new Problem('invalid_parameter', 400, listed('Invalid parameters', reading.errors), {
      errors: reading.errors,
    });
  }

  function readBody(contentType: string | undefined, bytes: Buffer | undefined, strict: boolean): unknown {
    if (contentType === undefined || !jsonType.test(contentType)) {
      throw new Problem(
        'invalid_content_type',
        400,
        contentType === undefined
          ? 'The request has no Content-Type; it must be application/json.'
          : 'The Content-Type must be application/json.',
      );
    }
    let value: unknown;
    try {
      value = parseJson(bytes ?? Buffer.alloc(0));
    } catch (error) {
      if (error instanceof NotJson) throw new Problem('invalid_json', 400, error.message);
      throw error;
    }
    const reading = bodyReader!.read(value, strict);
    if ('value' in reading) return reading.value;
    throw new Problem('invalid_body', 400, listed('Invalid body', reading.errors), { errors: reading.errors });
  }
}

/** `application/json` with well-formed parameters, of which a charset can only be UTF-8 (RFC 9110, 5.6.6). */
const jsonType =
  /^\s*application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset\b)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"]*"))\s*)?)*$/i;

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
