import type { Problem } from '../problem.ts';
import type { Route } from '../route.ts';
import type { BodyBudget } from './body-budget.ts';
import type { BindingOptions } from './bound-route.ts';
import type { ErrorOptions } from './error-responses.ts';
import type { RenderPage } from './router.ts';

/** What an HTTP server serves, and the functions that it calls. */
export interface HttpServerOptions<Context> extends BindingOptions<Context>, ErrorOptions {
  readonly routes: readonly Route<Context>[];
  /** Pages outside the API by path, which may end with `*`. They need no key and are not rate limited. */
  readonly pages: Readonly<Record<string, RenderPage>>;
  /** Limits the memory for request bodies; several servers can share it. */
  readonly bodies: BodyBudget;
  /** Returns the HTML page for a path outside the API that does not exist. */
  notFoundPage(): string;
  /**
   * Returns the public address, without the prefix and without a trailing slash.
   * @param port the port that the server listens on
   * @param tls whether the request came to a trusted proxy over TLS
   */
  publicUrl(port: number, tls: boolean): string;
  /** Converts an error that was thrown below a route, and logs what callers must not see. */
  problemOf(error: unknown, requestId: string): Problem;
  /** Reports each response of the API: the operation ('' for none), its status, and how long it took, in seconds. */
  readonly onResponse?: ((operationId: string, status: number, seconds: number) => void) | undefined;
  /** Returns the time in milliseconds since the Unix epoch. */
  now(): number;
  /** What differs from {@link defaultLimits}. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** Timeouts of a connection in milliseconds, and how many connections may be open. */
export const defaultLimits = {
  /** From the first byte of a request (or from connecting) to the end of its headers; then 408. */
  headersMs: 15_000,
  /** From the first byte of a request to the end of its body; then 408. */
  requestMs: 30_000,
  /** From a response to the next request. */
  idleMs: 20_000,
  /** Without a byte in either direction while a request or a response is in progress. */
  stalledMs: 60_000,
  /** How often the first two are checked. */
  checkMs: 1000,
  connectionsMax: 10_000,
};

export type ConnectionLimits = Readonly<typeof defaultLimits>;
