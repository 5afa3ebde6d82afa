import type { Static, TObject, TSchema } from 'typebox';
import type { MaybePromise } from '../maybe-promise.ts';
import type { RequestOrigin } from '../origin.ts';
import { durationIn, HOUR_MS } from '../time.ts';
import type { ScanRequest } from './pagination/scan-queue.ts';

/** Restricts a route to callers with a valid API key, and with the scope if it names one. */
export interface Access {
  readonly key: true;
  readonly scope?: string;
}

/** How much an operation may still change; see docs/versioning.md. */
export type Stability = 'experimental' | 'beta' | 'stable';

export interface Deprecation {
  /** When the operation was deprecated (RFC 9745). */
  readonly since: Date;
  /** When the operation starts to return 410 `operation_removed` (RFC 8594). */
  readonly sunset: Date;
  /** The replacement, as a sentence. */
  readonly instead: string;
  /** The path of the page on the deprecation, below the public address. */
  readonly page: string;
  /** The path and query, below the base URL, that replace one request, with path parameters in braces. */
  readonly successor: string;
}

/** A path parameter. A value that does not match the schema gets a 404. */
export interface PathParameter {
  readonly schema: TSchema;
  readonly description: string;
  /** The error code of the 404. */
  readonly errorCode: string;
  /** The message of the 404. */
  readonly errorMessage: string;
  /** Whether only some accounts can see the resource; for others it does not exist. */
  readonly isPrivate?: true;
}

export interface Success {
  readonly status: number;
  readonly description: string;
  /** The schema of the body, or of each message of a stream; absent for 204. */
  readonly schema?: TSchema;
  /** `application/json` by default. */
  readonly contentType?: string;
  /** Whether the response has no entity tag, because it is not a version of a resource. Reads always have one. */
  readonly untagged?: true;
  /** Headers besides those of every response: names to descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request in the documentation. A test sends each to a new store with a few resources, and records the response. */
export interface Example {
  /** Lower-case words; unique within the route. */
  readonly name: string;
  readonly summary: string;
  /** The examples that a test sends before this one, in this order, as `operation: name`, each with its own `given`. */
  readonly given?: readonly string[];
  /** The caller, if it is not the account with the resources. */
  readonly as?: 'admin' | 'stranger';
  /** Values of the path parameters. */
  readonly path?: Readonly<Record<string, string>>;
  /** The query string without its question mark. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value; a string is sent as it is. */
  readonly body?: unknown;
  /** The file to send, if the operation has an `upload`. */
  readonly file?: ExampleFile;
  readonly status: number;
  /** The error code of the response, if it is an error. */
  readonly code?: string;
}

export interface ExampleFile {
  /** Its name in the documentation. */
  readonly name: string;
  readonly contentType: string;
  readonly base64: string;
}

/** The body of an operation that takes a file instead of JSON. */
export interface Upload {
  /** The kind of upload, whose slots it uses; see `UploadSlots`. */
  readonly kind: string;
  /** The media types that it may have. */
  readonly contentTypes: readonly string[];
  /** Advice on other media types that clients send, by type. */
  readonly advice?: Readonly<Record<string, string>>;
  readonly bytesMax: number;
  /**
   * The time limit of the whole request while it does not stall, in milliseconds; by default that of other requests.
   */
  readonly timeoutMs?: number;
  readonly description: string;
}

/** An authenticated and validated request, as handlers get it. */
export interface RouteRequest<Context, Query, Body, Path> {
  /** The deployment that the request is for: that of the address, or that of the key if an address serves several. */
  readonly context: Context;
  /** The account that sent the request, with its key. */
  readonly caller: Caller;
  /** The connection of the client. */
  readonly connection: ScanRequest['connection'];
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  /**
   * The body, if the operation has an `upload`: the handler reads it as it arrives. Reading throws a problem if the
   * body is too large or does not arrive.
   */
  readonly upload?: AsyncIterable<Buffer> | undefined;
  /** The headers by their lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The preferences of the `Prefer` header (RFC 7240): lower-case names to values, '' for those without one. */
  readonly prefer: ReadonlyMap<string, string>;
  readonly operationId: string;
  readonly requestId: string;
  /** The origin of the changes of the request, which `Database.write` takes; absent for reads. */
  readonly origin: RequestOrigin | undefined;
  /**
   * Evaluates `If-Match` and `If-None-Match` (RFC 9110, 13.1) against the current entity tag of the resource that the
   * request changes. Only for `conditional` operations.
   * @param etag `undefined` if the request creates the resource
   * @throws {Problem} `precondition_failed`
   */
  checkPreconditions(etag: string | undefined): void;
  /** Reports whether the caller may still use the operation; streams call it repeatedly. Does not count a request. */
  isStillAuthorized(): MaybePromise<boolean>;
  /** The public address with the prefix, without a trailing slash: the base of links. */
  readonly baseUrl: string;
  /** The public address, without a trailing slash. */
  readonly publicUrl: string;
  /** The path and query as they were sent. */
  readonly url: string;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
  /** The path of the route below the base URL, with its parameters in braces: `/pets/{petId}`. */
  readonly routePath: string;
}

/** The account that a request belongs to, with the key that it was sent with. */
export interface Caller {
  readonly keyId: string;
  /** The deployment that the key belongs to. */
  readonly deployment: string;
  readonly accountId: number;
  readonly admin: boolean;
  /** The plan of the account. */
  readonly plan: string;
  /** The scopes of the key. */
  readonly scopes: ReadonlySet<string>;
  /** Whether the account is in the sandbox. */
  readonly sandbox?: true;
}

export interface RouteResponse {
  /** By default the status of the operation's first success. */
  readonly status?: number;
  /** A JSON value, or `JsonText`; absent for 204. */
  readonly body?: unknown;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** The body in parts, instead of JSON: a file, with its length if it is known. The handler sets its entity tag. */
  readonly file?: { readonly parts: AsyncIterable<Buffer>; readonly length?: number };
  /** Writes the body, if the operation `streams`. */
  readonly stream?: ResponseStream;
}

/** Writes a streamed response. Its methods return immediately and do not throw. */
export interface ResponseStream {
  /** Called after the response head was sent; not for HEAD, nor after the client has disconnected. */
  begin(writer: ResponseWriter): void;
  /** Called when the buffer is empty again after a `write` that returned false. */
  drained(): void;
  /** Called once when the response has ended, even if it never began. */
  closed(): void;
}

/** Accepts the body of a streamed response. */
export interface ResponseWriter {
  /** Writes a part. Returns false if output is buffered: then wait for `drained`. */
  write(bytes: string | Buffer): boolean;
  end(): void;
  /** Closes the connection, and discards buffered output. */
  destroy(): void;
  /** The number of bytes written to the connection so far. */
  readonly bytesWritten: number;
  /** Returns how many of them the client has acknowledged; `undefined` if the system does not report it. */
  bytesAcknowledged(): Promise<number | undefined>;
}

/**
 * An operation: what it accepts, what it returns, and its handler. Its method, path, name, scope and stability are one
 * line of the list of all operations; together they are a {@link Route}.
 */
export interface Operation<Context> {
  readonly summary: string;
  readonly description: string;
  /**
   * The last part of the description: when lists without a covering index return short pages. The reference folds it.
   */
  readonly limits?: string;
  readonly parameters?: PathParameters;
  /** One property per query parameter; arrays take several values, separated by commas or repeated. */
  readonly query?: TObject;
  /** The schema of the JSON body. Unknown members are ignored, or rejected with `Prefer: handling=strict`. */
  readonly body?: TSchema;
  /** Present if the body is a file; then `body` is absent. */
  readonly upload?: Upload;
  /**
   * The end of the sentence "A trial key cannot …", if accounts of the sandbox cannot use the operation: 403
   * `not_in_sandbox`.
   */
  readonly notInSandbox?: string;
  /**
   * Whether the operation only ends or deletes resources of the account, as every DELETE does. The bounds of the
   * sandbox do not apply to it.
   */
  readonly frees?: true;
  /** Whether the body may be omitted, which counts as an empty object. */
  readonly bodyOptional?: true;
  /**
   * Whether the operation changes a resource that has an entity tag: the handler calls `checkPreconditions`, which
   * evaluates `If-Match` and `If-None-Match`. A deployment may require `If-Match` for it, except for POST.
   */
  readonly conditional?: true;
  /** Request headers that the operation reads, with descriptions. Headers implied by other properties are omitted. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly successes: readonly [Success, ...Success[]];
  /** Whether the response is a stream: it has no entity tag, and the handler returns a `stream`. */
  readonly streams?: true;
  /** The operation's own error codes, in addition to those that every operation may return. */
  readonly errors: readonly string[];
  readonly deprecation?: Deprecation;
  /** The name of a separate address that serves the operation; its documentation uses that one. */
  readonly address?: string;
  /** More members for the OpenAPI operation: `x-…` only. */
  readonly extensions?: Readonly<Record<`x-${string}`, unknown>>;
  readonly examples: readonly Example[];
  handle(request: RouteRequest<Context, never, never, never>): MaybePromise<RouteResponse>;
}

/**
 * An operation with its method, path and name. The router, validation, OpenAPI document, reference, command line and
 * the tests of every route derive from it.
 */
export interface Route<Context> extends Operation<Context> {
  /** The name of the operation: one verb and its noun, `createPet`. */
  readonly operationId: string;
  readonly method: Method;
  /** The path below the prefix, with parameters in braces: `/pets/{petId}`. */
  readonly path: string;
  /** Required: without it, the server does not start. */
  readonly access: Access;
  readonly stability: Stability;
  /** The group of the operation in the documentation. */
  readonly tag: string;
}

/** The members of an operation that logs and metrics use. */
export type LoggedRoute = Pick<Route<never>, 'operationId' | 'path' | 'query'>;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The members of a route that determine which headers it reads. */
type HeaderRules = Pick<Route<never>, 'method' | 'conditional' | 'streams'>;

/** Returns the description of an operation with its limits. */
export function descriptionWithLimits({
  description,
  limits,
}: Pick<Operation<never>, 'description' | 'limits'>): string {
  return limits === undefined ? description : `${description} ${limits}`;
}

/** Reports whether the operation accepts an `Idempotency-Key`: POST and PATCH, which are not idempotent. */
export function takesIdempotencyKey({ method }: Pick<HeaderRules, 'method'>): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Reports whether the operation evaluates `If-Match`: it reads or changes a resource that has an entity tag. */
export function takesIfMatch({ method, conditional, streams }: HeaderRules): boolean {
  return conditional === true || (method === 'GET' && !streams);
}

/** Reports whether the operation adds data to the account, so that the bounds of the sandbox apply to it. */
export function adds({ method, frees }: Pick<Route<never>, 'method' | 'frees'>): boolean {
  return method !== 'GET' && method !== 'DELETE' && frees !== true;
}

/** How long a response can be replayed with an `Idempotency-Key`, in milliseconds. */
export const IDEMPOTENCY_KEY_MS = 24 * HOUR_MS;
/** The maximum length of an `Idempotency-Key`. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

/** Returns the request headers that the properties of an operation imply: names to descriptions. */
export function impliedHeadersOf(route: HeaderRules): Readonly<Record<string, string>> {
  return {
    Prefer: '`handling=strict` rejects unknown parameters and unknown fields of the body.',
    ...(takesIdempotencyKey(route) && {
      'Idempotency-Key': `A unique text, such as a UUID. A retry with the same key within ${durationIn('hour', IDEMPOTENCY_KEY_MS)} changes nothing and gets the same response.`,
    }),
    ...(takesIfMatch(route) && {
      'If-Match': 'The `ETag` of the version that you expect. If the current version is another, the response is 412.',
    }),
    ...(route.method === 'GET' &&
      !route.streams && {
        'If-None-Match':
          'The `ETag` of a response that you have. While it is current, the response is 304 without a body.',
      }),
  };
}

/** The parameters of a path, by their names in braces. */
export type PathParameters = Readonly<Record<string, PathParameter>>;

export type PathOf<Parameters extends PathParameters> = {
  readonly [Name in keyof Parameters]: Static<Parameters[Name]['schema']>;
};

/** Returns the function that defines operations over `Context`, typing each handler by its schemas. */
export function operationsOver<Context>() {
  return function operation<
    Query extends TObject = TObject,
    Body extends TSchema = TSchema,
    const Parameters extends PathParameters = Record<never, never>,
  >(
    definition: Omit<Operation<Context>, 'query' | 'body' | 'parameters' | 'handle'> & {
      readonly query?: Query;
      readonly body?: Body;
      readonly parameters?: Parameters;
      handle(
        request: RouteRequest<Context, Static<Query>, Static<Body>, PathOf<Parameters>>,
      ): MaybePromise<RouteResponse>;
    },
  ): Operation<Context> {
    return definition as unknown as Operation<Context>;
  };
}

/** Evaluates the preconditions of a request against an entity tag; see `RouteRequest.checkPreconditions`. */
export type PreconditionCheck = (etag: string) => void;

/** The same for a change that may create the resource: then `etag` is `undefined`. */
export type CreationCheck = (etag: string | undefined) => void;
