import type { IncomingMessage } from 'node:http';
import type { LoggedRoute, Route } from '../route.ts';
import type { BindingOptions } from './bound-route.ts';
import type { ErrorOptions } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import type { ShedReason } from './load-shedder.ts';
import type { PageOptions } from './pages.ts';
import type { ViewMount } from './view.ts';

/** The response to a request of the API or of a view. */
export interface RequestOutcome {
  /** Absent if no operation has the path, or none has the method. */
  readonly route: LoggedRoute | undefined;
  /** The prefix of the path of the route: `/v1`, or ''. */
  readonly prefix: string;
  readonly status: number;
  /** The error code; '' for a success. */
  readonly code: string;
  /** From the headers of the request to its response. */
  readonly durationMs: number;
}

/** Runs the work for a request in an asynchronous context. */
export interface RequestContext {
  /** Begins to serve a request. */
  begin(request: IncomingMessage, work: () => void): void;
  /** Continues in that context after an event of the connection, which has no context. */
  resume(request: IncomingMessage, work: () => void): void;
}

/** The current connections and streams of a server, and the number of rejected requests. */
export interface ServerLoad {
  readonly connections: number;
  /** The connections with a request in flight. */
  readonly inFlight: number;
  /** The responses that are streams. */
  readonly streams: number;
  /** The number of requests rejected because of overload since the start. */
  readonly shed: Readonly<Record<ShedReason, number>>;
}

/** The routes of an HTTP server, and the functions that it calls. */
export interface HttpServerOptions<Context> extends BindingOptions<Context>, ErrorOptions, PageOptions {
  readonly routes: readonly Route<Context>[];
  /** Other interfaces, each below its own prefix. */
  readonly views?: readonly ViewMount[];
  /**
   * Returns the public address, without the prefix and without a trailing slash.
   * @param port the port that the server listens on
   * @param tls whether the request came to a trusted proxy over TLS
   */
  publicUrl(port: number, tls: boolean): string;
  /** Returns how long a new request will probably wait for the database, in milliseconds. */
  readonly expectedWaitMs?: (() => number) | undefined;
  /** Called after each response of the API and of views. It must be quick, and keep no part of the exchange except its texts. */
  onResponse?(exchange: Exchange, outcome: RequestOutcome): void;
  /** Absent without traces. */
  readonly requestContext?: RequestContext | undefined;
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** The largest request line with its headers, in bytes. */
export const HEADER_BYTES_MAX = 16 * 1024;

/** Timeouts of a connection in milliseconds, and how many connections may be open. */
export const defaultLimits = {
  /** From the first byte of a request (or from connecting) to the end of its headers; then 408. */
  headersMs: 15_000,
  /** From the first byte of a request to the end of its body; then 408. */
  requestMs: 30_000,
  /** From a response to the next request. */
  idleMs: 20_000,
  /** Without a byte in either direction during a request or a response. */
  stalledMs: 60_000,
  /** How often the first two are checked. */
  checkMs: 1000,
  connectionsMax: 10_000,
};

export type ConnectionLimits = Readonly<typeof defaultLimits>;
