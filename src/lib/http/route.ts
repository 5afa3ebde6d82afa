import type { Static, TObject, TSchema } from 'typebox';
import type { MaybePromise } from '../maybe-promise.ts';

/** Who may call a route: the holder of a valid key; with a scope, only of a key that has it. */
export interface Access {
  readonly key: true;
  readonly scope?: string;
}

/** How much an operation may still change; see docs/versioning.md. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** That an operation goes away, and when. */
export interface Deprecation {
  /** RFC 9745: since when it is deprecated. */
  readonly since: Date;
  /** RFC 8594: from this moment it answers 410 `operation_removed`. */
  readonly sunset: Date;
  /** What to use instead, as a sentence. */
  readonly instead: string;
  /** The documentation of the deprecation: a path below the public address's origin. */
  readonly page: string;
  /** The URL path and query (below the base address) that serves the same purpose for one call. */
  successor(path: Readonly<Record<string, string>>): string;
}

/** A path parameter. A value that does not fit names nothing, so it answers 404 with this code. */
export interface PathParameter {
  readonly schema: TSchema;
  readonly description: string;
  readonly notFound: string;
  /** What is said with it, as a sentence. */
  readonly absent: string;
}

/** One documented success of a route. */
export interface Success {
  readonly status: number;
  readonly description: string;
  /** Absent where the answer has no body (204); of a route that `streams`, what the data of each message is. */
  readonly schema?: TSchema;
  /** `application/json` where left out. */
  readonly contentType?: string;
  /** Whether what it shows has no entity tag, because it is no version of a thing; reads always have one. */
  readonly untagged?: true;
  /** Headers beyond those of every answer: name → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A request that stands in the documentation with its answer; a test sends each for real, each to a store of its own
 * that holds a few things of one account.
 */
export interface Example {
  /** Lower-case words; unique within the route. */
  readonly name: string;
  readonly summary: string;
  /** What was asked before, in this order: examples as `operation: name`. What these were given has to be named, too. */
  readonly given?: readonly string[];
  /** Who asks, where it is not the account whose things there are: an admin, or another account. */
  readonly as?: 'admin' | 'stranger';
  /** Values for the path's parameters. */
  readonly path?: Readonly<Record<string, string>>;
  /** The query string without its question mark. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value; a string is sent as it is. */
  readonly body?: unknown;
  /** The status of its answer. */
  readonly status: number;
  /** The error code of its answer, where that is none of the successes. */
  readonly code?: string;
}

/** What a handler is given: everything about one admitted, validated request. */
export interface RouteRequest<Context, Query, Body, Path> {
  /** The deployment that the request reached, or where one address serves several, that of the key. */
  readonly context: Context;
  /** Who calls: the holder of the key. */
  readonly caller: Caller;
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  /** Request header by its lower-case name. */
  header(name: string): string | undefined;
  /** The parsed `Prefer` header (RFC 7240): lower-case names to values, '' where there is none. */
  readonly prefer: ReadonlyMap<string, string>;
  /** The route's operation. */
  readonly operationId: string;
  readonly requestId: string;
  /**
   * Judges the request's `If-Match` and `If-None-Match` (RFC 9110, 13.1) by the entity tag of what it is to change, as
   * it is now. Only for routes that are `conditional`.
   * @throws {Problem} `precondition_failed`
   */
  expect(etag: string): void;
  /** Reports whether the caller may still use the operation; streams ask repeatedly. Counts nothing. */
  isStillAuthorized(): MaybePromise<boolean>;
  /** Public address and prefix, without a slash at the end: what links begin with. */
  readonly baseUrl: string;
  /** The URL as it was sent, without the origin: path and query. */
  readonly url: string;
  /** The query string as it was sent, with its question mark; '' where there is none. */
  readonly search: string;
  /** The path of the route below the base URL, with its parameters in braces: `/pets/{petId}`. */
  readonly routePath: string;
}

/** Whose key it was. */
export interface Caller {
  readonly keyId: string;
  /** The deployment that the key is for. */
  readonly deployment: string;
  readonly accountId: number;
  readonly admin: boolean;
}

/** What a handler answers. */
export interface RouteResponse {
  /** The first success of the route where left out. */
  readonly status?: number;
  /** A JSON value, or finished bytes of JSON; absent where there is none (204). */
  readonly body?: unknown;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** In place of a body, from a route that `streams`: what goes on writing to the answer. */
  readonly stream?: ResponseStream;
}

/** What writes an answer that goes on. Each of its methods returns at once and throws nothing. */
export interface ResponseStream {
  /** Called once the head of the answer is out; not for HEAD, nor where the caller has gone by then. */
  begin(outlet: ResponseWriter): void;
  /** Called when there is room again, after a `write` that said that there is none. */
  drained(): void;
  /** Called once, when the answer is over, whoever ended it; also where it never began. */
  closed(): void;
}

/** Where an answer that goes on is written to. */
export interface ResponseWriter {
  /** Writes some of it. @returns false where what is written piles up: then wait for `drained`. */
  write(bytes: string | Buffer): boolean;
  /** Ends the answer, and its connection with it. */
  end(): void;
  /** Lets go of the connection, with all that it has not taken yet. */
  destroy(): void;
}

/**
 * An operation is a value: what it takes, what it answers, and the handler. Where it stands in the API (method, path,
 * name, scope and stability) is one line of the list of all operations; together they make a {@link Route}.
 */
export interface Operation<Context> {
  readonly summary: string;
  readonly description: string;
  /** The parameters of the path, by the names that stand in braces there. */
  readonly parameters?: Readonly<Record<string, PathParameter>>;
  /** One property per query parameter; arrays take several values, separated by commas or repeated. */
  readonly query?: TObject;
  /** The schema of the JSON body. Unknown members are ignored, or rejected with `Prefer: handling=strict`. */
  readonly body?: TSchema;
  /** Whether the body may be omitted: it then reads as an object without members. */
  readonly bodyOptional?: true;
  /**
   * Whether the operation changes a resource that has an entity tag: the handler calls `expect`, which evaluates
   * `If-Match` and `If-None-Match`. A deployment may require `If-Match` for it.
   */
  readonly conditional?: true;
  /** Request headers that the operation reads, with what each does; those implied by its other properties are left out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly successes: readonly [Success, ...Success[]];
  /** Whether the response is a stream: it has no entity tag, and the handler returns a `stream`. */
  readonly streams?: true;
  /** The error codes of its own, beside those that every operation may return. */
  readonly errors: readonly string[];
  readonly deprecation?: Deprecation;
  /** More members for the OpenAPI operation: `x-…` only. */
  readonly extensions?: Readonly<Record<`x-${string}`, unknown>>;
  readonly examples: readonly Example[];
  handle(request: RouteRequest<Context, never, never, never>): MaybePromise<RouteResponse>;
}

/**
 * An operation with its place in the API. The router, validation, OpenAPI document, reference, command line and the
 * tests of every route derive from it.
 */
export interface Route<Context> extends Operation<Context> {
  /** The name of the operation: one verb and its noun, `createPet`. */
  readonly operationId: string;
  readonly method: Method;
  /** Below the prefix, with parameters in braces: `/pets/{petId}`. */
  readonly path: string;
  /** Who may call it; a route without it does not start. */
  readonly access: Access;
  readonly stability: Stability;
  /** The group of operations that it belongs to. */
  readonly tag: string;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Whether a retry of the operation may carry an `Idempotency-Key`: whatever adds or changes without naming the whole. */
export function takesIdempotencyKey({ method }: Pick<Route<never>, 'method'>): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Whether `If-Match` is judged: a thing with an entity tag is changed or read. */
export function takesIfMatch({
  method,
  conditional,
  streams,
}: Pick<Route<never>, 'method' | 'conditional' | 'streams'>): boolean {
  return conditional === true || (method === 'GET' && !streams);
}

/** The request headers that an operation reads beside its own, because of what it is: name → what it does. */
export function impliedHeadersOf(
  route: Pick<Route<never>, 'method' | 'conditional' | 'streams'>,
): Readonly<Record<string, string>> {
  return {
    Prefer: '`handling=strict` refuses parameters and members of the body that the operation does not know.',
    ...(takesIdempotencyKey(route) && {
      'Idempotency-Key':
        'A text of your choice, such as a UUID: a retry with the same one within 24 hours does nothing and gets the same answer.',
    }),
    ...(takesIfMatch(route) && {
      'If-Match': 'The `ETag` of the version that you mean: where there is another one, 412 comes and nothing is done.',
    }),
    ...(route.method === 'GET' &&
      !route.streams && {
        'If-None-Match': 'The `ETag` of an answer that you have: while nothing has changed, 304 comes without a body.',
      }),
  };
}

/** Returns the function that defines operations over `Context`, typing each handler by its schemas. */
export function operationsOver<Context>() {
  return function operation<
    Query extends TObject = TObject,
    Body extends TSchema = TSchema,
    const Parameters extends Readonly<Record<string, PathParameter>> = Record<never, never>,
  >(
    definition: Omit<Operation<Context>, 'query' | 'body' | 'parameters' | 'handle'> & {
      readonly query?: Query;
      readonly body?: Body;
      readonly parameters?: Parameters;
      handle(
        request: RouteRequest<
          Context,
          Static<Query>,
          Static<Body>,
          { readonly [Name in keyof Parameters]: Static<Parameters[Name]['schema']> }
        >,
      ): MaybePromise<RouteResponse>;
    },
  ): Operation<Context> {
    return definition as unknown as Operation<Context>;
  };
}

/** Evaluates the preconditions of a request against an entity tag; see `RouteRequest.expect`. */
export type Precondition = (etag: string) => void;
