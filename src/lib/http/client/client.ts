import { createSemaphore } from '../../semaphore.ts';
import { createConnectionPool } from './connection-pool.ts';
import { createResolver, type FindAddresses } from './dns.ts';
import { exchange } from './exchange.ts';
import { type Fault, type Outcome, outcomeOf } from './outcome.ts';
import { guardedLookup, isPublicAddress, parseNetworks } from './ssrf-protection.ts';
import { type OutgoingRules, parseTarget, type Target } from './target.ts';

/** A request to send. */
export interface OutgoingRequest {
  readonly url: string;
  /** The client adds `host`, `content-length`, `accept-encoding` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly signal?: AbortSignal;
}

/** An HTTP client for URLs that users registered: protected against SSRF, and limited in time, size and connections. */
export interface OutgoingClient {
  /**
   * Posts a body to a URL. Never rejects.
   *
   * Redirects are not followed: the redirect is the response. At most 64 KiB of the body are read. The time limit applies
   * to the wait for a free connection, and again to the request.
   *
   * If a kept-alive connection is closed before the first byte of a response, the request is sent once more on a new
   * connection, so the receiver may get it twice.
   */
  post(request: OutgoingRequest): Promise<Outcome>;
  /** Returns the wall-clock time, in milliseconds since the Unix epoch, which receivers compare with theirs. */
  now(): number;
  /** Aborts all requests and closes all connections. */
  close(): Promise<void>;
}

/** The limits of an {@link OutgoingClient}, and replacements for tests. */
export interface OutgoingOptions {
  /** The time limit of a request, in milliseconds. */
  readonly timeoutMs?: number;
  /** How many requests run at the same time for one scheme, host and port. */
  readonly perOrigin?: number;
  /** How many requests run at the same time, and how many connections are open, idle ones included. */
  readonly total?: number;
  /** After how long an idle connection is closed. Most servers wait 5 s or longer. */
  readonly idleMs?: number;
  /** The wall clock, in milliseconds since the Unix epoch. */
  readonly now?: () => number;
  /** CA certificates (PEM) to trust in place of Node's. */
  readonly ca?: string;
  readonly findAddresses?: FindAddresses;
}

/** The default time limit of a request, and of the wait for a connection before it. */
export const TIMEOUT_MS = 15_000;

const IDLE_PER_HOST_MAX = 16;

/** A request that waits for a connection or runs. */
interface PendingRequest {
  /** Whether the caller or `close` aborted it. */
  aborted: boolean;
  /** Ends the wait or the exchange. */
  stop(fault: Fault): void;
  readonly abort: () => void;
}

/**
 * Opens a client. It connects only to public addresses over https on port 443 or 8443, and to the networks of the rules.
 * @throws {RangeError} if the rules contain an invalid network
 */
export function openOutgoingClient(rules: OutgoingRules, options: OutgoingOptions = {}): OutgoingClient {
  const { timeoutMs = TIMEOUT_MS, perOrigin = 256, total = 2304, idleMs = 4000, now = Date.now, ca } = options;
  const networks = parseNetworks(rules.networks);
  const findAddresses = options.findAddresses ?? createResolver();
  const lookup = guardedLookup(findAddresses, address => isPublicAddress(address) || networks.has(address));
  const networksOnlyLookup = guardedLookup(findAddresses, networks.has);
  const semaphore = createSemaphore({ perKey: perOrigin, total });
  const pool = createConnectionPool({ idlePerHost: Math.min(perOrigin, IDLE_PER_HOST_MAX), total, idleMs, ca });
  const pendingRequests = new Set<PendingRequest>();
  let closed = false;

  async function send(target: Target, request: OutgoingRequest, pending: PendingRequest): Promise<Outcome> {
    const startMs = performance.now();
    let result = await attempt(target, request, pending, timeoutMs);
    if ('stale' in result && result.stale && !pending.aborted) {
      // The other idle connections to this host are as old.
      pool.closeIdle(target.host, target.port);
      result = await attempt(target, request, pending, timeoutMs - (performance.now() - startMs));
    }
    const durationMs = performance.now() - startMs;
    if ('fault' in result) return { fault: result.fault, durationMs };
    return outcomeOf(result.head, result.body, durationMs, now());
  }

  function attempt(target: Target, { headers, body }: OutgoingRequest, pending: PendingRequest, timeoutMs: number) {
    const { tls, host, port, path, serverName } = target;
    const options = {
      host,
      port,
      path,
      ...(serverName !== undefined && { servername: serverName }),
      agent: tls ? pool.https : pool.http,
      lookup: target.networksOnly ? networksOnlyLookup : lookup,
      headers: { ...headers, 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) },
    };
    return exchange(tls, options, body, timeoutMs, stop => {
      pending.stop = stop;
    });
  }

  return {
    now,

    async post(request) {
      const target = parseTarget(request.url, networks, rules.networks.length > 0);
      if ('fault' in target) return { fault: target.fault, durationMs: 0 };
      const { signal } = request;
      if (closed || signal?.aborted === true) return { fault: 'aborted', durationMs: 0 };

      const pending = newPendingRequest();
      signal?.addEventListener('abort', pending.abort);
      pendingRequests.add(pending);
      const slot = semaphore.acquire(target.origin);
      try {
        const waited = slot.ready && (await waitFor(slot.ready, pending, timeoutMs));
        const fault = pending.aborted ? 'aborted' : waited;
        return fault === undefined ? await send(target, request, pending) : { fault, durationMs: 0 };
      } finally {
        slot.release();
        pendingRequests.delete(pending);
        signal?.removeEventListener('abort', pending.abort);
      }
    },

    async close() {
      closed = true;
      for (const pending of [...pendingRequests]) pending.abort();
      pool.close();
    },
  };
}

function newPendingRequest(): PendingRequest {
  const pending: PendingRequest = {
    aborted: false,
    stop() {},
    abort() {
      pending.aborted = true;
      pending.stop('aborted');
    },
  };
  return pending;
}

/** Waits until a slot is acquired; returns why it was not. */
async function waitFor(ready: Promise<void>, pending: PendingRequest, timeoutMs: number): Promise<Fault | undefined> {
  const stopped = Promise.withResolvers<Fault>();
  pending.stop = stopped.resolve;
  const timer = setTimeout(stopped.resolve, timeoutMs, 'busy');
  const fault = await Promise.race([ready.then(() => undefined), stopped.promise]);
  clearTimeout(timer);
  return fault;
}
