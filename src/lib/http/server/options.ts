import type { Route } from '../route.ts';
import type { BindingOptions } from './bound-route.ts';
import type { ErrorOptions } from './error-responses.ts';
import type { PageOptions, PageRoute } from './pages.ts';

/** What an HTTP server serves, and the functions that it calls. */
export interface HttpServerOptions<Context> extends BindingOptions<Context>, ErrorOptions, PageOptions {
  readonly routes: readonly Route<Context>[];
  /** The pages outside the API. */
  readonly pages: readonly PageRoute[];
  /**
   * Returns the public address, without the prefix and without a trailing slash.
   * @param port the port that the server listens on
   * @param tls whether the request came to a trusted proxy over TLS
   */
  publicUrl(port: number, tls: boolean): string;
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
