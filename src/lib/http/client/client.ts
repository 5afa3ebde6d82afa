import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { openPlaces, type Place } from '../../semaphore.ts';
import { keptConnections } from './connection-pool.ts';
import { isPublicAddress, type Networks, networksOf } from './public-address.ts';
import { addressFinder, type FindAddresses } from './resolve.ts';

/** Where requests may go besides the public internet over https. */
export interface OutgoingRules {
  /** IP addresses and networks, to which requests may go also over http and to any port. */
  readonly networks: readonly string[];
}

/** Why a request has no answer. */
export type OutgoingFault =
  /** The URL is none that requests may go to, whatever its host resolves to. */
  | 'forbidden_url'
  /** The host has addresses, and requests may go to none of them in the way that the URL says. */
  | 'forbidden_address'
  /** The host has no address that could be found. */
  | 'unresolved'
  /** Nobody listens there. */
  | 'refused'
  /** No way leads there. */
  | 'unreachable'
  /** TLS failed: above all the certificate does not prove that this is the host. */
  | 'tls'
  /** The answer did not begin in time. */
  | 'timeout'
  /** The connection was closed before the answer began, or within its head. */
  | 'reset'
  /** What came is no answer of HTTP, or its head is too large. */
  | 'malformed_answer'
  /** No connection became free in time, for there are too many at once; nothing was sent. */
  | 'busy'
  /** The caller's signal, or closing. */
  | 'aborted'
  /** This process could not send it: headers that HTTP cannot say, or a machine out of means. */
  | 'failed';

/** A request to send. */
export interface OutgoingRequest {
  readonly url: string;
  /** Those about the host, the length and the encoding are added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly signal?: AbortSignal;
}

/** What came of a request. */
export type Outcome = OutgoingAnswer | { readonly fault: OutgoingFault; readonly durationMs: number };

/** An answer. What it says is a stranger's word. */
export interface OutgoingAnswer {
  readonly status: number;
  /** How its body begins, as text of at most 1 KiB in UTF-8 and without NUL. */
  readonly answer: string;
  /** How long the receiver wishes to be left alone, from now. */
  readonly retryAfterMs?: number;
  /** From when there was a place to send it. */
  readonly durationMs: number;
}

/** Sends requests to URLs that people registered. */
export interface OutgoingClient {
  /**
   * Posts a body to a URL. Never throws.
   *
   * Redirects are not followed: they are answers. Once the head of an answer came its status counts, whatever becomes of
   * the body: what is larger than 64 KiB or takes too long is cut off. All of it ends within the time limit, after a wait
   * for a free connection that takes no longer.
   *
   * A request that fails on a connection that was used before, before any byte of its answer, is sent once more on a new
   * one; so a receiver may get it twice.
   */
  post(request: OutgoingRequest): Promise<Outcome>;
  /** The time that is compared with that of receivers: milliseconds since the Unix epoch. */
  now(): number;
  /** Aborts what is under way and closes all connections. */
  close(): Promise<void>;
}

/** What may be said otherwise. */
export interface OutgoingOptions {
  /** How long a request may take, in milliseconds: look-up, connection, TLS, sending, the answer. */
  readonly timeoutMs?: number;
  /** How many requests there are at a time to one scheme, host and port. */
  readonly ofEach?: number;
  /** How many requests there are at a time in all; there are no more connections, idle ones included. */
  readonly inAll?: number;
  /** After how long an idle connection is closed: less than servers commonly take, which is 5 s and more. */
  readonly idleMs?: number;
  /** The time as receivers have it, in milliseconds since the Unix epoch: `Retry-After` is read by it. */
  readonly now?: () => number;
  /** Certificates to trust in place of those that Node trusts, for tests. */
  readonly ca?: string;
  /** In place of the machine's ways to find the addresses of a name, for tests. */
  readonly findAddresses?: FindAddresses;
}

/** How long a request takes at most where nothing else is said, and how long it waits for a connection before that. */
export const TIMEOUT_MS = 15_000;

const URL_LENGTH_MAX = 2048;
/** How many connections to one host and port are kept idle. */
const IDLE_OF_EACH = 16;
/** How much of an answer's body is kept, in bytes. */
const KEPT_BYTES = 1024;
/** How much of an answer's body is read, in bytes. */
const READ_BYTES = 65_536;
const HEAD_BYTES = 16_384;
/** How many answers may come before the one that counts (1xx). */
const INTERIM_MAX = 16;
/** How many bytes are read for an answer in all: what stands around heads and body is bounded by nothing else. */
const ANSWER_BYTES = (INTERIM_MAX + 1) * HEAD_BYTES + READ_BYTES;
/** How many addresses of a host are tried, so that nobody's DNS answer makes us knock at thousands. */
const ADDRESSES_MAX = 8;
/** The longest wait that is believed, in milliseconds. */
const RETRY_AFTER_MAX_MS = 365 * 86_400_000;

/**
 * What is wrong with a URL as a target, judged without any look-up, as the end of a sentence («must …»); `undefined` for a
 * good one, whose address is judged once a connection is made.
 * @throws {RangeError} when the rules name something that is no network
 */
export function targetFault(url: string, { networks }: OutgoingRules): string | undefined {
  const target = targetOf(url, networksOf(networks), networks.length > 0);
  return 'sentence' in target ? target.sentence : undefined;
}

/**
 * Opens the way out. A connection is made only to an address that was judged: one of the public internet, over https and to
 * port 443 or 8443; or any within the networks of the rules.
 * @throws {RangeError} when the rules name something that is no network
 */
export function openOutgoingClient(rules: OutgoingRules, options: OutgoingOptions = {}): OutgoingClient {
  const { timeoutMs = TIMEOUT_MS, ofEach = 256, inAll = 2304, idleMs = 4000, now = Date.now, ca } = options;
  const networks = networksOf(rules.networks);
  const findAddresses = options.findAddresses ?? addressFinder();
  const lookUp = guardedLookup(findAddresses, address => isPublicAddress(address) || networks.has(address));
  const lookUpInside = guardedLookup(findAddresses, networks.has);
  const places = openPlaces({ ofEach, inAll });
  const connections = keptConnections({ idleOfEach: Math.min(ofEach, IDLE_OF_EACH), inAll, idleMs, ca });
  const flights = new Set<Flight>();
  let closed = false;

  /** Resolves once the place is there, or with why it will not be waited for. */
  function placed({ ready }: Place, flight: Flight): Promise<OutgoingFault | undefined> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, timeoutMs, 'busy');
      const settle = (fault?: OutgoingFault) => {
        clearTimeout(timer);
        resolve(fault);
      };
      flight.end = settle;
      void ready!.then(() => settle());
    });
  }

  async function send(target: Target, request: OutgoingRequest, flight: Flight): Promise<Outcome> {
    const begin = performance.now();
    let result = await exchange(target, request, flight, timeoutMs);
    if ('stale' in result && result.stale && flight.stopped === undefined) {
      connections.forget(target.host, target.port);
      result = await exchange(target, request, flight, timeoutMs - (performance.now() - begin));
    }
    const durationMs = performance.now() - begin;
    if ('fault' in result) return { fault: result.fault, durationMs };
    const retryAfterMs = retryAfterOf(result.head.headers['retry-after'], now());
    return {
      status: result.head.statusCode!,
      answer: textOf(result.body),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      durationMs,
    };
  }

  function exchange(target: Target, { headers, body }: OutgoingRequest, flight: Flight, ms: number): Promise<Result> {
    return new Promise(resolve => {
      let request: ClientRequest | undefined;
      let head: IncomingMessage | undefined;
      const kept: Buffer[] = [];
      let read = 0;
      let interim = 0;
      let heard = 0;
      let over = false;

      /** `fault` counts as long as no head came. */
      const end = (fault: OutgoingFault) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        const stale = fault === 'reset' && request?.reusedSocket === true && heard === 0;
        resolve(head === undefined ? { fault, stale } : { head, body: Buffer.concat(kept) });
        // A connection on which all was said is kept; any other is not fit for another request.
        if (head?.complete !== true || request?.writableFinished !== true) request?.destroy();
      };
      const timer = setTimeout(end, Math.max(1, ms), 'timeout');
      flight.end = end;
      const hear = (chunk: Buffer) => {
        heard += chunk.length;
        if (heard > ANSWER_BYTES) end('malformed_answer');
      };

      try {
        request = (target.tls ? tlsRequest : plainRequest)({
          agent: target.tls ? connections.tls : connections.plain,
          method: 'POST',
          host: target.host,
          port: target.port,
          path: target.path,
          ...(target.serverName !== undefined && { servername: target.serverName }),
          headers: {
            ...headers,
            'accept-encoding': 'identity',
            'content-length': Buffer.byteLength(body),
          },
          lookup: target.inside ? lookUpInside : lookUp,
          maxHeaderSize: HEAD_BYTES,
        });
      } catch {
        end('failed');
        return;
      }
      request.on('error', error => end(faultOf(error, target.tls)));
      request.on('close', () => end('reset'));
      request.once('socket', (socket: Socket) => {
        socket.on('data', hear);
        request!.once('close', () => socket.off('data', hear));
      });
      request.on('information', () => {
        if (++interim > INTERIM_MAX) end('malformed_answer');
      });
      request.on('upgrade', (_, socket) => {
        socket.destroy();
        end('malformed_answer');
      });
      request.on('response', answer => {
        if (answer.statusCode! < 100) {
          end('malformed_answer');
          return;
        }
        head = answer;
        answer.on('data', (chunk: Buffer) => {
          if (read < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - read));
          read += chunk.length;
          if (read > READ_BYTES) end('reset');
        });
        answer.on('end', () => end('reset'));
        answer.on('error', () => end('reset'));
        answer.on('close', () => end('reset'));
      });
      request.end(body);
    });
  }

  return {
    now,

    async post(request) {
      const target = targetOf(request.url, networks, rules.networks.length > 0);
      if ('sentence' in target) return { fault: target.fault, durationMs: 0 };
      const { signal } = request;
      if (closed || signal?.aborted === true) return { fault: 'aborted', durationMs: 0 };

      const flight = takeOff();
      signal?.addEventListener('abort', flight.abort);
      flights.add(flight);
      const place = places.take(target.place);
      try {
        const fault = (place.ready && (await placed(place, flight))) ?? flight.stopped;
        return fault === undefined ? await send(target, request, flight) : { fault, durationMs: 0 };
      } finally {
        place.leave();
        flights.delete(flight);
        signal?.removeEventListener('abort', flight.abort);
      }
    },

    async close() {
      closed = true;
      for (const flight of [...flights]) flight.abort();
      connections.close();
    },
  };
}

/** A request under way. */
interface Flight {
  /** Why it was stopped. */
  stopped?: OutgoingFault;
  /** Ends what it is at now. */
  end(fault: OutgoingFault): void;
  readonly abort: () => void;
}

function takeOff(): Flight {
  const flight: Flight = {
    end: () => {},
    abort() {
      flight.stopped = 'aborted';
      flight.end('aborted');
    },
  };
  return flight;
}

/** What came of sending a request once. */
type Result =
  | { readonly head: IncomingMessage; readonly body: Buffer }
  /** `stale`: on a connection that was used before, and without a byte of an answer. */
  | { readonly fault: OutgoingFault; readonly stale: boolean };

/** Where a request goes, as a URL says it. */
interface Target {
  readonly tls: boolean;
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The name that the certificate must prove, where the host is one. */
  readonly serverName?: string;
  /** Whether it may be reached within the networks of the rules alone. */
  readonly inside: boolean;
  /** What the number of requests at a time is counted by. */
  readonly place: string;
}

/** What is wrong with a URL: why nothing is sent to it, and the end of a sentence for whoever gave it. */
interface Wrong {
  readonly fault: 'forbidden_url' | 'forbidden_address';
  readonly sentence: string;
}

/**
 * The target that a URL names; an address that stands in it is judged, a name's are not.
 * @param some whether there are any networks
 */
function targetOf(text: string, networks: Networks, some: boolean): Target | Wrong {
  const wrong = (sentence: string): Wrong => ({ fault: 'forbidden_url', sentence });
  // What a parser would mend in silence is refused: it would not be what people see.
  const url = /^https?:\/\/(?!\/)[^\s\\\p{Cc}]+$/iu.test(text) ? URL.parse(text) : null;
  if (url === null) {
    return wrong(
      /^[a-z][a-z\d+.-]*:/i.test(text) && !/^https?:/i.test(text)
        ? 'must begin with https://'
        : 'must be a URL like https://example.org/hook',
    );
  }
  const { protocol, username, password, hostname, port: portText, pathname, search, href, host: place } = url;
  if (text.length > URL_LENGTH_MAX || href.length > URL_LENGTH_MAX) return wrong('must have at most 2048 characters');
  // An empty one is gone from the parsed URL.
  if (username !== '' || password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text))
    return wrong('must not have a user name or a password in it');
  if (text.includes('#')) return wrong('must not have a fragment');

  const tls = protocol === 'https:';
  const port = portText === '' ? (tls ? 443 : 80) : Number(portText);
  const inside = !tls || (port !== 443 && port !== 8443);
  const host = hostname.replace(/^\[|\]$/g, '');
  const literal = isIP(host) !== 0;
  if (literal ? !networks.has(host) : !some) {
    if (!tls) return wrong('must begin with https://');
    if (inside) return wrong('must name port 443 or 8443, or none');
    if (literal && !isPublicAddress(host)) {
      return { fault: 'forbidden_address', sentence: 'must lead to an address of the public internet' };
    }
  }
  return {
    tls,
    host,
    port,
    path: pathname + search,
    ...(tls && !literal && { serverName: host.replace(/\.$/, '') }),
    inside,
    place: `${protocol}//${place}`,
  };
}

/** Why a connection was not tried. */
class NoAddress extends Error {
  readonly fault: OutgoingFault;

  constructor(fault: OutgoingFault) {
    super(fault);
    this.fault = fault;
  }
}

/** A look-up for `node:net`, which gives it those addresses alone to which a connection may be made. */
function guardedLookup(findAddresses: FindAddresses, allows: (address: string) => boolean): LookupFunction {
  return (host, { all }, callback) => {
    void findAddresses(host)
      .catch(() => [])
      .then(found => {
        const allowed = found.filter(allows).slice(0, ADDRESSES_MAX);
        const [first] = allowed;
        if (first === undefined) {
          callback(new NoAddress(found.length > 0 ? 'forbidden_address' : 'unresolved'), []);
        } else if (all === true) {
          callback(
            null,
            allowed.map(address => ({ address, family: isIP(address) })),
          );
        } else {
          callback(null, first, isIP(first));
        }
      });
  };
}

const faults: Readonly<Record<string, OutgoingFault>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EAFNOSUPPORT: 'unreachable',
  EACCES: 'unreachable',
  EPERM: 'unreachable',
  EINVAL: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  EMFILE: 'failed',
  ENFILE: 'failed',
  ENOBUFS: 'failed',
  ENOMEM: 'failed',
};

function faultOf(error: Error, tls: boolean): OutgoingFault {
  if (error instanceof NoAddress) return error.fault;
  const code = String((error as { code?: unknown }).code);
  if (code.startsWith('HPE_')) return 'malformed_answer';
  // What else fails where there is TLS is TLS: its faults have hundreds of codes.
  return faults[code] ?? (tls ? 'tls' : 'failed');
}

function retryAfterOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : httpDateOf(text) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(0, Math.round(wait)), RETRY_AFTER_MAX_MS);
}

/** A date in one of HTTP's three forms, of which the last one leaves out that it is GMT. */
function httpDateOf(text: string): number {
  if (/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  return /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** The beginning of a text that is at most as large as what is kept, without half a character at its end. */
function textOf(body: Buffer): string {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes.subarray(0, KEPT_BYTES), { stream: true });
  const text = decode(body).replaceAll('\0', '\ufffd');
  // What is not UTF-8 became larger.
  return Buffer.byteLength(text) > KEPT_BYTES ? decode(Buffer.from(text)) : text;
}
