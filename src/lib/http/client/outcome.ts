import type { IncomingMessage } from 'node:http';
import { DAY_MS } from '../../time.ts';

/** Why a request got no response. Stored with the attempt, and shown as its `fault`. */
export type Fault =
  /** Requests may not be sent to the URL, regardless of its host's addresses. */
  | 'forbidden_url'
  /** SSRF protection does not allow the IP address in the URL. */
  | 'forbidden_address'
  /** The host name has no address, SSRF protection allows none of them for this URL, or DNS did not respond. */
  | 'unresolved'
  | 'refused'
  | 'unreachable'
  /** The TLS handshake failed, for example because the certificate is not valid for the host. */
  | 'tls'
  /** The response did not begin within the time limit. */
  | 'timeout'
  /** The connection was closed before the response headers were complete. */
  | 'reset'
  /** The response was not valid HTTP, or its headers were too large. */
  | 'malformed_answer'
  /** No connection became free within the time limit; nothing was sent. */
  | 'busy'
  /** `isAllowed` returned false although a connection was open; nothing was sent. */
  | 'withdrawn'
  /** The caller aborted the request, or the client was closed. */
  | 'aborted'
  /** This process could not send the request: a header was invalid, or it lacked file descriptors or memory. */
  | 'failed';

/** The result of a request. */
export type Outcome = OutgoingResponse | { readonly fault: Fault; readonly durationMs: number };

/** A response. Its body is untrusted text. */
export interface OutgoingResponse {
  readonly status: number;
  /** The beginning of the body: at most 1 KiB in UTF-8, without NUL. */
  readonly body: string;
  /** The delay that `Retry-After` asks for, in milliseconds from now, at most a year. */
  readonly retryAfterMs?: number;
  /** The time since the request acquired a connection slot. */
  readonly durationMs: number;
}

/** A {@link Fault} as an error. */
export class RequestError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault);
    this.fault = fault;
  }
}

/** How many bytes of a response body are kept. */
export const BODY_KEPT_BYTES = 1024;

/** The longest `Retry-After` that is returned. */
const RETRY_AFTER_MAX_MS = 365 * DAY_MS;

/** @param now milliseconds since the Unix epoch, to compare `Retry-After` dates with */
export function outcomeOf(head: IncomingMessage, body: Buffer, durationMs: number, now: number): OutgoingResponse {
  const retryAfterMs = parseRetryAfter(head.headers['retry-after'], now);
  return {
    status: head.statusCode!,
    body: textOf(body),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    durationMs,
  };
}

/** The error codes of Node for each fault. */
const errorCodes: { readonly [F in Fault]?: readonly string[] } = {
  refused: ['ECONNREFUSED'],
  unreachable: ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EACCES', 'EPERM', 'EINVAL'],
  timeout: ['ETIMEDOUT'],
  reset: ['ECONNRESET', 'ECONNABORTED', 'EPIPE'],
  failed: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
};
const faultOfCode = new Map(
  Object.entries(errorCodes).flatMap(([fault, codes]) => codes.map(code => [code, fault as Fault])),
);

export function faultOf(error: Error, tls: boolean): Fault {
  if (error instanceof RequestError) return error.fault;
  const code = String((error as { code?: unknown }).code);
  if (code.startsWith('HPE_')) return 'malformed_answer';
  // TLS errors have hundreds of codes.
  return faultOfCode.get(code) ?? (tls ? 'tls' : 'failed');
}

/** Returns the delay that `Retry-After` asks for, in milliseconds, at most a year. @param now as in `outcomeOf` */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1000 : parseHttpDate(text) - now;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(0, Math.round(delayMs)), RETRY_AFTER_MAX_MS);
}

/** Parses the three date formats of HTTP (RFC 9110, 5.6.7). The last one, of asctime(), is in GMT without naming it. */
function parseHttpDate(text: string): number {
  if (/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  return /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** Decodes the beginning of a body, and removes an incomplete character at its end. */
function textOf(body: Buffer): string {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes.subarray(0, BODY_KEPT_BYTES), { stream: true });
  const text = decode(body).replaceAll('\0', '\ufffd');
  // Replacement characters take more bytes than the bytes that they replace.
  return Buffer.byteLength(text) > BODY_KEPT_BYTES ? decode(Buffer.from(text)) : text;
}
