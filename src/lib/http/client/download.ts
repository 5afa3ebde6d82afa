import type { RequestOptions } from 'node:http';
import { getOnce, StaleConnection } from './get-once.ts';
import { parseRetryAfter, RequestError } from './outcome.ts';

export interface DownloadRequest {
  readonly url: string;
  /** The client adds `host`, `accept-encoding` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The longest body. */
  readonly bytesMax: number;
  /** Limits DNS, connection, TLS and the response with its body together. */
  readonly timeoutMs: number;
}

/** A response whose body has not been read. */
export interface Download {
  readonly status: number;
  /** The `Location` header of a redirect, as it was sent. */
  readonly location: string | undefined;
  /** The delay that `Retry-After` asks for, in milliseconds from now, at most a year. */
  readonly retryAfterMs: number | undefined;
  /** Reading it throws a {@link RequestError}, or `BodyTooLarge`. */
  readonly body: AsyncIterable<Buffer>;
}

/** How to send one request of a download. */
interface Sending {
  readonly tls: boolean;
  readonly options: RequestOptions;
  /** Called if a kept-alive connection was closed, before the request is repeated. */
  onStale(): void;
  readonly aborted: AbortSignal;
  now(): number;
}

/**
 * Sends a GET request, and calls `use` with the response. Closes the connection unless `use` reads the whole body.
 * @throws {RequestError} if there is no response; also any error of `use`
 */
export async function download<T>(
  { tls, options, onStale, aborted, now }: Sending,
  { bytesMax, timeoutMs }: DownloadRequest,
  use: (response: Download) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new RequestError('timeout')), timeoutMs);
  const signal = AbortSignal.any([aborted, deadline.signal]);
  const attempt = () => getOnce(tls, options, bytesMax, signal);
  try {
    const { head, body, close } = await attempt().catch(error => {
      if (!(error instanceof StaleConnection)) throw error;
      onStale();
      return attempt();
    });
    try {
      const { location, 'retry-after': retryAfter } = head.headers;
      return await use({ status: head.statusCode!, location, retryAfterMs: parseRetryAfter(retryAfter, now()), body });
    } finally {
      close();
    }
  } finally {
    clearTimeout(timer);
  }
}
