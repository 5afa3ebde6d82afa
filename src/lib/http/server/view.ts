import type { MaybePromise } from '../../maybe-promise.ts';
import type { ScanRequest } from '../pagination/scan-queue.ts';
import type { Problem } from '../problem.ts';
import type { Caller, LoggedRoute, Method } from '../route.ts';
import type { AuthenticationResult } from './authenticator.ts';
import type { EncodedResponse } from './responses.ts';

/** Where a view is served. */
export interface ViewMount {
  /** The start of its paths, without a trailing slash: `/petfinder/v2`. */
  readonly prefix: string;
  /** Returns the view. Called at the first request below the prefix; repeated if it failed. */
  load(): Promise<HttpView>;
}

/**
 * Another interface to the data of the server, with its own operations, shapes and errors. It has the same keys, limits
 * and logs as the API.
 */
export interface HttpView {
  readonly operations: readonly ViewOperation[];
  /** Identifies the caller of any request, unless its operation does. */
  authenticate?(request: ViewRequest): MaybePromise<ViewAuthentication>;
  /** Whether bodies are sent in chunks, without their length, because clients of the original expect it. */
  readonly chunked?: true;
  /** Returns the reason to reject any request, also a preflight, before its key is checked. */
  refuse?(request: ViewRequest): Problem | undefined;
  /**
   * Returns the response that states a problem in the format of this interface.
   * @param body the body of the request, if it was read
   */
  problemResponse(problem: Problem, request: ViewRequest, body: Buffer | undefined): ViewResponse;
}

/** An operation of a view. Its path is below the prefix, with parameters in braces; '' is the prefix itself. */
export interface ViewOperation extends LoggedRoute {
  readonly method: Method;
  /** The largest body in bytes; bodies of GET and DELETE are not read. */
  readonly bytesMax?: number;
  /** Identifies the caller. By default the view does, or else the API key in the `Authorization` header. */
  authenticate?(request: ViewRequest): MaybePromise<ViewAuthentication>;
  handle(request: AdmittedViewRequest): MaybePromise<ViewResponse>;
}

/** The result of an authentication, or a visitor without a key. */
export type ViewAuthentication = AuthenticationResult | Visitor;

/** Someone without a key. */
export interface Visitor {
  /** The network whose memory the body uses. */
  readonly visitor: string;
  /** The rate limit headers of the response: names and values in turn. */
  readonly headers: readonly string[];
}

/** A request to a view. */
export interface ViewRequest {
  readonly method: string;
  /** The path as it was sent. */
  readonly path: string;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
  readonly requestId: string;
  /** The public address, without the prefix and without a trailing slash. */
  readonly publicUrl: string;
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Returns the client's address, as reported by trusted proxies. */
  address(): string;
}

/** A request whose caller is known, or that needs no key. */
export interface AdmittedViewRequest extends ViewRequest {
  /** Absent for a visitor without a key. */
  readonly caller: Caller | undefined;
  /** The network of a visitor without a key. */
  readonly visitor: string | undefined;
  /** The connection of the client. */
  readonly connection: ScanRequest['connection'];
  readonly body: Buffer;
  /**
   * Makes a visitor the caller that its body names, also for the rate limit headers and the logs.
   * @throws {Problem} the problem of the result, if there is one
   */
  identify(result: AuthenticationResult): Caller;
  /**
   * Runs an operation of the API for the caller, with the checks that it has there.
   * @throws {Problem} like the operation
   */
  call(operationId: string, call: OperationCall): Promise<EncodedResponse>;
}

/** The request to an operation of the API that a view sends for its caller. */
export interface OperationCall {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface ViewResponse {
  readonly status: number;
  /** JSON by default. */
  readonly contentType?: string;
  readonly bytes: string | Buffer;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** The error code for logs and metrics; absent for a success. */
  readonly code?: string;
  /**
   * What the request did, for logs and metrics, if its path does not say it. Metrics keep each value that they get, so
   * it must be one of a few constants.
   */
  readonly operation?: LoggedRoute | undefined;
}
