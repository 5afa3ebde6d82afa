import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { UsageError } from '../../src/cli/command.ts';
import { signedRequest } from '../../src/events/deliveries/signed-request.ts';
import type { FindAddresses } from '../../src/lib/http/client/dns.ts';
import { faultOf, parseRetryAfter, RequestError } from '../../src/lib/http/client/outcome.ts';
import { UserError } from '../../src/lib/user-error.ts';
import type { PetstoreEvent } from '../src/types.ts';

/** Where events are posted. */
export interface Receiver {
  /** Posts an event, signed as a webhook delivery. Never rejects. */
  post(event: PetstoreEvent, signal: AbortSignal): Promise<Attempt>;
}

/** The outcome of a post. */
export interface Attempt {
  /** The status of the response, or the fault if there is none, such as `refused`. */
  readonly status: number | string;
  /** Whether the status is from 200 to 299. */
  readonly isAccepted: boolean;
  readonly durationMs: number;
  /** The wait that the receiver asks for. */
  readonly retryAfterSeconds?: number | undefined;
}

/** The time limit of a post, and the most bytes of a response that are read: those of webhooks. */
export const TIMEOUT_MS = 15_000;
const RESPONSE_BYTES_MAX = 65_536;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Checks the address of a receiver. Without `allowRemote`, it must be on this machine: when it is opened, and whenever a
 * connection is made.
 * @throws {UsageError | UserError}
 */
export async function openReceiver(
  url: URL,
  allowRemote: boolean,
  secret: Buffer,
  findAddresses: FindAddresses = findBySystem,
): Promise<Receiver> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isAllowed = (address: string) => allowRemote || loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const addressesOf = async () => {
    const all = await findAddresses(host).catch(() => []);
    if (all.length === 0) throw new UserError(`The host ${host} has no address.`);
    return all.filter(isAllowed).map(address => ({ address, family: isIP(address) }));
  };
  if ((await addressesOf()).length === 0) {
    throw new UsageError(`--forward-to must lead to this machine; ${host} does not. Add --allow-remote to allow it.`);
  }
  const guardedLookup: LookupFunction = async (_host, { all }, callback) => {
    const [first, ...others] = await addressesOf().catch(() => []);
    if (first === undefined) callback(new RequestError('unresolved'), '');
    else if (all) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  };
  return {
    async post(event, signal) {
      const { headers, body } = signedRequest(event, Date.now(), [secret]);
      const startMs = performance.now();
      const outcome = await postOnce(url, { headers, lookup: guardedLookup, signal }, body);
      return { ...outcome, durationMs: performance.now() - startMs };
    },
  };
}

async function findBySystem(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Sends one request on a connection of its own, and reads the response to its end or limit. */
function postOnce(url: URL, options: RequestOptions, body: string): Promise<Omit<Attempt, 'durationMs'>> {
  const tls = url.protocol === 'https:';
  const length = { 'content-length': Buffer.byteLength(body), 'accept-encoding': 'identity' };
  return new Promise(resolve => {
    const request = (tls ? httpsRequest : httpRequest)(url, {
      ...{ ...options, method: 'POST', headers: { ...options.headers, ...length }, agent: false },
    });
    let head: IncomingMessage | undefined;
    let fault: string | undefined;
    const timer = setTimeout(() => {
      fault = 'timeout';
      request.destroy();
    }, TIMEOUT_MS);
    request.on('error', error => {
      fault ??= faultOf(error, tls);
    });
    request.on('response', response => {
      head = response;
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > RESPONSE_BYTES_MAX) request.destroy();
      });
      // The response counts although its body is incomplete.
      response.on('error', () => {});
    });
    request.on('upgrade', (_response, socket) => socket.destroy());
    request.on('close', () => {
      clearTimeout(timer);
      resolve(head === undefined ? { status: fault ?? 'reset', isAccepted: false } : responseOf(head));
    });
    request.end(body);
  });
}

function responseOf({ statusCode = 0, headers }: IncomingMessage): Omit<Attempt, 'durationMs'> {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], Date.now());
  return {
    status: statusCode,
    isAccepted: statusCode >= 200 && statusCode < 300,
    retryAfterSeconds: retryAfterMs === undefined ? undefined : retryAfterMs / 1000,
  };
}
