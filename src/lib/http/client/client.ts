import type { RequestOptions } from 'node:http';
import type { MaybePromise } from '../../maybe-promise.ts';
import { createConnectionPool } from './connection-pool.ts';
import { createResolver, type FindAddresses } from './dns.ts';
import { type Download, type DownloadRequest, download } from './download.ts';
import { type Outcome, outcomeOf, RequestError } from './outcome.ts';
import { postOnce } from './post-once.ts';
import { createRequestSlots } from './request-slots.ts';
import { guardedLookup, isPublicAddress, parseNetworks } from './ssrf-protection.ts';
import { type OutgoingRules, parseTarget, type Target } from './target.ts';

export interface OutgoingRequest {
  readonly url: string;
  /** The client adds `host`, `content-length`, `accept-encoding` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly signal?: AbortSignal;
  /** Called once a connection is open, directly before the request is written to it; `false` withdraws the request. */
  readonly isAllowed?: (() => MaybePromise<boolean>) | undefined;
}

/** An HTTP client for URLs that users registered: with SSRF protection and limits on time, size and connections. */
export interface OutgoingClient {
  /**
   * Posts a body to a URL. Never rejects.
   *
   * Redirects are not followed: the redirect is the response. At most 64 KiB of the body are read. The time limit
   * applies to the wait for a free connection, and again to the request.
   *
   * If a kept-alive connection is closed before the first byte of a response, the request is sent once more on a new
   * connection, so the receiver may get it twice.
   */
  post(request: OutgoingRequest): Promise<Outcome>;
  /**
   * Gets a URL, and calls `use` with the response. Redirects are not followed, and the connection is closed unless
   * `use` reads the whole body.
   * @throws {RequestError} if there is no response; also any error of `use`
   */
  get<T>(request: DownloadRequest, use: (response: Download) => Promise<T>): Promise<T>;
  /** Returns the wall-clock time, in milliseconds since the Unix epoch, which receivers compare with theirs. */
  now(): number;
  /** Aborts all requests and closes all connections. */
  close(): Promise<void>;
}

/** The limits of an {@link OutgoingClient}, and replacements for tests. */
export interface OutgoingOptions {
  /** The time limit of a request, and of the wait for a connection before it. */
  readonly timeoutMs?: number;
  /** How many requests run at the same time for one scheme, host and port. */
  readonly perOrigin?: number;
  /** How many requests run at the same time, and how many connections are open, idle ones included. */
  readonly total?: number;
  /** How long an idle connection stays open. Most servers wait 5 s or longer. */
  readonly idleMs?: number;
  readonly now?: () => number;
  /** CA certificates (PEM) that replace Node's. */
  readonly ca?: string;
  readonly findAddresses?: FindAddresses;
}

const IDLE_PER_HOST_MAX = 16;

/**
 * Opens a client. It connects only to public addresses over https on port 443 or 8443, and to the networks of the
 * rules.
 * @throws {RangeError} if the rules contain an invalid network
 */
export function openOutgoingClient(rules: OutgoingRules, options: OutgoingOptions = {}): OutgoingClient {
  const { timeoutMs = 15_000, perOrigin = 256, total = 2304, idleMs = 4000, now = Date.now, ca } = options;
  const { findAddresses = createResolver() } = options;
  const networks = parseNetworks(rules.networks);
  const lookup = guardedLookup(findAddresses, address => isPublicAddress(address) || networks.has(address));
  const networksOnlyLookup = guardedLookup(findAddresses, networks.has);
  const slots = createRequestSlots({ perOrigin, total, timeoutMs });
  const pool = createConnectionPool({ idlePerHost: Math.min(perOrigin, IDLE_PER_HOST_MAX), total, idleMs, ca });

  function optionsOf(target: Target, headers: RequestOptions['headers']): RequestOptions {
    const { tls, host, port, path, servername, networksOnly } = target;
    return {
      ...{ host, port, path, servername, agent: tls ? pool.https : pool.http },
      lookup: networksOnly ? networksOnlyLookup : lookup,
      headers: { ...headers, 'accept-encoding': 'identity' },
    };
  }

  async function send(target: Target, request: OutgoingRequest, signal: AbortSignal): Promise<Outcome> {
    const { tls, host, port } = target;
    const { body, isAllowed } = request;
    const options = optionsOf(target, { ...request.headers, 'content-length': Buffer.byteLength(body) });
    const startMs = performance.now();
    let result = await postOnce(tls, options, body, timeoutMs, { signal, isAllowed });
    if ('stale' in result && result.stale && !signal.aborted) {
      // The other idle connections to this host are probably stale too.
      pool.closeIdle(host, port);
      result = await postOnce(tls, options, body, timeoutMs - (performance.now() - startMs), { signal, isAllowed });
    }
    const durationMs = performance.now() - startMs;
    if ('fault' in result) return { fault: result.fault, durationMs };
    return outcomeOf(result.head, result.body, durationMs, now());
  }

  return {
    now,

    async post(request) {
      const target = parseTarget(request.url, networks);
      if ('fault' in target) return { fault: target.fault, durationMs: 0 };
      try {
        return await slots.run(target.origin, request.signal, signal => send(target, request, signal));
      } catch (error) {
        return { fault: (error as RequestError).fault, durationMs: 0 };
      }
    },

    async get(request, use) {
      const target = parseTarget(request.url, networks);
      if ('fault' in target) throw new RequestError(target.fault);
      const { tls, host, port } = target;
      const options = optionsOf(target, request.headers);
      const onStale = () => pool.closeIdle(host, port);
      return slots.run(target.origin, request.signal, aborted =>
        download({ tls, options, onStale, aborted, now }, request, use),
      );
    },

    async close() {
      slots.close();
      pool.close();
    },
  };
}
