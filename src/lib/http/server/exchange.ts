import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../route.ts';

/** One request and its response, with what the server has found out about them so far. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The public address as this caller reaches it, without the prefix and without a trailing slash. */
  readonly publicUrl: string;
  /** Whether the request came to a trusted proxy over TLS. */
  readonly tls: boolean;
  /** The path as it was sent. */
  readonly path: string;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
  /** When the headers had been read, in milliseconds of `performance.now()`. */
  readonly receivedMs: number;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The rate limit headers of the response, names and values in turn; none until the request is authenticated. */
  headers: readonly string[];
  /** `undefined` until the request is authenticated. Set for a valid key also if the rate limit rejects the request. */
  caller: Caller | undefined;
  /** The client's address, once the body is read; '' for requests whose body is not read. */
  address: string;
  /** When the request was counted against the caller's plan, in milliseconds since the Unix epoch. */
  countedAt: number;
}
