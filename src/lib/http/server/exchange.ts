import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../route.ts';

/** One request and its response, with the server's findings so far. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The public address that this caller uses, without the prefix and without a trailing slash. */
  readonly publicUrl: string;
  /** Whether the request came to a trusted proxy over TLS. */
  readonly tls: boolean;
  /** The path as it was sent. */
  readonly path: string;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
  /** When the headers were complete, in milliseconds of `performance.now()`. */
  readonly receivedMs: number;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The rate limit headers of the response, names and values in turn; empty until the request is authenticated. */
  headers: readonly string[];
  /** `undefined` until the request is authenticated. Set for a valid key also if the rate limit rejects the request. */
  caller: Caller | undefined;
  /** The client's address, once the body is read; '' for requests whose body is not read. */
  address: string;
  /** When the request was counted against the caller's plan, in milliseconds since the Unix epoch. */
  countedAt: number;
  /** The bytes that are reserved for the body in the budget of bodies. */
  bodyBytes: number;
}
